//! Read-only access to other programs' SQLite databases: nothing is written, checkpointed or left behind
//! in their folder, and what lies in the `-wal` file only is seen.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OpenFlags, Row};

use super::files::{Identity, open_regular};
use super::{Reason, Source, StoreError};

/// How long a writer's lock is waited for; then the store is busy, and tried again at the next pass.
const BUSY_TIMEOUT: Duration = Duration::from_millis(250);
/// How long one opening may be used in all.
const TIME_LIMIT: Duration = Duration::from_secs(60);
/// The longest text or blob that SQLite touches: a query that meets a longer one fails as a whole.
const LONGEST_VALUE: i32 = 16 << 20;
/// The longest text or blob that is taken out of a database. A row of such values stays below
/// [`LONGEST_VALUE`].
const LONGEST_TAKEN: usize = 256 << 10;
/// Stands for a longer one.
const TOO_LONG: &str = "too long";
/// How often a database that changes while it is copied is tried again.
const COPY_ATTEMPTS: usize = 3;
/// The largest part of a database that is copied.
const LARGEST_COPY: u64 = 8 << 30;
/// The files that make up a database: pages may lie in the `-wal`, or be saved in the `-journal` until their
/// transaction ends.
const PARTS: [&str; 3] = ["", "-wal", "-journal"];

/// A database that is open for reading.
#[derive(Debug)]
pub(crate) struct Database {
    // Declared before the folder of the copy: the connection closes first.
    connection: Connection,
    _copy: Option<tempfile::TempDir>,
    path: PathBuf,
    identity: Identity,
}

/// How the file can be opened without leaving a trace beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Nobody has pages outside of the main file: it is read as it lies there, without locks.
    Immutable,
    /// Beside its `-wal` and `-shm`, which exist already.
    Shared,
    /// A private copy is opened instead: its `-shm` would have to be made, a transaction that never ended be
    /// undone, or it belongs to another account.
    Copy,
}

impl Database {
    /// Opens the database at `path`, which must be a regular file below `root`.
    ///
    /// # Errors
    /// `Busy`, `Corrupt`, `Shape` and `Io` of [`Reason`], all without contents of the database.
    pub(crate) fn open(root: &Path, path: &Path) -> Result<Self, StoreError> {
        let open = || -> Result<Self, Reason> {
            let (_, metadata) = open_regular(root, path)?;
            let (connection, copy) = match way(path, is_own(&metadata)) {
                Way::Immutable => (connect(path, true)?, None),
                Way::Copy => copied(root, path)?,
                Way::Shared => match connect(path, false) {
                    Ok(connection) => (connection, None),
                    Err(error) if needs_copy(&error) => copied(root, path)?,
                    Err(error) => return Err(error.into()),
                },
            };
            Ok(Self {
                connection,
                _copy: copy,
                path: path.to_owned(),
                identity: Identity::of(&metadata),
            })
        };
        open().map_err(|reason| StoreError::new(path, reason))
    }

    /// Which file it is: a recreated database is another one.
    pub(crate) fn identity(&self) -> Identity {
        self.identity
    }

    /// The columns of a table, in lower case; empty if there is no such table (a view is none).
    ///
    /// # Errors
    /// When the schema can't be read.
    pub(crate) fn columns(&self, table: &str) -> Result<BTreeSet<String>, StoreError> {
        let query = || -> rusqlite::Result<BTreeSet<String>> {
            self.connection
                .prepare(
                    "SELECT lower(c.name) FROM sqlite_schema t, pragma_table_info(t.name) c
                     WHERE t.type = 'table' AND t.name = ?1",
                )?
                .query_map([table], |row| row.get(0))?
                .collect()
        };
        query().map_err(|error| self.error(error))
    }

    /// This store's error for one of SQLite's.
    pub(crate) fn error(&self, error: rusqlite::Error) -> StoreError {
        StoreError::new(&self.path, error.into())
    }
}

