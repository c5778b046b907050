//! Incremental reading of files of lines: an append costs what was appended, a file that shrank, was
//! replaced or rewritten is read anew, and memory stays flat whatever a file's or a line's size.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use memchr::memchr;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use xxhash_rust::xxh3::xxh3_64;

use super::files::{Identity, open_regular};
use super::{Cursor, Reason, Sink, StoreError};

/// The longest line that is held in memory; a longer one is passed over, and told.
pub(crate) const LONGEST_LINE: usize = 64 << 20;

const BUFFER: usize = 256 << 10;
/// How much memory may stay allocated for the next long line: taking it anew from the system for each costs
/// more than the line.
const KEPT: usize = 4 << 20;
/// How much of a file's beginning, and of what lies just before the position, must still be the same.
const HEAD: usize = 4096;
const TAIL: usize = 512;

thread_local! {
    /// The buffer of the last file: reading ten thousand small files allocates once.
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// How far a file was read: the end of its last whole line, and what to recognise the file by.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Position {
    file: Identity,
    offset: u64,
    lines: u64,
    head: Fingerprint,
    tail: Fingerprint,
}

/// Length and hash of some bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Fingerprint(usize, u64);

impl Fingerprint {
    fn of(bytes: &[u8]) -> Self {
        Self(bytes.len(), xxh3_64(bytes))
    }
}

/// What a reader of lines keeps between passes.
#[derive(Serialize, Deserialize)]
struct Saved<S> {
    version: u32,
    position: Position,
    state: S,
}

/// One whole line, without its line end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    pub(crate) bytes: &'a [u8],
    /// From 0.
    pub(crate) number: u64,
    /// Where the line begins in the file.
    pub(crate) offset: u64,
}

/// The new lines of a file, one after the other.
pub(crate) struct Lines {
    path: PathBuf,
    file: File,
    version: u32,
    limit: usize,
    is_contents: fn(&[u8]) -> bool,
    identity: Identity,
    buffer: Vec<u8>,
    /// The line that comes next begins here in the buffer; up to `TAIL` bytes before it are kept.
    start: usize,
    /// No line end lies between `start` and here.
    searched: usize,
    filled: usize,
    /// The file's offset of `start`.
    offset: u64,
    number: u64,
    began: u64,
    /// The file's first bytes, as far as they are behind `offset`.
    head: Vec<u8>,
    /// Set while an over-long line is passed over.
    passing: Option<Passing>,
}

/// An over-long line.
struct Passing {
    /// Where it begins.
    position: Position,
    /// It can't hold a call.
    is_contents: bool,
}

impl Lines {
    /// Opens a file where `cursor` says that reading stopped, and gives the parser's state at that place.
    ///
    /// The file is read from its beginning, with a fresh state, when it isn't the same any more or when
    /// the cursor is of another `version` of the reader.
    ///
    /// # Errors
    /// When the file can't be opened or read, is no regular file, or lies outside of `root`.
    pub(crate) fn open<S: Default + DeserializeOwned>(
        root: &Path,
        path: &Path,
        cursor: &Cursor,
        version: u32,
    ) -> Result<(Self, S), StoreError> {
        let saved = cursor
            .load::<Saved<S>>()
            .filter(|saved| saved.version == version);
        let open = || -> io::Result<(Self, S)> {
            let (file, metadata) = open_regular(root, path)?;
            let mut lines = Self::at_start(path, file, Identity::of(&metadata), version);
            if let Some(saved) = saved {
                if saved.position.offset <= metadata.len() && lines.resume(&saved.position)? {
                    return Ok((lines, saved.state));
                }
                lines.restart()?;
            }
            Ok((lines, S::default()))
        };
        open().map_err(|error| StoreError::new(path, Reason::Io(error)))
    }

    fn at_start(path: &Path, file: File, identity: Identity, version: u32) -> Self {
        let mut buffer = SPARE.take();
        buffer.resize(BUFFER, 0);
        Self {
            path: path.to_owned(),
            file,
            version,
            limit: LONGEST_LINE,
            is_contents: |_| false,
            identity,
            buffer,
            start: 0,
            searched: 0,
            filled: 0,
            offset: 0,
            number: 0,
            began: 0,
            head: Vec::new(),
            passing: None,
        }
    }

    /// Lowers the limit from which on a line is passed over. `is_contents` tells by a line's beginning that it
    /// holds no more than contents: it is skipped then, and else a parse error.
    #[must_use]
    pub(crate) fn with_longest_line(
        mut self,
        limit: usize,
        is_contents: fn(&[u8]) -> bool,
    ) -> Self {
        self.limit = limit;
        self.is_contents = is_contents;
        self
    }

