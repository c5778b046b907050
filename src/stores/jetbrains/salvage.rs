//! When no version of a store's page tree can be read: a search of the file's bytes for documents and for
//! contents of turns. It also finds what was deleted or replaced long ago, so it is only done where there
//! never was anything better.

use std::collections::{BTreeMap, HashSet};
use std::io;

use memchr::{memchr, memmem};

use super::conversations::{self, Entity, Session, Turn, same_case, usable_name};
use super::java_object::Document;
use super::modified_utf8;
use super::mvstore::ReadAt;
use crate::stores::otel::is_model;

/// How much of the file is in memory.
const WINDOW: usize = 16 << 20;
/// The longest document or text that is recovered.
const LONGEST: usize = WINDOW / 2;
/// How much of a file is searched.
const MOST_BYTES: u64 = 1 << 30;
/// The most turns of one file.
const MOST_TURNS: usize = 100_000;
/// How much text is kept to recognise former versions by.
const MOST_TEXT: usize = 8 << 20;

const DOCUMENT: &[u8] = b"\xac\xed\0\x05sr\0+org.dizitart.no2.collection.NitriteDocument";
/// What follows the first key of contents, unless they are inside of others.
const ENTRY: &[u8] = b"\":{\"type\":\"";

/// What was recovered.
#[derive(Debug, Default)]
pub(super) struct Salvage {
    pub(super) sessions: Vec<Session>,
    pub(super) turns: Vec<Turn>,
    pub(super) bytes: u64,
    /// Names that stand near no conversation's id.
    pub(super) names: Vec<String>,
}

impl Salvage {
    /// No project is named.
    pub(super) fn is_nameless(&self) -> bool {
        self.names.is_empty()
            && self
                .sessions
                .iter()
                .all(|session| session.project.is_none())
    }
}

/// Searches a file.
///
/// # Errors
/// When it can't be read.
pub(super) fn search(source: &impl ReadAt) -> io::Result<Salvage> {
    let mut search = Search::default();
    let mut buffer = vec![0; WINDOW];
    let (mut offset, mut filled, mut from) = (0, 0, 0);
    loop {
        let read = source.read_at(&mut buffer[filled..], offset + filled as u64)?;
        filled += read;
        let is_end = filled < WINDOW || offset >= MOST_BYTES;
        let window = &buffer[..filled];
        let until = if is_end { filled } else { WINDOW - LONGEST };
        from = search.window(window, from, until);
        if is_end {
            search.salvage.bytes = offset + filled as u64;
            break;
        }
        // What lies just before is kept: what a find is told by.
        let kept = from.saturating_sub(64);
        buffer.copy_within(kept..filled, 0);
        offset += kept as u64;
        (filled, from) = (filled - kept, from - kept);
    }
    Ok(search.finish())
}

/// Contents without a document around them.
#[derive(Debug)]
struct Loose {
    turn: Turn,
    replies: String,
    conversation: Option<String>,
}

#[derive(Default)]
struct Search {
    salvage: Salvage,
    loose: Vec<Loose>,
    /// Conversations and hashes of texts.
    seen: HashSet<(Option<String>, u64)>,
    text: usize,
    /// The last id before this place.
    conversation: Option<String>,
    named: BTreeMap<String, String>,
}

enum Find {
    Document,
    Contents,
}

impl Search {
    /// Searches for finds that begin in `from..until`; returns where to go on.
    fn window(&mut self, window: &[u8], mut from: usize, until: usize) -> usize {
        let documents = memmem::Finder::new(DOCUMENT);
        let entries = memmem::Finder::new(ENTRY);
        let mut document = next(&documents, window, from);
        let mut contents = next_contents(&entries, window, from);
        while from < until {
            if document.is_some_and(|at| at < from) {
                document = next(&documents, window, from);
            }
            if contents.is_some_and(|at| at < from) {
                contents = next_contents(&entries, window, from);
            }
            let (at, find) = match (document, contents) {
                (Some(document), Some(contents)) if contents < document => {
                    (contents, Find::Contents)
                }
                (Some(document), _) => (document, Find::Document),
                (None, Some(contents)) => (contents, Find::Contents),
                (None, None) => (until, Find::Document),
            };
            let at = at.min(until);
            self.between(window.get(from..at).unwrap_or_default());
            from = at;
            if at == until {
                break;
            }
            let rest = window.get(at..).unwrap_or_default();
            let rest = rest.get(..LONGEST).unwrap_or(rest);
            from += match find {
                Find::Document => self.document(rest).unwrap_or(DOCUMENT.len()),
                Find::Contents => self.contents(rest, &entries),
            };
        }
        from
    }

