//! The file header, of which blocks 0 and 1 hold a copy each.

use super::{BLOCK, Error, Format, ReadAt, text_map};

/// The better of the two copies.
#[derive(Debug, Clone)]
pub(super) struct Header {
    pub(super) format: Format,
    pub(super) created: u64,
    /// The store was closed in good order after this header was written.
    pub(super) clean: bool,
    /// The newest chunk when the header was written: its id and its block. Missing right after creation,
    /// and stale after a crash.
    pub(super) newest: Option<(u32, u64)>,
    version: Option<u64>,
}

impl Header {
    pub(super) fn read(source: &impl ReadAt) -> Result<Self, Error> {
        let mut best: Option<Self> = None;
        let mut failure = Error::NoHeader;
        for copy in 0..2 {
            let mut block = [0; BLOCK as usize];
            let filled = source.read_at(&mut block, copy * BLOCK)?;
            let Some(map) = block.get(..filled).and_then(text_map::checked) else {
                continue;
            };
            match Self::parse(map) {
                Ok(header) if best.as_ref().is_none_or(|b| header.version > b.version) => {
                    best = Some(header);
                }
                Ok(_) => {}
                Err(error) => failure = error,
            }
        }
        best.ok_or(failure)
    }

    fn parse(map: &str) -> Result<Self, Error> {
        let hex = |key| text_map::hex(map, key);
        if hex("H") != Some(2) || hex("blockSize") != Some(BLOCK) {
            return Err(Error::NoHeader);
        }
        let format = match hex("format").unwrap_or(1) {
            1 => Format::V1,
            2 => Format::V2,
            3 => Format::V3,
            other => return Err(Error::Format(other)),
        };
        let chunk = hex("chunk").and_then(|id| u32::try_from(id).ok());
        Ok(Self {
            format,
            created: hex("created").unwrap_or(0),
            clean: hex("clean") == Some(1),
            newest: chunk.zip(hex("block")),
            version: hex("version"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::writer::header_block;
    use super::*;

    fn read(blocks: &[Vec<u8>]) -> Result<Header, Error> {
        Header::read(&blocks.concat().as_slice())
    }

    #[test]
    fn the_copy_of_the_larger_version_wins() {
        let copy = |version: u64, chunk: u64| {
            header_block(&format!(
                "H:2,block:{chunk:x},blockSize:1000,chunk:{chunk:x},created:7,format:3,version:{version:x}"
            ))
        };
        let header = read(&[copy(0x10, 2), copy(0x11, 3)]).unwrap();
        assert_eq!(header.newest, Some((3, 3)));
        let header = read(&[copy(0x12, 2), copy(0x11, 3)]).unwrap();
        assert_eq!(header.newest, Some((2, 2)));
    }

    #[test]
    fn one_broken_copy_is_enough() {
        let good = header_block("H:2,blockSize:1000,created:7");
        let header = read(&[vec![0; 4096], good]).unwrap();
        assert_eq!((header.format, header.newest), (Format::V1, None));
    }

    #[test]
    fn what_is_no_store_is_told_apart_from_a_newer_format() {
        let newer = header_block("H:2,blockSize:1000,created:7,format:4");
        assert!(matches!(read(&[newer]), Err(Error::Format(4))));
        let other = header_block("H:2,blockSize:2000,created:7,format:3");
        assert!(matches!(read(&[other]), Err(Error::NoHeader)));
        assert!(matches!(read(&[]), Err(Error::NoHeader)));
    }
}
