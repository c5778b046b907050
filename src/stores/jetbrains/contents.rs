//! The contents of a turn: JSON text in JSON text, level by level.
//!
//! A map of ids to `{"type":"Value"|"Subgraph","value":"<json>"}`; a subgraph is such a map again, a value
//! is a record `{"type":T,"data":"<json>"}`. What the plugin shows beside the reply (steps, thoughts,
//! pending changes, …) are records too, and no output.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::stores::json::{Text, filled, lenient};
use crate::stores::otel::is_model;

/// How deep subgraphs may nest.
const DEEPEST: u8 = 8;

/// The most records that are kept of one turn.
const MOST_RECORDS: usize = 100_000;

/// One round of agent mode: one call of the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Round {
    /// The record's key in its map.
    key: String,
    id: Option<String>,
    /// Empty where the round only called tools.
    pub(super) reply: String,
    pub(super) calls_tools: bool,
}

/// What one or more texts of a turn hold.
#[derive(Debug, Default)]
pub(super) struct Contents {
    pub(super) rounds: Vec<Round>,
    /// In ask mode the reply; in agent mode, and in what isn't a `Subgraph`, the user's prompt.
    pub(super) markdown: Vec<(String, String)>,
    /// Some text was of the form that new plugins write for replies.
    pub(super) has_subgraph: bool,
    pub(super) is_error: bool,
    pub(super) model: Option<String>,
}

/// What a text turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Contents,
    /// Meant to be contents, and broken.
    Broken,
    Other,
}

impl Contents {
    /// Adds what `text` holds.
    pub(super) fn add(&mut self, text: &str) -> Form {
        if !looks_like_contents(text) {
            return Form::Other;
        }
        if self.graph(text, 0) {
            return Form::Contents;
        }
        let names_forms = |form: &[u8]| memchr::memmem::find(text.as_bytes(), form).is_some();
        match names_forms(b"\"Subgraph\"") || names_forms(b"\"Value\"") {
            true => Form::Broken,
            false => Form::Other,
        }
    }

    fn graph(&mut self, text: &str, depth: u8) -> bool {
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

    /// Adds what another text of the same turn holds.
    pub(super) fn merge(&mut self, other: Self) {
        for round in other.rounds {
            self.add_round(round);
        }
        for (key, text) in other.markdown {
            self.markdown(&key, text);
        }
        self.has_subgraph |= other.has_subgraph;
        self.is_error |= other.is_error;
        self.model = other.model.or(self.model.take());
    }

    fn records(&self) -> usize {
        self.rounds.len() + self.markdown.len()
    }

    fn record(&mut self, key: &str, text: &str) {
        let Ok(record) = serde_json::from_str::<Record<'_>>(text) else {
            return;
        };
        self.is_error |= record.is_error();
        let kind = filled(&record.kind);
        if self.records() >= MOST_RECORDS {
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
                    self.markdown(key, reply.0.into_owned());
                }
            }
            // Where nothing else says which kind of record it is, it may name the model.
            (None, _) => {
                let model = filled(&record.model_name).or(filled(&record.model));
                if let Some(model) = model.filter(|model| is_model(model)) {
                    self.model = Some(model.to_owned());
                }
            }
            _ => {}
        }
    }

    /// The same record may be in several texts of a turn; the same round may have been written under two
    /// keys while it grew.
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

    fn add_round(&mut self, round: Round) {
        match self.rounds.iter_mut().find(|known| known.is_same(&round)) {
            Some(known) => {
                known.calls_tools |= round.calls_tools;
                if round.reply.len() > known.reply.len() {
                    known.reply = round.reply;
                }
            }
            None => self.rounds.push(round),
        }
    }

    fn markdown(&mut self, key: &str, text: String) {
        match self.markdown.iter_mut().find(|(known, _)| known == key) {
            Some((_, known)) if known.len() < text.len() => *known = text,
            Some(_) => {}
            None => self.markdown.push((key.to_owned(), text)),
        }
    }
}

impl Round {
    fn is_same(&self, other: &Self) -> bool {
        if self.key == other.key {
            return true;
        }
        let (a, b) = (&self.reply, &other.reply);
        let grew = !a.is_empty() && !b.is_empty() && (a.starts_with(b) || b.starts_with(a));
        self.id.is_some() && self.id == other.id && grew
    }
}

/// A cheap test that texts of other kinds rarely pass.
fn looks_like_contents(text: &str) -> bool {
    let head = text.trim_start().as_bytes();
    head.first() == Some(&b'{') && memchr::memmem::find(head, b"\"type\"").is_some()
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
                    self.contents.graph(value.as_str(), self.depth + 1);
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

/// The `file://` URIs that stand in quotes in a text of any nesting, not yet decoded, in the order of the
/// text.
pub(super) fn file_uris(text: &str) -> impl Iterator<Item = Cow<'_, str>> {
    memchr::memmem::find_iter(text.as_bytes(), b"\"file://").filter_map(|at| {
        let uri = text.get(at + 1..)?;
        let end = uri.find(['"', '\\', '\n'])?;
        uri.get(..end).map(Cow::Borrowed)
    })
}

/// The length that a tokenizer's work is estimated from.
pub(super) fn utf16_units(text: &str) -> u64 {
    let units = |byte: &u8| u64::from((*byte as i8) >= -0x40) + u64::from(*byte >= 0xf0);
    text.as_bytes().iter().map(units).sum()
}
