//! The attributes of a span that matter, in every spelling and shape that Copilot's programs have used.
//! Nothing else of a span is kept: with content capture on, attributes hold prompts.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// What is known of an attribute's value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value<'a> {
    Number(f64),
    Text(Cow<'a, str>),
    /// From a store that writes everything as text: decimal digits are a number where one is wanted.
    Untyped(Cow<'a, str>),
    Other,
}

impl Value<'_> {
    fn number(&self) -> Option<f64> {
        let n = match self {
            Self::Number(n) => *n,
            Self::Untyped(text) => text.trim().parse().ok()?,
            Self::Text(_) | Self::Other => return None,
        };
        (n.is_finite() && n >= 0.0).then_some(n)
    }

    fn count(&self) -> Option<u64> {
        self.number().map(|n| n as u64)
    }

    fn text(&self) -> Option<String> {
        match self {
            Self::Text(text) | Self::Untyped(text) if !text.is_empty() => {
                Some(text.clone().into_owned())
            }
            _ => None,
        }
    }
}

/// Attributes of a span, a log record or a resource.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Attributes {
    pub(crate) operation: Option<String>,
    pub(crate) event: Option<String>,
    pub(crate) response_id: Option<String>,
    pub(crate) response_model: Option<String>,
    pub(crate) request_model: Option<String>,
    pub(crate) provider: Option<String>,
    pub(crate) conversation: Option<String>,
    pub(crate) chat_session: Option<String>,
    pub(crate) parent_session: Option<String>,
    pub(crate) session: Option<String>,
    /// Prompt with cache reads and writes inside.
    pub(crate) gross_input: Option<u64>,
    pub(crate) output: Option<u64>,
    pub(crate) cache_read: Option<u64>,
    pub(crate) cache_write: Option<u64>,
    pub(crate) reasoning: Option<u64>,
    pub(crate) nano_aiu: Option<u64>,
    /// A premium-request multiplier: never money.
    pub(crate) multiplier: Option<f64>,
    pub(crate) initiator: Option<String>,
    /// Of the prompt that the call serves.
    pub(crate) interaction: Option<String>,
    /// Milliseconds.
    pub(crate) server_duration: Option<f64>,
    pub(crate) first_token: Option<f64>,
    pub(crate) repository: Option<String>,
    pub(crate) error: Option<String>,
    pub(crate) http_status: Option<u64>,
    pub(crate) service: Option<String>,
    pub(crate) service_version: Option<String>,
}

impl Attributes {
    /// Takes one attribute, if it is one that matters. A value that is there already is not replaced.
    pub(crate) fn set(&mut self, key: &str, value: &Value<'_>) {
        let text = |slot: &mut Option<String>| *slot = slot.take().or_else(|| value.text());
        let count = |slot: &mut Option<u64>| *slot = slot.take().or_else(|| value.count());
        let millis = |slot: &mut Option<f64>, scale: f64| {
            *slot = slot.take().or_else(|| value.number().map(|n| n * scale));
        };
        match key {
            "gen_ai.operation.name" => text(&mut self.operation),
            "event.name" => text(&mut self.event),
            "gen_ai.response.id" => text(&mut self.response_id),
            "gen_ai.response.model" => text(&mut self.response_model),
            "gen_ai.request.model" => text(&mut self.request_model),
            "gen_ai.provider.name" | "gen_ai.system" => text(&mut self.provider),
            "gen_ai.conversation.id" => text(&mut self.conversation),
            "copilot_chat.chat_session_id" => text(&mut self.chat_session),
            "copilot_chat.parent_chat_session_id" => text(&mut self.parent_session),
            "copilot_chat.session_id" | "session.id" => text(&mut self.session),
            "gen_ai.usage.input_tokens" => count(&mut self.gross_input),
            "gen_ai.usage.output_tokens" => count(&mut self.output),
            "gen_ai.usage.cache_read.input_tokens" | "gen_ai.usage.cache_read_input_tokens" => {
                count(&mut self.cache_read);
            }
            "gen_ai.usage.cache_write.input_tokens"
            | "gen_ai.usage.cache_write_input_tokens"
            | "gen_ai.usage.cache_creation.input_tokens"
            | "gen_ai.usage.cache_creation_input_tokens" => count(&mut self.cache_write),
            "gen_ai.usage.reasoning.output_tokens"
            | "gen_ai.usage.reasoning_output_tokens"
            | "gen_ai.usage.reasoning_tokens" => count(&mut self.reasoning),
            "github.copilot.nano_aiu"
            | "github.copilot.aiu"
            | "copilot_chat.copilot_usage_nano_aiu" => count(&mut self.nano_aiu),
            "github.copilot.cost" => millis(&mut self.multiplier, 1.0),
            "github.copilot.initiator" => text(&mut self.initiator),
            "github.copilot.interaction_id" => text(&mut self.interaction),
            "github.copilot.server_duration" => millis(&mut self.server_duration, 1.0),
            "copilot_chat.time_to_first_token" => millis(&mut self.first_token, 1.0),
            "gen_ai.response.time_to_first_chunk" => millis(&mut self.first_token, 1e3),
            "github.copilot.git.repository" | "copilot_chat.repo.remote_url" => {
                text(&mut self.repository);
            }
            "error.type" => text(&mut self.error),
            "http.response.status_code" | "http.status_code" => count(&mut self.http_status),
            "service.name" => text(&mut self.service),
            "service.version" => text(&mut self.service_version),
            _ => {}
        }
    }
}

