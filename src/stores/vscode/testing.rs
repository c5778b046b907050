//! What the tests of these readers share.

use crate::stores::{Cursor, Home, Reader, Sink, Source, StoreError};
use crate::usage::{Fact, Observation};

/// Keeps what a reader says; a statement that is made again replaces its former version.
#[derive(Debug, Default)]
pub(super) struct Seen {
    observations: Vec<Observation>,
    pub(super) errors: Vec<&'static str>,
    pub(super) skipped: Vec<&'static str>,
    pub(super) bytes: u64,
}

impl Seen {
    pub(super) fn observations(&self) -> &[Observation] {
        &self.observations
    }

    pub(super) fn facts(&self) -> Vec<Fact> {
        self.observations
            .iter()
            .map(|observation| observation.fact.clone())
            .collect()
    }

    /// Reads everything that `reader` finds below `home`, once.
    pub(super) fn read_all(&mut self, reader: &dyn Reader, home: &Home) {
        let found = reader.discover(home);
        assert!(found.problems.is_empty(), "{:?}", found.problems);
        for source in &found.sources {
            self.read(reader, home, source, &Cursor::default()).unwrap();
        }
    }

    pub(super) fn read(
        &mut self,
        reader: &dyn Reader,
        home: &Home,
        source: &Source,
        cursor: &Cursor,
    ) -> Result<Cursor, StoreError> {
        reader.read(home, source, cursor, self)
    }
}

impl Sink for Seen {
    fn observe(&mut self, observation: Observation) {
        match self
            .observations
            .iter_mut()
            .find(|known| known.id == observation.id)
        {
            Some(known) => *known = observation,
            None => self.observations.push(observation),
        }
    }

    fn checkpoint(&mut self, _: Cursor) {}

    fn parse_error(&mut self, reason: &'static str) {
        self.errors.push(reason);
    }

    fn skipped(&mut self, reason: &'static str) {
        self.skipped.push(reason);
    }

    fn bytes_read(&mut self, bytes: u64) {
        self.bytes += bytes;
    }
}
