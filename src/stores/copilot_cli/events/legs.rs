//! Takes shutdown lines apart into legs: up to 1.0.65 each holds its own process run, from 1.0.66 on the
//! session's running total, and an upgraded session has both (formats, copilot-cli.md §5.1).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::super::figures::Counts;
use super::shapes::{Metrics, counts};
use crate::usage::{PremiumRequests, Timestamp};

/// What a shutdown line says of one model.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct Totals {
    pub(super) calls: Option<u64>,
    /// Millionths of a premium request.
    pub(super) premium: Option<u64>,
    /// The whole prompt.
    pub(super) input: Option<u64>,
    pub(super) cache_read: Option<u64>,
    pub(super) cache_write: Option<u64>,
    pub(super) output: Option<u64>,
    pub(super) reasoning: Option<u64>,
    pub(super) nano_aiu: Option<u64>,
}

impl Totals {
    /// The totals, and whether one of the figures was no count.
    pub(super) fn of(metrics: &Metrics<'_>) -> (Self, bool) {
        let usage = metrics.usage.as_ref();
        let figure = |get: fn(&super::shapes::LegUsage) -> _| usage.map(get).unwrap_or_default();
        let (counts, odd) = counts(
            figure(|u| u.input_tokens),
            figure(|u| u.cache_read_tokens),
            figure(|u| u.cache_write_tokens),
            figure(|u| u.output_tokens),
            figure(|u| u.reasoning_tokens),
        );
        let requests = metrics.requests.as_ref();
        let cost = requests.and_then(|r| r.cost.number());
        let status = metrics.ai_credits_status.as_ref().map(|s| s.as_str());
        let tokens = counts.input.unwrap_or(0) + counts.output.unwrap_or(0);
        // A 0 beside tokens is a charge that the client doesn't know, unless it says so.
        let nano_aiu = metrics.total_nano_aiu.count().filter(|&nano| match status {
            Some("unavailable") => false,
            Some("complete") => true,
            _ => nano > 0 || tokens == 0,
        });
        let totals = Self {
            calls: requests.and_then(|r| r.count.count()),
            premium: cost
                .and_then(PremiumRequests::from_multiplier)
                .map(|premium| premium.0),
            input: counts.input,
            cache_read: counts.cache_read,
            cache_write: counts.cache_write,
            output: counts.output,
            reasoning: counts.reasoning,
            nano_aiu,
        };
        (totals, odd)
    }

    pub(super) fn counts(&self) -> Counts {
        Counts {
            input: self.input,
            cache_read: self.cache_read,
            cache_write: self.cache_write,
            output: self.output,
            reasoning: self.reasoning,
        }
    }

    /// What came on top of `base`. A prompt total below the base means that counting began anew.
    fn since(&self, base: &Self) -> Self {
        if self.input < base.input && self.input.is_some() {
            return *self;
        }
        self.zip(base, |now, before| {
            now.map(|now| now.saturating_sub(before.unwrap_or(0)))
        })
    }

    /// Some figure is lower than in `base`.
    fn falls_below(&self, base: &Self) -> bool {
        let mut falls = false;
        self.zip(base, |now, before| {
            falls |= now.is_some_and(|now| now < before.unwrap_or(0));
            None
        });
        falls
    }

    fn zip(
        &self,
        other: &Self,
        mut f: impl FnMut(Option<u64>, Option<u64>) -> Option<u64>,
    ) -> Self {
        Self {
            calls: f(self.calls, other.calls),
            premium: f(self.premium, other.premium),
            input: f(self.input, other.input),
            cache_read: f(self.cache_read, other.cache_read),
            cache_write: f(self.cache_write, other.cache_write),
            output: f(self.output, other.output),
            reasoning: f(self.reasoning, other.reasoning),
            nano_aiu: f(self.nano_aiu, other.nano_aiu),
        }
    }

    /// Nothing was used. Reasoning is a part of the output: alone it says nothing.
    pub(super) fn is_zero(&self) -> bool {
        let without_reasoning = Self {
            reasoning: None,
            ..*self
        };
        let mut zero = true;
        without_reasoning.zip(self, |n, _| {
            zero &= n.unwrap_or(0) == 0;
            None
        });
        zero
    }
}

/// What shutdown lines say, by model as spelt.
pub(super) type ByModel = BTreeMap<String, Totals>;

/// How a shutdown line is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// Its own process run only.
    PerRun,
    /// The session's running total.
    RunningTotal,
}

