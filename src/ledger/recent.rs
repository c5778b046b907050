//! What happened lately: sums over windows of time, and the sessions that are active.

use std::collections::{BTreeMap, HashMap};

use super::LedgerError;
use super::cells::{Cells, SeriesId};
use super::scope::ScopeId;
use super::state::State;
use super::window::Span;
use crate::usage::{Measure, Slot, Surface, Timestamp, TokenType, Usd};

/// Sums by slot and series, as far back as the longest window.
#[derive(Debug)]
pub(super) struct Recent {
    /// Complete from here on.
    since: Slot,
    slots: BTreeMap<Slot, BTreeMap<SeriesId, Sums>>,
    /// The newest call of each session.
    sessions: HashMap<ScopeId, (Surface, Timestamp)>,
}

/// What a window shows. Each sum is of a number of cells, so that none known is told from 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sums {
    calls: Sum,
    cost: Sum,
    tokens: [Sum; 4],
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Sum {
    amount: u128,
    cells: u32,
}

impl Sum {
    fn add(&mut self, other: Self) {
        self.amount = self.amount.saturating_add(other.amount);
        self.cells = self.cells.saturating_add(other.cells);
    }

    fn take(&mut self, other: Self) {
        self.amount = self.amount.saturating_sub(other.amount);
        self.cells = self.cells.saturating_sub(other.cells);
    }

    fn known(self) -> Option<u128> {
        (self.cells > 0).then_some(self.amount)
    }
}

impl Sums {
    pub(super) fn calls(&self) -> u128 {
        self.calls.amount
    }

    pub(super) fn cost(&self) -> Option<Usd> {
        self.cost.known().map(Usd)
    }

    pub(super) fn tokens(&self) -> BTreeMap<TokenType, u128> {
        TokenType::ALL
            .into_iter()
            .zip(self.tokens)
            .filter_map(|(class, sum)| Some((class, sum.known()?)))
            .collect()
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.each(other, Sum::add);
    }

    fn each(&mut self, other: &Self, mut change: impl FnMut(&mut Sum, Sum)) {
        change(&mut self.calls, other.calls);
        change(&mut self.cost, other.cost);
        for (sum, other) in self.tokens.iter_mut().zip(other.tokens) {
            change(sum, other);
        }
    }

    /// The sum that a measure goes into.
    fn of(&mut self, measure: Measure) -> Option<&mut Sum> {
        match measure {
            Measure::Calls(_) => Some(&mut self.calls),
            Measure::CostReported | Measure::CostListPrice => Some(&mut self.cost),
            Measure::Tokens(class) => TokenType::ALL
                .iter()
                .position(|&known| known == class)
                .and_then(|at| self.tokens.get_mut(at)),
            _ => None,
        }
    }

    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Recent {
    /// How far back sums are kept: a month and what time zones add to it.
    const BACK: i64 = 35 * 24 * 3_600_000;

    /// Builds the sums that are needed at `now`.
    pub(super) fn build(state: &State, now: Timestamp) -> Result<Self, LedgerError> {
        let since = Self::horizon(now);
        let mut recent = Self {
            since,
            slots: BTreeMap::new(),
            sessions: HashMap::new(),
        };
        state.cells_since(since, &mut |of| {
            recent.replace(&Cells::default(), &of.cells);
            recent.called(of.scope, of.surface, of.last_call);
        })?;
        Ok(recent)
    }

    fn horizon(now: Timestamp) -> Slot {
        Timestamp(now.0.saturating_sub(Self::BACK)).slot()
    }

    /// Forgets what is too old. `false`: the clock was set back so far that something is missing.
    pub(super) fn is_complete_at(&mut self, now: Timestamp) -> bool {
        let horizon = Self::horizon(now);
        if horizon < self.since {
            return false;
        }
        self.since = horizon;
        self.slots = self.slots.split_off(&horizon);
        self.sessions
            .retain(|_, &mut (_, time)| time.slot() >= horizon);
        true
    }

    /// Replaces what a scope contributed by what it contributes now.
    pub(super) fn replace(&mut self, old: &Cells, new: &Cells) {
        self.change(new, Sum::add);
        self.change(old, Sum::take);
    }

    fn change(&mut self, cells: &Cells, change: fn(&mut Sum, Sum)) {
        for (slot, id, cells) in cells.groups_since(self.since) {
            if id == SeriesId::UNATTRIBUTED {
                continue;
            }
            let series = self.slots.entry(slot).or_default();
            let sums = series.entry(id).or_default();
            for cell in cells {
                if let Some(sum) = sums.of(cell.measure) {
                    let amount = u128::from(cell.amount);
                    change(sum, Sum { amount, cells: 1 });
                }
            }
            if sums.is_empty() {
                series.remove(&id);
            }
        }
    }

    /// The newest call of a scope happened then.
    pub(super) fn called(
        &mut self,
        scope: ScopeId,
        surface: Option<Surface>,
        time: Option<Timestamp>,
    ) {
        match (surface, time) {
            (Some(surface), Some(time)) if !scope.is_lone() => {
                self.sessions.insert(scope, (surface, time));
            }
            _ => {
                self.sessions.remove(&scope);
            }
        }
    }

    /// The sums of every series over a span, the future aside.
    pub(super) fn sums(&self, span: Span, now: Timestamp) -> BTreeMap<SeriesId, Sums> {
        let mut sums: BTreeMap<SeriesId, Sums> = BTreeMap::new();
        let end = span.end.min(Slot(now.slot().0.saturating_add(2)));
        if span.start < end {
            for (&id, slot) in self.slots.range(span.start..end).flat_map(|(_, of)| of) {
                sums.entry(id).or_default().add(slot);
            }
        }
        sums
    }

    /// How many sessions had a call since then, by surface.
    pub(super) fn active_since(&self, since: Timestamp) -> BTreeMap<Surface, u64> {
        let mut active = BTreeMap::new();
        for &(surface, time) in self.sessions.values() {
            if time >= since {
                *active.entry(surface).or_default() += 1;
            }
        }
        active
    }
}
