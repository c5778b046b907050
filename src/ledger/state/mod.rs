//! What outlives the process: `ledger.db` in the state folder, or memory.

mod cells;
mod codes;
mod facts;
mod file;
mod lock;
mod messages;
#[cfg(test)]
mod roundtrip;
mod schema;
mod scope;
mod tables;
mod texts;
mod totals;
mod view;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use file::{File, Opened, Unusable};
use scope::ScopeRow;

use super::cells::{Cells, SeriesId};
use super::counters::StoreCounters;
use super::intake::{SourceId, SourceState};
use super::labels::{Kind, Labels};
use super::scope::{Scope, ScopeId};
use super::series::Counters;
use crate::stores::{Cursor, StoreKind};
use crate::usage::{Key, Slot, Surface, Timestamp};

/// Bytes that aren't what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not what was written")]
pub(super) struct Damaged;

/// Why there is no ledger, or why it couldn't be written.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LedgerError {
    #[error("{dir}: another exporter{} keeps its ledger there", of_process(*holder))]
    Locked { dir: PathBuf, holder: Option<u32> },
    #[error(
        "{path}: written by a newer version of this program (schema {found}; this one knows {known})"
    )]
    Newer {
        path: PathBuf,
        found: u32,
        known: u32,
    },
    #[error("{path}: the ledger is damaged ({reason})")]
    Damaged { path: PathBuf, reason: String },
    #[error("{path}: the ledger can't be written ({reason})")]
    Unwritable { path: PathBuf, reason: String },
    #[error("{path}: the ledger can't be read ({reason})")]
    Unreadable { path: PathBuf, reason: String },
}

fn of_process(holder: Option<u32>) -> String {
    holder.map_or_else(String::new, |pid| format!(" (process {pid})"))
}

/// Numbers and secrets of a ledger as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Meta {
    /// When the ledger was born.
    pub(super) epoch: Timestamp,
    /// The key of project hashes.
    pub(super) secret: [u8; 32],
    /// Tells this exporter from others, for ever.
    pub(super) instance: [u8; 16],
    /// The pass that is under way, or the next.
    pub(super) pass: u64,
    /// The last pass whose results were published; 0: none ever.
    pub(super) published_pass: u64,
    /// The pass that is under way counted something.
    pub(super) counted: bool,
    pub(super) next_scope: u32,
    /// The newest time that any statement names.
    pub(super) newest: Timestamp,
}

impl Meta {
    /// Of a ledger that is born now.
    fn new(now: Timestamp) -> Self {
        let mut meta = Self {
            epoch: now,
            secret: [0; 32],
            instance: [0; 16],
            pass: 1,
            published_pass: 0,
            counted: false,
            next_scope: 0,
            newest: Timestamp::default(),
        };
        let random = ring::rand::SystemRandom::new();
        // Without a random source hashes of projects are merely not keyed.
        let _ = ring::rand::SecureRandom::fill(&random, &mut meta.secret);
        let _ = ring::rand::SecureRandom::fill(&random, &mut meta.instance);
        meta
    }
}

/// What is read at the start; the rest when it is needed.
#[derive(Debug, Default)]
pub(super) struct Loaded {
    pub(super) stamps: HashMap<SourceId, Vec<u8>>,
    pub(super) series: Vec<(SeriesId, Labels, Counters)>,
    /// What no label set belongs to.
    pub(super) unattributed: Option<Counters>,
    pub(super) names: Vec<(Kind, Key, bool)>,
    pub(super) stores: Vec<(StoreKind, StoreCounters)>,
}

/// All that changed besides scopes and sources.
#[derive(Debug, Default)]
pub(super) struct Changes<'a> {
    pub(super) keys: &'a [(Key, ScopeId)],
    pub(super) names: &'a [(Kind, Key, bool)],
    pub(super) series: Vec<(SeriesId, Option<&'a Labels>, &'a Counters)>,
    pub(super) stores: Vec<(StoreKind, &'a StoreCounters)>,
}