    /// A document is read as in a store that can be walked.
    fn document(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut document = Document::default();
        let length = document.replace(bytes).ok()?;
        let root = document.root();
        let is_session = root.get("projectName").is_some()
            || root
                .get("name")
                .is_some_and(super::java_object::Value::is_map);
        let entity = match is_session {
            true => Entity::Session,
            false => Entity::Turn,
        };
        let told = conversations::read(&document, entity);
        self.salvage.sessions.extend(told.session);
        if self.has_room() {
            self.salvage.turns.extend(told.turns);
        }
        Some(length)
    }

    fn contents(&mut self, bytes: &[u8], entries: &memmem::Finder<'_>) -> usize {
        let second = next_contents(entries, bytes, 1).unwrap_or(bytes.len());
        let length = json_length(bytes).unwrap_or(second).min(second);
        let (text, after) = bytes.split_at(length);
        // Copies of a page hold the same bytes.
        let copy = xxhash_rust::xxh3::xxh3_64(text);
        let conversation = self.conversation.clone();
        let text = modified_utf8::decode(text);
        if let Some((mut turn, mut replies)) = conversations::of_contents(&text)
            && self.has_room()
            && self.seen.insert((conversation.clone(), copy))
        {
            turn.model = turn.model.or_else(|| model_after(after));
            self.text += replies.len();
            if self.text > MOST_TEXT {
                replies.clear();
            }
            self.loose.push(Loose {
                turn,
                replies,
                conversation,
            });
        }
        length.max(1)
    }

    fn has_room(&self) -> bool {
        self.salvage.turns.len() + self.loose.len() < MOST_TURNS
    }

    /// Ids and names outside of what was found.
    fn between(&mut self, bytes: &[u8]) {
        let name = b"projectName";
        let mut from = 0;
        for at in memmem::find_iter(bytes, name) {
            self.ids(bytes.get(from..at).unwrap_or_default());
            from = at;
            let value = bytes.get(at + name.len()..).and_then(java_text);
            let Some(name) = value.as_deref().and_then(usable_name) else {
                continue;
            };
            match &self.conversation {
                Some(conversation) => drop(self.named.entry(conversation.clone()).or_insert(name)),
                None => self.salvage.names.push(name),
            }
        }
        self.ids(bytes.get(from..).unwrap_or_default());
    }

    /// The last id in `bytes`: 36 characters behind the low byte of their length, `$`.
    fn ids(&mut self, bytes: &[u8]) {
        let mut end = bytes.len();
        while let Some(at) = memchr::memrchr(b'$', bytes.get(..end).unwrap_or_default()) {
            if let Some(id) = guid(bytes.get(at + 1..).unwrap_or_default()) {
                // Contents before the first id are of the conversation that follows them.
                for loose in self.loose.iter_mut().filter(|l| l.conversation.is_none()) {
                    loose.conversation = Some(id.clone());
                }
                self.conversation = Some(id);
                return;
            }
            end = at;
        }
    }

    fn finish(mut self) -> Salvage {
        let named = self.named.into_iter().map(|(id, project)| Session {
            id,
            project: Some(project),
            ..Session::default()
        });
        self.salvage.sessions.extend(named);
        // Of one conversation's replies, in the order of the text, a former version stands just before a
        // longer one, and a copy before a copy.
        let order = |loose: &Loose| (loose.conversation.clone(), loose.replies.clone());
        self.loose.sort_by_cached_key(order);
        let mut loose = self.loose.into_iter().peekable();
        while let Some(one) = loose.next() {
            let is_former = loose.peek().is_some_and(|next| {
                !one.replies.is_empty()
                    && next.conversation == one.conversation
                    && next.replies.starts_with(&one.replies)
            });
            if !is_former {
                let mut turn = one.turn;
                turn.sessions.extend(one.conversation);
                self.salvage.turns.push(turn);
            }
        }
        self.salvage
    }
}