/// The lines between two shutdowns.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct Leg {
    /// When the session was resumed last, unless another process had it open.
    pub(super) resumed: Option<Timestamp>,
    /// Whether the resume that opened the leg has the key `sessionLimits`.
    limits: Option<bool>,
    /// Messages since the shutdown before.
    messages: u64,
    pub(super) has_records: bool,
    has_checkpoint: bool,
    /// The last successful compaction of the process.
    pub(super) compacted: Option<Timestamp>,
}

/// All legs of a session so far.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct Legs {
    /// The shutdown before: what the next running total contains already.
    base: ByModel,
    /// When it was.
    pub(super) ended: Option<Timestamp>,
    /// Messages since the file began.
    messages: u64,
    pub(super) leg: Leg,
    /// Nano-AIU of the compactions before the last resume, and since.
    compactions_before: BTreeMap<String, u64>,
    compactions_since: BTreeMap<String, u64>,
}

/// A shutdown line, taken apart.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ended {
    pub(super) from: Option<Timestamp>,
    pub(super) leg: Leg,
    pub(super) reading: Reading,
    pub(super) used: ByModel,
}

impl Legs {
    pub(super) fn resume(&mut self, at: Option<Timestamp>, limits: bool, was_active: bool) {
        self.leg.resumed = at.filter(|_| !was_active);
        self.leg.limits = Some(limits);
        self.leg.compacted = None;
        for (model, nano) in std::mem::take(&mut self.compactions_since) {
            *self.compactions_before.entry(model).or_default() += nano;
        }
    }

    pub(super) fn message(&mut self) {
        self.messages += 1;
        self.leg.messages += 1;
    }

    pub(super) fn record(&mut self) {
        self.leg.has_records = true;
    }

    pub(super) fn checkpoint(&mut self) {
        self.leg.has_checkpoint = true;
    }

    pub(super) fn compaction(&mut self, success: bool, at: Option<Timestamp>) {
        if success {
            self.leg.compacted = at;
        }
    }

    pub(super) fn compaction_charge(&mut self, model: &str, nano_aiu: u64) {
        let nano = self.compactions_since.entry(model.to_owned()).or_default();
        *nano = nano.saturating_add(nano_aiu);
    }

    /// Ends the leg with a shutdown line. One without models ends and begins nothing.
    pub(super) fn shutdown(&mut self, at: Option<Timestamp>, totals: ByModel) -> Option<Ended> {
        if totals.is_empty() {
            return None;
        }
        let reading = self.reading(&totals);
        let used = match reading {
            Reading::RunningTotal => totals
                .iter()
                .map(|(model, totals)| {
                    let base = self.base.get(model).copied().unwrap_or_default();
                    (model.clone(), totals.since(&base))
                })
                .collect(),
            Reading::PerRun => totals
                .iter()
                .map(|(model, totals)| (model.clone(), self.without_replayed(model, *totals)))
                .collect(),
        };
        let from = self.ended;
        self.base = totals;
        self.ended = at.or(self.ended);
        let leg = std::mem::take(&mut self.leg);
        Some(Ended {
            from,
            leg,
            reading,
            used,
        })
    }

    /// Totals per run repeat the charge of compactions that were replayed on resume.
    fn without_replayed(&self, model: &str, totals: Totals) -> Totals {
        let replayed = self.compactions_before.get(model).copied().unwrap_or(0);
        Totals {
            nano_aiu: totals.nano_aiu.map(|nano| nano.saturating_sub(replayed)),
            ..totals
        }
    }

    /// Decides for one line; the first rule that hits wins. That totals grow proves nothing.
    fn reading(&self, totals: &ByModel) -> Reading {
        if self.base.is_empty() {
            return Reading::RunningTotal;
        }
        match self.leg.limits {
            Some(true) => return Reading::RunningTotal,
            Some(false) => return Reading::PerRun,
            None => {}
        }
        if self.leg.has_records || self.leg.has_checkpoint {
            return Reading::RunningTotal;
        }
        let calls: u64 = totals.values().filter_map(|totals| totals.calls).sum();
        let (leg, file) = (self.leg.messages, self.messages);
        match (calls == leg, calls == file) {
            (true, false) => return Reading::PerRun,
            (false, true) => return Reading::RunningTotal,
            _ => {}
        }
        let falls = self.base.iter().any(|(model, base)| {
            let now = totals.get(model).copied().unwrap_or_default();
            now.falls_below(base) || !totals.contains_key(model)
        });
        if falls || calls.abs_diff(leg) < calls.abs_diff(file) {
            Reading::PerRun
        } else {
            Reading::RunningTotal
        }
    }
}
