//! The newest version of a store: which chunk it is, and what its layout map says.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;

use super::super::bytes::{Bytes, Malformed};
use super::chunk::{Chunk, ChunkHeader, Footer};
use super::page::{Leaf, Page, Position};
use super::{BLOCK, Error, MOST_PAGES, ReadAt, Store, strings, text_map};

/// How many pages may be read in the search for a version, all attempts together.
const MOST_READS: u32 = 200_000;
/// How many chunks a file may have.
const MOST_CHUNKS: usize = 1 << 20;
/// How many maps a file may have, and how long their names may be: a class's, and a key.
const MOST_MAPS: usize = 10_000;
const LONGEST_NAME: usize = 1_024;
/// Chunk ids have 26 bits and wrap.
const CHUNK_IDS: u32 = 1 << 26;

/// Where the chunks and the maps of one version are.
#[derive(Debug, Default)]
pub(super) struct Layout {
    pub(super) chunks: HashMap<u32, Chunk>,
    /// By map id.
    pub(super) roots: HashMap<u32, Position>,
    pub(super) names: BTreeMap<String, u32>,
    /// Chunks with live pages.
    live: Vec<u32>,
    meta: Option<u32>,
}

impl Layout {
    fn entry(&mut self, key: &str, value: &str) -> Result<(), Malformed> {
        if key.starts_with("chunk.") {
            if let Some((chunk, live)) = Chunk::of_layout(value)
                && let Entry::Vacant(place) = self.chunks.entry(chunk.id)
            {
                place.insert(chunk);
                if live {
                    self.live.push(chunk.id);
                }
            }
        } else if let Some(map) = key.strip_prefix("root.") {
            if let Some((map, root)) = map_id(map).zip(text_map::parse_hex(value)) {
                self.roots.insert(map, Position(root));
            }
        } else if let Some(name) = key.strip_prefix("name.") {
            if name.len() > LONGEST_NAME {
                return Err(Malformed);
            }
            if let Some(id) = map_id(value) {
                self.names.insert(name.to_owned(), id);
            }
        } else if key == "meta.id" {
            self.meta = map_id(value);
        }
        let maps = self.names.len().max(self.roots.len());
        match self.chunks.len() <= MOST_CHUNKS && maps <= MOST_MAPS {
            true => Ok(()),
            false => Err(Malformed),
        }
    }

    fn leaf(&mut self, leaf: &Leaf<'_>) -> Result<(), Malformed> {
        let mut bytes = Bytes::new(&leaf.bytes);
        let mut texts = || strings::read(&mut bytes);
        let keys: Vec<String> = (0..leaf.count).map(|_| texts()).collect::<Result<_, _>>()?;
        for key in &keys {
            self.entry(key, &texts()?)?;
        }
        Ok(())
    }
}

fn map_id(hex: &str) -> Option<u32> {
    u32::try_from(text_map::parse_hex(hex)?).ok()
}

/// How sound a version has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Demand {
    /// Every chunk with live pages is there.
    Whole,
    /// The layout and the maps' roots can be read.
    Roots,
}

/// Where chunks lie, by id and version.
///
/// A compaction moves chunks towards the front of the file. When it is cut short, the place that a layout
/// names may hold something else, while the chunk still lies where it was.
type Places = HashMap<(u32, u64), u64>;

impl<R: ReadAt> Store<R> {
    /// Takes the newest version that is whole, else the newest whose roots can be read.
    pub(super) fn find_version(&mut self) -> Result<(), Error> {
        let mut reads = 0;
        let newest = self.newest_chunk()?;
        if let Some(newest) = newest
            && self.try_version(newest, Demand::Whole, &Places::new(), &mut reads)?
        {
            return Ok(());
        }
        let all = self.all_chunks()?;
        if all.is_empty() && self.header.newest.is_none() && self.size <= 2 * BLOCK {
            // Created, and nothing written yet.
            return Ok(());
        }
        let place = |header: &ChunkHeader| {
            let chunk = &header.chunk;
            ((chunk.id, chunk.version), chunk.block)
        };
        let places = all.iter().map(place).collect();
        for demand in [Demand::Whole, Demand::Roots] {
            for &chunk in &all {
                if self.try_version(chunk, demand, &places, &mut reads)? {
                    return Ok(());
                }
            }
        }
        Err(Error::NoVersion)
    }

    /// The newest chunk that the header or the end of the file leads to.
    fn newest_chunk(&self) -> io::Result<Option<ChunkHeader>> {
        let mut named = None;
        if let Some((id, block)) = self.header.newest {
            let found = ChunkHeader::read(&self.source, block)?;
            named = found.filter(|found| found.chunk.id == id);
            if self.header.clean && named.is_some() {
                return Ok(named);
            }
        }
        // The header is only written anew where the end of the file can't tell: one of both leads on. The
        // other may lead to what was moved from there long ago.
        let mut newest: Option<ChunkHeader> = None;
        for start in [named, self.last_chunk()?].into_iter().flatten() {
            let end = self.follow(start)?;
            if newest.is_none_or(|newest| newest.chunk.version < end.chunk.version) {
                newest = Some(end);
            }
        }
        Ok(newest)
    }

    /// The end of the chain of chunks that begins with this one.
    fn follow(&self, mut chunk: ChunkHeader) -> io::Result<ChunkHeader> {
        loop {
            let next = ChunkHeader::read(&self.source, chunk.next)?;
            match next.filter(|next| follows(&chunk.chunk, &next.chunk)) {
                Some(next) => chunk = next,
                None => return Ok(chunk),
            }
        }
    }