impl Deref for Database {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

/// An expression for a column whose value may be too long, so that only this value is lost: [`has_too_long`]
/// tells of it, and it is read as unknown.
pub(crate) fn bounded(column: &str) -> String {
    format!(
        "CASE WHEN octet_length({column}) > {LONGEST_TAKEN} THEN CAST('{TOO_LONG}' AS BLOB) ELSE {column} END"
    )
}

/// A condition under which a column may be compared.
pub(crate) fn is_bounded(column: &str) -> String {
    format!("octet_length({column}) <= {LONGEST_TAKEN}")
}

/// Whether a value of the row was too long.
pub(crate) fn has_too_long(row: &Row<'_>) -> bool {
    let count = row.as_ref().column_count();
    (0..count).any(|at| row.get_ref(at) == Ok(ValueRef::Blob(TOO_LONG.as_bytes())))
}

/// The list of a SELECT: those of `wanted` that the table has, [`bounded`], and NULL in place of the others.
pub(crate) fn select(columns: &BTreeSet<String>, wanted: &[&str]) -> String {
    let column = |name: &&str| match columns.contains(*name) {
        true => bounded(&format!("\"{name}\"")),
        false => "NULL".to_owned(),
    };
    wanted.iter().map(column).collect::<Vec<_>>().join(", ")
}

/// A source whose `-wal` is watched as well: a change may be only there.
pub(crate) fn source(path: &Path) -> Source {
    Source {
        path: path.to_owned(),
        companions: vec![beside(path, "-wal")],
    }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn way(path: &Path, own: bool) -> Way {
    let size = |suffix| fs::metadata(beside(path, suffix)).map(|m| m.len());
    let wal = size("-wal");
    let shared = size("-shm").is_ok();
    match wal {
        Ok(1..) if !shared => Way::Copy,
        Ok(1..) => Way::beside_writers(own),
        // An empty -wal beside a -shm: somebody has it open and may write any moment.
        Ok(0) if shared => Way::beside_writers(own),
        // A rollback journal means that pages in the main file may be half-written. SQLite decides.
        _ if size("-journal").is_ok_and(|n| n > 0) => Way::beside_writers(own),
        _ => Way::Immutable,
    }
}

impl Way {
    /// SQLite maps the `-shm` into memory and, run as root, gives it the owner of the database. Neither is
    /// safe with files of an account that isn't ours: it could shorten the map under us, or change what the
    /// name stands for.
    fn beside_writers(own: bool) -> Self {
        match own {
            true => Self::Shared,
            false => Self::Copy,
        }
    }
}

/// Whether the file belongs to the account that we run as.
fn is_own(metadata: &fs::Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        metadata.uid() == rustix::process::geteuid().as_raw()
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        true
    }
}

/// The errors of a folder or a `-shm` that may not be written.
fn needs_copy(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied)
    )
}

fn connect(path: &Path, immutable: bool) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(uri(path, immutable), flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, LONGEST_VALUE)?;
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    // A view or a trigger of a hostile schema could run anything in place of a table.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    let until = Instant::now() + TIME_LIMIT;
    connection.progress_handler(10_000, Some(move || Instant::now() > until))?;
    // No memory map: a file that another program truncates would kill the process.
    connection.execute_batch(
        "PRAGMA query_only = ON; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;
         PRAGMA mmap_size = 0; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -4096;",
    )?;
    // The first access to the file: whatever is wrong with it shows here.
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(connection)
}