fn next(finder: &memmem::Finder<'_>, bytes: &[u8], from: usize) -> Option<usize> {
    Some(finder.find(bytes.get(from..)?)? + from)
}

/// The next place from which on contents of a turn stand.
fn next_contents(entries: &memmem::Finder<'_>, bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        let entry = next(entries, bytes, at)?;
        at = entry + 1;
        let form = bytes.get(entry + ENTRY.len()..).unwrap_or_default();
        let key = bytes.get(from..entry).unwrap_or_default();
        let start = if form.starts_with(b"Subgraph\"") && key.ends_with(b"{\"__first__") {
            entry.checked_sub(b"{\"__first__".len())
        } else if form.starts_with(b"Value\"") {
            entry.checked_sub(38).filter(|&start| is_old(bytes, start))
        } else {
            None
        };
        if let Some(start) = start.filter(|&start| start >= from) {
            return Some(start);
        }
    }
}

/// What old plugins wrote has nothing but its length in front of it.
fn is_old(bytes: &[u8], start: usize) -> bool {
    let framed = start
        .checked_sub(1)
        .and_then(|before| bytes.get(before))
        .is_none_or(|before| !(0x20..=0x7e).contains(before));
    let begins = bytes
        .get(start..)
        .and_then(|rest| rest.strip_prefix(b"{\""));
    framed && begins.is_some_and(|key| guid(key).is_some())
}

/// A UUID at the beginning of `bytes`, in lower case.
fn guid(bytes: &[u8]) -> Option<String> {
    let text = bytes.get(..36)?;
    let fits = text.iter().enumerate().all(|(at, byte)| match at {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    });
    let text = fits.then(|| std::str::from_utf8(text).ok())??;
    Some(same_case(text))
}

/// The length of the JSON object at the beginning: to the brace that closes it.
fn json_length(bytes: &[u8]) -> Option<usize> {
    let mut depth = 0_u32;
    let mut at = 0;
    loop {
        match bytes.get(at)? {
            b'{' => depth += 1,
            b'}' if depth == 1 => return Some(at + 1),
            b'}' => depth = depth.checked_sub(1)?,
            b'"' => at = string_end(bytes, at + 1)?,
            _ => {}
        }
        at += 1;
    }
}

/// The place of the quote that ends a string.
fn string_end(bytes: &[u8], mut from: usize) -> Option<usize> {
    loop {
        let quote = from + memchr(b'"', bytes.get(from..)?)?;
        let before = bytes.get(from..quote)?;
        let slashes = before
            .iter()
            .rev()
            .take_while(|&&byte| byte == b'\\')
            .count();
        if slashes % 2 == 0 {
            return Some(quote);
        }
        from = quote + 1;
    }
}

/// A string of an object stream: `t`, two bytes of length, text.
fn java_text(bytes: &[u8]) -> Option<String> {
    let [b't', high, low, rest @ ..] = bytes else {
        return None;
    };
    let length = usize::from(u16::from_be_bytes([*high, *low]));
    Some(modified_utf8::decode(rest.get(..length)?).into_owned())
}

/// The model that a field just behind a turn's contents names.
fn model_after(bytes: &[u8]) -> Option<String> {
    let near = bytes.get(..2048).unwrap_or(bytes);
    let end = memmem::find(near, b"\xac\xed\0\x05").unwrap_or(near.len());
    let near = near.get(..end)?;
    let field = |name: &[u8]| {
        let at = memmem::find(near, name)?;
        java_text(near.get(at + name.len()..)?)
    };
    let model = field(b"t\0\x09modelName").or_else(|| field(b"t\0\x05model"))?;
    (is_model(&model) && model.len() <= 128).then_some(model)
}

#[cfg(test)]
mod tests;
