//! What comes in: one source's statements, and how far it was read.

use std::path::Path;
use std::sync::Arc;

use super::Ledger;
use super::scope::Statement;
use crate::stores::{Cursor, PARSE_ERRORS, Sink, StoreKind};
use crate::usage::{Key, Observation};

/// A source's identity in the ledger: a digest of its store and path, since the path itself is nobody's
/// business.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceId(pub(super) u64);

impl SourceId {
    pub fn of(kind: StoreKind, path: &Path) -> Self {
        let path = path.as_os_str().as_encoded_bytes();
        let hex: String = path.iter().map(|byte| format!("{byte:02x}")).collect();
        Self(Key::of("source", &[kind.as_str(), &hex]).0)
    }
}

/// How far a source was read, and what it looked like then.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct SourceState {
    /// Empty: not read to its end since it changed.
    pub(super) stamp: Vec<u8>,
    pub(super) cursor: Cursor,
}

/// The sink of one source. What it takes is committed with the cursor, in one transaction, together with
/// all that follows from it; a long source is committed in parts.
#[derive(Debug)]
pub struct Intake<'a> {
    pub(super) ledger: &'a mut Ledger,
    pub(super) source: SourceId,
    pub(super) kind: StoreKind,
    pub(super) user: Option<Arc<str>>,
}

impl Intake<'_> {
    /// The source was read to its end. With the stamp that it had *before* it was read, it is left alone
    /// until that changes.
    pub fn finish(self, cursor: Cursor, stamp: Vec<u8>) {
        self.ledger
            .read_up_to(self.source, SourceState { stamp, cursor });
    }
}

impl Sink for Intake<'_> {
    fn observe(&mut self, observation: Observation) {
        let counters = self.ledger.counters.of(self.kind);
        counters.told.add(&observation.fact);
        let statement = Statement {
            source: self.source,
            observation,
        };
        self.ledger.take(statement, self.kind, self.user.as_ref());
    }

    fn checkpoint(&mut self, cursor: Cursor) {
        let state = SourceState {
            stamp: Vec::new(),
            cursor,
        };
        self.ledger.read_up_to(self.source, state);
    }

    fn parse_error(&mut self, reason: &'static str) {
        debug_assert!(PARSE_ERRORS.contains(&reason), "{reason}");
        self.ledger.counters.of(self.kind).parse_error(reason);
    }

    fn skipped(&mut self, reason: &'static str) {
        self.ledger.counters.of(self.kind).skipped(reason);
    }

    fn bytes_read(&mut self, bytes: u64) {
        self.ledger.counters.of(self.kind).bytes(bytes);
    }
}
