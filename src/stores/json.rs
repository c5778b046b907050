//! Lenient pieces of JSON: a field of an unexpected shape is unknown, and its line is read all the same.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// For `deserialize_with`: `None` where the value isn't what was expected.
pub(crate) fn lenient<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let raw = <&RawValue>::deserialize(deserializer)?;
    Ok(serde_json::from_str(raw.get()).ok())
}

/// Text, borrowed from the line where it has no escapes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Text<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

impl Text<'_> {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// The text of an optional field, if it isn't empty.
pub(crate) fn filled<'a>(text: &'a Option<Text<'_>>) -> Option<&'a str> {
    text.as_ref()
        .map(Text::as_str)
        .filter(|text| !text.is_empty())
}

/// A number as the stores write it: integers may be floats (`250000000.0`). Finite and not negative.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(try_from = "f64")]
pub(crate) struct Number(pub(crate) f64);

impl TryFrom<f64> for Number {
    type Error = &'static str;

    fn try_from(number: f64) -> Result<Self, Self::Error> {
        match number {
            n if n.is_finite() && n >= 0.0 => Ok(Self(n)),
            _ => Err("not a count"),
        }
    }
}

impl Number {
    /// The whole part. Counts of tokens and nano-AIU are exact: they are far below 2^53.
    pub(crate) fn count(self) -> u64 {
        self.0 as u64
    }
}

/// A count in a record: absent, there but no count, or known.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) enum Figure {
    #[default]
    Absent,
    /// Text, negative, null or absurd: unknown, and worth a word.
    Odd,
    Known(Number),
}

impl Figure {
    pub(crate) fn count(self) -> Option<u64> {
        self.number().map(|n| n as u64)
    }

    pub(crate) fn number(self) -> Option<f64> {
        match self {
            Self::Known(number) => Some(number.0),
            Self::Absent | Self::Odd => None,
        }
    }
}

impl<'de> Deserialize<'de> for Figure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(lenient(deserializer)?.map_or(Self::Odd, Self::Known))
    }
}

/// Whether a line can be a JSON object at all.
pub(crate) fn looks_like_object(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    line.first() == Some(&b'{') && line.last() == Some(&b'}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Fields<'a> {
        #[serde(default, deserialize_with = "lenient", borrow)]
        text: Option<Text<'a>>,
        #[serde(default, deserialize_with = "lenient")]
        count: Option<Number>,
    }

    #[test]
    fn edge_010_and_039_only_finite_numbers_that_are_not_negative_count() {
        for (json, want) in [
            (r#"{"count":250000000.0}"#, Some(250_000_000)),
            (r#"{"count":12}"#, Some(12)),
            (r#"{"count":"12"}"#, None),
            (r#"{"count":-3}"#, None),
            (r#"{"count":null}"#, None),
            (r#"{"count":1e999}"#, None),
            (r#"{"count":[1]}"#, None),
            ("{}", None),
        ] {
            let count = serde_json::from_str::<Fields<'_>>(json).map(|f| f.count);
            assert_eq!(count.ok().flatten().map(Number::count), want, "{json}");
        }
    }

    #[test]
    fn a_text_of_another_type_is_unknown_and_an_empty_one_not_filled() {
        for (json, want) in [
            (r#"{"text":"a\u00e9"}"#, Some("aé")),
            (r#"{"text":5}"#, None),
            (r#"{"text":{"a":[]}}"#, None),
            (r#"{"text":"\ud800"}"#, None),
            (r#"{"text":""}"#, None),
        ] {
            let fields: Fields<'_> = serde_json::from_str(json).unwrap();
            assert_eq!(filled(&fields.text), want, "{json}");
        }
    }
}