impl Changes<'_> {
    fn is_empty(&self) -> bool {
        self.keys.is_empty()
            && self.names.is_empty()
            && self.series.is_empty()
            && self.stores.is_empty()
    }
}

/// What the statements of a scope say, as cells, with what can be told of it without its statements.
#[derive(Debug)]
pub(super) struct ScopeCells {
    pub(super) scope: ScopeId,
    pub(super) name: String,
    pub(super) last_call: Option<Timestamp>,
    pub(super) surface: Option<Surface>,
    pub(super) cells: Cells,
}

/// The durable state, and on top of it what couldn't be made durable (yet, or at all).
#[derive(Debug)]
pub(super) struct State {
    backing: Backing,
    meta: Meta,
    stored_meta: Option<Meta>,
    scopes: HashMap<ScopeId, ScopeRow>,
    sources: HashMap<SourceId, SourceState>,
}

#[derive(Debug)]
enum Backing {
    Memory,
    File(File),
    /// There should be a file, but it can't be used; the error says why.
    Broken {
        path: PathBuf,
        reason: String,
    },
}

impl State {
    /// Opens the state in `dir` (made if need be), or in memory. A damaged file is set aside.
    pub(super) fn open(dir: Option<&Path>, now: Timestamp) -> Result<(Self, Loaded), LedgerError> {
        let opened = match dir {
            None => None,
            Some(dir) => Some(File::open(dir, now)?),
        };
        Ok(match opened {
            None => (
                Self::new(Backing::Memory, Meta::new(now)),
                Loaded::default(),
            ),
            Some(Opened::Unusable(Unusable { path, reason })) => {
                let backing = Backing::Broken { path, reason };
                (Self::new(backing, Meta::new(now)), Loaded::default())
            }
            Some(Opened::New(file)) => (
                Self::new(Backing::File(file), Meta::new(now)),
                Loaded::default(),
            ),
            Some(Opened::Loaded(file, meta, loaded)) => {
                let mut state = Self::new(Backing::File(file), meta.clone());
                state.stored_meta = Some(meta);
                (state, *loaded)
            }
        })
    }

    pub(super) fn is_in(dir: &Path) -> bool {
        dir.join(File::NAME).exists()
    }

    /// Opens the state in `dir`, which somebody else keeps, to look at it. What is put stays in memory.
    pub(super) fn view(dir: &Path, now: Timestamp) -> Result<(Self, Loaded), LedgerError> {
        Ok(match File::view(dir)? {
            Some((file, meta, loaded)) => (Self::new(Backing::File(file), meta), loaded),
            None => (
                Self::new(Backing::Memory, Meta::new(now)),
                Loaded::default(),
            ),
        })
    }

    fn new(backing: Backing, meta: Meta) -> Self {
        Self {
            backing,
            meta,
            stored_meta: None,
            scopes: HashMap::new(),
            sources: HashMap::new(),
        }
    }

    /// Sets the damaged file aside and begins a new one.
    pub(super) fn begin_anew(&mut self, reason: &str, now: Timestamp) -> (Self, Loaded) {
        let backing = match std::mem::replace(&mut self.backing, Backing::Memory) {
            Backing::File(file) if file.is_view => Backing::Memory,
            Backing::File(file) => match file.begin_anew(reason, now) {
                Ok(file) => Backing::File(file),
                Err(Unusable { path, reason }) => Backing::Broken { path, reason },
            },
            other => other,
        };
        (Self::new(backing, Meta::new(now)), Loaded::default())
    }

    pub(super) fn meta(&self) -> &Meta {
        &self.meta
    }

    pub(super) fn meta_mut(&mut self) -> &mut Meta {
        &mut self.meta
    }

    pub(super) fn scope(&self, id: ScopeId) -> Result<Option<Scope>, LedgerError> {
        if let Some(unsaved) = self.scopes.get(&id) {
            // Own bytes of this process: nothing can have damaged them.
            return Ok(scope::decode(unsaved).ok());
        }
        match &self.backing {
            Backing::File(file) => file.scope(id),
            Backing::Memory | Backing::Broken { .. } => Ok(None),
        }
    }

