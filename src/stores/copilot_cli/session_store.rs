//! `session-store.db`: one row a billed call. The best record of all, for sessions that a client since
//! 1.0.69 ran (formats, copilot-cli.md §9).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rusqlite::Row;
use rusqlite::types::ValueRef;
use serde::{Deserialize, Serialize};

use super::figures::{Counts, Details};
use super::root;
use super::workspace::project;
use crate::stores::files::Identity;
use crate::stores::otel::is_model;
use crate::stores::sqlite::{self, Database};
use crate::stores::{Cursor, Discovery, Home, Reader, Reason, Sink, Source, StoreError, StoreKind};
use crate::usage::{
    CallFact, Credits, Evidence, Fact, Initiator, Key, Observation, PremiumRequests, SessionFact,
    Surface, Timestamp,
};

const VERSION: u32 = 1;

const TABLE: &str = "assistant_usage_events";

/// The columns in the order in which a row's fields are taken; those that a schema lacks are NULL.
const COLUMNS: [&str; 17] = [
    "id",
    "session_id",
    "model",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
    "total_nano_aiu",
    "token_details_json",
    "request_multiplier",
    "duration_ms",
    "time_to_first_token_ms",
    "initiator",
    "agent_id",
    "created_at",
    "copilot_usage_model",
];

/// How many rows are offered for a commit at once.
const CHECKPOINT_ROWS: u64 = 20_000;

/// The reader of the store `cli_store`.
#[derive(Debug)]
pub(in crate::stores) struct SessionStore;

impl Reader for SessionStore {
    fn kind(&self) -> StoreKind {
        StoreKind::CliStore
    }

    fn discover(&self, home: &Home) -> Discovery {
        let path = root(home).join("session-store.db");
        let mut discovery = Discovery::default();
        if path.symlink_metadata().is_ok() {
            discovery.sources.push(sqlite::source(&path));
        }
        discovery.looked_at.push(path);
        discovery
    }

    fn read(
        &self,
        home: &Home,
        source: &Source,
        cursor: &Cursor,
        sink: &mut dyn Sink,
    ) -> Result<Cursor, StoreError> {
        read(&root(home), &source.path, cursor, Surface::Cli, sink)
    }
}

/// How far the rows were read. A row id is a good place to go on from but no identity: a recreated database
/// counts from 1 again, so the row read last must still be the same.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
struct Position {
    version: u32,
    file: Identity,
    row: i64,
    last: Option<Key>,
    /// Session and time of the row read last.
    dated: Option<(String, Timestamp)>,
    /// The newest `updated_at` of a session, empty if there was none; `None`: sessions were never looked at.
    #[serde(default)]
    updated: Option<String>,
}

/// Reads what is new in a database below `root`; also for copies that other products keep of it.
///
/// A database without the table of calls (clients before 1.0.69) holds nothing and is fine.
///
/// # Errors
/// When the database can't be read or lacks columns that a call can't do without.
pub(in crate::stores) fn read(
    root: &Path,
    path: &Path,
    cursor: &Cursor,
    surface: Surface,
    sink: &mut dyn Sink,
) -> Result<Cursor, StoreError> {
    let database = Database::open(root, path)?;
    let columns = database.columns(TABLE)?;
    if columns.is_empty() {
        return Ok(Cursor::default());
    }
    let required = ["id", "session_id", "input_tokens", "output_tokens"];
    if let Some(missing) = required.iter().find(|name| !columns.contains(**name)) {
        let text = format!("{TABLE} without the column {missing}");
        return Err(StoreError::new(path, Reason::Shape(text)));
    }
    let mut reading = Reading {
        database: &database,
        columns,
        session_columns: database.columns("sessions")?,
        surface,
        position: Position {
            version: VERSION,
            file: database.identity(),
            ..Position::default()
        },
        sessions: BTreeMap::new(),
    };
    let result = reading.rows(cursor, sink);
    result.map_err(|error| database.error(error))?;
    Ok(Cursor::store(&reading.position))
}

struct Reading<'d> {
    database: &'d Database,
    columns: BTreeSet<String>,
    session_columns: BTreeSet<String>,
    surface: Surface,
    position: Position,
    /// When sessions of this pass were created.
    sessions: BTreeMap<String, Option<Timestamp>>,
}

