//! Reading contents with a JSON parser, one level after the other: for what can't be read in place.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::{Contents, DEEPEST, Round};
use crate::stores::json::{Text, filled, lenient};

impl Contents {
    /// `true` if `text` is contents, or at least told something before it broke off.
    pub(super) fn read_by_level(&mut self, text: &str, depth: u8) -> bool {
        let mut json = serde_json::Deserializer::from_str(text);
        let before = self.records();
        let whole = Graph {
            contents: self,
            depth,
        }
        .deserialize(&mut json)
        .is_ok();
        whole || self.records() > before
    }

    fn record(&mut self, key: &str, text: &str) {
        let Ok(record) = serde_json::from_str::<Record<'_>>(text) else {
            return;
        };
        self.is_error |= record.is_error();
        let kind = filled(&record.kind);
        if self.is_full() {
            return;
        }
        match (kind, &record.data) {
            (Some("AgentRound"), Some(data)) => {
                if let Ok(data) = serde_json::from_str(data.as_str()) {
                    self.round(key, data);
                }
            }
            (Some("Markdown"), Some(data)) => {
                if let Ok(Reply { text: Some(reply) }) = serde_json::from_str(data.as_str()) {
                    self.add_markdown(key.to_owned(), reply.0.into_owned());
                }
            }
            (None, _) => {
                self.name_model(filled(&record.model_name).or(filled(&record.model)));
            }
            _ => {}
        }
    }

    fn round(&mut self, key: &str, data: RoundData<'_>) {
        self.is_error |= data.is_error == Some(true);
        self.add_round(Round {
            key: key.to_owned(),
            id: data.round_id,
            reply: data
                .reply
                .map(|reply| reply.0.into_owned())
                .unwrap_or_default(),
            calls_tools: data.tool_calls.is_some_and(|Filled(filled)| filled),
        });
    }
}

/// The map of ids, read entry by entry.
struct Graph<'c> {
    contents: &'c mut Contents,
    depth: u8,
}

impl<'de> DeserializeSeed<'de> for Graph<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Graph<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of records")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(Text(key)) = map.next_key()? {
            let entry: Entry<'de> = map.next_value()?;
            let Some(value) = &entry.value else {
                continue;
            };
            match filled(&entry.kind) {
                Some("Subgraph") if self.depth < DEEPEST => {
                    self.contents.has_subgraph = true;
                    self.contents.read_by_level(value.as_str(), self.depth + 1);
                }
                Some("Value") => self.contents.record(&key, value.as_str()),
                _ => {}
            }
        }
        Ok(())
    }
}

#[derive(Deserialize)]
struct Entry<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    #[serde(borrow)]
    value: Option<Text<'a>>,
}

/// A record, of which `data` is only unescaped where it matters.
#[derive(Default)]
struct Record<'a> {
    kind: Option<Text<'a>>,
    data: Option<Text<'a>>,
    model: Option<Text<'a>>,
    model_name: Option<Text<'a>>,
    status: Option<Text<'a>>,
    is_error: bool,
}

impl Record<'_> {
    fn is_error(&self) -> bool {
        self.is_error
            || filled(&self.kind) == Some("Error")
            || matches!(filled(&self.status), Some("error" | "failed"))
    }
}

impl<'de> Deserialize<'de> for Record<'de> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_map(RecordVisitor)
    }
}

struct RecordVisitor;

impl<'de> Visitor<'de> for RecordVisitor {
    type Value = Record<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a record")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut record = Record::default();
        while let Some(Text(key)) = map.next_key()? {
            match key.as_ref() {
                "type" => record.kind = map.next_value::<Lenient<'de>>()?.0,
                "data"
                    if matches!(filled(&record.kind), None | Some("AgentRound" | "Markdown")) =>
                {
                    record.data = map.next_value::<Lenient<'de>>()?.0;
                }
                "model" => record.model = map.next_value::<Lenient<'de>>()?.0,
                "modelName" => record.model_name = map.next_value::<Lenient<'de>>()?.0,
                "status" => record.status = map.next_value::<Lenient<'de>>()?.0,
                "isError" => record.is_error = map.next_value::<Flag>()?.0 == Some(true),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(record)
    }
}

/// A text, or nothing if it is something else.
#[derive(Deserialize)]
#[serde(transparent)]
struct Lenient<'a>(#[serde(borrow, deserialize_with = "lenient")] Option<Text<'a>>);

#[derive(Deserialize)]
#[serde(transparent)]
struct Flag(#[serde(deserialize_with = "lenient")] Option<bool>);

#[derive(Deserialize)]
struct Reply<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RoundData<'a> {
    #[serde(default, deserialize_with = "id_text")]
    round_id: Option<String>,
    #[serde(default, borrow, deserialize_with = "lenient")]
    reply: Option<Text<'a>>,
    tool_calls: Option<Filled>,
    #[serde(default, deserialize_with = "lenient")]
    is_error: Option<bool>,
}

/// Round ids are numbers or texts.
fn id_text<'de, D: Deserializer<'de>>(json: D) -> Result<Option<String>, D::Error> {
    let raw = <&serde_json::value::RawValue>::deserialize(json)?.get();
    Ok((raw != "null").then(|| raw.trim_matches('"').to_owned()))
}

/// Whether a list holds anything.
struct Filled(bool);

impl<'de> Deserialize<'de> for Filled {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_any(FilledVisitor)
    }
}

struct FilledVisitor;

impl<'de> Visitor<'de> for FilledVisitor {
    type Value = Filled;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Filled, A::Error> {
        let mut filled = false;
        while items.next_element::<IgnoredAny>()?.is_some() {
            filled = true;
        }
        Ok(Filled(filled))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Filled, A::Error> {
        let mut filled = false;
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            filled = true;
        }
        Ok(Filled(filled))
    }

    fn visit_str<E>(self, text: &str) -> Result<Filled, E> {
        Ok(Filled(!matches!(text, "" | "[]")))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Filled, E> {
        Ok(Filled(false))
    }

    fn visit_unit<E>(self) -> Result<Filled, E> {
        Ok(Filled(false))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Filled, E> {
        Ok(Filled(false))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Filled, E> {
        Ok(Filled(false))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Filled, E> {
        Ok(Filled(false))
    }
}
