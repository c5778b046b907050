//! The rows of a report: usage summed by what is asked for.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::tz::TimeZone;

use super::By;
use crate::ledger::{Amount, window};
use crate::outlets::period::Period;
use crate::pricing::CREDITS_BEGIN;
use crate::usage::{Measure, Measures, Provider, Slot};

/// Usage summed by day, project, model, surface or session.
#[derive(Debug)]
pub struct Report {
    pub(super) by: By,
    pub(super) zone: TimeZone,
    pub(super) period: Period,
    rows: BTreeMap<String, Row>,
    /// The days of the slots so far: millions of amounts lie in some thousand slots.
    days: HashMap<Slot, String>,
    pub(super) total: Measures,
    pub(super) unpriced_models: BTreeSet<String>,
    /// Some list price is of a time in which Copilot billed premium requests instead.
    pub(super) before_credits: bool,
}

/// One row.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    /// The texts of the key columns ([`By::columns`]).
    pub(super) key: Vec<String>,
    pub(super) first: Slot,
    pub(super) measures: Measures,
    projects: BTreeSet<String>,
    surfaces: BTreeSet<&'static str>,
}

/// Shown where a label is off or a session isn't known.
const NONE: &str = "–";

impl Report {
    /// An empty report. Days are those of `zone`.
    pub fn new(by: By, period: Period, zone: TimeZone) -> Self {
        Self {
            by,
            zone,
            period,
            rows: BTreeMap::new(),
            days: HashMap::new(),
            total: Measures::default(),
            unpriced_models: BTreeSet::new(),
            before_credits: false,
        }
    }

    /// Adds an amount, if it lies within the report's period.
    pub fn add(&mut self, amount: Amount<'_>) {
        if !self.period.contains(amount.slot) {
            return;
        }
        let value = u128::from(amount.amount);
        self.total.add(amount.measure, value);
        if amount.measure == Measure::UnpricedCalls
            && value > 0
            && !self.unpriced_models.contains(&amount.labels.model)
        {
            self.unpriced_models.insert(amount.labels.model.clone());
        }
        self.before_credits |= amount.measure == Measure::CostListPrice
            && amount.labels.provider == Provider::Copilot
            && amount.slot.start() < CREDITS_BEGIN;
        let labels = amount.labels;
        let key = match self.by {
            By::Day => day(&mut self.days, amount.slot, &self.zone),
            By::Project => labels.project.as_ref().map_or(NONE, |p| p.as_str()),
            By::Model => labels.model.as_str(),
            By::Surface => labels.surface.as_str(),
            By::Session => amount.session.unwrap_or(NONE),
        };
        if !self.rows.contains_key(key) {
            self.rows.insert(key.to_owned(), Row::new(amount.slot));
        }
        let Some(row) = self.rows.get_mut(key) else {
            return;
        };
        row.first = row.first.min(amount.slot);
        row.measures.add(amount.measure, value);
        if self.by == By::Session {
            row.surfaces.insert(amount.labels.surface.as_str());
            if let Some(project) = &amount.labels.project
                && !row.projects.contains(project.as_str())
            {
                row.projects.insert(project.as_str().to_owned());
            }
        }
    }

    /// The rows in the order in which they are shown: by time, else the dearest first.
    pub(super) fn rows(&self) -> Vec<Row> {
        let mut rows: Vec<Row> = self
            .rows
            .iter()
            .map(|(key, row)| Row {
                key: self.key(key, row),
                ..row.clone()
            })
            .collect();
        match self.by {
            By::Day => {}
            By::Session => rows.sort_by(|a, b| (a.first, &a.key).cmp(&(b.first, &b.key))),
            By::Project | By::Model | By::Surface => {
                rows.sort_by_key(|row| Reverse(row.measures.cost()));
            }
        }
        rows
    }

    fn key(&self, key: &str, row: &Row) -> Vec<String> {
        if self.by != By::Session {
            return vec![key.to_owned()];
        }
        let surfaces: Vec<&str> = row.surfaces.iter().copied().collect();
        let projects: Vec<&str> = row.projects.iter().map(String::as_str).collect();
        vec![
            self.time(row.first),
            surfaces.join(", "),
            match projects.as_slice() {
                [] => NONE.to_owned(),
                some => some.join(", "),
            },
            key.to_owned(),
        ]
    }

    /// The local time at which a slot begins.
    pub(super) fn time(&self, slot: Slot) -> String {
        jiff::Timestamp::from_millisecond(slot.start().0).map_or_else(
            |_| NONE.to_owned(),
            |start| {
                let local = start.to_zoned(self.zone.clone());
                local.strftime("%Y-%m-%d %H:%M").to_string()
            },
        )
    }
}

impl Row {
    fn new(first: Slot) -> Self {
        Self {
            key: Vec::new(),
            first,
            measures: Measures::default(),
            projects: BTreeSet::new(),
            surfaces: BTreeSet::new(),
        }
    }
}

fn day<'a>(days: &'a mut HashMap<Slot, String>, slot: Slot, zone: &TimeZone) -> &'a str {
    days.entry(slot).or_insert_with(|| {
        window::date(slot, zone).map_or_else(|| NONE.to_owned(), |date| date.to_string())
    })
}
