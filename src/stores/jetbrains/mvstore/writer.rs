//! Writes small MVStore files of every format version, as the format page describes them, for tests.

use flate2::{Compression, write::ZlibEncoder};
use std::collections::BTreeMap;
use std::io::Write;

use super::{BLOCK, Format, page, strings, text_map};

/// How leaf pages are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Packing {
    Plain,
    Lzf,
    Deflate,
}

/// Entries of a map: encoded key and value, in the order of keys.
pub(in super::super) type Entries = Vec<(Vec<u8>, Vec<u8>)>;

/// A store that grows chunk by chunk.
#[derive(Debug)]
pub(in super::super) struct Writer {
    pub(in super::super) format: Format,
    pub(in super::super) packing: Packing,
    /// Entries per leaf; more make a node above them.
    pub(in super::super) per_leaf: usize,
    blocks: Vec<u8>,
    version: u64,
    /// id → layout entry of the chunk.
    chunks: BTreeMap<u32, String>,
    /// Map name → (id, root).
    maps: BTreeMap<String, (u32, u64)>,
    last: Option<(u32, u64)>,
}

/// Pages that are being put into one chunk.
struct Pages {
    chunk: u32,
    bytes: Vec<u8>,
    count: u32,
    format: Format,
    packing: Packing,
    per_leaf: usize,
}

const HEADER: usize = 1024;

impl Writer {
    pub(in super::super) fn new(format: Format) -> Self {
        Self {
            format,
            packing: Packing::Plain,
            per_leaf: 4,
            blocks: vec![0; 2 * BLOCK as usize],
            version: 0,
            chunks: BTreeMap::new(),
            maps: BTreeMap::new(),
            last: None,
        }
    }

    /// Commits one version: the maps named are replaced, all others stay.
    pub(in super::super) fn commit(&mut self, maps: &[(&str, Entries)]) {
        self.version += 1;
        let id = self.version as u32;
        let mut pages = Pages {
            chunk: id,
            bytes: vec![0; HEADER],
            count: 0,
            format: self.format,
            packing: self.packing,
            per_leaf: self.per_leaf,
        };
        for (name, entries) in maps {
            let next = self.maps.len() as u32 + 2;
            let map = self.maps.get(*name).map_or(next, |&(map, _)| map);
            let root = pages.tree(map, entries);
            self.maps.insert((*name).to_owned(), (map, root));
        }
        let meta = self.names();
        let mut layout: BTreeMap<String, String> = BTreeMap::new();
        if self.format == Format::V1 {
            layout.extend(meta);
        } else {
            let root = pages.tree(1, &text_entries(&meta));
            layout.insert("meta.id".into(), "1".into());
            layout.insert("root.1".into(), format!("{root:x}"));
        }
        for (id, entry) in &self.chunks {
            layout.insert(format!("chunk.{id:x}"), entry.clone());
        }
        for (map, root) in self.maps.values() {
            layout.insert(format!("root.{map:x}"), format!("{root:x}"));
        }
        let root = pages.tree(0, &text_entries(&layout));
        self.finish(id, pages, root);
    }

    fn names(&self) -> BTreeMap<String, String> {
        let mut meta = BTreeMap::new();
        for (name, (map, _)) in &self.maps {
            meta.insert(format!("name.{name}"), format!("{map:x}"));
            meta.insert(format!("map.{map:x}"), format!("name:{name}"));
        }
        meta
    }

    fn finish(&mut self, id: u32, pages: Pages, root: u64) {
        let Pages {
            mut bytes, count, ..
        } = pages;
        let toc = bytes.len();
        if self.format != Format::V1 {
            bytes.resize(toc + 8 * count as usize, 0);
        }
        let block = self.blocks.len() as u64 / BLOCK;
        let len = (bytes.len() as u64 + 128).div_ceil(BLOCK);
        bytes.resize((len * BLOCK) as usize - 128, 0);
        let version = self.version;
        let next = block + len;
        let v1 = self.format == Format::V1;
        let place = if v1 {
            format!("block:{block:x},")
        } else {
            String::new()
        };
        let toc = if v1 {
            String::new()
        } else {
            format!(",toc:{toc:x}")
        };
        let header = format!(
            "chunk:{id:x},{place}len:{len:x},pages:{count:x},max:1000,map:9,root:{root:x},time:1f4,version:{version:x},next:{next:x}{toc}"
        );
        bytes[..header.len()].copy_from_slice(header.as_bytes());
        bytes[header.len()..HEADER].fill(b' ');
        bytes[HEADER - 1] = b'\n';
        let footer = if v1 {
            format!("chunk:{id:x},block:{block:x},version:{version:x}")
        } else {
            format!("chunk:{id:x},len:{len:x},version:{version:x}")
        };
        bytes.extend(padded(&with_sum(&footer), 128));
        self.blocks.extend(bytes);
        let entry = format!(
            "chunk:{id:x},block:{block:x},len:{len:x},pages:{count:x},livePages:{count:x},root:{root:x},version:{version:x}"
        );
        self.chunks.insert(id, entry);
        self.last = Some((id, block));
    }

