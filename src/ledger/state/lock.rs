//! One exporter a state folder.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::time::Duration;

/// Held as long as the ledger is open.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

/// Somebody else holds the lock: the process id that it left, if it can be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Taken {
    pub(super) holder: Option<u32>,
}

impl Lock {
    const NAME: &str = "lock";

    /// How often, and how long, to wait for a holder that is just ending, or for a program that it started:
    /// until that has become itself, it holds the lock too.
    const WAITS: u32 = 10;
    const WAIT: Duration = Duration::from_millis(20);

    /// Takes the lock of the folder. `Ok(None)`: the folder or its file system has no locks to offer.
    pub(super) fn take(dir: &Path) -> Result<Option<Self>, Taken> {
        let path = dir.join(Self::NAME);
        let Ok(mut file) = open(&path) else {
            return Ok(None);
        };
        let mut waits = Self::WAITS;
        let taken = loop {
            match file.try_lock() {
                Err(TryLockError::WouldBlock) if waits > 0 => {
                    waits -= 1;
                    std::thread::sleep(Self::WAIT);
                }
                other => break other,
            }
        };
        match taken {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                let _ = file.read_to_string(&mut text);
                return Err(Taken {
                    holder: text.trim().parse().ok(),
                });
            }
            Err(TryLockError::Error(_)) => return Ok(None),
        }
        // Only for people: what locks is the lock.
        let _ = file
            .set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| writeln!(file, "{}", std::process::id()));
        Ok(Some(Self { _file: file }))
    }
}

fn open(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).or_else(|_| File::open(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_told_who_was_first() {
        let dir = tempfile::tempdir().unwrap();
        let first = Lock::take(dir.path()).unwrap().unwrap();
        let holder = Some(std::process::id());
        assert_eq!(Lock::take(dir.path()).unwrap_err(), Taken { holder });
        drop(first);
        assert!(Lock::take(dir.path()).unwrap().is_some());
    }

    #[test]
    fn a_folder_without_locks_is_no_obstacle() {
        let dir = tempfile::tempdir().unwrap();
        assert!(Lock::take(&dir.path().join("missing")).unwrap().is_none());
    }
}
