//! Writes databases as the plugin does, over the writers of MVStore files and Java streams, for tests.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::java_writer::{Java, document, nitrite_id, stream};
use super::mvstore::Format;
use super::mvstore::writer::{Entries, Writer, object};
use crate::stores::Home;

pub(super) const ENTITIES: &str = "com.github.copilot.agent.session.persistence.nitrite.entity.";

/// The documents of a database.
#[derive(Debug, Default, Clone)]
pub(super) struct Database {
    pub(super) sessions: Vec<Java>,
    pub(super) turns: Vec<Java>,
}

impl Database {
    pub(super) fn of(sessions: &[Java], turns: &[Java]) -> Self {
        Self {
            sessions: sessions.to_vec(),
            turns: turns.to_vec(),
        }
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut writer = Writer::new(Format::V3);
        writer.per_leaf = 2;
        self.commit(&mut writer);
        writer.closed()
    }

    /// Writes the documents as the next version.
    pub(super) fn commit(&self, writer: &mut Writer) {
        let session = format!("{ENTITIES}NtAgentSession");
        let turn = format!("{ENTITIES}NtAgentTurn");
        writer.commit(&[
            (&session, entries(&self.sessions)),
            (&turn, entries(&self.turns)),
            ("$nitrite_catalog", entries(&[Java::Unknown])),
        ]);
    }

    /// Puts the database where `ide`'s plugin has it.
    pub(super) fn put(&self, home: &Home, place: &str) -> PathBuf {
        put(home, place, &self.bytes())
    }
}

/// Puts a database at `<ide>/<kind>/<store id>`.
pub(super) fn put(home: &Home, place: &str, bytes: &[u8]) -> PathBuf {
    let folder = home.dir.join(".config/github-copilot").join(place);
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("copilot-agent-sessions-nitrite.db");
    std::fs::write(&path, bytes).unwrap();
    path
}

pub(super) fn home(dir: &Path) -> Home {
    Home {
        dir: dir.to_owned(),
        ..Home::default()
    }
}

fn entries(documents: &[Java]) -> Entries {
    let numbered = documents.iter().enumerate();
    numbered
        .map(|(n, document)| {
            let id = 2_127_590_469_514_039_296 + n as u64;
            (object(&nitrite_id(id)), object(&stream(document)))
        })
        .collect()
}

/// A session with more fields in front of the usual ones.
pub(super) fn session(id: &str, fields: &[(&str, Java)]) -> Java {
    let Java::Document(usual) = document([
        ("id", id.into()),
        (
            "name",
            document([("value", "a title".into()), ("source", "copilot".into())]),
        ),
        ("user", "dev-user".into()),
        ("createdAt", Java::Long(1_780_000_000_000)),
    ]) else {
        unreachable!("a document");
    };
    with(fields, usual)
}

/// A turn whose reply's contents are `contents`.
pub(super) fn turn(id: &str, session: &str, contents: String, fields: &[(&str, Java)]) -> Java {
    let prompt = map(&[markdown("why is that?")]);
    let Java::Document(usual) = document([
        ("id", id.into()),
        ("sessionId", session.into()),
        (
            "request",
            document([("stringContent", prompt.into()), ("status", "ok".into())]),
        ),
        ("response", document([("contents", contents.into())])),
        ("createdAt", Java::Long(1_780_000_060_000)),
    ]) else {
        unreachable!("a document");
    };
    with(fields, usual)
}

fn with(fields: &[(&str, Java)], usual: Vec<(String, Java)>) -> Java {
    let own = fields
        .iter()
        .map(|(key, value)| ((*key).to_owned(), value.clone()));
    let usual = usual
        .into_iter()
        .filter(|(key, _)| fields.iter().all(|(own, _)| own != key));
    Java::Document(own.chain(usual).collect())
}

pub(super) fn record(kind: &str, data: &serde_json::Value) -> String {
    json!({"type": kind, "data": data.to_string()}).to_string()
}

pub(super) fn markdown(text: &str) -> String {
    record("Markdown", &json!({"text": text, "annotations": []}))
}

pub(super) fn round(id: usize, reply: &str, tools: usize) -> String {
    let tool = json!({"name": "read_file", "input": {}, "result": [{"value": "a file's text"}]});
    let tools = vec![tool; tools];
    record(
        "AgentRound",
        &json!({"roundId": id, "reply": reply, "toolCalls": tools}),
    )
}

pub(super) fn error() -> String {
    record("Error", &json!({"message": "Sorry, an error occurred"}))
}

/// What old plugins write, and new ones for prompts.
pub(super) fn map(records: &[String]) -> String {
    let entries = records.iter().enumerate();
    let entries: Vec<String> = entries
        .map(|(n, record)| {
            let value = json!({"type": "Value", "value": record});
            format!("\"{n:08x}-0000-4000-8000-000000000000\":{value}")
        })
        .collect();
    format!("{{{}}}", entries.join(","))
}

/// What new plugins write for replies.
pub(super) fn graph(records: &[String]) -> String {
    let graph = json!({"type": "Subgraph", "value": map(records)});
    format!("{{\"__first__\":{graph}}}")
}
