//! What a source looks like from outside: if its stamp is the same, it need not be read.

use std::fs::Metadata;

use crate::stores::Source;

/// Identity, size and times of a source's files, packed. Equal stamps mean an unchanged source.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Stamp(pub(super) Vec<u8>);

impl Stamp {
    /// The present stamp of `source`, and its total size in bytes. A file that isn't there is a stamp of its
    /// own, so that its arrival is a change. The error is that of the source's own file.
    pub(super) fn of(source: &Source) -> std::io::Result<(Self, u64)> {
        let main = std::fs::metadata(&source.path)?;
        let mut bytes = Vec::with_capacity(40 * (1 + source.companions.len()));
        let mut size = main.len();
        push(&mut bytes, &main);
        for companion in &source.companions {
            match std::fs::metadata(companion) {
                Ok(metadata) => {
                    size = size.saturating_add(metadata.len());
                    push(&mut bytes, &metadata);
                }
                Err(_) => bytes.push(0),
            }
        }
        Ok((Self(bytes), size))
    }
}

fn push(bytes: &mut Vec<u8>, metadata: &Metadata) {
    bytes.push(1);
    bytes.extend(metadata.len().to_le_bytes());
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        bytes.extend(metadata.dev().to_le_bytes());
        bytes.extend(metadata.ino().to_le_bytes());
        bytes.extend(metadata.mtime().to_le_bytes());
        bytes.extend(metadata.mtime_nsec().to_le_bytes());
    }
    #[cfg(not(unix))]
    if let Ok(since) = metadata
        .modified()
        .map(|at| at.duration_since(std::time::UNIX_EPOCH).unwrap_or_default())
    {
        bytes.extend(since.as_nanos().to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_append_and_an_arriving_companion_change_the_stamp() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        std::fs::write(&path, "x").unwrap();
        let source = Source {
            path: path.clone(),
            companions: vec![dir.path().join("a.db-wal")],
        };
        let (first, size) = Stamp::of(&source).unwrap();
        assert_eq!(size, 1);
        assert_eq!(Stamp::of(&source).unwrap().0, first);
        std::fs::write(dir.path().join("a.db-wal"), "w").unwrap();
        let (second, _) = Stamp::of(&source).unwrap();
        assert_ne!(second, first);
        std::fs::write(&path, "xy").unwrap();
        assert_ne!(Stamp::of(&source).unwrap().0, second);
    }
}
