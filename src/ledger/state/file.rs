//! `ledger.db`: opened, and set aside if it is damaged.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::lock::{Lock, Taken};
use super::tables::{load, load_meta};
use super::{Damaged, LedgerError, Loaded, Meta, schema};
use crate::usage::Timestamp;

/// An open ledger file, and the folder's lock.
#[derive(Debug)]
pub(super) struct File {
    pub(super) path: PathBuf,
    pub(super) connection: Connection,
    pub(super) lock: Option<Lock>,
    /// Somebody else keeps the ledger: nothing is written.
    pub(super) is_view: bool,
}

/// What was found.
#[derive(Debug)]
pub(super) enum Opened {
    New(File),
    Loaded(File, Meta, Box<Loaded>),
    Unusable(Unusable),
}

/// The folder or the file can't be used: the ledger lives in memory, and says so at every commit.
#[derive(Debug)]
pub(super) struct Unusable {
    pub(super) path: PathBuf,
    pub(super) reason: String,
}

impl Unusable {
    fn new(path: &Path, reason: impl ToString) -> Self {
        let reason = reason.to_string();
        tracing::error!(
            "{}: {reason}; totals are kept in memory only",
            path.display()
        );
        Self {
            path: path.to_owned(),
            reason,
        }
    }
}

/// Why the present file can't be gone on with.
pub(super) enum Trouble {
    Refused(LedgerError),
    Damaged(String),
    Unusable(String),
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        if is_damage(&error) {
            Self::Damaged(error.to_string())
        } else {
            Self::Unusable(error.to_string())
        }
    }
}

impl From<Damaged> for Trouble {
    fn from(damaged: Damaged) -> Self {
        Self::Damaged(damaged.to_string())
    }
}

/// The file itself is wrong, not the disk or its permissions.
///
/// Our own statements are right, so whatever SQLite or a column's type finds wrong with them was damaged: only
/// what comes of the surroundings is listed.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    match error {
        rusqlite::Error::SqliteFailure(failure, _) => !matches!(
            failure.code,
            ErrorCode::PermissionDenied
                | ErrorCode::OperationAborted
                | ErrorCode::OperationInterrupted
                | ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::OutOfMemory
                | ErrorCode::ReadOnly
                | ErrorCode::SystemIoFailure
                | ErrorCode::DiskFull
                | ErrorCode::CannotOpen
                | ErrorCode::FileLockingProtocolFailed
                | ErrorCode::NoLargeFileSupport
        ),
        rusqlite::Error::InvalidPath(_) | rusqlite::Error::NulError(_) => false,
        _ => true,
    }
}

impl File {
    pub(super) const NAME: &str = "ledger.db";

    /// Opens the ledger of a folder. One that is damaged is kept under another name, and a new one begun.
    pub(super) fn open(dir: &Path, now: Timestamp) -> Result<Opened, LedgerError> {
        let path = dir.join(Self::NAME);
        if let Err(error) = make_private(dir) {
            return Ok(Opened::Unusable(Unusable::new(&path, error)));
        }
        let lock = Lock::take(dir).map_err(|Taken { holder }| LedgerError::Locked {
            dir: dir.to_owned(),
            holder,
        })?;
        match Self::load(&path) {
            Ok((connection, loaded)) => {
                let file = Self {
                    path,
                    connection,
                    lock,
                    is_view: false,
                };
                Ok(match loaded {
                    Some((meta, loaded)) => Opened::Loaded(file, meta, Box::new(loaded)),
                    None => Opened::New(file),
                })
            }
            Err(Trouble::Refused(error)) => Err(error),
            Err(Trouble::Unusable(reason)) => Ok(Opened::Unusable(Unusable::new(&path, reason))),
            Err(Trouble::Damaged(reason)) => Ok(match Self::anew(&path, lock, &reason, now) {
                Ok(file) => Opened::New(file),
                Err(unusable) => Opened::Unusable(unusable),
            }),
        }
    }

    /// Begins a new file in place of this one, which is damaged.
    pub(super) fn begin_anew(self, reason: &str, now: Timestamp) -> Result<Self, Unusable> {
        let Self {
            path,
            connection,
            lock,
            ..
        } = self;
        drop(connection);
        Self::anew(&path, lock, reason, now)
    }

    fn anew(
        path: &Path,
        lock: Option<Lock>,
        reason: &str,
        now: Timestamp,
    ) -> Result<Self, Unusable> {
        let kept = set_aside(path, now).map_err(|error| {
            Unusable::new(
                path,
                format!("damaged ({reason}), and can't be set aside: {error}"),
            )
        })?;
        tracing::error!(
            "{}: the ledger is damaged ({reason}); it is kept as {}, and totals begin anew from what the stores still hold",
            path.display(),
            kept.display()
        );
        match Self::load(path) {
            Ok((connection, _)) => Ok(Self {
                path: path.to_owned(),
                connection,
                lock,
                is_view: false,
            }),
            Err(Trouble::Refused(error)) => Err(Unusable::new(path, error)),
            Err(Trouble::Unusable(reason) | Trouble::Damaged(reason)) => {
                Err(Unusable::new(path, reason))
            }
        }
    }

