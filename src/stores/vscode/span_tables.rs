//! The tables of `agent-traces.db`, whichever version of the schema has made them.

use std::collections::{BTreeSet, HashMap};

use rusqlite::types::ValueRef;
use rusqlite::{OptionalExtension, Row, Statement};
use xxhash_rust::xxh3::Xxh3;

use crate::stores::StoreError;
use crate::stores::otel::{Attributes, Span, Value};
use crate::stores::sqlite::{Database, bounded, has_too_long, is_bounded, number, text};
use crate::usage::{Surface, Timestamp};

/// The columns that are read. Some are attributes as well, of the name beside them; the column comes first.
const COLUMNS: [(&str, &str); 17] = [
    ("span_id", ""),
    ("trace_id", ""),
    ("start_time_ms", ""),
    ("end_time_ms", ""),
    ("status_code", ""),
    ("operation_name", "gen_ai.operation.name"),
    ("provider_name", "gen_ai.provider.name"),
    ("conversation_id", "gen_ai.conversation.id"),
    ("chat_session_id", "copilot_chat.chat_session_id"),
    ("session_id", "copilot_chat.session_id"),
    ("request_model", "gen_ai.request.model"),
    ("response_model", "gen_ai.response.model"),
    ("input_tokens", "gen_ai.usage.input_tokens"),
    ("output_tokens", "gen_ai.usage.output_tokens"),
    ("cached_tokens", "gen_ai.usage.cache_read.input_tokens"),
    ("reasoning_tokens", "gen_ai.usage.reasoning_tokens"),
    ("ttft_ms", "copilot_chat.time_to_first_token"),
];
/// From here on the columns are attributes, and from there on numbers.
const FIRST_ATTRIBUTE: usize = 5;
const FIRST_NUMBER: usize = 12;

/// The attributes that are looked up for a span. All others stay where they are: most of a database is
/// prompts.
const ATTRIBUTES: [&str; 26] = [
    "gen_ai.operation.name",
    "gen_ai.response.id",
    "gen_ai.response.model",
    "gen_ai.request.model",
    "gen_ai.provider.name",
    "gen_ai.conversation.id",
    "copilot_chat.chat_session_id",
    "copilot_chat.parent_chat_session_id",
    "copilot_chat.session_id",
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.usage.cache_read_input_tokens",
    "gen_ai.usage.cache_creation.input_tokens",
    "gen_ai.usage.cache_creation_input_tokens",
    "gen_ai.usage.cache_write.input_tokens",
    "gen_ai.usage.cache_write_input_tokens",
    "gen_ai.usage.reasoning.output_tokens",
    "gen_ai.usage.reasoning_tokens",
    "copilot_chat.copilot_usage_nano_aiu",
    "copilot_chat.time_to_first_token",
    "github.copilot.git.repository",
    "copilot_chat.repo.remote_url",
    "error.type",
    "http.response.status_code",
    SERVER,
];

const SERVER: &str = "server.address";

/// The tables of an open database.
#[derive(Debug)]
pub(super) struct Tables<'a> {
    database: &'a Database,
    columns: BTreeSet<String>,
    has_attributes: bool,
}

/// A chat span's row.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) span_id: String,
    /// Another one when the row was replaced by another.
    pub(super) contents: u64,
    pub(super) has_too_long: bool,
}

/// A model call's span, and the server that was asked.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) span: Span,
    pub(super) server: Option<String>,
    /// Not all of its attributes could be read.
    pub(super) has_too_long: bool,
}

impl<'a> Tables<'a> {
    /// `None` if the database has no spans.
    ///
    /// # Errors
    /// When the schema can't be read.
    pub(super) fn of(database: &'a Database) -> Result<Option<Self>, StoreError> {
        let columns = database.columns("spans")?;
        let attributes = database.columns("span_attributes")?;
        Ok(columns.contains("span_id").then(|| Self {
            database,
            columns,
            has_attributes: attributes.contains("key") && attributes.contains("value"),
        }))
    }

