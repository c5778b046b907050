//! Careful access to other people's files: regular files only, no way out of the examined folder.

use std::ffi::OsString;
use std::fs::{self, File, FileType, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Which file it is, whatever its name: tells an appended file from a replaced one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Identity {
    dev: u64,
    ino: u64,
}

impl Identity {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            Self {
                dev: metadata.dev(),
                ino: metadata.ino(),
            }
        }
        // Elsewhere std has no stable file number; the birth time changes with a replacement.
        #[cfg(not(unix))]
        {
            let born = metadata.created().ok();
            let since = born.and_then(|t| t.duration_since(std::time::UNIX_EPOCH).ok());
            Self {
                dev: 0,
                ino: since.map_or(0, |d| d.as_nanos() as u64),
            }
        }
    }
}

/// Opens a regular file for reading. Never blocks on a FIFO, never opens a device, and refuses symbolic
/// links below `root` that lead out of it (`root` itself may be a link).
///
/// # Errors
/// What the system says, and `InvalidInput` for what is no regular file or lies outside.
pub(crate) fn open_regular(root: &Path, path: &Path) -> io::Result<(File, Metadata)> {
    if has_link(root, path)? {
        stays_below(root, path)?;
    }
    if !fs::metadata(path)?.is_file() {
        return Err(not_regular());
    }
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    }
    let file = options.open(path)?;
    // Asked again of the open file: the name may mean another one by now.
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(not_regular());
    }
    Ok((file, metadata))
}

fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")
}

/// Whether a component below `root` (or the file itself) is a symbolic link.
fn has_link(root: &Path, path: &Path) -> io::Result<bool> {
    for part in path.ancestors() {
        if part == root {
            return Ok(false);
        }
        if fs::symlink_metadata(part)?.is_symlink() {
            return Ok(true);
        }
        // Not below the root at all: only the file itself is looked at.
        if !path.starts_with(root) {
            return Ok(false);
        }
    }
    Ok(false)
}

fn stays_below(root: &Path, path: &Path) -> io::Result<()> {
    if fs::canonicalize(path)?.starts_with(fs::canonicalize(root)?) {
        return Ok(());
    }
    let text = "a symbolic link that leads out of the examined folder";
    Err(io::Error::new(io::ErrorKind::InvalidInput, text))
}

/// What a folder holds, in the order of names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    pub(crate) name: OsString,
    pub(crate) path: PathBuf,
    pub(crate) is_dir: bool,
}

/// The most entries of one folder that are looked at.
const MOST_ENTRIES: usize = 200_000;

/// The folders and regular files in `dir`; links count as what they lead to, if that lies below `root`.
///
/// A folder that doesn't exist is empty. FIFOs, devices, sockets and dangling links are left out.
///
/// # Errors
/// When the folder can't be listed.
pub(crate) fn list(root: &Path, dir: &Path) -> io::Result<Vec<Entry>> {
    let listing = match fs::read_dir(dir) {
        Ok(listing) => listing,
        Err(error) if is_absent(&error) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut entries = Vec::new();
    for entry in listing.take(MOST_ENTRIES) {
        let entry = entry?;
        let path = entry.path();
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        let Some(kind) = resolve(root, &path, kind) else {
            continue;
        };
        if kind.is_dir() || kind.is_file() {
            entries.push(Entry {
                name: entry.file_name(),
                path,
                is_dir: kind.is_dir(),
            });
        }
    }
    entries.sort();
    Ok(entries)
}

/// Nothing lies there, which is no error: most people don't use every product.
pub(crate) fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

fn resolve(root: &Path, path: &Path, kind: FileType) -> Option<FileType> {
    if !kind.is_symlink() {
        return Some(kind);
    }
    stays_below(root, path).ok()?;
    fs::metadata(path).ok().map(|m| m.file_type())
}

/// All regular files below `dir`, at most `depth` folders down (0: only in `dir`), in the order of paths.
///
/// Linked folders are not entered, so that there are no cycles. A folder that can't be listed goes to
/// `problem`, and the others are listed all the same.
pub(crate) fn walk(
    root: &Path,
    dir: &Path,
    depth: usize,
    problem: &mut dyn FnMut(&Path, io::Error),
) -> Vec<PathBuf> {
    let mut files = Vec::new();
    match list(root, dir) {
        Err(error) => problem(dir, error),
        Ok(entries) => {
            for entry in entries {
                if !entry.is_dir {
                    files.push(entry.path);
                } else if depth > 0 && !entry.path.is_symlink() {
                    files.append(&mut walk(root, &entry.path, depth - 1, problem));
                }
            }
        }
    }
    files.truncate(MOST_ENTRIES);
    files
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn edge_209_links_out_fifos_and_loops_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (inside, outside) = (dir.path().join("in"), dir.path().join("out"));
        fs::create_dir_all(inside.join("real")).unwrap();
        fs::create_dir_all(&outside).unwrap();
        fs::write(outside.join("secret"), "x").unwrap();
        fs::write(inside.join("real/file"), "x").unwrap();
        symlink(outside.join("secret"), inside.join("leak")).unwrap();
        symlink(&outside, inside.join("leakdir")).unwrap();
        symlink(inside.join("real/file"), inside.join("fine")).unwrap();
        symlink(&inside, inside.join("loop")).unwrap();
        let fifo = inside.join("fifo");
        let mode = rustix::fs::Mode::from(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0).unwrap();

        assert!(open_regular(&inside, &inside.join("leak")).is_err());
        assert!(open_regular(&inside, &inside.join("leakdir/secret")).is_err());
        assert!(open_regular(&inside, &fifo).is_err());
        assert!(open_regular(&inside, &inside.join("real")).is_err());
        assert!(open_regular(&inside, &inside.join("fine")).is_ok());
        assert!(open_regular(&inside, &inside.join("real/file")).is_ok());

        let names: Vec<_> = list(&inside, &inside)
            .unwrap()
            .into_iter()
            .map(|e| e.name)
            .collect();
        assert_eq!(names, ["fine", "loop", "real"]);
        let found = walk(&inside, &inside, 5, &mut |_, error| panic!("{error}"));
        assert_eq!(found, [inside.join("fine"), inside.join("real/file")]);
    }

    #[test]
    fn a_root_that_is_a_link_is_fine() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("real")).unwrap();
        fs::write(dir.path().join("real/file"), "x").unwrap();
        let root = dir.path().join("root");
        symlink(dir.path().join("real"), &root).unwrap();
        assert!(open_regular(&root, &root.join("file")).is_ok());
        assert_eq!(list(&root, &root).unwrap().len(), 1);
    }

    #[test]
    fn edge_207_a_missing_folder_is_empty() {
        let dir = tempfile::tempdir().unwrap();
        let missing = dir.path().join("no");
        assert_eq!(list(dir.path(), &missing).unwrap(), []);
        assert!(walk(dir.path(), &missing, 2, &mut |_, e| panic!("{e}")).is_empty());
    }
}
