//! The immutable picture that outlets render.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::audience::{Audience, Reader};
use super::counters::Told;
use crate::stores::StoreKind;
use crate::usage::{Credits, Measure, Project, Provider, Surface, Timestamp, TokenType, Usd};

/// Everything that outlets may show, as of one moment. Published as an `Arc` after a pass; a scrape touches
/// nothing else.
#[derive(Debug, Default)]
pub struct Snapshot {
    pub taken: Timestamp,
    /// Snapshots of a process, counted from 1.
    pub number: u64,
    /// When the ledger was born: a new value tells alerts that totals began anew.
    pub epoch: Timestamp,
    /// The first whole pass is done.
    pub ready: bool,
    pub series: Vec<Series>,
    pub windows: Vec<WindowTotal>,
    /// The last 30 days of the configured time zone up to today, oldest first, days without a call too.
    pub days: Vec<DayTotal>,
    pub budgets: Vec<BudgetStatus>,
    pub plan_allowance: Option<Credits>,
    pub models: Vec<ModelInfo>,
    /// Sessions with a call in the last minutes, by surface.
    pub active_sessions: BTreeMap<Surface, u64>,
    pub last_call: BTreeMap<Provider, Timestamp>,
    pub stores: BTreeMap<StoreKind, StoreStatus>,
    pub scan: ScanStatus,
    /// Credits that are real spend, but of no known model (nano-AIU).
    pub unattributed_credits: Credits,
    pub duplicate_observations: BTreeMap<StoreKind, u64>,
    /// Projects that are counted under `__other__`, because `max_projects` is reached.
    pub overflowed_projects: u64,
    /// Series that wait at 0 for a scrape to have seen them.
    pub held_series: u64,
    /// By [`Snapshot::mark_seen`].
    pub seen: Seen,
}

/// Whether an outlet has carried a snapshot to somebody.
#[derive(Debug, Default)]
pub struct Seen {
    by_anybody: AtomicBool,
    audience: Arc<Audience>,
}

impl Seen {
    pub(super) fn of(audience: &Arc<Audience>) -> Self {
        Self {
            by_anybody: AtomicBool::default(),
            audience: Arc::clone(audience),
        }
    }
}

impl Snapshot {
    /// An outlet says that it delivered this snapshot whole, to somebody who may not come back; what was
    /// held at 0 may be released, unless there are others who haven't seen it yet.
    pub fn mark_seen(&self) {
        self.seen.by_anybody.store(true, Ordering::Release);
        self.seen.audience.got(self.number);
    }

    /// The same, to `reader`.
    pub fn mark_seen_by(&self, reader: &Reader) {
        self.seen.by_anybody.store(true, Ordering::Release);
        self.seen.audience.got_by(reader, self.number);
    }

    pub fn was_seen(&self) -> bool {
        self.seen.by_anybody.load(Ordering::Acquire)
    }
}

/// The common labels, as they are shown: privacy rules and `max_projects` are applied already.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SeriesLabels {
    pub provider: Provider,
    pub model: String,
    /// `None` where `[privacy] project = "off"`.
    pub project: Option<Project>,
    pub surface: Surface,
    /// Only where several homes are read.
    pub user: Option<String>,
}

/// The published counters of one label set.
#[derive(Debug, Clone)]
pub struct Series {
    pub labels: SeriesLabels,
    pub values: BTreeMap<Measure, Value>,
}

/// One published counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Value {
    /// In the measure's own unit.
    pub amount: u128,
    /// Since when it counts: durable, survives restarts. For history found at first start, the time of
    /// its first call; the OTLP start time and `_created`.
    pub born: Timestamp,
    /// Of `amount`, what was found as history at first start.
    pub baseline: u128,
}

/// Windows by the time of the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Window {
    Today,
    Week,
    Month,
}

impl Window {
    pub const ALL: [Self; 3] = [Self::Today, Self::Week, Self::Month];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Today => "today",
            Self::Week => "week",
            Self::Month => "month",
        }
    }
}

/// True (not published) sums of a label set in a window.
#[derive(Debug, Clone)]
pub struct WindowTotal {
    pub window: Window,
    pub labels: SeriesLabels,
    /// `None`: nothing in it could be priced.
    pub cost: Option<Usd>,
    pub tokens: BTreeMap<TokenType, u128>,
    pub calls: u128,
}

/// True (not published) sums of a civil day.
#[derive(Debug, Clone)]
pub struct DayTotal {
    pub date: jiff::civil::Date,
    /// `None`: nothing in it could be priced.
    pub cost: Option<Usd>,
    pub calls: u128,
}

#[derive(Debug, Clone)]
pub struct BudgetStatus {
    pub name: String,
    pub amount: Usd,
    pub used: Usd,
    /// Linear forecast to the window's end; `None` until enough of the window has passed.
    pub forecast: Option<Usd>,
}

#[derive(Debug, Clone)]
pub struct ModelInfo {
    pub model: String,
    pub vendor: Option<String>,
    /// List prices of today, USD per million tokens; empty: unpriced.
    pub usd_per_million: BTreeMap<TokenType, f64>,
    /// Some price of it was not published but concluded from others.
    pub inferred: bool,
}

/// One store, over all homes.
#[derive(Debug, Clone, Default)]
pub struct StoreStatus {
    /// `None`: nothing of this store was found.
    pub up: Option<bool>,
    pub files: u64,
    pub last_success: Option<Timestamp>,
    pub bytes_read: u64,
    /// For `stores`: what it said since this process began.
    pub told: Told,
    pub parse_errors: BTreeMap<&'static str, u64>,
    pub skipped: BTreeMap<&'static str, u64>,
    /// For `stores` and the local page, never for metrics.
    pub looked_at: Vec<PathBuf>,
    /// What is wrong, in the words of `StoreError`; for `stores`, local logs and the local page.
    pub problems: Vec<String>,
}

/// The scans so far.
#[derive(Debug, Clone, Default)]
pub struct ScanStatus {
    pub last: Option<Timestamp>,
    pub last_duration_seconds: f64,
    pub succeeded: u64,
    /// At least one store had a problem.
    pub partial: u64,
    /// Nothing could be committed.
    pub failed: u64,
}