    /// Calls `each` with every span that its column or its attribute says to be a chat.
    pub(super) fn for_each_chat(
        &self,
        mut each: impl FnMut(Found, Span) -> rusqlite::Result<()>,
    ) -> rusqlite::Result<()> {
        let column = |name: &str| match self.columns.contains(name) {
            true => format!("s.{name}"),
            false => "NULL".to_owned(),
        };
        let operation = column("operation_name");
        let by_attribute = match self.has_attributes {
            true => format!(
                "OR (typeof({operation}) = 'null' AND {} AND EXISTS (
                 SELECT 1 FROM span_attributes a WHERE a.span_id = s.span_id
                 AND a.key = 'gen_ai.operation.name' AND {} = 'chat'))",
                is_bounded("s.span_id"),
                bounded("a.value")
            ),
            false => String::new(),
        };
        let columns = COLUMNS.map(|(name, _)| bounded(&column(name))).join(", ");
        let sql = format!(
            "SELECT {columns} FROM spans s
             WHERE ({} AND {operation} = 'chat') {by_attribute}",
            is_bounded(&operation)
        );
        let mut statement = self.database.prepare(&sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let found = Found {
                span_id: text(row.get_ref(0)?).unwrap_or_default().into_owned(),
                contents: hash(row)?,
                has_too_long: has_too_long(row),
            };
            each(found, span(row)?)?;
        }
        Ok(())
    }

    /// A way to complete spans by their attributes.
    pub(super) fn attributes(&self) -> rusqlite::Result<AttributesOf<'a>> {
        let names = ATTRIBUTES.map(|name| format!("'{name}'")).join(", ");
        let sql = format!(
            "SELECT key, {} FROM span_attributes WHERE span_id = ?1 AND key IN ({names})",
            bounded("value")
        );
        let statement = self.has_attributes.then(|| self.database.prepare(&sql));
        Ok(AttributesOf(statement.transpose()?))
    }

    /// Which session started which sub-agent's session.
    pub(super) fn parents(&self) -> rusqlite::Result<HashMap<String, String>> {
        if !self.has_attributes || !self.columns.contains("chat_session_id") {
            return Ok(HashMap::new());
        }
        let sql = format!(
            "SELECT DISTINCT {}, {} FROM spans s JOIN span_attributes a
             ON a.span_id = s.span_id AND a.key = 'copilot_chat.parent_chat_session_id'
             WHERE {} AND {} AND s.operation_name IN ('invoke_agent', 'chat')",
            bounded("s.chat_session_id"),
            bounded("a.value"),
            is_bounded("s.span_id"),
            is_bounded("s.operation_name")
        );
        let mut statement = self.database.prepare(&sql)?;
        let mut parents = HashMap::new();
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            if let (Some(child), Some(parent)) = (text(row.get_ref(0)?), text(row.get_ref(1)?)) {
                parents.insert(child.into_owned(), parent.into_owned());
            }
        }
        Ok(parents)
    }

    /// A way to find the repository that any span with the same value of `column` names.
    pub(super) fn repository_by(&self, column: &str) -> rusqlite::Result<RepositoryBy<'a>> {
        let sql = format!(
            "SELECT a.value FROM spans s JOIN span_attributes a ON a.span_id = s.span_id
             AND a.key IN ('github.copilot.git.repository', 'copilot_chat.repo.remote_url')
             WHERE {} AND {} AND s.{column} = ?1 AND {} AND octet_length(a.value) > 0 LIMIT 1",
            is_bounded("s.span_id"),
            is_bounded(&format!("s.{column}")),
            is_bounded("a.value")
        );
        let exists = self.has_attributes && self.columns.contains(column);
        let statement = exists.then(|| self.database.prepare(&sql));
        Ok(RepositoryBy(statement.transpose()?))
    }
}

/// Looks up the attributes of single spans.
#[derive(Debug)]
pub(super) struct AttributesOf<'a>(Option<Statement<'a>>);

impl AttributesOf<'_> {
    pub(super) fn complete(&mut self, mut span: Span) -> rusqlite::Result<Call> {
        let (mut server, mut too_long) = (None, false);
        if let Some(statement) = &mut self.0 {
            let mut rows = statement.query([&span.span_id])?;
            while let Some(row) = rows.next()? {
                too_long |= has_too_long(row);
                match (text(row.get_ref(0)?), text(row.get_ref(1)?)) {
                    (Some(key), Some(value)) if key == SERVER => server = Some(value.into_owned()),
                    (Some(key), Some(value)) => {
                        span.attributes.set(&key, &Value::Untyped(value));
                    }
                    _ => {}
                }
            }
        }
        Ok(Call {
            span,
            server,
            has_too_long: too_long,
        })
    }
}

/// Looks up repositories.
#[derive(Debug)]
pub(super) struct RepositoryBy<'a>(Option<Statement<'a>>);

impl RepositoryBy<'_> {
    pub(super) fn find(&mut self, value: &str) -> rusqlite::Result<Option<String>> {
        let Some(statement) = &mut self.0 else {
            return Ok(None);
        };
        let name = |row: &Row<'_>| Ok(text(row.get_ref(0)?).map(String::from));
        Ok(statement.query_row([value], name).optional()?.flatten())
    }
}

/// The span of a row, as far as the columns tell. Integer columns may hold reals; text in a column of
/// numbers is unknown; digits that SQLite took for a number are text again.
fn span(row: &Row<'_>) -> rusqlite::Result<Span> {
    let id = |at: usize| -> rusqlite::Result<String> {
        Ok(text(row.get_ref(at)?).unwrap_or_default().into_owned())
    };
    let time = |at: usize| -> rusqlite::Result<Option<Timestamp>> {
        Ok(number(row.get_ref(at)?).and_then(Timestamp::from_magnitude))
    };
    let mut attributes = Attributes::default();
    for (at, (_, name)) in COLUMNS.iter().enumerate().skip(FIRST_ATTRIBUTE) {
        let value = row.get_ref(at)?;
        if at >= FIRST_NUMBER {
            if let Some(n) = number(value) {
                attributes.set(name, &Value::Number(n));
            }
        } else if let Some(text) = text(value) {
            attributes.set(name, &Value::Text(text));
        }
    }
    Ok(Span {
        surface: Surface::VsCode,
        span_id: id(0)?,
        trace_id: id(1)?,
        start: time(2)?,
        end: time(3)?,
        failed: number(row.get_ref(4)?) == Some(2.0),
        is_log_record: false,
        attributes,
    })
}

fn hash(row: &Row<'_>) -> rusqlite::Result<u64> {
    let mut hash = Xxh3::new();
    for at in 0..COLUMNS.len() {
        match row.get_ref(at)? {
            ValueRef::Null => hash.update(&[0]),
            ValueRef::Integer(n) => hash.update(&(n as f64).to_le_bytes()),
            ValueRef::Real(n) => hash.update(&n.to_le_bytes()),
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                hash.update(&(bytes.len() as u64).to_le_bytes());
                hash.update(bytes);
            }
        }
    }
    Ok(hash.digest())
}
