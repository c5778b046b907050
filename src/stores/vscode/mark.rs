//! How far a file was read, and what to recognise it by.

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::stores::files::Identity;

const HEAD: u64 = 4096;
const TAIL: u64 = 512;

/// A place in a file, with fingerprints of the file's beginning and of what lies just before the place: a
/// journal is rewritten from time to time, in place or not, shorter or longer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Mark {
    offset: u64,
    file: Identity,
    head: u64,
    tail: u64,
}

impl Mark {
    /// The place `offset` of `file`, which has been read up to there since `before` was asked. If the file
    /// changed meanwhile, what was read may not be what lies there now, and the mark is that of an unread file.
    pub(super) fn at(file: &mut File, before: &Metadata, offset: u64) -> io::Result<Self> {
        let (head, tail) = fingerprints(file, offset)?;
        let after = file.metadata()?;
        if after.len() != before.len() || after.modified().ok() != before.modified().ok() {
            return Ok(Self::default());
        }
        Ok(Self {
            offset,
            file: Identity::of(before),
            head,
            tail,
        })
    }

    /// Where to go on in `file`: behind what was read, or at the beginning if it isn't the same any more.
    pub(super) fn resume(&self, file: &mut File, metadata: &Metadata) -> io::Result<u64> {
        if self.offset == 0
            || self.offset > metadata.len()
            || self.file != Identity::of(metadata)
            || fingerprints(file, self.offset)? != (self.head, self.tail)
        {
            return Ok(0);
        }
        Ok(self.offset)
    }
}

fn fingerprints(file: &mut File, offset: u64) -> io::Result<(u64, u64)> {
    let mut hash = |start: u64, length: u64| -> io::Result<u64> {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(start))?;
        file.take(length).read_to_end(&mut bytes)?;
        Ok(xxh3_64(&bytes))
    };
    let tail = offset.min(TAIL);
    Ok((hash(0, offset.min(HEAD))?, hash(offset - tail, tail)?))
}
