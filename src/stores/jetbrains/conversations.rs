//! From a Nitrite document to the sessions and turns that it tells of. Replies are found by their shape;
//! field names are only used where the plugin's public readers agree on them.

mod found;

use serde::Deserialize;

use super::contents::{Round, utf16_units};
use super::java_object::{Document, Value};
use crate::stores::json::{Number, Text, lenient};
use crate::stores::otel::is_model;
use crate::usage::{Credits, Key, Project, Timestamp};
use found::Found;

/// How deep documents nest.
const DEEPEST: u8 = 16;

/// Only rounds whose text is at least this long are taken for the same rounds in another document.
const TELLING_UNITS: u64 = 32;
const MOST_PREFIXES: usize = 64;

/// What kind of documents a map holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entity {
    Session,
    Turn,
}

impl Entity {
    /// By the name of a map: the class of its entities, with `+key` behind it in keyed repositories.
    pub(super) fn of_map(name: &str) -> Option<Self> {
        let class = name.split('+').next()?;
        if class.starts_with('$') {
            return None;
        }
        let class = class.rsplit('.').next()?.strip_prefix("Nt")?;
        if class.ends_with("Session") {
            Some(Self::Session)
        } else if class.ends_with("Turn") {
            Some(Self::Turn)
        } else {
            None
        }
    }
}

/// What a document says of its conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Session {
    pub(super) id: String,
    pub(super) conversation: Option<String>,
    pub(super) project: Option<String>,
    pub(super) model: Option<String>,
    pub(super) created: Option<i64>,
    /// By message.
    pub(super) credits: Vec<(String, u64)>,
}

impl Session {
    /// The conversation's identity, which the CLI's stores may share.
    pub(super) fn scope(&self) -> &str {
        self.conversation.as_deref().unwrap_or(&self.id)
    }
}

/// One prompt and what was answered.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Turn {
    pub(super) id: Option<String>,
    /// What is named as its session or conversation, the likeliest first.
    pub(super) sessions: Vec<String>,
    /// All ids in the turn: its session may be told by another name, credits name a message.
    pub(super) ids: Vec<String>,
    pub(super) created: Option<Timestamp>,
    /// Model calls with an answer; 0 where there was none.
    pub(super) calls: u32,
    /// UTF-16 units of the replies, joined by line ends; 0 where all calls only called tools.
    pub(super) units: u64,
    pub(super) is_error: bool,
    pub(super) model: Option<String>,
    /// `file://` URIs of files that the turn names.
    pub(super) files: Vec<String>,
    /// Hashes of the first round, the first two, and so on, where the rounds are of an old plugin: there a
    /// longer document contains a former one.
    prefixes: Vec<u64>,
    /// A hash of the replies, else of all that the turn holds, where it has no id.
    content: u64,
}

impl Turn {
    /// The turn's identities within `scope`: its id, else its content.
    pub(super) fn keys(&self, scope: &str) -> Vec<Key> {
        // An id that isn't random is only one within its conversation.
        let own = self.id.as_deref().map(|id| match id.len() {
            ..16 => Key::of("jetbrains turn", &[scope, id]),
            _ => Key::of("jetbrains turn", &[&same_case(id)]),
        });
        let content = || Key::of("jetbrains content", &[scope, &self.content.to_string()]);
        let prefix = |hash: &u64| Key::of("jetbrains rounds", &[scope, &hash.to_string()]);
        let first = own.unwrap_or_else(content);
        std::iter::once(first)
            .chain(self.prefixes.iter().map(prefix))
            .collect()
    }