    fn load(path: &Path) -> Result<(Connection, Option<(Meta, Loaded)>), Trouble> {
        let mut connection = connect(path)?;
        match schema::kind(&connection)? {
            schema::Kind::Empty => {
                schema::migrate(&mut connection, 0)?;
                Ok((connection, None))
            }
            schema::Kind::Foreign => Err(Trouble::Damaged("not a ledger".to_owned())),
            schema::Kind::Ledger { version } if version > schema::VERSION => {
                Err(Trouble::Refused(LedgerError::Newer {
                    path: path.to_owned(),
                    found: version,
                    known: schema::VERSION,
                }))
            }
            schema::Kind::Ledger { version } => {
                if version < schema::VERSION {
                    schema::migrate(&mut connection, version)?;
                    tracing::info!(
                        "{}: brought from schema {version} to {}",
                        path.display(),
                        schema::VERSION
                    );
                }
                let loaded = match load_meta(&connection)? {
                    Some(meta) => Some((meta, load(&connection)?)),
                    None => None,
                };
                Ok((connection, loaded))
            }
        }
    }
}

/// Opens for writing, else, on a disk that is read-only, for reading.
fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let writable = make_file(path)
        .map_err(|_| rusqlite::Error::InvalidPath(path.to_owned()))
        .and_then(|()| Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE))
        .and_then(|connection| {
            connection.busy_timeout(Duration::from_secs(5))?;
            // Where the file system can't do it, SQLite stays with a rollback journal, which is as safe.
            let _: String =
                connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
            connection.execute_batch("PRAGMA synchronous = FULL; PRAGMA trusted_schema = OFF;")?;
            Ok(connection)
        });
    // SQLite takes a file whose header names a later way of writing for one that may only be read. There is
    // no such way yet, and the system lets us write.
    if let Ok(connection) = &writable
        && connection.is_readonly("main")?
    {
        let failure = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
        return Err(rusqlite::Error::SqliteFailure(failure, None));
    }
    writable.or_else(|error| {
        if is_damage(&error) {
            return Err(error);
        }
        read_only(path)
    })
}

pub(super) fn read_only(path: &Path) -> rusqlite::Result<Connection> {
    let open = |uri: &str| {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        let connection = Connection::open_with_flags(uri, flags)?;
        connection.busy_timeout(Duration::from_secs(5))?;
        connection.execute_batch("PRAGMA trusted_schema = OFF")?;
        // Opening alone reads nothing.
        schema::kind(&connection)?;
        Ok(connection)
    };
    let uri = format!("file:{}", escaped(path));
    // A folder that can't be written has no place for the files of a log; without one there is nothing in
    // it to miss.
    open(&format!("{uri}?mode=ro")).or_else(|error| {
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        match std::fs::metadata(PathBuf::from(log)) {
            Ok(metadata) if metadata.len() > 0 => Err(error),
            _ => open(&format!("{uri}?immutable=1")),
        }
    })
}

/// A path as the path of a URI.
fn escaped(path: &Path) -> String {
    path.as_os_str()
        .as_encoded_bytes()
        .iter()
        .map(|&byte| match byte {
            b'/' | b'-' | b'_' | b'.' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                char::from(byte).to_string()
            }
            other => format!("%{other:02x}"),
        })
        .collect()
}

/// The folder, for its owner alone.
fn make_private(dir: &Path) -> io::Result<()> {
    if dir.is_dir() {
        return Ok(());
    }
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)
}

/// The file, for its owner alone; SQLite gives the same mode to the files beside it.
fn make_file(path: &Path) -> io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

/// Gives the file and what belongs to it a dated name.
fn set_aside(path: &Path, now: Timestamp) -> io::Result<PathBuf> {
    let date = jiff::Timestamp::from_millisecond(now.0)
        .map(|at| at.strftime("%Y%m%dT%H%M%SZ").to_string())
        .unwrap_or_default();
    let name = |suffix: &str, number: u32| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".damaged-{date}"));
        if number > 0 {
            name.push(format!("-{number}"));
        }
        name.push(suffix);
        PathBuf::from(name)
    };
    let number = (0..)
        .find(|&number| !name("", number).exists())
        .unwrap_or(0);
    std::fs::rename(path, name("", number))?;
    for suffix in ["-wal", "-shm", "-journal"] {
        let mut part = path.as_os_str().to_owned();
        part.push(suffix);
        match std::fs::rename(PathBuf::from(part), name(suffix, number)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(name("", number))
}

#[cfg(test)]
impl File {
    pub(super) fn limit_pages(&self, full: bool) {
        let pages = if full { 1 } else { u32::MAX - 1 };
        self.connection
            .query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))
            .unwrap();
    }

    pub(super) fn interrupt_after(&mut self, operations: i32) {
        self.connection
            .progress_handler(operations, Some(|| true))
            .unwrap();
    }
}