    /// The file after an orderly close.
    pub(in super::super) fn closed(&self) -> Vec<u8> {
        self.with_header(self.last, ",clean:1")
    }

    /// The file of a killed process: the header names no chunk.
    pub(in super::super) fn killed(&self) -> Vec<u8> {
        self.with_header(None, "")
    }

    /// The file with a header that names an older chunk.
    pub(in super::super) fn stale(&self, chunk: u32) -> Vec<u8> {
        let entry = &self.chunks[&chunk];
        let block = text_map::hex(entry, "block").unwrap();
        self.with_header(Some((chunk, block)), "")
    }

    /// The file of a process that was killed while it moved `chunk`: where the layout has it, there is
    /// nothing yet, and it still lies where it was.
    pub(in super::super) fn moving(&self, chunk: u32) -> Vec<u8> {
        let mut file = self.with_header(self.last, "");
        self.append(&mut file, chunk);
        file[self.range(chunk)].fill(0);
        file
    }

    /// The file of a running process, with a header that names the first chunk; what `chunk` was before it
    /// was moved is still at the end.
    pub(in super::super) fn left_behind(&self, chunk: u32) -> Vec<u8> {
        let mut file = self.stale(1);
        self.append(&mut file, chunk);
        file
    }

    fn range(&self, chunk: u32) -> std::ops::Range<usize> {
        let hex = |key| text_map::hex(&self.chunks[&chunk], key).unwrap();
        let bytes = |blocks: u64| (blocks * BLOCK) as usize;
        bytes(hex("block"))..bytes(hex("block") + hex("len"))
    }

    /// Appends a copy of `chunk` that leads to no other.
    fn append(&self, file: &mut Vec<u8>, chunk: u32) {
        let hex = |key| text_map::hex(&self.chunks[&chunk], key).unwrap();
        let place = file.len() as u64 / BLOCK;
        let mut moved = file[self.range(chunk)].to_vec();
        let next = memchr::memmem::find(&moved, b"next:").unwrap() + 5;
        let digits = moved[next..].iter_mut();
        for digit in digits.take_while(|byte| byte.is_ascii_hexdigit()) {
            *digit = b'0';
        }
        if self.format == Format::V1 {
            let version = hex("version");
            let footer = format!("chunk:{chunk:x},block:{place:x},version:{version:x}");
            moved.truncate(moved.len() - 128);
            moved.extend(padded(&with_sum(&footer), 128));
        }
        file.extend(moved);
    }

    fn with_header(&self, chunk: Option<(u32, u64)>, clean: &str) -> Vec<u8> {
        let names = chunk.map_or(String::new(), |(id, block)| {
            format!("block:{block:x},chunk:{id:x},version:{id:x},")
        });
        let format = match self.format {
            Format::V1 => 1,
            Format::V2 => 2,
            Format::V3 => 3,
        };
        let header = header_block(&format!(
            "H:2,{names}blockSize:1000,created:19a0c2b4d10,format:{format}{clean}"
        ));
        let mut file = self.blocks.clone();
        file[..BLOCK as usize].copy_from_slice(&header);
        file[BLOCK as usize..2 * BLOCK as usize].copy_from_slice(&header);
        file
    }
}

impl Pages {
    /// Writes a map as one leaf, or as leaves below nodes; returns the root's position.
    fn tree(&mut self, map: u32, entries: &[(Vec<u8>, Vec<u8>)]) -> u64 {
        if entries.is_empty() {
            return 0;
        }
        let mut level: Vec<(Vec<u8>, u64)> = entries
            .chunks(self.per_leaf)
            .map(|part| (part[0].0.clone(), self.leaf(map, part)))
            .collect();
        while level.len() > 1 {
            level = level
                .chunks(8)
                .map(|part| (part[0].0.clone(), self.node(map, part)))
                .collect();
        }
        level[0].1
    }