    pub(super) fn put_scope(&mut self, id: ScopeId, scope: &Scope) {
        self.scopes.insert(id, scope::encode(scope));
    }

    pub(super) fn cursor(&self, source: SourceId) -> Result<Cursor, LedgerError> {
        if let Some(state) = self.sources.get(&source) {
            return Ok(state.cursor.clone());
        }
        match &self.backing {
            Backing::File(file) => file.cursor(source),
            Backing::Memory | Backing::Broken { .. } => Ok(Cursor::default()),
        }
    }

    pub(super) fn put_source(&mut self, source: SourceId, state: SourceState) {
        self.sources.insert(source, state);
    }

    /// Every identity and its scope, in the order in which they were learnt.
    pub(super) fn keys(&self, each: &mut dyn FnMut(Key, ScopeId)) -> Result<(), LedgerError> {
        match &self.backing {
            Backing::File(file) => file.keys(each),
            Backing::Memory | Backing::Broken { .. } => Ok(()),
        }
    }

    /// The cells of all scopes that have any from `slot` on.
    pub(super) fn cells_since(
        &self,
        slot: Slot,
        each: &mut dyn FnMut(ScopeCells),
    ) -> Result<(), LedgerError> {
        if let Backing::File(file) = &self.backing {
            file.cells_since(slot, &mut |cells| {
                if !self.scopes.contains_key(&cells.scope) {
                    each(cells);
                }
            })?;
        }
        for (&scope, row) in self
            .scopes
            .iter()
            .filter(|(_, row)| row.newest_slot >= slot)
        {
            each(ScopeCells {
                scope,
                name: row.name.clone(),
                last_call: row.last_call,
                surface: row.surface,
                cells: cells::decode(row.truth()).unwrap_or_default(),
            });
        }
        Ok(())
    }

    /// Up to `most` scopes whose statements are all older than `newest`, and weren't touched since.
    pub(super) fn foldable(
        &self,
        newest: Timestamp,
        touched: Timestamp,
        most: u32,
    ) -> Result<Vec<ScopeId>, LedgerError> {
        let mut found = match &self.backing {
            Backing::File(file) => file.foldable(newest, touched, most)?,
            Backing::Memory | Backing::Broken { .. } => Vec::new(),
        };
        found.retain(|id| !self.scopes.contains_key(id));
        let unsaved = self.scopes.iter().filter(|(_, of)| {
            of.foldable.is_some_and(|time| time < newest) && of.touched < touched
        });
        found.extend(unsaved.map(|(&id, _)| id));
        found.sort_unstable();
        found.truncate(most as usize);
        Ok(found)
    }

    /// Makes everything durable in one transaction. What can't be written stays here, is used all the
    /// same, and is tried again the next time.
    pub(super) fn commit(&mut self, changes: &Changes<'_>) -> Result<(), LedgerError> {
        let nothing_new = self.scopes.is_empty()
            && self.sources.is_empty()
            && changes.is_empty()
            && self.stored_meta.as_ref() == Some(&self.meta);
        match &mut self.backing {
            Backing::Memory => return Ok(()),
            Backing::Broken { path, reason } => {
                return Err(LedgerError::Unwritable {
                    path: path.clone(),
                    reason: reason.clone(),
                });
            }
            Backing::File(file) if nothing_new || file.is_view => return Ok(()),
            Backing::File(file) => {
                file.write(&self.meta, &self.scopes, &self.sources, changes)?;
            }
        }
        self.stored_meta = Some(self.meta.clone());
        self.scopes.clear();
        self.sources.clear();
        Ok(())
    }
}

#[cfg(test)]
impl State {
    /// Lets the file grow no further, as if the disk were full.
    pub(super) fn limit_pages(&self, full: bool) {
        if let Backing::File(file) = &self.backing {
            file.limit_pages(full);
        }
    }

    /// Cuts the next commit off after so many operations of the database.
    pub(super) fn interrupt_after(&mut self, operations: i32) {
        if let Backing::File(file) = &mut self.backing {
            file.interrupt_after(operations);
        }
    }
}