    fn take(&mut self, found: Found<'_>) {
        let Found {
            reply,
            prompts,
            plain,
            model,
            is_error,
            content,
            ..
        } = found;
        self.content = content;
        self.is_error = is_error || reply.is_error;
        self.model = model.or(reply.model);
        let rounds = &reply.rounds;
        if !rounds.is_empty() {
            self.measure(rounds.iter().map(|round| round.reply.as_str()));
            let only_tools = || rounds.iter().any(|round| round.calls_tools);
            // What failed before any reply is a failure, whatever tools it had begun to call.
            if self.units > 0 || (!self.is_error && only_tools()) {
                self.calls = u32::try_from(rounds.len()).unwrap_or(u32::MAX);
            }
            if !reply.has_subgraph {
                self.prefixes = prefixes(rounds);
            }
            return;
        }
        // What failed before the first round leaves the prompt alone.
        let is_prompt = |text: &str| self.is_error && prompts.iter().any(|prompt| prompt == text);
        let replies = reply.markdown.iter().map(|(_, text)| text.as_str());
        let replies: Vec<&str> = replies
            .filter(|text| !text.is_empty() && !is_prompt(text))
            .collect();
        match (replies.as_slice(), &plain) {
            ([], Some(plain)) if !is_prompt(plain) => self.measure(std::iter::once(plain.as_str())),
            _ => self.measure(replies.into_iter()),
        }
        self.calls = u32::from(self.units > 0);
    }

    fn measure<'r>(&mut self, replies: impl Iterator<Item = &'r str>) {
        let mut hash = self.id.is_none().then(xxhash_rust::xxh3::Xxh3::new);
        let mut filled = 0;
        for reply in replies.filter(|reply| !reply.is_empty()) {
            self.units += utf16_units(reply);
            filled += 1;
            if let Some(hash) = &mut hash {
                hash.update(reply.as_bytes());
                hash.update(b"\n");
            }
        }
        self.units += u64::saturating_sub(filled, 1);
        if filled > 0
            && let Some(hash) = hash
        {
            self.content = hash.digest();
        }
    }

    /// Nothing was answered and nothing failed: a pending turn, or one of sidecar records alone.
    pub(super) fn is_nothing(&self) -> bool {
        self.calls == 0 && !self.is_error
    }
}

fn prefixes(rounds: &[Round]) -> Vec<u64> {
    let mut hash = xxhash_rust::xxh3::Xxh3::new();
    let mut units = 0;
    let mut prefixes = Vec::new();
    for round in rounds.iter().take(MOST_PREFIXES) {
        hash.update(round.reply.as_bytes());
        hash.update(&[0xff]);
        units += utf16_units(&round.reply);
        if units >= TELLING_UNITS {
            prefixes.push(hash.digest());
        }
    }
    prefixes
}

/// UUIDs are spelt in either case.
pub(super) fn same_case(id: &str) -> String {
    match id.len() {
        36 => id.to_ascii_lowercase(),
        _ => id.to_owned(),
    }
}

/// The id that a field of a document gives.
fn id(document: Value<'_>, key: &str) -> Option<String> {
    let id = document.get(key).and_then(Value::text)?;
    (!id.is_empty()).then(|| same_case(&id))
}

/// What one document tells.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) session: Option<Session>,
    pub(super) turns: Vec<Turn>,
    /// Contents that couldn't be read.
    pub(super) broken: u32,
}

/// Reads a document.
pub(super) fn read(document: &Document<'_>, entity: Entity) -> Told {
    let root = document.root();
    let mut told = Told::default();
    let mut found = Found::of(root, 0);
    if entity == Entity::Session {
        told.session = session(root);
    }
    let inner = std::mem::take(&mut found.inner);
    told.broken += found.broken;
    told.turns.extend(turn(root, found, told.session.as_ref()));
    for root in inner {
        let found = Found::of(root, 1);
        told.broken += found.broken;
        told.turns.extend(turn(root, found, told.session.as_ref()));
    }
    told
}

