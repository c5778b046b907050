//! A read-only reader of H2's MVStore files, format versions 1 to 3: it finds the newest version that is
//! wholly there and walks its live pages. It takes no lock, reads one page at a time whatever the file's
//! size, and checks every length, offset and depth.

mod chunk;
mod header;
mod layout;
mod lzf;
mod page;
mod strings;
mod text_map;
mod values;
#[cfg(test)]
pub(super) mod writer;

use std::collections::HashSet;
use std::fs::File;
use std::io;

use chunk::Chunk;
use header::Header;
use layout::Layout;
use page::Page;
pub use page::{Leaf, Position};

pub use super::bytes::Malformed;

/// The largest page that is read, compressed or not. Pages aim at some kilobytes, but one document is
/// never split.
pub const LARGEST_PAGE: usize = 24 << 20;

/// The most pages of one map.
const MOST_PAGES: usize = 1 << 20;

/// The deepest tree.
const DEEPEST: u8 = 64;

const BLOCK: u64 = 4096;

/// Why a file can't be read as a store.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("it has no valid MVStore header")]
    NoHeader,
    #[error("MVStore format {0}")]
    Format(u64),
    #[error("no version of its page tree can be read")]
    NoVersion,
}

/// The version of the file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// H2 1.4: one map holds the layout and the names.
    V1,
    /// H2 2.0 and 2.1.
    V2,
    /// From H2 2.2 on.
    V3,
}

impl Format {
    fn has_page_numbers(self) -> bool {
        self != Self::V1
    }
}

/// Something that is read at any place: a file, or bytes in memory.
pub trait ReadAt {
    /// # Errors
    /// What the system says.
    fn size(&self) -> io::Result<u64>;

    /// Fills `buffer` from `offset` on, and returns how much there was.
    ///
    /// # Errors
    /// What the system says.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
}

impl ReadAt for File {
    fn size(&self) -> io::Result<u64> {
        self.metadata().map(|metadata| metadata.len())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            #[cfg(unix)]
            let read = std::os::unix::fs::FileExt::read_at;
            #[cfg(windows)]
            let read = std::os::windows::fs::FileExt::seek_read;
            match read(self, &mut buffer[filled..], offset + filled as u64) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }
}

impl ReadAt for &File {
    fn size(&self) -> io::Result<u64> {
        ReadAt::size(*self)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        ReadAt::read_at(*self, buffer, offset)
    }
}

impl ReadAt for &[u8] {
    fn size(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let bytes = self.get(start..).unwrap_or_default();
        let count = bytes.len().min(buffer.len());
        buffer[..count].copy_from_slice(&bytes[..count]);
        Ok(count)
    }
}

/// One version of a store: the newest that can be read.
#[derive(Debug)]
pub struct Store<R> {
    source: R,
    size: u64,
    header: Header,
    version: u64,
    layout: Layout,
}

/// The live leaves of a map, in the order of keys.
#[derive(Debug, Default)]
pub struct Leaves {
    map: u32,
    pub positions: Vec<Position>,
    /// Of the nodes above them.
    pub bytes: u64,
    /// Nodes that couldn't be read; what lies below them is missing.
    pub damaged: u32,
}

/// What became of a walk.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Walked {
    pub bytes: u64,
    /// Pages that couldn't be read; what lies below them is missing.
    pub damaged: u32,
}

impl<R: ReadAt> Store<R> {
    /// Finds the newest readable version.
    ///
    /// # Errors
    /// When `source` can't be read, is no MVStore, or has no version whose layout and map roots can be read.
    pub fn open(source: R) -> Result<Self, Error> {
        let size = source.size()?;
        let header = Header::read(&source)?;
        let mut store = Self {
            source,
            size,
            header,
            version: 0,
            layout: Layout::default(),
        };
        store.find_version()?;
        Ok(store)
    }

    /// When the store was created; another store has other pages at the same
    /// [`Position`]s.
    pub fn created(&self) -> u64 {
        self.header.created
    }

    /// The version that was found.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// When the chunk of a page was written: its version and the milliseconds since the store's creation.
    ///
    /// After a crash that lost the newest chunks, others are written under their ids: then the same
    /// [`Position`] is another page.
    pub fn written(&self, page: Position) -> Option<(u64, u64)> {
        let chunk = self.layout.chunks.get(&page.chunk())?;
        Some((chunk.version, chunk.time))
    }

    /// The names of the maps, sorted.
    pub fn maps(&self) -> impl Iterator<Item = &str> {
        self.layout.names.keys().map(String::as_str)
    }

