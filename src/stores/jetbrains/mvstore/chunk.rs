//! Chunks: runs of blocks that were written at once, with a header in front and a footer at the end.

use std::io;

use super::page::Position;
use super::{BLOCK, ReadAt, text_map};

/// The header is somewhere in the chunk's first bytes, and has no checksum.
const HEADER: usize = 1024;
const FOOTER: u64 = 128;

/// Where a chunk lies.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chunk {
    pub(super) id: u32,
    pub(super) block: u64,
    /// In blocks.
    len: u64,
    pub(super) version: u64,
    /// When it was written, in milliseconds since the store's creation.
    pub(super) time: u64,
}

/// A chunk as its own header describes it.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChunkHeader {
    pub(super) chunk: Chunk,
    /// The root of the layout map of this version.
    pub(super) root: Position,
    /// Where the next chunk was expected to go; 0 is unknown.
    pub(super) next: u64,
}

impl Chunk {
    pub(super) fn start(&self) -> u64 {
        self.block.saturating_mul(BLOCK)
    }

    pub(super) fn end(&self) -> u64 {
        self.block.saturating_add(self.len).saturating_mul(BLOCK)
    }

    /// Whether `other`, wherever it lies, is this chunk.
    pub(super) fn is(&self, other: &Self) -> bool {
        (self.id, self.len, self.version) == (other.id, other.len, other.version)
    }

    /// The chunk that an entry of the layout map describes, and whether it has live pages.
    pub(super) fn of_layout(entry: &str) -> Option<(Self, bool)> {
        let hex = |key| text_map::hex(entry, key);
        let chunk = Self {
            id: u32::try_from(hex("chunk")?).ok()?,
            block: hex("block")?,
            len: hex("len")?,
            version: hex("version").unwrap_or(0),
            time: hex("time").unwrap_or(0),
        };
        Some((chunk, hex("livePages") != Some(0)))
    }
}

impl ChunkHeader {
    /// The chunk that begins at `block`, if its header and its footer agree.
    pub(super) fn read(source: &impl ReadAt, block: u64) -> io::Result<Option<Self>> {
        // Blocks 0 and 1 are the file's own header.
        if block < 2 {
            return Ok(None);
        }
        let mut bytes = [0; HEADER];
        let filled = source.read_at(&mut bytes, block.saturating_mul(BLOCK))?;
        let map = bytes.get(..filled).and_then(text_map::text);
        let Some(header) = map.and_then(|map| Self::parse(map, block)) else {
            return Ok(None);
        };
        let footer = Footer::before(source, header.chunk.end())?;
        let agrees = |footer: Footer| {
            footer.id == header.chunk.id
                && footer.version == header.chunk.version
                && footer.start == block
        };
        Ok(footer.is_some_and(agrees).then_some(header))
    }

    fn parse(map: &str, block: u64) -> Option<Self> {
        let hex = |key| text_map::hex(map, key);
        let len = hex("len").filter(|&len| len > 0)?;
        Some(Self {
            chunk: Chunk {
                id: u32::try_from(hex("chunk")?).ok()?,
                block,
                len,
                version: hex("version").unwrap_or(0),
                time: hex("time").unwrap_or(0),
            },
            root: Position(hex("root")?),
            next: hex("next").unwrap_or(0),
        })
    }
}

/// The last bytes of a chunk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Footer {
    id: u32,
    version: u64,
    /// The chunk's first block.
    pub(super) start: u64,
}

impl Footer {
    /// The footer that ends at `end`, if there is a valid one.
    pub(super) fn before(source: &impl ReadAt, end: u64) -> io::Result<Option<Self>> {
        let Some(offset) = end.checked_sub(FOOTER) else {
            return Ok(None);
        };
        let mut bytes = [0; FOOTER as usize];
        let filled = source.read_at(&mut bytes, offset)?;
        let footer = bytes
            .get(..filled)
            .filter(|bytes| bytes.starts_with(b"chunk:"));
        let map = footer.and_then(text_map::checked);
        Ok(map.and_then(|map| Self::parse(map, end / BLOCK)))
    }

    fn parse(map: &str, end: u64) -> Option<Self> {
        let hex = |key| text_map::hex(map, key);
        // Format 1 names the first block instead of the length.
        let start = match hex("len") {
            Some(len) => end.checked_sub(len)?,
            None => hex("block")?,
        };
        Some(Self {
            id: u32::try_from(hex("chunk")?).ok()?,
            version: hex("version").unwrap_or(0),
            start,
        })
    }
}
