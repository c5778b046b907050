//! Who gets snapshots: a new counter is shown at 0 until all who come back for more have seen the 0.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// All who get snapshots of one ledger.
#[derive(Debug, Default)]
pub(super) struct Audience {
    /// The newest snapshot that anybody got; the first one is 1.
    newest: AtomicU64,
    readers: Mutex<Vec<Weak<AtomicU64>>>,
}

/// Somebody who comes back: a scraper's connection, or a push. Whoever drops it has left.
#[derive(Debug, Default)]
pub struct Reader(Arc<AtomicU64>);

impl Audience {
    /// Somebody got the snapshot of that number, and may never come back.
    pub(super) fn got(&self, snapshot: u64) {
        self.newest.fetch_max(snapshot, Ordering::AcqRel);
    }

    /// `reader` got the snapshot of that number.
    pub(super) fn got_by(&self, reader: &Reader, snapshot: u64) {
        let before = reader.0.swap(snapshot, Ordering::AcqRel);
        if before == 0 {
            let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
            readers.push(Arc::downgrade(&reader.0));
        }
        self.got(snapshot);
    }

    /// The newest snapshot that all readers who are still there have seen, or anybody if there are none;
    /// 0: nobody has seen one.
    pub(super) fn seen_until(&self) -> u64 {
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        readers.retain(|reader| reader.strong_count() > 0);
        let oldest = readers.iter().filter_map(Weak::upgrade);
        let oldest = oldest.map(|reader| reader.load(Ordering::Acquire)).min();
        oldest.unwrap_or_else(|| self.newest.load(Ordering::Acquire))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_of_those_who_stay_decides() {
        let audience = Audience::default();
        let seen = || audience.seen_until();
        assert_eq!(seen(), 0);
        audience.got(1);
        assert_eq!(seen(), 1, "somebody who may not come back");
        let (quick, slow) = (Reader::default(), Reader::default());
        audience.got_by(&quick, 2);
        audience.got_by(&slow, 2);
        audience.got_by(&quick, 5);
        audience.got(6);
        assert_eq!(seen(), 2);
        drop(slow);
        assert_eq!(seen(), 5);
        drop(quick);
        assert_eq!(seen(), 6);
    }
}