impl Reading<'_> {
    fn rows(&mut self, cursor: &Cursor, sink: &mut dyn Sink) -> rusqlite::Result<()> {
        // One read transaction: the position's check and the rows see one state.
        let transaction = self.database.unchecked_transaction()?;
        if let Some(position) = cursor.load::<Position>()
            && self.continues(&position)?
        {
            self.position = position;
        }
        let list = sqlite::select(&self.columns, &COLUMNS);
        let query = format!("SELECT {list} FROM {TABLE} WHERE id > ?1 ORDER BY id");
        let mut statement = self.database.prepare(&query)?;
        let mut rows = statement.query([self.position.row])?;
        let mut unsaved = 0;
        while let Some(row) = rows.next()? {
            self.row(row, sink)?;
            unsaved += 1;
            if unsaved == CHECKPOINT_ROWS {
                unsaved = 0;
                sink.checkpoint(Cursor::store(&self.position));
            }
        }
        drop(rows);
        drop(statement);
        self.updated_sessions(sink)?;
        transaction.finish()
    }

    /// States anew what changed of sessions whose rows were read before.
    fn updated_sessions(&mut self, sink: &mut dyn Sink) -> rusqlite::Result<()> {
        if !["id", "updated_at"]
            .iter()
            .all(|&name| self.session_columns.contains(name))
        {
            return Ok(());
        }
        let since = self.position.updated.take();
        let query = format!(
            "SELECT id, CAST(updated_at AS TEXT) AS updated FROM sessions
             WHERE {} AND {} AND updated >= ?1",
            sqlite::is_bounded("id"),
            sqlite::is_bounded("updated_at")
        );
        let database = self.database;
        let mut statement = database.prepare_cached(&query)?;
        let mut rows = statement.query([since.as_deref().unwrap_or_default()])?;
        let mut newest = since.clone().unwrap_or_default();
        while let Some(row) = rows.next()? {
            newest = newest.max(row.get(1)?);
            let session = sqlite::text(row.get_ref(0)?);
            if let Some(session) = session.filter(|_| since.is_some())
                && self.has_calls(&session)?
            {
                self.session(&session, sink)?;
            }
        }
        self.position.updated = Some(newest);
        Ok(())
    }

    fn has_calls(&self, session: &str) -> rusqlite::Result<bool> {
        let query = format!("SELECT 1 FROM {TABLE} WHERE session_id = ?1 LIMIT 1");
        self.database.prepare_cached(&query)?.exists([session])
    }

    /// Whether the row read last is still there and the same.
    fn continues(&self, position: &Position) -> rusqlite::Result<bool> {
        if position.version != VERSION || position.file != self.position.file {
            return Ok(false);
        }
        let list = sqlite::select(&self.columns, &COLUMNS);
        let query = format!("SELECT {list} FROM {TABLE} WHERE id = ?1");
        let mut statement = self.database.prepare(&query)?;
        let mut rows = statement.query([position.row])?;
        match rows.next()? {
            Some(row) => Ok(position.last == Some(identity(row)?)),
            None => Ok(false),
        }
    }

    fn row(&mut self, row: &Row<'_>, sink: &mut dyn Sink) -> rusqlite::Result<()> {
        let text = |at: usize| row.get_ref(at).map(sqlite::text);
        let count = |at: usize| row.get_ref(at).map(sqlite::count);
        let number = |at: usize| row.get_ref(at).map(sqlite::number);
        let id = identity(row)?;
        if sqlite::has_too_long(row) {
            sink.parse_error("value_too_long");
        }
        if let ValueRef::Integer(row) = row.get_ref(0)? {
            self.position.row = row;
            self.position.last = Some(id);
        }
        let Some(session) = text(1)?.map(|session| session.into_owned()) else {
            sink.skipped("no_session");
            return Ok(());
        };
        self.session(&session, sink)?;
        let time = self.time(&session, text(15)?.as_deref());
        let counts = Counts {
            input: count(3)?,
            output: count(4)?,
            cache_read: count(5)?,
            cache_write: count(6)?,
            reasoning: count(7)?,
        };
        if counts.is_zero() {
            sink.skipped("no_tokens");
            return Ok(());
        }
        let details = text(9)?.map_or_else(Details::default, |json| Details::of_json(&json));
        let (tokens, oddity) = counts.tokens(&details);
        if let Some(oddity) = oddity {
            sink.parse_error(oddity.reason());
        }
        let is_subagent = text(14)?.is_some();
        // A 0 without billed details is a charge that the client doesn't know.
        let credits = count(8)?.filter(|&nano| nano > 0 || !details.is_blank());
        let call = CallFact {
            evidence: Evidence::StoreRow,
            keys: Vec::new(),
            time,
            model: text(2)?
                .filter(|model| is_model(model))
                .or(text(16)?)
                .map(|model| model.into_owned()),
            provider: None,
            initiator: match text(13)?.as_deref() {
                Some(text) => Initiator::parse(text),
                None if is_subagent => Initiator::Subagent,
                None => Initiator::Unknown,
            },
            tokens,
            estimated: false,
            credits: credits.map(Credits),
            premium: number(10)?.and_then(PremiumRequests::from_multiplier),
            duration_ms: count(11)?,
            first_token_ms: count(12)?,
            project: None,
        };
        self.observe(session, id, Fact::Call(call), sink);
        Ok(())
    }

    fn observe(&self, scope: String, id: Key, fact: Fact, sink: &mut dyn Sink) {
        sink.observe(Observation {
            scope,
            id,
            surface: self.surface,
            fact,
        });
    }

    /// The time of a row: its own, else that of the row before, else when its session was created.
    fn time(&mut self, session: &str, created_at: Option<&str>) -> Option<Timestamp> {
        let before = self.position.dated.as_ref();
        let before = before.filter(|(of, _)| of == session).map(|&(_, at)| at);
        let time = created_at
            .and_then(Timestamp::parse_iso)
            .or(before)
            .or_else(|| self.sessions.get(session).copied().flatten());
        if let Some(time) = time {
            self.position.dated = Some((session.to_owned(), time));
        }
        time
    }

    /// States what the store knows of a session, once a pass.
    fn session(&mut self, session: &str, sink: &mut dyn Sink) -> rusqlite::Result<()> {
        if self.sessions.contains_key(session) {
            return Ok(());
        }
        let columns = &self.session_columns;
        let mut about = None;
        if columns.contains("id") {
            let list = sqlite::select(columns, &["created_at", "repository", "cwd"]);
            let is_bounded = sqlite::is_bounded("id");
            let query = format!("SELECT {list} FROM sessions WHERE {is_bounded} AND id = ?1");
            let mut statement = self.database.prepare_cached(&query)?;
            let mut rows = statement.query([session])?;
            if let Some(row) = rows.next()? {
                if sqlite::has_too_long(row) {
                    sink.parse_error("value_too_long");
                }
                let text = |at: usize| row.get_ref(at).map(sqlite::text);
                about = Some(SessionFact {
                    started: text(0)?.as_deref().and_then(Timestamp::parse_iso),
                    project: project(text(1)?.as_deref(), None, text(2)?.as_deref()),
                    ..SessionFact::default()
                });
            }
        }
        let created = about.as_ref().and_then(|about| about.started);
        self.sessions.insert(session.to_owned(), created);
        if let Some(about) = about {
            let id = Key::of("session of store", &[session]);
            self.observe(session.to_owned(), id, Fact::Session(about), sink);
        }
        Ok(())
    }
}

/// A row's identity: an equal row that is inserted again is the same call.
fn identity(row: &Row<'_>) -> rusqlite::Result<Key> {
    let mut parts = Vec::new();
    for at in [1, 15, 2, 14, 3, 4, 5, 6, 7] {
        parts.push(match row.get_ref(at)? {
            ValueRef::Null => String::new(),
            ValueRef::Integer(n) => n.to_string(),
            ValueRef::Real(n) => n.to_string(),
            ValueRef::Text(text) | ValueRef::Blob(text) => {
                String::from_utf8_lossy(text).into_owned()
            }
        });
    }
    let parts: Vec<_> = parts.iter().map(String::as_str).collect();
    Ok(Key::of("store row", &parts))
}

#[cfg(test)]
#[path = "session_store_tests.rs"]
mod tests;