    fn leaf(&mut self, map: u32, entries: &[(Vec<u8>, Vec<u8>)]) -> u64 {
        let keys = entries.iter().flat_map(|(key, _)| key.iter().copied());
        let values = entries.iter().flat_map(|(_, value)| value.iter().copied());
        let plain: Vec<u8> = keys.chain(values).collect();
        let packed = match self.packing {
            Packing::Plain => None,
            Packing::Lzf => Some((2, lzf(&plain))),
            Packing::Deflate => {
                let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
                encoder.write_all(&plain).unwrap();
                Some((6, encoder.finish().unwrap()))
            }
        };
        // As H2 does: compressed only if that saves something.
        let body = match packed.filter(|(_, packed)| packed.len() < plain.len()) {
            Some((kind, packed)) => {
                let mut body = vec![kind];
                var(&mut body, (plain.len() - packed.len()) as u64);
                body.extend(packed);
                body
            }
            None => [&[0][..], &plain].concat(),
        };
        self.page(map, entries.len(), &body, false)
    }

    fn node(&mut self, map: u32, children: &[(Vec<u8>, u64)]) -> u64 {
        let mut body = vec![1];
        for (_, position) in children {
            body.extend(position.to_be_bytes());
        }
        for _ in children {
            var(&mut body, 1);
        }
        for (key, _) in &children[1..] {
            body.extend(key);
        }
        self.page(map, children.len() - 1, &body, true)
    }

    fn page(&mut self, map: u32, keys: usize, body: &[u8], node: bool) -> u64 {
        let mut tail = Vec::new();
        if self.format != Format::V1 {
            var(&mut tail, u64::from(self.count));
        }
        var(&mut tail, u64::from(map));
        var(&mut tail, keys as u64);
        tail.extend(body);
        let length = (6 + tail.len()) as u32;
        let offset = self.bytes.len() as u32;
        self.bytes.extend(length.to_be_bytes());
        let check = page::check(self.chunk, offset, length);
        self.bytes.extend(check.to_be_bytes());
        self.bytes.extend(tail);
        self.count += 1;
        let code = (0..31u64)
            .find(|code| (2 + (code & 1)) << ((code >> 1) + 4) >= u64::from(length))
            .unwrap_or(31);
        u64::from(self.chunk) << 38 | u64::from(offset) << 6 | code << 1 | u64::from(node)
    }
}

fn text_entries(map: &BTreeMap<String, String>) -> Entries {
    let encode = |text: &String| {
        let mut bytes = Vec::new();
        strings::write(&mut bytes, text);
        bytes
    };
    map.iter()
        .map(|(key, value)| (encode(key), encode(value)))
        .collect()
}

pub(super) fn var(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn with_sum(map: &str) -> String {
    format!("{map},fletcher:{:x}\n", text_map::fletcher(map.as_bytes()))
}

fn padded(text: &str, size: usize) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize(size, b' ');
    bytes[size - 1] = b'\n';
    bytes
}

/// One copy of a file header.
pub(super) fn header_block(map: &str) -> Vec<u8> {
    padded(&with_sum(map), BLOCK as usize)
}

/// A value that is a serialised Java object.
pub(in super::super) fn object(stream: &[u8]) -> Vec<u8> {
    let mut value = vec![19];
    var(&mut value, stream.len() as u64);
    value.extend(stream);
    value
}

/// A plain LZF compressor: back references to the last place with the same three bytes.
fn lzf(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut literals = Vec::new();
    let mut last = std::collections::HashMap::new();
    let flush = |out: &mut Vec<u8>, literals: &mut Vec<u8>| {
        for part in literals.chunks(32) {
            out.push(part.len() as u8 - 1);
            out.extend(part);
        }
        literals.clear();
    };
    let mut at = 0;
    while at < bytes.len() {
        let before = bytes
            .get(at..at + 3)
            .and_then(|three| last.insert(three, at))
            .filter(|before| at - before <= 8192);
        let Some(before) = before else {
            literals.push(bytes[at]);
            at += 1;
            continue;
        };
        flush(&mut out, &mut literals);
        let most = (bytes.len() - at).min(264);
        let length = (0..most)
            .take_while(|&i| bytes[before + i] == bytes[at + i])
            .count();
        let distance = at - before - 1;
        if length < 9 {
            out.push(((length - 2) << 5 | distance >> 8) as u8);
        } else {
            out.extend([(7 << 5 | distance >> 8) as u8, (length - 9) as u8]);
        }
        out.push(distance as u8);
        at += length;
    }
    flush(&mut out, &mut literals);
    out
}