    /// Finds the live leaves of a map, those aside for which `skip` is true.
    ///
    /// # Errors
    /// When the source can't be read. A damaged page is passed over and counted.
    pub fn leaves(&self, map: &str, skip: &mut dyn FnMut(Position) -> bool) -> io::Result<Leaves> {
        let mut leaves = Leaves::default();
        let map = self.layout.names.get(map);
        let Some((&map, root)) = map.and_then(|id| Some((id, self.layout.roots.get(id)?))) else {
            return Ok(leaves);
        };
        leaves.map = map;
        let mut buffer = Vec::new();
        let mut seen = HashSet::new();
        let mut stack = vec![(*root, 0)];
        while let Some((position, depth)) = stack.pop() {
            if !position.is_page() {
                continue;
            }
            if !position.is_node() {
                if !skip(position) {
                    leaves.positions.push(position);
                }
                continue;
            }
            match self.live_page(map, position, &mut buffer)? {
                Ok(Page::Node(children)) if depth < DEEPEST => {
                    leaves.bytes += children.len() as u64 * 8;
                    for &child in children.iter().rev() {
                        if seen.len() >= MOST_PAGES {
                            leaves.damaged += 1;
                            break;
                        }
                        if seen.insert(child) {
                            stack.push((child, depth + 1));
                        }
                    }
                }
                Ok(_) | Err(Malformed) => leaves.damaged += 1,
            }
        }
        Ok(leaves)
    }

    /// Reads one of the `leaves` of a map; `buffer` is memory for it. `Err` inside: its page is damaged.
    ///
    /// # Errors
    /// When the source can't be read.
    pub fn leaf<'b>(
        &self,
        leaves: &Leaves,
        position: Position,
        buffer: &'b mut Vec<u8>,
    ) -> io::Result<Result<Leaf<'b>, Malformed>> {
        let page = self.live_page(leaves.map, position, buffer)?;
        Ok(page.and_then(|page| match page {
            Page::Leaf(leaf) => Ok(leaf),
            Page::Node(_) => Err(Malformed),
        }))
    }

    /// Walks the live leaves of a map in the order of keys, those aside for which `skip` is true.
    ///
    /// # Errors
    /// When the source can't be read. A damaged page is passed over and counted.
    pub fn walk(
        &self,
        map: &str,
        skip: &mut dyn FnMut(Position) -> bool,
        visit: &mut dyn FnMut(Position, &Leaf<'_>),
    ) -> io::Result<Walked> {
        let leaves = self.leaves(map, skip)?;
        let mut walked = Walked {
            bytes: leaves.bytes,
            damaged: leaves.damaged,
        };
        let mut buffer = Vec::new();
        for &position in &leaves.positions {
            match self.leaf(&leaves, position, &mut buffer)? {
                Ok(leaf) => {
                    walked.bytes += leaf.bytes.len() as u64;
                    visit(position, &leaf);
                }
                Err(Malformed) => walked.damaged += 1,
            }
        }
        Ok(walked)
    }

    /// Reads a page of the version into `buffer`.
    fn live_page<'b>(
        &self,
        map: u32,
        position: Position,
        buffer: &'b mut Vec<u8>,
    ) -> io::Result<Result<Page<'b>, Malformed>> {
        match self.layout.chunks.get(&position.chunk()) {
            Some(chunk) => self.page(chunk, position, map, buffer),
            None => Ok(Err(Malformed)),
        }
    }

    /// Reads one page into `buffer`.
    fn page<'b>(
        &self,
        chunk: &Chunk,
        position: Position,
        map: u32,
        buffer: &'b mut Vec<u8>,
    ) -> io::Result<Result<Page<'b>, Malformed>> {
        let offset = u64::from(position.offset());
        let end = chunk.end().min(self.size);
        let start = chunk.start().checked_add(offset);
        let Some((start, room)) = start.and_then(|start| Some((start, end.checked_sub(start)?)))
        else {
            return Ok(Err(Malformed));
        };
        let length = match position.largest() {
            Some(largest) => largest,
            None => {
                let mut prefix = [0; 4];
                self.source.read_at(&mut prefix, start)?;
                u32::from_be_bytes(prefix) as usize
            }
        };
        let length = length.min(usize::try_from(room).unwrap_or(usize::MAX));
        if length > LARGEST_PAGE {
            return Ok(Err(Malformed));
        }
        if length > buffer.len() || buffer.len() > 1 << 20 {
            *buffer = vec![0; length];
        }
        let filled = self.source.read_at(&mut buffer[..length], start)?;
        let format = self.header.format;
        Ok(page::read(&buffer[..filled], position, format, map))
    }
}

#[cfg(test)]
mod tests;
