//! The only place that decides: which statements speak of one call, which of them wins, what it cost and
//! what has been published.

mod amounts;
mod apply;
mod attribute;
mod audience;
pub mod budget;
mod cells;
mod charge;
mod counters;
mod derive;
mod fold;
mod intake;
mod keys;
mod labels;
mod picture;
mod recent;
pub mod reconcile;
mod scope;
mod series;
mod settings;
mod snapshot;
mod state;
#[cfg(test)]
mod tests;
pub mod window;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use apply::Pending;
use audience::Audience;
use counters::Counters;
use keys::KeyIndex;
use labels::{LabelSets, Privacy, Register};
use recent::Recent;
use scope::ScopeId;
use series::{Publication, SeriesTotals};
use state::{Changes, Loaded, State};

use crate::stores::{Cursor, StoreKind};
use crate::usage::Timestamp;

pub use amounts::Amount;
pub use audience::Reader;
pub use counters::Told;
pub use intake::{Intake, SourceId};
pub use settings::Settings;
pub use snapshot::{
    BudgetStatus, DayTotal, ModelInfo, ScanStatus, Seen, Series, SeriesLabels, Snapshot,
    StoreStatus, Value, Window, WindowTotal,
};
pub use state::LedgerError;

/// The statements of all stores, the totals that follow from them, and how far every source was read.
#[derive(Debug)]
pub struct Ledger {
    settings: Settings,
    privacy: Privacy,
    state: State,
    /// The time of the present pass.
    now: Timestamp,
    stamps: HashMap<SourceId, Vec<u8>>,
    /// Read when the first statement comes in.
    keys: Option<KeyIndex>,
    register: Register,
    sets: LabelSets,
    totals: SeriesTotals,
    counters: Counters,
    /// Built when the first snapshot is taken.
    recent: Option<Recent>,
    /// What came in since the last commit, by the scope that it belongs to.
    pending: BTreeMap<ScopeId, Pending>,
    /// How many statements are pending.
    waiting: usize,
    /// Scopes whose pending and future statements belong to another.
    redirected: HashMap<ScopeId, ScopeId>,
    next_fold: Timestamp,
    audience: Arc<Audience>,
    /// How many were published.
    snapshots: u64,
    /// The state can't be read: nothing is taken in, so that nothing is counted twice.
    fault: Option<LedgerError>,
    /// The problem that was logged last.
    told: Option<String>,
    last: Option<Arc<Snapshot>>,
}

impl Ledger {
    /// So many statements are committed at the latest.
    const MOST_WAITING: usize = 10_000;

    /// Opens the ledger in `state_dir`, or one that lives in memory only.
    ///
    /// A damaged ledger is kept under another name and a new one begun; one that can't be written is used
    /// all the same, and every commit says so.
    ///
    /// # Errors
    /// Another exporter uses the folder, or the ledger there is of a newer version.
    pub fn open(
        state_dir: Option<&Path>,
        settings: Settings,
        now: Timestamp,
    ) -> Result<Self, LedgerError> {
        let (state, loaded) = State::open(state_dir, now)?;
        Ok(Self::new(state, loaded, settings, now))
    }

    /// Whether there is a ledger in `state_dir`.
    pub fn is_in(state_dir: &Path) -> bool {
        State::is_in(state_dir)
    }

    /// Opens the ledger in `state_dir`, which another exporter keeps, as it is at this moment. What comes in
    /// is counted on top of it in memory; nothing is written, and the other one isn't disturbed.
    ///
    /// # Errors
    /// The ledger can't be read, or is of another version.
    pub fn view(state_dir: &Path, settings: Settings, now: Timestamp) -> Result<Self, LedgerError> {
        let (state, loaded) = State::view(state_dir, now)?;
        Ok(Self::new(state, loaded, settings, now))
    }

    fn new(state: State, loaded: Loaded, settings: Settings, now: Timestamp) -> Self {
        let mut ledger = Self {
            privacy: Privacy::new(settings.project_label, &state.meta().secret),
            settings,
            state,
            now,
            stamps: loaded.stamps,
            keys: None,
            register: Register::default(),
            sets: LabelSets::default(),
            totals: SeriesTotals::default(),
            counters: Counters(loaded.stores.into_iter().collect()),
            recent: None,
            pending: BTreeMap::new(),
            waiting: 0,
            redirected: HashMap::new(),
            next_fold: Timestamp::default(),
            audience: Arc::default(),
            snapshots: 0,
            fault: None,
            told: None,
            last: None,
        };
        for (kind, name, own) in loaded.names {
            ledger.register.restore(kind, name, own);
        }
        for (id, labels, counters) in loaded.series {
            ledger.sets.restore(id, labels);
            ledger.totals.restore(id, counters);
        }
        if let Some(counters) = loaded.unattributed {
            ledger
                .totals
                .restore(cells::SeriesId::UNATTRIBUTED, counters);
        }
        ledger
    }

    /// Takes over a changed configuration. What is published stays.
    pub fn reconfigure(&mut self, settings: Settings) {
        self.privacy = Privacy::new(settings.project_label, &self.state.meta().secret);
        self.settings = settings;
    }

    /// When the ledger was born.
    pub fn epoch(&self) -> Timestamp {
        self.state.meta().epoch
    }

