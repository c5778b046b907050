//! A sink that keeps what it is given, for tests of readers.

use super::{Cursor, Sink};
use crate::usage::{CallFact, Fact, LegFact, Observation, TokenType, Tokens};

#[derive(Debug, Default)]
pub(crate) struct Kept {
    pub(crate) observations: Vec<Observation>,
    pub(crate) parse_errors: Vec<&'static str>,
    pub(crate) skipped: Vec<&'static str>,
    pub(crate) bytes: u64,
    pub(crate) checkpoints: Vec<Cursor>,
}

impl Sink for Kept {
    fn observe(&mut self, observation: Observation) {
        self.observations.push(observation);
    }

    fn checkpoint(&mut self, cursor: Cursor) {
        self.checkpoints.push(cursor);
    }

    fn parse_error(&mut self, reason: &'static str) {
        self.parse_errors.push(reason);
    }

    fn skipped(&mut self, reason: &'static str) {
        self.skipped.push(reason);
    }

    fn bytes_read(&mut self, bytes: u64) {
        self.bytes += bytes;
    }
}

impl Kept {
    pub(crate) fn calls(&self) -> Vec<&CallFact> {
        let facts = self.observations.iter().map(|o| &o.fact);
        facts
            .filter_map(|fact| match fact {
                Fact::Call(call) => Some(call),
                _ => None,
            })
            .collect()
    }

    pub(crate) fn legs(&self) -> Vec<&LegFact> {
        let facts = self.observations.iter().map(|o| &o.fact);
        facts
            .filter_map(|fact| match fact {
                Fact::Leg(leg) => Some(leg),
                _ => None,
            })
            .collect()
    }
}

/// The four classes: input, cache read, cache write, output.
pub(crate) fn classes(tokens: &Tokens) -> [Option<u64>; 4] {
    TokenType::ALL.map(|class| tokens.get(class))
}
