//! Reading contents in one go, without unescaping more than replies. Whatever is not as the plugin writes
//! it is left to the parser that reads level by level.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::nested::{Escaped, Nested};
use super::{Contents, DEEPEST, Round};

const NUMBER: &[u8] = b"u00";
static NUMBERS: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(NUMBER));

impl Contents {
    /// `None` if the text, whatever it is, can't be read in place.
    pub(super) fn read_in_place(&mut self, text: &str) -> Option<()> {
        // Quotes and backslashes by their numbers would be overlooked.
        let is_mark = |at: usize| {
            let number = text
                .as_bytes()
                .get(at + NUMBER.len()..at + NUMBER.len() + 2);
            matches!(number, Some(b"22" | b"5c" | b"5C"))
        };
        if NUMBERS.find_iter(text.as_bytes()).any(is_mark) {
            return None;
        }
        let mut json = Nested::new(text);
        self.graph(&mut json, 0)?;
        json.is_at_end().then_some(())
    }

    fn graph(&mut self, json: &mut Nested<'_>, depth: u8) -> Option<()> {
        if depth > DEEPEST {
            return None;
        }
        json.object(&mut |key, json| {
            let mut kind = None;
            let mut early = None;
            json.object(&mut |name, json| match (name.text, kind) {
                (b"type", _) => {
                    kind = Some(json.string()?.text);
                    Some(())
                }
                (b"value", Some(kind)) => self.value(kind, key, json, depth),
                // What it is has to be known first.
                (b"value", None) => {
                    early = Some(*json);
                    json.skip()
                }
                _ => json.skip(),
            })?;
            match (kind, early) {
                (Some(kind), Some(mut json)) => self.value(kind, key, &mut json, depth),
                _ => Some(()),
            }
        })
    }

    fn value(
        &mut self,
        kind: &[u8],
        key: Escaped<'_>,
        json: &mut Nested<'_>,
        depth: u8,
    ) -> Option<()> {
        match kind {
            b"Subgraph" => {
                self.has_subgraph = true;
                json.within(&mut |json| self.graph(json, depth + 1))
            }
            b"Value" => json.within(&mut |json| self.place(key, json)),
            _ => json.skip(),
        }
    }

    /// The record that is the value of `key`.
    fn place(&mut self, key: Escaped<'_>, json: &mut Nested<'_>) -> Option<()> {
        if self.is_full() {
            return None;
        }
        let mut kind = None;
        let mut early = None;
        let (mut model, mut model_name) = (None, None);
        let mut is_error = false;
        json.object(&mut |name, json| {
            if !json.is_at_string() {
                is_error |= name.text == b"isError" && json.is_at_word(b"true");
                return json.skip();
            }
            match (name.text, kind) {
                (b"data", Some(kind)) => return self.data(kind, key, json),
                (b"data", None) => early = Some(*json),
                _ => {}
            }
            let value = json.string()?;
            match name.text {
                b"type" => kind = Some(value.text),
                b"model" => model = Some(value),
                b"modelName" => model_name = Some(value),
                b"status" => is_error |= matches!(value.text, b"error" | b"failed"),
                _ => {}
            }
            Some(())
        })?;
        self.is_error |= is_error || kind == Some(b"Error".as_slice());
        match (kind, early) {
            (Some(kind), Some(mut json)) => self.data(kind, key, &mut json)?,
            (Some(_), None) => {}
            (None, _) => {
                let name = |name: Option<Escaped<'_>>| name.and_then(Escaped::unescaped);
                let filled = |name: &String| !name.is_empty();
                let model = name(model_name)
                    .filter(filled)
                    .or(name(model).filter(filled));
                self.name_model(model.as_deref());
            }
        }
        Some(())
    }

    fn data(&mut self, kind: &[u8], key: Escaped<'_>, json: &mut Nested<'_>) -> Option<()> {
        match kind {
            b"AgentRound" => json.within(&mut |json| self.round_in_place(key, json)),
            b"Markdown" => json.within(&mut |json| self.markdown_in_place(key, json)),
            _ => json.skip(),
        }
    }

    fn markdown_in_place(&mut self, key: Escaped<'_>, json: &mut Nested<'_>) -> Option<()> {
        json.object(&mut |name, json| {
            if name.text == b"text" {
                let text = json.string()?.unescaped()?;
                self.add_markdown(key.unescaped()?, text);
                return Some(());
            }
            json.skip()
        })
    }

    fn round_in_place(&mut self, key: Escaped<'_>, json: &mut Nested<'_>) -> Option<()> {
        let mut round = Round {
            key: key.unescaped()?,
            id: None,
            reply: String::new(),
            calls_tools: false,
        };
        let mut is_error = false;
        json.object(&mut |name, json| {
            match name.text {
                b"roundId" if json.is_at_string() => round.id = Some(json.string()?.unescaped()?),
                b"roundId" => {
                    let id = Some(json.scalar()?).filter(|&id| id != b"null");
                    round.id = id.map(|id| String::from_utf8_lossy(id).into_owned());
                }
                b"reply" if json.is_at_string() => round.reply = json.string()?.unescaped()?,
                b"toolCalls" => {
                    let mut ahead = *json;
                    let is_list = ahead.eats(b'[') && !ahead.is_at(b']');
                    let is_map = ahead.eats(b'{') && !ahead.is_at(b'}');
                    round.calls_tools = is_list || is_map;
                    // Nobody writes a text here; if somebody does, it isn't read in place.
                    if json.is_at_string() {
                        return None;
                    }
                    json.skip()?;
                }
                b"isError" => {
                    is_error |= json.is_at_word(b"true");
                    json.skip()?;
                }
                _ => json.skip()?,
            }
            Some(())
        })?;
        self.is_error |= is_error;
        self.add_round(round);
        Some(())
    }
}
