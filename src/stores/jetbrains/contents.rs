//! The contents of a turn: JSON text in JSON text, level by level.
//!
//! A map of ids to `{"type":"Value"|"Subgraph","value":"<json>"}`; a subgraph is such a map again, a value
//! is a record `{"type":T,"data":"<json>"}`. What the plugin shows beside the reply (steps, thoughts,
//! pending changes, …) are records too, and no output.

mod by_level;
mod in_place;
mod nested;

use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::stores::otel::is_model;

/// How deep subgraphs may nest.
const DEEPEST: u8 = 8;

/// The most records that are kept of one turn.
const MOST_RECORDS: usize = 10_000;

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
#[derive(Debug, Default, PartialEq, Eq)]
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
        let mut in_place = Self::default();
        if in_place.read_in_place(text).is_some() {
            self.merge(in_place);
            return Form::Contents;
        }
        if self.read_by_level(text, 0) {
            return Form::Contents;
        }
        let names_forms = |form: &[u8]| memchr::memmem::find(text.as_bytes(), form).is_some();
        match names_forms(b"\"Subgraph\"") || names_forms(b"\"Value\"") {
            true => Form::Broken,
            false => Form::Other,
        }
    }

    /// Adds what another text of the same turn holds.
    pub(super) fn merge(&mut self, other: Self) {
        if self.records() == 0 {
            (self.rounds, self.markdown) = (other.rounds, other.markdown);
        } else {
            for round in other.rounds {
                self.add_round(round);
            }
            for (key, text) in other.markdown {
                self.add_markdown(key, text);
            }
        }
        self.has_subgraph |= other.has_subgraph;
        self.is_error |= other.is_error;
        self.model = other.model.or(self.model.take());
    }

    /// A record without a type may name the model.
    fn name_model(&mut self, model: Option<&str>) {
        if let Some(model) = model.filter(|model| is_model(model)) {
            self.model = Some(model.to_owned());
        }
    }

    fn is_full(&self) -> bool {
        self.records() >= MOST_RECORDS
    }

    fn records(&self) -> usize {
        self.rounds.len() + self.markdown.len()
    }

    /// The same record may be in several texts of a turn; the same round may have been written under two
    /// keys while it grew.
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

    fn add_markdown(&mut self, key: String, text: String) {
        match self.markdown.iter_mut().find(|(known, _)| *known == key) {
            Some((_, known)) if known.len() < text.len() => *known = text,
            Some(_) => {}
            None => self.markdown.push((key, text)),
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
    static TYPE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"type\""));
    let head = text.trim_start().as_bytes();
    head.first() == Some(&b'{') && TYPE.find(head).is_some()
}

/// The `file://` URIs that stand in quotes in a text of any nesting, not yet decoded, in the order of the
/// text.
pub(super) fn file_uris(text: &str) -> impl Iterator<Item = Cow<'_, str>> {
    static URI: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"file://"));
    URI.find_iter(text.as_bytes()).filter_map(|at| {
        let uri = text.get(at + 1..)?;
        let end = uri.find(['"', '\\', '\n'])?;
        uri.get(..end).map(Cow::Borrowed)
    })
}

/// The length that a tokenizer's work is estimated from.
pub(super) fn utf16_units(text: &str) -> u64 {
    let units = |byte: &u8| u8::from((*byte as i8) >= -0x40) + u8::from(*byte >= 0xf0);
    // At most two for each byte: no sum of a chunk overflows, and many bytes are looked at at once.
    let chunks = text.as_bytes().chunks(64);
    let sums = chunks.map(|chunk| chunk.iter().map(units).sum::<u8>());
    sums.map(u64::from).sum()
}

#[cfg(test)]
mod tests;
