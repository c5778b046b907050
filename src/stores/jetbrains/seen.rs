//! What a store's reader keeps between passes: which pages it has read, and what it made of them.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::mvstore::Position;
use crate::stores::Cursor;

/// The reader's version: another one reads everything anew.
const VERSION: u32 = 2;

/// The most undated turns whose first sight is remembered.
const MOST_UNDATED: usize = 10_000;

/// By session.
pub(super) type Contexts = BTreeMap<u64, u64>;

/// The state between passes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Seen {
    version: u32,
    /// The pages could be walked once: the file is never salvaged.
    pub(super) walked: bool,
    /// When the store was created: a new store means other pages by the same positions.
    created: u64,
    /// What went into the turns of each session besides their documents, hashed.
    contexts: Contexts,
    /// Leaves that were read, ascending, each as the difference to the one before.
    leaves: Vec<u64>,
    /// When their chunks were written, by id.
    chunks: BTreeMap<u32, (u64, u64)>,
    /// When turns without a time were first seen.
    undated: BTreeMap<u64, i64>,
}

impl Seen {
    /// The state that `cursor` holds; empty for none, and for another version's.
    pub(super) fn load(cursor: &Cursor) -> Self {
        cursor
            .load()
            .filter(|seen: &Self| seen.version == VERSION)
            .unwrap_or_default()
    }

    pub(super) fn cursor(&self) -> Cursor {
        Cursor::store(self)
    }

    /// Whether a session's context is what it was.
    pub(super) fn knows(&self, session: u64, context: u64) -> bool {
        self.contexts.get(&session) == Some(&context)
    }

    /// The leaves that need not be read again: none if the store is another one, or if what is now told of
    /// some session that was known makes its turns differ. `written` tells when a page's chunk was.
    pub(super) fn leaves(
        &self,
        created: u64,
        contexts: &Contexts,
        written: impl Fn(Position) -> Option<(u64, u64)>,
    ) -> BTreeSet<Position> {
        let changed = |(session, context): (&u64, &u64)| {
            contexts.get(session).is_some_and(|now| now != context)
        };
        if self.created != created || self.contexts.iter().any(changed) {
            return BTreeSet::new();
        }
        let mut sum = 0_u64;
        let mut next = |&step: &u64| {
            sum = sum.wrapping_add(step);
            Position(sum)
        };
        let is_same = |&leaf: &Position| {
            let before = self.chunks.get(&leaf.chunk());
            before.is_some_and(|&before| written(leaf) == Some(before))
        };
        self.leaves.iter().map(&mut next).filter(is_same).collect()
    }

    /// Takes over what a walk has read.
    pub(super) fn walked(
        &mut self,
        created: u64,
        contexts: Contexts,
        leaves: &BTreeSet<Position>,
        written: impl Fn(Position) -> Option<(u64, u64)>,
    ) {
        let mut before = 0;
        let mut step = |&Position(leaf): &Position| leaf - std::mem::replace(&mut before, leaf);
        let chunk = |&leaf: &Position| Some((leaf.chunk(), written(leaf)?));
        *self = Self {
            version: VERSION,
            walked: true,
            created,
            contexts,
            leaves: leaves.iter().map(&mut step).collect(),
            chunks: leaves.iter().filter_map(chunk).collect(),
            undated: std::mem::take(&mut self.undated),
        };
    }

    /// The time of a turn that has none: when it was first seen, for good.
    pub(super) fn first_seen(&mut self, turn: u64, now: i64) -> i64 {
        if let Some(&first) = self.undated.get(&turn) {
            return first;
        }
        if self.undated.len() < MOST_UNDATED {
            self.undated.insert(turn, now);
        }
        now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contexts(all: &[(u64, u64)]) -> Contexts {
        all.iter().copied().collect()
    }

    fn first(_: Position) -> Option<(u64, u64)> {
        Some((1, 50))
    }

    #[test]
    fn leaves_come_back_only_in_the_same_context() {
        let leaves: BTreeSet<_> = [5, 7, u64::MAX].map(Position).into();
        let mut seen = Seen::default();
        seen.walked(1, contexts(&[(8, 2)]), &leaves, first);
        let seen = Seen::load(&seen.cursor());
        let with = |created, known: &[(u64, u64)]| seen.leaves(created, &contexts(known), first);
        assert_eq!(with(1, &[(8, 2), (9, 1)]), leaves, "a new session");
        assert!(with(1, &[(8, 3)]).is_empty());
        assert!(with(2, &[(8, 2)]).is_empty());
        assert!(seen.walked);
    }

    #[test]
    fn leaves_of_a_chunk_that_was_written_again_are_new() {
        let [one, two] = [1 << 38 | 5, 2 << 38 | 5].map(Position);
        let mut seen = Seen::default();
        seen.walked(1, Contexts::new(), &[one, two].into(), first);
        let seen = Seen::load(&seen.cursor());
        for other in [Some((1, 60)), Some((2, 50)), None] {
            let written = |leaf| if leaf == two { other } else { first(leaf) };
            let known = seen.leaves(1, &Contexts::new(), written);
            assert_eq!(known, [one].into());
        }
    }

    #[test]
    fn edge_191_an_undated_turn_keeps_the_time_of_its_first_sight() {
        let mut seen = Seen::default();
        assert_eq!(seen.first_seen(9, 100), 100);
        seen.walked(1, Contexts::new(), &BTreeSet::new(), first);
        let mut seen = Seen::load(&seen.cursor());
        assert_eq!(seen.first_seen(9, 500), 100);
    }

    #[test]
    fn another_versions_state_is_none() {
        let other = Cursor(br#"{"version":0,"walked":true}"#.to_vec());
        assert_eq!(Seen::load(&other), Seen::default());
    }
}
