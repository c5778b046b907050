//! The snapshot that a pass publishes.

use std::collections::{BTreeMap, BTreeSet};

use super::cells::SeriesId;
use super::labels::{Kind, Labels, OTHER};
use super::recent::{Recent, Sums};
use super::snapshot::{
    BudgetStatus, DayTotal, ModelInfo, ScanStatus, Seen, Series, SeriesLabels, Snapshot,
    StoreStatus, Value, Window, WindowTotal,
};
use super::{Ledger, window};
use crate::pricing;
use crate::stores::StoreKind;
use crate::usage::{Credits, Measure, Provider, Timestamp, TokenType, Usd};

/// A session is active for so long after a call.
const ACTIVE: i64 = 15 * 60_000;
/// The days that a snapshot shows.
const DAYS: u16 = 30;

impl Ledger {
    pub(super) fn picture(
        &mut self,
        scan: ScanStatus,
        mut stores: BTreeMap<StoreKind, StoreStatus>,
    ) -> Snapshot {
        self.counters.fill(&mut stores);
        let mut snapshot = Snapshot {
            taken: self.now,
            number: self.snapshots,
            seen: Seen::of(&self.audience),
            epoch: self.epoch(),
            ready: self.state.meta().published_pass > 0,
            series: self.shown_series(),
            plan_allowance: self.settings.plan_allowance,
            models: self.models(),
            last_call: self.last_calls(),
            stores,
            scan,
            unattributed_credits: self.unattributed(),
            duplicate_observations: self.counters.duplicates(),
            overflowed_projects: self.register.overflowed(Kind::Project),
            held_series: self.totals.held(),
            ..Snapshot::default()
        };
        match self.recent() {
            Ok(recent) => {
                snapshot.windows = self.windows(&recent);
                snapshot.days = self.days(&recent);
                snapshot.budgets = self.budgets(&recent);
                snapshot.active_sessions = recent.active_since(Timestamp(self.now.0 - ACTIVE));
                self.recent = Some(recent);
            }
            Err(error) => {
                tracing::error!("{error}");
                self.fault = Some(error);
            }
        }
        snapshot
    }

    /// The sums that windows need, taken out of the ledger or built anew.
    fn recent(&mut self) -> Result<Recent, super::LedgerError> {
        if let Some(mut recent) = self.recent.take()
            && recent.is_complete_at(self.now)
        {
            return Ok(recent);
        }
        Recent::build(&self.state, self.now)
    }

    /// The series as they are shown: what privacy rules make look the same is added up.
    fn shown_series(&self) -> Vec<Series> {
        let mut shown: BTreeMap<SeriesLabels, BTreeMap<Measure, Value>> = BTreeMap::new();
        for (id, counters) in self.totals.iter() {
            // Nothing may be counted under a label set, though statements speak of it.
            let Some(labels) = self
                .sets
                .get(id)
                .filter(|_| !counters.by_measure.is_empty())
            else {
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

    fn windows(&self, recent: &Recent) -> Vec<WindowTotal> {
        let mut totals = Vec::new();
        for window in Window::ALL {
            let Some(span) = window::span(window, self.now, &self.settings.time_zone) else {
                continue;
            };
            let mut shown: BTreeMap<SeriesLabels, Sums> = BTreeMap::new();
            for (id, sums) in recent.sums(span, self.now) {
                if let Some(labels) = self.sets.get(id) {
                    shown
                        .entry(self.privacy.show(labels))
                        .or_default()
                        .add(&sums);
                }
            }
            totals.extend(shown.into_iter().map(|(labels, sums)| WindowTotal {
                window,
                labels,
                cost: sums.cost(),
                tokens: sums.tokens(),
                calls: sums.calls(),
            }));
        }
        totals
    }

    fn days(&self, recent: &Recent) -> Vec<DayTotal> {
        window::last_days(DAYS, self.now, &self.settings.time_zone)
            .into_iter()
            .map(|(date, span)| {
                let mut day = Sums::default();
                for sums in recent.sums(span, self.now).values() {
                    day.add(sums);
                }
                DayTotal {
                    date,
                    cost: day.cost(),
                    calls: day.calls(),
                }
            })
            .collect()
    }

    fn budgets(&self, recent: &Recent) -> Vec<BudgetStatus> {
        let used = |budget: &super::budget::Budget| {
            let span = budget.span(self.now)?;
            let costs = recent
                .sums(span, self.now)
                .into_iter()
                .filter_map(|(id, sums)| {
                    let covered = budget.covers(self.sets.get(id)?);
                    if covered { sums.cost() } else { None }
                });
            Some(Usd(costs.map(|usd| usd.0).sum()))
        };
        self.settings
            .budgets
            .iter()
            .map(|budget| budget.status(used(budget).unwrap_or_default(), self.now))
            .collect()
    }

    fn models(&self) -> Vec<ModelInfo> {
        let names: BTreeSet<&str> = self
            .sets
            .iter()
            .map(|(_, labels): (_, &Labels)| &*labels.model)
            .filter(|&name| name != OTHER)
            .collect();
        names
            .into_iter()
            .map(|name| {
                let model = self.settings.catalogue.canonical(Some(name));
                let rates = self.settings.catalogue.rates(&model, self.now);
                ModelInfo {
                    model: name.to_owned(),
                    vendor: pricing::vendor(&model).map(str::to_owned),
                    inferred: self.settings.catalogue.is_inferred(&model, self.now),
                    usd_per_million: rates
                        .map(|rates| {
                            TokenType::ALL
                                .into_iter()
                                .map(|class| (class, rates.usd_per_million(class)))
                                .collect()
                        })
                        .unwrap_or_default(),
                }
            })
            .collect()
    }

    fn last_calls(&self) -> BTreeMap<Provider, Timestamp> {
        let mut last = BTreeMap::new();
        for (id, counters) in self.totals.iter() {
            if let (Some(labels), Some(time)) = (self.sets.get(id), counters.last_call) {
                let newest = last.entry(labels.provider.clone()).or_insert(time);
                *newest = time.max(*newest);
            }
        }
        last
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
