//! Files that readers find whole or not at all, such as those of node_exporter's textfile collector.

use std::io::{self, Write};
use std::path::Path;

/// Replaces `path` by `contents`: a reader sees the old file or the new one, never a part, also after a
/// crash. The folder must exist.
///
/// # Errors
/// Nothing is touched if there is something else than a regular file, or a link to one.
pub fn replace(path: &Path, contents: &[u8]) -> io::Result<()> {
    let linked = match std::fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => {
            let text = "it is no regular file; without --output the metrics go to stdout";
            return Err(io::Error::other(text));
        }
        // A link stays, and what it leads to is replaced.
        Ok(_) => Some(path.canonicalize()?),
        Err(_) => None,
    };
    let path = linked.as_deref().unwrap_or(path);
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let name = path
        .file_name()
        .ok_or_else(|| io::Error::other("not a file name"))?;
    // Not *.prom, so that a collector that reads the folder meanwhile passes it over.
    let mut temporary = std::ffi::OsString::from(".");
    temporary.push(name);
    temporary.push(format!(".{}.tmp", std::process::id()));
    let temporary = folder.join(temporary);
    let write = || {
        let mut file = std::fs::File::create(&temporary)?;
        file.write_all(contents)?;
        file.sync_all()?;
        std::fs::rename(&temporary, path)?;
        sync_folder(folder)
    };
    write().inspect_err(|_| {
        let _ = std::fs::remove_file(&temporary);
    })
}

/// Makes the new name durable.
#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    std::fs::File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_and_nothing_is_left_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.prom");
        replace(&path, b"one").unwrap();
        replace(&path, b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_failure_leaves_the_old_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("taken");
        std::fs::create_dir(&path).unwrap();
        assert!(replace(&path, b"x").is_err());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_reader_never_sees_a_part() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.prom");
        let contents = ["a".repeat(300_000), "b".repeat(100_000)];
        replace(&file, contents[0].as_bytes()).unwrap();
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                for round in 0..20 {
                    replace(&file, contents[round % 2].as_bytes()).unwrap();
                }
            });
            while !writer.is_finished() {
                assert!(contents.contains(&std::fs::read_to_string(&file).unwrap()));
            }
        });
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_file_stays_and_a_link_keeps_leading_to_its_file() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("file"), dir.path().join("link"));
        std::fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        replace(&link, b"new").unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"new");
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert!(replace(Path::new("/dev/null"), b"new").is_err());
        assert!(replace(dir.path(), b"new").is_err());
    }
}