/// An object, a list of `{key, value}`, or a list of `[key, value]`; anything else has no attributes.
impl<'de> Deserialize<'de> for Attributes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AttributesVisitor)
    }
}

struct AttributesVisitor;

/// An element of a list of attributes.
#[derive(serde::Deserialize)]
#[serde(untagged)]
enum Element<'a> {
    Named {
        #[serde(borrow)]
        key: Cow<'a, str>,
        #[serde(borrow)]
        value: Value<'a>,
    },
    Pair(#[serde(borrow)] Cow<'a, str>, #[serde(borrow)] Value<'a>),
    Other(IgnoredAny),
}

impl<'de> Visitor<'de> for AttributesVisitor {
    type Value = Attributes;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("attributes")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Attributes, A::Error> {
        let mut attributes = Attributes::default();
        while let Some((key, value)) = map.next_entry::<Cow<'_, str>, Value<'_>>()? {
            attributes.set(&key, &value);
        }
        Ok(attributes)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Attributes, A::Error> {
        let mut attributes = Attributes::default();
        while let Some(element) = list.next_element::<Element<'_>>()? {
            match element {
                Element::Named { key, value } | Element::Pair(key, value) => {
                    attributes.set(&key, &value);
                }
                Element::Other(_) => {}
            }
        }
        Ok(attributes)
    }

    fn visit_unit<E>(self) -> Result<Attributes, E> {
        Ok(Attributes::default())
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Value<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an attribute's value")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Value<'de>, E> {
        Ok(Value::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value<'de>, E> {
        Ok(Value::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_u64<E>(self, n: u64) -> Result<Value<'de>, E> {
        Ok(Value::Number(n as f64))
    }

    fn visit_i64<E>(self, n: i64) -> Result<Value<'de>, E> {
        Ok(Value::Number(n as f64))
    }

    fn visit_f64<E>(self, n: f64) -> Result<Value<'de>, E> {
        Ok(Value::Number(n))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Value<'de>, E> {
        Ok(Value::Other)
    }

    fn visit_unit<E>(self) -> Result<Value<'de>, E> {
        Ok(Value::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value<'de>, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Value::Other)
    }

    /// OTLP: `{"stringValue": …}`, `{"intValue": "12"}`, `{"doubleValue": 1.5}`.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value<'de>, A::Error> {
        let mut found = Value::Other;
        while let Some(kind) = map.next_key::<Cow<'_, str>>()? {
            match kind.as_ref() {
                "stringValue" | "intValue" | "doubleValue" => {
                    found = match map.next_value::<Value<'_>>()? {
                        Value::Text(text) => Value::Untyped(text),
                        other => other,
                    };
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_shapes_and_spellings_give_the_same() {
        for json in [
            r#"{"gen_ai.usage.cache_read.input_tokens":7,"gen_ai.usage.cache_creation.input_tokens":3.0}"#,
            r#"{"gen_ai.usage.cache_read_input_tokens":7,"gen_ai.usage.cache_write.input_tokens":3,"x":[{}],"y":null}"#,
            r#"[{"key":"gen_ai.usage.cache_read.input_tokens","value":{"intValue":"7"}},5,
                {"key":"gen_ai.usage.cache_creation_input_tokens","value":{"stringValue":"3"}}]"#,
            r#"[["gen_ai.usage.cache_read.input_tokens",7],["gen_ai.usage.cache_write_input_tokens",3]]"#,
        ] {
            let attributes: Attributes = serde_json::from_str(json).unwrap();
            assert_eq!(attributes.cache_read, Some(7), "{json}");
            assert_eq!(attributes.cache_write, Some(3), "{json}");
        }
    }

    #[test]
    fn edge_159_text_is_no_number_where_numbers_have_a_type() {
        let json = r#"{"gen_ai.usage.input_tokens":"12","gen_ai.usage.output_tokens":-1}"#;
        let attributes: Attributes = serde_json::from_str(json).unwrap();
        assert_eq!(attributes, Attributes::default());
    }

    #[test]
    fn both_spellings_of_one_figure_count_once() {
        let json =
            r#"{"gen_ai.usage.reasoning.output_tokens":37,"gen_ai.usage.reasoning_tokens":37}"#;
        let attributes: Attributes = serde_json::from_str(json).unwrap();
        assert_eq!(attributes.reasoning, Some(37));
    }
}
