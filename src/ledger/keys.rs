//! Which scope an identity belongs to.

use std::collections::HashMap;

use super::scope::ScopeId;
use crate::usage::Key;

/// Every known identity and the scope that owns it: 12 bytes each, and a small map of the latest ones.
#[derive(Debug, Default)]
pub(super) struct KeyIndex {
    /// Sorted.
    keys: Vec<u64>,
    owners: Vec<u32>,
    /// Where the keys with given first bits begin: hashes are spread evenly, so a part of it holds a few.
    parts: Vec<u32>,
    recent: HashMap<u64, u32, Hashed>,
    /// What isn't stored yet.
    pub(super) fresh: Vec<(Key, ScopeId)>,
}

/// Keys are hashes already.
type Hashed = std::hash::BuildHasherDefault<Identity>;

#[derive(Debug, Default)]
pub(super) struct Identity(u64);

impl std::hash::Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

impl KeyIndex {
    /// Recent keys are merged into the sorted ones when there are more than this, and more than an eighth.
    const FEW: usize = 1 << 16;
    /// How many keys a part holds, about.
    const PART: usize = 8;

    pub(super) fn owner(&self, key: Key) -> Option<ScopeId> {
        if let Some(&owner) = self.recent.get(&key.0) {
            return Some(ScopeId(owner));
        }
        let at = self.place(key.0)?;
        self.owners.get(at).map(|&owner| ScopeId(owner))
    }

    /// Where a key is among the sorted ones.
    fn place(&self, key: u64) -> Option<usize> {
        let part = Self::part(key, self.parts.len());
        let begin = *self.parts.get(part)? as usize;
        let end = self
            .parts
            .get(part + 1)
            .map_or(self.keys.len(), |&end| end as usize);
        let near = self.keys.get(begin..end)?;
        near.binary_search(&key).ok().map(|at| begin + at)
    }

    /// The part of `parts` in which a key lies; their number is a power of two.
    fn part(key: u64, parts: usize) -> usize {
        let bits = parts.trailing_zeros();
        key.checked_shr(64 - bits).unwrap_or(0) as usize
    }

    pub(super) fn insert(&mut self, key: Key, owner: ScopeId) {
        self.fresh.push((key, owner));
        self.restore(key, owner);
    }

    /// Takes over a stored key.
    pub(super) fn restore(&mut self, key: Key, owner: ScopeId) {
        self.recent.insert(key.0, owner.0);
        if self.recent.len() > Self::FEW.max(self.keys.len() / 8) {
            self.settle();
        }
    }

    /// Merges the recent keys into the sorted ones, which a recent key overrides.
    fn settle(&mut self) {
        let mut recent: Vec<(u64, u32)> = self.recent.drain().collect();
        recent.sort_unstable();
        recent.retain(|&(key, owner)| match self.place(key) {
            Some(at) => {
                self.owners[at] = owner;
                false
            }
            None => true,
        });
        // From the back, in place: a second copy of a large index would cost its size in memory.
        let (mut old, mut new) = (self.keys.len(), recent.len());
        let mut to = old + new;
        self.keys.resize(to, 0);
        self.owners.resize(to, 0);
        while new > 0 {
            to -= 1;
            if old > 0 && self.keys[old - 1] > recent[new - 1].0 {
                old -= 1;
                self.keys[to] = self.keys[old];
                self.owners[to] = self.owners[old];
            } else {
                new -= 1;
                (self.keys[to], self.owners[to]) = recent[new];
            }
        }
        self.divide();
    }

    fn divide(&mut self) {
        let parts = (self.keys.len() / Self::PART).next_power_of_two();
        self.parts.clear();
        for (at, &key) in self.keys.iter().enumerate() {
            let part = Self::part(key, parts);
            while self.parts.len() <= part {
                self.parts.push(at as u32);
            }
        }
        self.parts.resize(parts, self.keys.len() as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_keys_before_and_after_they_are_settled() {
        let mut index = KeyIndex::default();
        let key = |n: u64| Key::of("test", &[&n.to_string()]);
        for n in 0..200_000 {
            index.insert(key(n), ScopeId(n as u32));
        }
        index.insert(key(3), ScopeId(7));
        assert!(!index.keys.is_empty() && !index.recent.is_empty());
        assert_eq!(index.owner(key(3)), Some(ScopeId(7)));
        for n in (4..200_000).step_by(997) {
            assert_eq!(index.owner(key(n)), Some(ScopeId(n as u32)), "{n}");
        }
        assert_eq!(index.owner(key(200_000)), None);
        index.settle();
        assert_eq!(index.owner(key(3)), Some(ScopeId(7)));
        assert_eq!(index.keys.len(), 200_000);
    }
}
