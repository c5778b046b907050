//! The snapshot that a pass publishes.

use std::collections::BTreeMap;

use super::Ledger;
use super::cells::SeriesId;
use super::labels::Kind;
use super::snapshot::{ScanStatus, Series, SeriesLabels, Snapshot, StoreStatus, Value};
use crate::stores::StoreKind;
use crate::usage::{Credits, Measure};

impl Ledger {
    pub(super) fn picture(
        &self,
        scan: ScanStatus,
        mut stores: BTreeMap<StoreKind, StoreStatus>,
    ) -> Snapshot {
        self.counters.fill(&mut stores);
        Snapshot {
            taken: self.now,
            epoch: self.epoch,
            ready: self.published_pass > 0,
            series: self.shown_series(),
            plan_allowance: self.settings.plan_allowance,
            stores,
            scan,
            unattributed_credits: self.unattributed(),
            duplicate_observations: self.counters.duplicates(),
            overflowed_projects: self.register.overflowed(Kind::Project),
            held_series: self.totals.held(),
            ..Snapshot::default()
        }
    }

    /// The series as they are shown: what privacy rules make look the same is added up.
    fn shown_series(&self) -> Vec<Series> {
        let mut shown: BTreeMap<SeriesLabels, BTreeMap<Measure, Value>> = BTreeMap::new();
        for (id, counters) in self.totals.iter() {
            let Some(labels) = self.sets.get(id) else {
                continue;
            };
            let values = shown.entry(self.privacy.show(labels)).or_default();
            for (&measure, counter) in &counters.by_measure {
                let value = counter.value();
                values
                    .entry(measure)
                    .and_modify(|sum| {
                        sum.amount = sum.amount.saturating_add(value.amount);
                        sum.baseline = sum.baseline.saturating_add(value.baseline);
                        sum.born = sum.born.min(value.born);
                    })
                    .or_insert(value);
            }
        }
        shown
            .into_iter()
            .map(|(labels, values)| Series { labels, values })
            .collect()
    }

    fn unattributed(&self) -> Credits {
        let published = self
            .totals
            .iter()
            .find(|&(id, _)| id == SeriesId::UNATTRIBUTED)
            .and_then(|(_, counters)| counters.by_measure.get(&Measure::Credits))
            .map_or(0, |counter| counter.published);
        Credits(u64::try_from(published).unwrap_or(u64::MAX))
    }
}