fn session(root: Value<'_>) -> Option<Session> {
    let text = |key| root.get(key).and_then(Value::text);
    let own = text("id").or_else(|| text("conversationId"))?;
    let model = text("modelName").or_else(|| text("model"));
    Some(Session {
        id: same_case(&own),
        conversation: id(root, "conversationId"),
        project: project_name(root, 0),
        model: model
            .filter(|model| is_model(model))
            .map(|model| model.into_owned()),
        created: root.get("createdAt").and_then(time).map(|time| time.0),
        credits: text("turnCreditsJson").map_or(Vec::new(), |json| credits(&json)),
    })
}

/// The first usable `projectName` in a document.
fn project_name(value: Value<'_>, depth: u8) -> Option<String> {
    if depth > DEEPEST {
        return None;
    }
    let own = value.entries().filter(|(key, _)| key == "projectName");
    let own = own.filter_map(|(_, value)| value.text());
    let names = own.flat_map(|name| usable_name(&name)).next();
    names.or_else(|| {
        let mut children = value.entries().filter(|(key, _)| key != "turns");
        children.find_map(|(_, child)| project_name(child, depth + 1))
    })
}

/// A project's name: 1 to 128 characters, none of them a control character.
pub(super) fn usable_name(name: &str) -> Option<String> {
    let usable = (1..=128).contains(&name.chars().count()) && !name.chars().any(char::is_control);
    usable
        .then(|| Project::named(name))
        .flatten()
        .map(|project| project.as_str().to_owned())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TurnCredits<'a> {
    #[serde(borrow)]
    message_id: Text<'a>,
    #[serde(default, deserialize_with = "lenient")]
    credits: Option<Number>,
}

/// Nano-AIU by message, of a text such as `[{"messageId":"…","credits":1.5}]`.
fn credits(json: &str) -> Vec<(String, u64)> {
    let Ok(entries) = serde_json::from_str::<Vec<&serde_json::value::RawValue>>(json) else {
        return Vec::new();
    };
    entries
        .into_iter()
        .filter_map(|entry| serde_json::from_str::<TurnCredits<'_>>(entry.get()).ok())
        .filter_map(|entry| {
            let credits = Credits::from_credits(entry.credits?.0)?;
            Some((same_case(entry.message_id.as_str()), credits.0))
        })
        .collect()
}

fn turn(root: Value<'_>, mut found: Found<'_>, session: Option<&Session>) -> Option<Turn> {
    let mut turn = Turn {
        id: found.id.take(),
        created: root.get("createdAt").and_then(time).or(found.answered),
        files: std::mem::take(&mut found.files),
        ids: std::mem::take(&mut found.ids),
        ..Turn::default()
    };
    turn.sessions
        .extend(session.map(|session| session.id.clone()));
    let named = ["sessionId", "conversationId"].into_iter();
    turn.sessions.extend(named.filter_map(|key| id(root, key)));
    turn.take(found);
    (!turn.is_nothing()).then_some(turn)
}

/// The turn that contents without a document around them tell of, and its replies.
pub(super) fn of_contents(text: &str) -> Option<(Turn, String)> {
    let mut found = Found::default();
    found.text(text, "contents", false);
    let replies: Vec<&str> = match found.reply.rounds.is_empty() {
        true => found
            .reply
            .markdown
            .iter()
            .map(|(_, text)| text.as_str())
            .collect(),
        false => found
            .reply
            .rounds
            .iter()
            .map(|round| round.reply.as_str())
            .collect(),
    };
    let replies = replies.into_iter().filter(|reply| !reply.is_empty());
    let joined = replies.collect::<Vec<_>>().join("\n");
    let mut turn = Turn {
        files: found.files.clone(),
        ..Turn::default()
    };
    turn.take(found);
    (!turn.is_nothing()).then_some((turn, joined))
}

/// Milliseconds since 1970, or ISO 8601.
fn time(value: Value<'_>) -> Option<Timestamp> {
    match value.integer() {
        Some(millis) => Timestamp::plausible(millis),
        None => Timestamp::parse_iso(&value.text()?),
    }
}
