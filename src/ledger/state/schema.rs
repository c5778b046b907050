//! The tables of `ledger.db`, and how an older file is brought forward.

use rusqlite::Connection;

/// Marks a file as a ledger.
const APPLICATION: i32 = 0x436f_704c;

/// One step a released schema. A file of version `n` has had the first `n` of them.
const STEPS: [&str; 3] = [
    "
    CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
    CREATE TABLE sources (id INTEGER PRIMARY KEY, stamp BLOB NOT NULL, cursor BLOB NOT NULL);
    CREATE TABLE scopes (id INTEGER PRIMARY KEY, name TEXT NOT NULL, newest INTEGER NOT NULL, last_call INTEGER, surface INTEGER NOT NULL, cells BLOB NOT NULL);
    CREATE INDEX newest_scopes ON scopes (newest);
    CREATE TABLE facts (scope INTEGER PRIMARY KEY, foldable INTEGER, touched INTEGER NOT NULL, facts BLOB NOT NULL);
    CREATE INDEX foldable_facts ON facts (foldable) WHERE foldable IS NOT NULL;
    CREATE TABLE keys (id INTEGER PRIMARY KEY, pairs BLOB NOT NULL);
    CREATE TABLE series (id INTEGER PRIMARY KEY, labels BLOB NOT NULL, counters BLOB NOT NULL);
    CREATE TABLE names (kind INTEGER NOT NULL, name INTEGER NOT NULL, own INTEGER NOT NULL, PRIMARY KEY (kind, name)) WITHOUT ROWID;
    CREATE TABLE stores (kind INTEGER PRIMARY KEY, counters BLOB NOT NULL);
    ",
    // Statements about tool calls, and counters of them, which programs of version 1 can't read.
    "",
    // What the statements of a scope say, where that isn't what is counted; absent: it is.
    "ALTER TABLE scopes ADD COLUMN truth BLOB;",
];

/// The version that this program writes.
pub(super) const VERSION: u32 = STEPS.len() as u32;

/// What kind of file this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Empty,
    Ledger { version: u32 },
    Foreign,
}

pub(super) fn kind(connection: &Connection) -> rusqlite::Result<Kind> {
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    let version = u32::try_from(number("PRAGMA user_version")?).unwrap_or(u32::MAX);
    if number("PRAGMA application_id")? == i64::from(APPLICATION) && version > 0 {
        return Ok(Kind::Ledger { version });
    }
    Ok(match number("SELECT count(*) FROM sqlite_schema")? {
        0 => Kind::Empty,
        _ => Kind::Foreign,
    })
}

/// Brings a file of version `from` (0: empty) to [`VERSION`], all or nothing.
pub(super) fn migrate(connection: &mut Connection, from: u32) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    for step in STEPS.iter().skip(from as usize) {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()
}
