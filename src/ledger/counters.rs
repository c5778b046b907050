//! Durable counters of the stores: what was read, and what couldn't be understood.

use std::collections::BTreeMap;

use serde::Serialize;

use super::snapshot::StoreStatus;
use crate::stores::StoreKind;
use crate::usage::Fact;

/// How many statements a store made since this process began, by what they are about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Told {
    pub calls: u64,
    pub turns: u64,
    /// Process runs of CLI sessions, one for each model.
    pub legs: u64,
    /// Running totals of whole sessions.
    pub totals: u64,
    pub failures: u64,
    pub tool_calls: u64,
}

impl Told {
    pub(super) fn add(&mut self, fact: &Fact) {
        *match fact {
            Fact::Call(_) => &mut self.calls,
            Fact::Turn(_) => &mut self.turns,
            Fact::Leg(_) => &mut self.legs,
            Fact::Total(_) => &mut self.totals,
            Fact::Failure(_) => &mut self.failures,
            Fact::Tool(_) => &mut self.tool_calls,
            Fact::Session(_) => return,
        } += 1;
    }
}

/// The counters of one store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct StoreCounters {
    pub(super) bytes_read: u64,
    pub(super) duplicates: u64,
    pub(super) parse_errors: BTreeMap<&'static str, u64>,
    pub(super) skipped: BTreeMap<&'static str, u64>,
    /// Not durable.
    pub(super) told: Told,
    /// Changed since they were stored.
    pub(super) dirty: bool,
}

impl StoreCounters {
    pub(super) fn bytes(&mut self, bytes: u64) {
        self.bytes_read = self.bytes_read.saturating_add(bytes);
        self.dirty |= bytes > 0;
    }

    pub(super) fn duplicates(&mut self, statements: u64) {
        self.duplicates = self.duplicates.saturating_add(statements);
        self.dirty |= statements > 0;
    }

    pub(super) fn parse_error(&mut self, reason: &'static str) {
        *self.parse_errors.entry(reason).or_default() += 1;
        self.dirty = true;
    }

    pub(super) fn skipped(&mut self, reason: &'static str) {
        *self.skipped.entry(reason).or_default() += 1;
        self.dirty = true;
    }
}

/// The counters of all stores.
#[derive(Debug, Default)]
pub(super) struct Counters(pub(super) BTreeMap<StoreKind, StoreCounters>);

impl Counters {
    pub(super) fn of(&mut self, kind: StoreKind) -> &mut StoreCounters {
        self.0.entry(kind).or_default()
    }

    /// Fills in what is counted durably.
    pub(super) fn fill(&self, stores: &mut BTreeMap<StoreKind, StoreStatus>) {
        for (&kind, counters) in &self.0 {
            let status = stores.entry(kind).or_default();
            status.bytes_read = counters.bytes_read;
            status.told = counters.told;
            status.parse_errors.clone_from(&counters.parse_errors);
            status.skipped.clone_from(&counters.skipped);
        }
    }

    pub(super) fn duplicates(&self) -> BTreeMap<StoreKind, u64> {
        self.0
            .iter()
            .map(|(&kind, counters)| (kind, counters.duplicates))
            .collect()
    }
}