    /// The last chunk in the file.
    fn last_chunk(&self) -> io::Result<Option<ChunkHeader>> {
        for end in (3..=self.size / BLOCK).rev() {
            if let Some(chunk) = self.chunk_before(end)? {
                return Ok(Some(chunk));
            }
        }
        Ok(None)
    }

    /// All chunks, the newest first.
    fn all_chunks(&self) -> io::Result<Vec<ChunkHeader>> {
        let mut chunks = Vec::new();
        for end in (3..=self.size / BLOCK).rev() {
            if chunks.len() < MOST_CHUNKS {
                chunks.extend(self.chunk_before(end)?);
            }
        }
        chunks.sort_by_key(|header| std::cmp::Reverse(header.chunk.version));
        Ok(chunks)
    }

    /// The chunk whose last block ends where block `end` begins.
    fn chunk_before(&self, end: u64) -> io::Result<Option<ChunkHeader>> {
        match Footer::before(&self.source, end * BLOCK)? {
            Some(footer) => ChunkHeader::read(&self.source, footer.start),
            None => Ok(None),
        }
    }

    fn try_version(
        &mut self,
        newest: ChunkHeader,
        demand: Demand,
        places: &Places,
        reads: &mut u32,
    ) -> Result<bool, Error> {
        let Some(layout) = self.layout(newest, demand, places, reads)? else {
            return Ok(false);
        };
        self.layout = layout;
        self.version = newest.chunk.version;
        Ok(true)
    }

    /// What the version that ends with the chunk `newest` says; `None` if it, a map's root or something
    /// that `demand` names is unreadable.
    fn layout(
        &self,
        newest: ChunkHeader,
        demand: Demand,
        places: &Places,
        reads: &mut u32,
    ) -> io::Result<Option<Layout>> {
        let mut layout = Layout::default();
        // The newest chunk may be missing in its own layout.
        layout.chunks.insert(newest.chunk.id, newest.chunk);
        if !self.text_map(&mut layout, 0, newest.root, reads)? {
            return Ok(None);
        }
        if !self.locate(&mut layout, places)? && demand == Demand::Whole {
            return Ok(None);
        }
        // Format 1 has the names in the same map.
        let meta = layout.meta.unwrap_or(1);
        let root = layout.roots.get(&meta).copied();
        if let Some(root) = root.filter(|_| layout.names.is_empty())
            && !self.text_map(&mut layout, meta, root, reads)?
        {
            return Ok(None);
        }
        let mut buffer = Vec::new();
        for (&map, &root) in &layout.roots {
            if !root.is_page() {
                continue;
            }
            let Some(chunk) = layout.chunks.get(&root.chunk()) else {
                return Ok(None);
            };
            *reads += 1;
            if *reads > MOST_READS || self.page(chunk, root, map, &mut buffer)?.is_err() {
                return Ok(None);
            }
        }
        Ok(Some(layout))
    }

    /// Adds the entries of a map of strings; `false` if some page can't be read.
    ///
    /// Pages of the layout map may lie in chunks that only other pages of it name: these wait.
    fn text_map(
        &self,
        layout: &mut Layout,
        map: u32,
        root: Position,
        reads: &mut u32,
    ) -> io::Result<bool> {
        let mut buffer = Vec::new();
        let mut seen = HashSet::new();
        let mut ready = vec![root];
        loop {
            let mut waiting = Vec::new();
            let mut progress = false;
            while let Some(position) = ready.pop() {
                if !position.is_page() {
                    continue;
                }
                let Some(&chunk) = layout.chunks.get(&position.chunk()) else {
                    waiting.push(position);
                    continue;
                };
                progress = true;
                *reads += 1;
                if *reads > MOST_READS || seen.len() > MOST_PAGES {
                    return Ok(false);
                }
                match self.page(&chunk, position, map, &mut buffer)? {
                    Ok(Page::Leaf(leaf)) if layout.leaf(&leaf).is_ok() => {}
                    Ok(Page::Node(children)) => {
                        ready.extend(children.into_iter().filter(|&child| seen.insert(child)));
                    }
                    _ => return Ok(false),
                }
            }
            if waiting.is_empty() {
                return Ok(true);
            }
            if !progress {
                return Ok(false);
            }
            ready = waiting;
        }
    }

    /// Whether every chunk with live pages is there, and is the one that the layout means. One that lies
    /// elsewhere is looked for at its place in `places` from here on.
    fn locate(&self, layout: &mut Layout, places: &Places) -> io::Result<bool> {
        let mut is_whole = true;
        for id in &layout.live {
            let Some(chunk) = layout.chunks.get_mut(id) else {
                is_whole = false;
                continue;
            };
            if self.is_at_its_place(chunk)? {
                continue;
            }
            let mut other = *chunk;
            let place = places.get(&(chunk.id, chunk.version));
            other.block = place.copied().unwrap_or_default();
            match self.is_at_its_place(&other)? {
                true => *chunk = other,
                false => is_whole = false,
            }
        }
        Ok(is_whole)
    }

    fn is_at_its_place(&self, chunk: &Chunk) -> io::Result<bool> {
        let found = ChunkHeader::read(&self.source, chunk.block)?;
        Ok(found.is_some_and(|found| found.chunk.is(chunk)))
    }
}

fn follows(chunk: &Chunk, next: &Chunk) -> bool {
    next.id == (chunk.id + 1) % CHUNK_IDS && next.version > chunk.version
}