    /// Goes to `position` if the bytes at the file's beginning and just before it are the same as then.
    fn resume(&mut self, position: &Position) -> io::Result<bool> {
        let (head, tail) = (position.head, position.tail);
        let tail_start = position.offset.checked_sub(tail.0 as u64);
        let Some(tail_start) = tail_start.filter(|_| head.0 <= HEAD && tail.0 <= TAIL) else {
            return Ok(false);
        };
        if position.file != self.identity {
            return Ok(false);
        }
        let mut bytes = vec![0; head.0];
        if !read_fully(&mut self.file, &mut bytes)? || Fingerprint::of(&bytes) != head {
            return Ok(false);
        }
        self.file.seek(SeekFrom::Start(tail_start))?;
        let before = &mut self.buffer[..tail.0];
        if !read_fully(&mut self.file, before)? || Fingerprint::of(before) != tail {
            return Ok(false);
        }
        self.head = bytes;
        (self.start, self.searched, self.filled) = (tail.0, tail.0, tail.0);
        self.offset = position.offset;
        self.began = position.offset;
        self.number = position.lines;
        Ok(true)
    }

    fn restart(&mut self) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(0)).map(drop)
    }

    /// Where reading began: 0 for a file that is new or read anew.
    pub(crate) fn began(&self) -> u64 {
        self.began
    }

    /// The next whole line. A last line without line end is not finished: it waits for a later pass.
    ///
    /// # Errors
    /// When the file can't be read.
    pub(crate) fn next(&mut self, sink: &mut dyn Sink) -> Result<Option<Line<'_>>, StoreError> {
        loop {
            let unsearched = &self.buffer[self.searched..self.filled];
            if let Some(at) = memchr(b'\n', unsearched) {
                let end = self.searched + at;
                let (start, offset, number) = (self.start, self.offset, self.number);
                self.advance(end + 1);
                self.number += 1;
                match self.passing.take() {
                    Some(line) if line.is_contents => sink.skipped("line_too_long"),
                    Some(_) => sink.parse_error("line_too_long"),
                    None => {
                        let bytes = without_marks(&self.buffer[start..end], offset);
                        return Ok(Some(Line {
                            bytes,
                            number,
                            offset,
                        }));
                    }
                }
                continue;
            }
            self.searched = self.filled;
            if self.filled - self.start > self.limit || self.passing.is_some() {
                if self.passing.is_none() {
                    self.passing = Some(Passing {
                        position: self.position(),
                        is_contents: (self.is_contents)(&self.buffer[self.start..self.filled]),
                    });
                }
                self.advance(self.filled);
            }
            match self.fill() {
                Ok(0) => return Ok(None),
                Ok(n) => sink.bytes_read(n as u64),
                Err(error) => return Err(StoreError::new(&self.path, Reason::Io(error))),
            }
        }
    }

    /// Moves on to a place in the buffer.
    fn advance(&mut self, to: usize) {
        if self.head.len() < HEAD && self.head.len() as u64 == self.offset {
            let room = HEAD - self.head.len();
            let bytes = &self.buffer[self.start..to];
            self.head.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
        self.offset += (to - self.start) as u64;
        self.start = to;
        self.searched = to;
    }

    fn fill(&mut self) -> io::Result<usize> {
        if self.filled == self.buffer.len() {
            let kept = self.start.saturating_sub(TAIL);
            self.buffer.copy_within(kept..self.filled, 0);
            self.start -= kept;
            self.searched -= kept;
            self.filled -= kept;
            if self.filled >= self.buffer.len() / 2 {
                self.buffer.resize(self.buffer.len() * 2, 0);
            } else if self.buffer.len() > BUFFER && self.filled < BUFFER / 2 {
                self.buffer.truncate(BUFFER);
                self.buffer.shrink_to(KEPT);
            }
        }
        loop {
            match self.file.read(&mut self.buffer[self.filled..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                Ok(n) => {
                    self.filled += n;
                    return Ok(n);
                }
            }
        }
    }

    fn position(&self) -> Position {
        if let Some(line) = &self.passing {
            return line.position.clone();
        }
        let tail = &self.buffer[self.start.saturating_sub(TAIL)..self.start];
        Position {
            file: self.identity,
            offset: self.offset,
            lines: self.number,
            head: Fingerprint::of(&self.head),
            tail: Fingerprint::of(tail),
        }
    }

    /// Where reading stands, together with the parser's state there.
    pub(crate) fn cursor<S: Serialize>(&self, state: &S) -> Cursor {
        Cursor::store(&Saved {
            version: self.version,
            position: self.position(),
            state,
        })
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.truncate(BUFFER);
        buffer.shrink_to(KEPT);
        SPARE.set(buffer);
    }
}

/// Without a carriage return at the end and a byte order mark at the file's beginning.
fn without_marks(line: &[u8], offset: u64) -> &[u8] {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    match offset {
        0 => line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line),
        _ => line,
    }
}

/// Fills `bytes`; `false` if the file ends before.
fn read_fully(file: &mut File, bytes: &mut [u8]) -> io::Result<bool> {
    match file.read_exact(bytes) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;