/// `file:` with everything but the plainest characters escaped.
fn uri(path: &Path, immutable: bool) -> String {
    let mut uri = String::from("file:");
    let text = path.as_os_str().as_encoded_bytes();
    if cfg!(windows) {
        uri.push('/');
    }
    for &byte in text {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => {
                uri.push(char::from(byte));
            }
            b':' if cfg!(windows) => uri.push(':'),
            b'\\' if cfg!(windows) => uri.push('/'),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri.push_str("?mode=ro");
    if immutable {
        uri.push_str("&immutable=1");
    }
    uri
}

/// Copies the database to a private folder and opens the copy. A transaction that its writer did not live to
/// end is undone there, as SQLite undoes it for the next writer.
fn copied(root: &Path, path: &Path) -> Result<(Connection, Option<tempfile::TempDir>), Reason> {
    let folder = tempfile::Builder::new()
        .prefix("copilot-exporter-")
        .tempdir()?;
    let copy = folder.path().join("copy.db");
    for _ in 0..COPY_ATTEMPTS {
        let before = state(root, path)?;
        for suffix in PARTS {
            let to = beside(&copy, suffix);
            match part(root, path, suffix)? {
                Some((from, _)) => copy_file(from, &to)?,
                None => remove(&to)?,
            }
        }
        // Unchanged sizes, times and headers: the files belong together.
        if state(root, path)? == before {
            let journal = beside(&copy, "-journal");
            if journal.exists() {
                if names_another_file(&journal)? {
                    let text = "a transaction over several databases that never ended";
                    return Err(Reason::Unsupported(text.to_owned()));
                }
                undo(&copy)?;
            }
            return Ok((connect(&copy, false)?, Some(folder)));
        }
    }
    Err(Reason::Busy)
}

/// A part of the database, if it is there; the database itself must be.
fn part(root: &Path, path: &Path, suffix: &str) -> io::Result<Option<(fs::File, fs::Metadata)>> {
    match open_regular(root, &beside(path, suffix)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && !suffix.is_empty() => Ok(None),
        opened => opened.map(Some),
    }
}

fn copy_file(from: fs::File, to: &Path) -> io::Result<()> {
    let mut to = fs::File::create(to)?;
    match io::copy(&mut from.take(LARGEST_COPY + 1), &mut to)? {
        0..=LARGEST_COPY => Ok(()),
        _ => Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            "too large for the private copy that reading it needs",
        )),
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Whether a rollback journal ends with the name of a super-journal. SQLite would open that file, wherever it
/// lies and whatever it is (<https://www.sqlite.org/fileformat2.html#the_rollback_journal>). Copilot's clients
/// write no such names.
fn names_another_file(journal: &Path) -> io::Result<bool> {
    const MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    let mut file = fs::File::open(journal)?;
    let size = file.metadata()?.len();
    let mut end = Vec::new();
    file.seek(SeekFrom::Start(size.saturating_sub(MAGIC.len() as u64)))?;
    file.read_to_end(&mut end)?;
    Ok(end == MAGIC)
}

/// The first access of a connection that may write undoes what the journal says.
fn undo(copy: &Path) -> rusqlite::Result<()> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(copy, flags)?;
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))
}

/// Sizes and times of the parts, and the headers of those beside the main file (the salt changes when a
/// `-wal` begins anew).
type State = Vec<Option<(u64, Option<SystemTime>, Vec<u8>)>>;

fn state(root: &Path, path: &Path) -> io::Result<State> {
    let of = |suffix: &str| {
        let Some((file, metadata)) = part(root, path, suffix)? else {
            return Ok(None);
        };
        let mut header = Vec::new();
        if !suffix.is_empty() {
            file.take(32).read_to_end(&mut header)?;
        }
        Ok(Some((metadata.len(), metadata.modified().ok(), header)))
    };
    PARTS.into_iter().map(of).collect()
}

impl From<rusqlite::Error> for Reason {
    /// Names the kind of failure only: SQLite's own text may quote the database.
    fn from(error: rusqlite::Error) -> Self {
        let text = match error.sqlite_error() {
            Some(failure) => rusqlite::ffi::code_to_str(failure.extended_code).to_owned(),
            None => "a value of an unexpected type".to_owned(),
        };
        match error.sqlite_error_code() {
            Some(
                ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::FileLockingProtocolFailed
                | ErrorCode::OperationInterrupted,
            ) => Self::Busy,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Corrupt(text),
            Some(
                ErrorCode::CannotOpen
                | ErrorCode::PermissionDenied
                | ErrorCode::ReadOnly
                | ErrorCode::SystemIoFailure
                | ErrorCode::OutOfMemory
                | ErrorCode::DiskFull,
            ) => Self::Io(io::Error::other(text)),
            _ => Self::Shape(text),
        }
    }
}

/// A count: an integer, or a finite real (integer columns may hold them), not negative. Text is unknown.
pub(crate) fn count(value: ValueRef<'_>) -> Option<u64> {
    match value {
        ValueRef::Integer(n) => u64::try_from(n).ok(),
        ValueRef::Real(_) => number(value).map(|n| n as u64),
        _ => None,
    }
}

/// A finite number that isn't negative.
pub(crate) fn number(value: ValueRef<'_>) -> Option<f64> {
    let n = match value {
        ValueRef::Integer(n) => n as f64,
        ValueRef::Real(n) => n,
        _ => return None,
    };
    (n.is_finite() && n >= 0.0).then_some(n)
}

/// Text that isn't empty; digits that SQLite took for a number are text again.
pub(crate) fn text<'a>(value: ValueRef<'a>) -> Option<Cow<'a, str>> {
    match value {
        ValueRef::Text(bytes) => {
            Some(String::from_utf8_lossy(bytes)).filter(|text| !text.is_empty())
        }
        ValueRef::Integer(n) => Some(n.to_string().into()),
        _ => None,
    }
}

#[cfg(test)]
#[path = "sqlite_tests.rs"]
mod tests;
