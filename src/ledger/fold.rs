//! Old statements fold into what they amounted to: totals and identities stay, the statements go.

use super::scope::Scope;
use super::{Ledger, LedgerError};
use crate::usage::Timestamp;

const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;

/// A scope folds when its newest statement is older than this.
const AGE: i64 = 90 * DAY;
/// And when nothing was said about it for so long: another store may still be read for the first time.
const REST: i64 = DAY;
/// How many scopes fold in one pass.
const MOST: u32 = 500;

impl Ledger {
    /// Folds what is old, by the newest statement of all: a clock that jumps ahead makes nothing old.
    pub(super) fn fold(&mut self) -> Result<(), LedgerError> {
        // A clock that was set back must not put it off for ever.
        if (self.next_fold.0 - HOUR..self.next_fold.0).contains(&self.now.0) {
            return Ok(());
        }
        let present = self.state.meta().newest.min(self.now);
        let newest = Timestamp(present.0 - AGE);
        let touched = Timestamp(self.now.0 - REST);
        let old = self.state.foldable(newest, touched, MOST)?;
        let all = old.len() < MOST as usize;
        for id in old {
            if let Some(mut scope) = self.state.scope(id)? {
                scope.fold();
                self.state.put_scope(id, &scope);
            }
        }
        self.next_fold = Timestamp(self.now.0 + if all { HOUR } else { 0 });
        Ok(())
    }
}

impl Scope {
    fn fold(&mut self) {
        self.folded_until = self.folded_until.max(self.newest);
        self.base = self.cells.clone();
        self.base_truth = self.truth.clone();
        self.statements = Vec::new();
        self.prices.clear();
    }
}