    /// Tells this exporter from all others, as long as its ledger lives: what OTLP calls
    /// `service.instance.id`.
    pub fn instance(&self) -> [u8; 16] {
        self.state.meta().instance
    }

    /// A pass begins; `now` is its time for all that the stores don't date.
    ///
    /// A ledger that turned out to be damaged is set aside now, and begun anew.
    pub fn begin_pass(&mut self, now: Timestamp) {
        self.now = now;
        match self.fault.take() {
            Some(LedgerError::Damaged { reason, .. }) => self.begin_anew(&reason),
            Some(LedgerError::Locked { .. } | LedgerError::Newer { .. }) | None => {}
            // It may have passed; if not, the next statement finds out.
            Some(LedgerError::Unreadable { .. } | LedgerError::Unwritable { .. }) => {}
        }
    }

    fn begin_anew(&mut self, reason: &str) {
        let (state, loaded) = self.state.begin_anew(reason, self.now);
        *self = Self::new(state, loaded, self.settings.clone(), self.now);
    }

    /// What the source looked like when it was last read to its end; empty: never.
    pub fn stamp(&self, source: SourceId) -> &[u8] {
        self.stamps.get(&source).map_or(&[], Vec::as_slice)
    }

    /// How far the source was read.
    pub fn cursor(&self, source: SourceId) -> Cursor {
        // From the beginning, if it can't be told: what is read again isn't counted again.
        self.state.cursor(source).unwrap_or_default()
    }

    /// The sink for a source that is about to be read; `user` is the label of its home.
    pub fn intake(&mut self, kind: StoreKind, path: &Path, user: Option<&str>) -> Intake<'_> {
        Intake {
            source: SourceId::of(kind, path),
            kind,
            user: user.map(Arc::from),
            ledger: self,
        }
    }

    /// Commits all that was taken in.
    ///
    /// # Errors
    /// Nothing could be written. It is kept in memory, counted, and tried again at the next commit.
    pub fn commit(&mut self) -> Result<(), LedgerError> {
        self.apply_pending()?;
        self.store()
    }

    /// Publishes what the pass found. `stores` and `scan` tell how the pass went; what is counted durably
    /// is filled in here.
    pub fn finish_pass(
        &mut self,
        now: Timestamp,
        scan: ScanStatus,
        stores: BTreeMap<StoreKind, StoreStatus>,
    ) -> Arc<Snapshot> {
        self.now = now;
        self.snapshots += 1;
        let applied = self.apply_pending().and_then(|()| self.fold());
        self.publish();
        // Durable before it is shown: what was shown once must not fall after a crash.
        let stored = applied.and_then(|()| self.store());
        self.tell(stored.err());
        let snapshot = Arc::new(self.picture(scan, stores));
        self.last = Some(Arc::clone(&snapshot));
        snapshot
    }

    /// Remembers, for a process that ends after one pass, that its snapshot was seen: the next one shows at
    /// its value what this one showed at 0.
    pub fn remember_seen(&mut self) {
        if self.last.as_ref().is_some_and(|last| last.was_seen()) && self.totals.held() > 0 {
            self.totals.zeros_seen();
            let stored = self.store();
            self.tell(stored.err());
        }
    }

    /// Logs a problem once, as long as it lasts.
    fn tell(&mut self, problem: Option<LedgerError>) {
        let problem = problem.map(|error| error.to_string());
        if let Some(text) = problem.as_ref().filter(|_| problem != self.told) {
            tracing::error!("{text}");
        }
        self.told = problem;
    }

    fn publish(&mut self) {
        let meta = self.state.meta();
        let first = meta.published_pass == 0;
        self.totals.publish(Publication {
            now: self.now,
            first,
            snapshot: self.snapshots,
            seen_until: self.audience.seen_until(),
            hold: self.settings.zero_hold,
        });
        if first || meta.counted {
            let meta = self.state.meta_mut();
            meta.published_pass = meta.pass;
            meta.pass += 1;
            meta.counted = false;
        }
    }

    /// Writes all that changed, in one transaction.
    fn store(&mut self) -> Result<(), LedgerError> {
        let series = self
            .totals
            .iter()
            .filter(|(_, counters)| counters.dirty)
            .map(|(id, counters)| (id, self.sets.get(id), counters))
            .collect();
        let stores = self
            .counters
            .0
            .iter()
            .filter(|(_, counters)| counters.dirty)
            .map(|(&kind, counters)| (kind, counters))
            .collect();
        let keys = self.keys.as_ref().map_or(&[][..], |keys| &keys.fresh);
        let committed = self.state.commit(&Changes {
            keys,
            names: &self.register.fresh,
            series,
            stores,
        });
        if let Err(error) = committed {
            if matches!(error, LedgerError::Damaged { .. }) {
                // No other try can help: the next pass begins anew.
                self.fault = Some(error.clone());
            }
            return Err(error);
        }
        if let Some(keys) = &mut self.keys {
            keys.fresh.clear();
        }
        self.register.fresh.clear();
        for (_, counters) in self.totals.iter_mut() {
            counters.dirty = false;
        }
        for counters in self.counters.0.values_mut() {
            counters.dirty = false;
        }
        Ok(())
    }
}
