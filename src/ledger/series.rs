//! The totals of every series: what is true, and what has been published.

use std::collections::BTreeMap;
use std::time::Duration;

use super::cells::{Cell, Cells, SeriesId};
use super::snapshot::Value;
use crate::usage::{Histogram, Measure, Slot, Timestamp};

/// When a counter may show what it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Release {
    /// Nothing of it was published yet.
    #[default]
    Unpublished,
    /// Shown at 0 since then, so that `increase()` sees what comes.
    Held(Timestamp),
    Released,
}

/// One counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counter {
    pub(super) truth: u128,
    /// The highest value shown so far.
    pub(super) published: u128,
    pub(super) born: Timestamp,
    pub(super) baseline: u128,
    pub(super) release: Release,
    /// The snapshot that showed it at 0 first; 0: one of a process before this one.
    pub(super) shown_in: u64,
}

/// The counters of a label set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Counters {
    pub(super) by_measure: BTreeMap<Measure, Counter>,
    /// The first slot with a call.
    pub(super) first: Slot,
    /// The newest call, as far as it isn't in the future.
    pub(super) last_call: Option<Timestamp>,
    /// Changed since it was stored.
    pub(super) dirty: bool,
}

/// What appears and is held as one: the samples of a histogram belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Measure(Measure),
    Histogram(Histogram),
}

impl From<Measure> for Unit {
    fn from(measure: Measure) -> Self {
        match measure {
            Measure::Bucket(histogram, _) | Measure::HistogramSum(histogram) => {
                Self::Histogram(histogram)
            }
            other => Self::Measure(other),
        }
    }
}

/// How a pass publishes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Publication {
    pub(super) now: Timestamp,
    /// The first whole pass of this ledger's life: what it found is history.
    pub(super) first: bool,
    /// The number of the snapshot that shows it.
    pub(super) snapshot: u64,
    /// Everybody has seen this snapshot.
    pub(super) seen_until: u64,
    pub(super) hold: Duration,
}

/// All series.
#[derive(Debug, Default)]
pub(super) struct SeriesTotals(BTreeMap<SeriesId, Counters>);

impl SeriesTotals {
    pub(super) fn restore(&mut self, id: SeriesId, counters: Counters) {
        self.0.insert(id, counters);
    }

    /// Replaces what a scope contributed by what it contributes now.
    pub(super) fn replace(&mut self, old: &Cells, new: &Cells) {
        for cell in new.iter() {
            let counter = self.counter(cell);
            counter.truth = counter.truth.saturating_add(u128::from(cell.amount));
        }
        for cell in old.iter() {
            let counter = self.counter(cell);
            counter.truth = counter.truth.saturating_sub(u128::from(cell.amount));
        }
    }

    /// Keeps the label sets that statements speak of, even if nothing is counted under them.
    pub(super) fn keep(&mut self, truth: &Cells) {
        for cell in truth.iter() {
            self.counters(cell);
        }
    }

    fn counters(&mut self, cell: &Cell) -> &mut Counters {
        self.0.entry(cell.series).or_insert_with(|| Counters {
            by_measure: BTreeMap::new(),
            first: cell.slot,
            last_call: None,
            dirty: true,
        })
    }

    fn counter(&mut self, cell: &Cell) -> &mut Counter {
        let counters = self.counters(cell);
        counters.dirty = true;
        counters.first = counters.first.min(cell.slot);
        let is_new = !counters.by_measure.contains_key(&cell.measure);
        let sibling = is_new.then(|| counters.sibling(cell.measure)).flatten();
        counters
            .by_measure
            .entry(cell.measure)
            .or_insert_with(|| match sibling {
                Some(sibling) => Counter {
                    born: sibling.born,
                    release: sibling.release,
                    ..Counter::default()
                },
                None => Counter::default(),
            })
    }

    /// A call of the series happened at `time`.
    pub(super) fn called(&mut self, series: SeriesId, time: Timestamp) {
        if let Some(counters) = self.0.get_mut(&series)
            && counters.last_call < Some(time)
        {
            counters.last_call = Some(time);
            counters.dirty = true;
        }
    }

    /// Publishes what may be shown.
    pub(super) fn publish(&mut self, by: Publication) {
        for (&id, counters) in &mut self.0 {
            let first = counters.first;
            for counter in counters.by_measure.values_mut() {
                let before = *counter;
                counter.publish(by, id == SeriesId::UNATTRIBUTED, first);
                counters.dirty |= *counter != before;
            }
        }
    }

    /// Somebody saw the 0 of everything that is held: no wait is left.
    pub(super) fn zeros_seen(&mut self) {
        for counters in self.0.values_mut() {
            for counter in counters.by_measure.values_mut() {
                if let Release::Held(since) = &mut counter.release {
                    *since = Timestamp(i64::MIN);
                    counters.dirty = true;
                }
            }
        }
    }

    /// Amounts of the series' measure have been shown as they are, not as a 0.
    pub(super) fn is_released(&self, series: SeriesId, measure: Measure) -> bool {
        self.0
            .get(&series)
            .and_then(|counters| counters.by_measure.get(&measure))
            .is_some_and(|counter| counter.release == Release::Released)
    }

    /// How many counters wait at 0 with something to show.
    pub(super) fn held(&self) -> u64 {
        let waits =
            |counter: &&Counter| counter.truth > 0 && matches!(counter.release, Release::Held(_));
        self.0
            .values()
            .map(|counters| counters.by_measure.values().filter(waits).count() as u64)
            .sum()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (SeriesId, &Counters)> {
        self.0.iter().map(|(&id, counters)| (id, counters))
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (SeriesId, &mut Counters)> {
        self.0.iter_mut().map(|(&id, counters)| (id, counters))
    }
}

impl Counters {
    /// A counter of the same unit: a new bucket of a histogram that is shown already is no new series.
    fn sibling(&self, measure: Measure) -> Option<Counter> {
        let of_unit =
            |&(&other, _): &(&Measure, &Counter)| Unit::from(other) == Unit::from(measure);
        self.by_measure
            .iter()
            .find(of_unit)
            .map(|(_, &counter)| counter)
    }
}

impl Counter {
    fn publish(&mut self, by: Publication, always_shown: bool, first_call: Slot) {
        match self.release {
            Release::Unpublished if by.first => {
                self.release = Release::Released;
                self.born = first_call.start().min(by.now);
                self.baseline = self.truth;
            }
            Release::Unpublished => {
                self.born = by.now;
                self.shown_in = by.snapshot;
                self.release = if always_shown {
                    Release::Released
                } else {
                    Release::Held(by.now)
                };
            }
            Release::Held(since) => {
                let waited = by.now.0.saturating_sub(since.0);
                if by.seen_until >= self.shown_in.max(1) || waited >= by.hold.as_millis() as i64 {
                    self.release = Release::Released;
                } else if waited < 0 {
                    // The clock was set back: the wait begins anew rather than never to end.
                    self.release = Release::Held(by.now);
                }
            }
            Release::Released => {}
        }
        if self.release == Release::Released {
            self.published = self.published.max(self.truth);
        }
    }

    pub(super) fn value(&self) -> Value {
        Value {
            amount: self.published,
            born: self.born,
            baseline: self.baseline,
        }
    }
}
