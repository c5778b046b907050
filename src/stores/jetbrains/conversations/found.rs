//! The search through a document's fields for what belongs to a turn.

use super::super::contents::{Contents, Form, file_uris};
use super::super::java_object::Value;
use super::{DEEPEST, id, same_case, time};
use crate::stores::otel::is_model;
use crate::usage::Timestamp;

/// The most files of a turn whose git root is looked for.
const MOST_FILES: usize = 8;

/// What is found in the fields of a turn.
#[derive(Default)]
pub(super) struct Found<'d> {
    /// Texts of the form that replies have.
    pub(super) reply: Contents,
    pub(super) prompts: Vec<String>,
    /// A reply that is no JSON at all.
    pub(super) plain: Option<String>,
    pub(super) model: Option<String>,
    /// How good the field is that named the model.
    pub(super) model_rank: u8,
    pub(super) answered: Option<Timestamp>,
    pub(super) is_error: bool,
    pub(super) ids: Vec<String>,
    pub(super) files: Vec<String>,
    pub(super) broken: u32,
    /// That the document gives itself.
    pub(super) id: Option<String>,
    /// A hash of all contents, where there is no id.
    pub(super) content: u64,
    /// Older sessions hold their turns.
    pub(super) inner: Vec<Value<'d>>,
}

impl<'d> Found<'d> {
    /// What is found in a document, which may stand in another one.
    pub(super) fn of(root: Value<'d>, depth: u8) -> Self {
        let mut found = Self {
            id: id(root, "id"),
            ..Self::default()
        };
        found.visit(root, "", false, depth);
        found
    }

    /// Visits a value; `answers`: it belongs to the response.
    fn visit(&mut self, value: Value<'d>, key: &str, answers: bool, depth: u8) {
        if depth > DEEPEST {
            return;
        }
        if let Some(text) = value.text() {
            return self.text(&text, key, answers);
        }
        if answers && key == "createdAt" && self.answered.is_none() {
            self.answered = time(value);
        }
        if key == "isError" && value.bool() == Some(true) {
            self.is_error = true;
        }
        for item in value.items() {
            match key {
                "turns" if item.is_map() => self.inner.push(item),
                _ => self.visit(item, key, answers, depth + 1),
            }
        }
        for (key, child) in value.entries() {
            let answers = answers || key.starts_with("response");
            self.visit(child, &key, answers, depth + 1);
        }
    }

    pub(super) fn text(&mut self, text: &str, key: &str, answers: bool) {
        let is_id = key.ends_with("Id") || key == "id";
        if is_id && (1..=64).contains(&text.len()) && self.ids.len() < 16 {
            self.ids.push(same_case(text));
        }
        match key {
            "modelName" => self.model(text, if answers { 3 } else { 2 }),
            "model" => self.model(text, 1),
            "status" if matches!(text, "error" | "failed") => self.is_error = true,
            _ => {}
        }
        let uris = text.starts_with("file://").then_some(text).map(Into::into);
        for uri in uris.into_iter().chain(file_uris(text)) {
            if self.files.len() >= MOST_FILES {
                break;
            }
            if !self.files.iter().any(|known| *known == uri) {
                self.files.push(uri.into_owned());
            }
        }
        let mut contents = Contents::default();
        let form = contents.add(text);
        if form == Form::Contents && self.id.is_none() {
            self.content ^= xxhash_rust::xxh3::xxh3_64(text.as_bytes());
        }
        match form {
            Form::Contents if contents.has_subgraph || !contents.rounds.is_empty() || answers => {
                self.reply.merge(contents);
            }
            Form::Contents => {
                let prompts = contents.markdown.into_iter().map(|(_, text)| text);
                self.prompts.extend(prompts);
            }
            Form::Broken => self.broken += 1,
            Form::Other if answers && key == "stringContent" && !text.trim().is_empty() => {
                self.plain = Some(text.to_owned());
            }
            Form::Other => {}
        }
    }

    fn model(&mut self, name: &str, rank: u8) {
        if rank > self.model_rank && is_model(name) {
            self.model = Some(name.to_owned());
            self.model_rank = rank;
        }
    }
}
