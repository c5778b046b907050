//! From statements that came in to totals.

use std::sync::Arc;

use super::cells::{Cell, Cells};
use super::derive::Deriver;
use super::intake::{SourceId, SourceState};
use super::keys::KeyIndex;
use super::scope::{Scope, ScopeId, Statement, keys_of};
use super::{Ledger, LedgerError};
use crate::stores::StoreKind;
use crate::usage::{Fact, Key, Slot, Surface, Timestamp};

/// What came in for a scope since the last commit.
#[derive(Debug, Default)]
pub(super) struct Pending {
    name: String,
    user: Option<Arc<str>>,
    statements: Vec<Statement>,
    /// Scopes of single statements that turned out to be this one's.
    absorbed: Vec<ScopeId>,
    /// The store that spoke last.
    kind: Option<StoreKind>,
}

/// What the state holds of a scope and of those that it absorbs.
struct LoadedScopes {
    scope: Option<Scope>,
    absorbed: Vec<(ScopeId, Scope)>,
}

impl Ledger {
    /// Takes in a statement.
    pub(super) fn take(&mut self, statement: Statement, kind: StoreKind, user: Option<&Arc<str>>) {
        if !self.hears() {
            return;
        }
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
        self.waiting += 1;
        if self.waiting >= Self::MOST_WAITING {
            // A failure is met again, and told, at the commit that ends the pass.
            let _ = self.commit();
        }
    }

    /// Everything that a source said up to `state` was taken in.
    pub(super) fn read_up_to(&mut self, source: SourceId, state: SourceState) {
        if self.hears() {
            self.stamps.insert(source, state.stamp.clone());
            self.state.put_source(source, state);
        }
    }

    /// Statements can be recognised. If not, none is taken in and no source is read further.
    fn hears(&mut self) -> bool {
        if self.fault.is_some() {
            return false;
        }
        if self.keys.is_none() {
            let mut keys = KeyIndex::default();
            match self.state.keys(&mut |key, owner| keys.restore(key, owner)) {
                Ok(()) => self.keys = Some(keys),
                Err(error) => self.fault = Some(error),
            }
        }
        self.fault.is_none()
    }

    /// The scope that a statement belongs to: the one in which it was first made, else that of its session.
    ///
    /// A statement of no known session joins the one that shares a key with it, whichever comes first. So does
    /// a turn: its id is the client's own, and a session that was copied has its turns. Otherwise a shared key
    /// joins nothing between sessions: some providers repeat their response ids.
    fn owner(&mut self, statement: &Statement) -> ScopeId {
        let Some(index) = &mut self.keys else {
            return ScopeId::new(0, false);
        };
        let observation = &statement.observation;
        let keys = keys_of(&observation.fact);
        let lone = observation.is_lone();
        let is_turn = matches!(observation.fact, Fact::Turn(_));
        let own = Key::of("scope", &[&observation.scope]);
        let shared = || keys.iter().find_map(|&key| index.owner(key));
        let before = index.owner(observation.id);
        let known = before
            .or_else(|| if lone || is_turn { shared() } else { None })
            .or_else(|| index.owner(own));
        let owner = match known {
            Some(owner) => self.redirected.get(&owner).copied().unwrap_or(owner),
            None => {
                let meta = self.state.meta_mut();
                let owner = ScopeId::new(meta.next_scope, lone);
                meta.next_scope += 1;
                index.insert(own, owner);
                owner
            }
        };
        if before != Some(owner) {
            index.insert(observation.id, owner);
        }
        // The session of a CLI log whose first statement another session made: one is the other's fork, and
        // either may be read first. Rows name the session only, so both are one scope from here on.
        let is_cli = matches!(observation.surface, Surface::Cli | Surface::Desktop);
        if is_cli && !lone && !owner.is_lone() && index.owner(own).is_none() {
            index.insert(own, owner);
        }
        let mut absorbed = Vec::new();
        for &key in keys {
            match index.owner(key) {
                None => index.insert(key, owner),
                Some(other) if other != owner && other.is_lone() && !owner.is_lone() => {
                    index.insert(key, owner);
                    absorbed.push(other);
                }
                Some(_) => {}
            }
        }
        for other in absorbed {
            self.absorb(other, owner);
        }
        owner
    }

    /// Makes the statements of `from` statements of `to`, now and in future.
    fn absorb(&mut self, from: ScopeId, to: ScopeId) {
        if self.redirected.insert(from, to).is_some() {
            return;
        }
        let moved = self.pending.remove(&from).unwrap_or_default();
        self.rename(&moved.statements, to);
        let pending = self.pending.entry(to).or_default();
        pending.statements.extend(moved.statements);
        pending.absorbed.extend(moved.absorbed);
        pending.absorbed.push(from);
    }

    /// Counts all that is pending. What can't be counted, since the state can't be read, stays pending.
    pub(super) fn apply_pending(&mut self) -> Result<(), LedgerError> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        while let Some((id, pending)) = self.pending.pop_first() {
            match self.load(id, &pending) {
                Ok(loaded) => self.apply(id, pending, loaded),
                Err(error) => {
                    self.pending.insert(id, pending);
                    self.fault = Some(error.clone());
                    return Err(error);
                }
            }
        }
        self.waiting = 0;
        self.redirected.clear();
        Ok(())
    }

    fn load(&self, id: ScopeId, pending: &Pending) -> Result<LoadedScopes, LedgerError> {
        let scope = self.state.scope(id)?;
        let mut absorbed = Vec::new();
        for &from in &pending.absorbed {
            // What was folded has no statements to take over.
            let scope = self
                .state
                .scope(from)?
                .filter(|scope| scope.folded_until.is_none());
            absorbed.extend(scope.map(|scope| (from, scope)));
        }
        Ok(LoadedScopes { scope, absorbed })
    }

    fn apply(&mut self, id: ScopeId, pending: Pending, loaded: LoadedScopes) {
        let mut scope = loaded.scope.unwrap_or_else(|| Scope {
            name: pending.name,
            user: pending.user,
            first_seen: self.now,
            ..Scope::default()
        });
        let mut statements = pending.statements;
        let mut anchor = self.anchor(&scope);
        let absorbs = !loaded.absorbed.is_empty();
        for (from, other) in loaded.absorbed {
            let (moved, published) = self.empty(from, other);
            self.rename(&moved, id);
            statements.extend(moved);
            anchor = anchor.into_iter().chain(published).collect();
        }
        if !scope.merge(statements) && !absorbs {
            return;
        }
        scope.touched = self.now;
        let old = Counted::take(&mut scope);
        let mut deriver = Deriver {
            settings: &self.settings,
            register: &mut self.register,
            sets: &mut self.sets,
            present: present(self.now),
        };
        let derived = deriver.derive(id, &mut scope, anchor);
        self.replace(id, &old, &scope);
        for (series, time) in derived.called {
            self.totals.called(series, time);
        }
        if let Some(kind) = pending.kind {
            self.counters.of(kind).duplicates(derived.new_duplicates);
        }
        let meta = self.state.meta_mut();
        scope.pass = meta.pass;
        meta.newest = meta.newest.max(scope.newest.unwrap_or_default());
        self.state.put_scope(id, &scope);
    }

    /// What of the scope's cells has been published.
    fn anchor(&self, scope: &Scope) -> Cells {
        if scope.pass > self.state.meta().published_pass {
            return scope.anchor.clone();
        }
        let released = |cell: &&Cell| self.totals.is_released(cell.series, cell.measure);
        let cells = scope.cells.iter().filter(released);
        cells.chain(scope.unbacked.iter()).copied().collect()
    }

    /// Takes everything out of a scope: its statements, and what of them has been published.
    fn empty(&mut self, id: ScopeId, mut scope: Scope) -> (Vec<Statement>, Cells) {
        let published = self.anchor(&scope);
        let statements = std::mem::take(&mut scope.statements);
        let old = Counted::take(&mut scope);
        scope.anchor = Cells::default();
        scope.unbacked = Cells::default();
        scope.last_call = None;
        scope.pass = self.state.meta().pass;
        self.replace(id, &old, &scope);
        self.state.put_scope(id, &scope);
        (statements, published)
    }

    fn rename(&mut self, statements: &[Statement], owner: ScopeId) {
        if let Some(index) = &mut self.keys {
            for Statement { observation, .. } in statements {
                index.insert(observation.id, owner);
                for &key in keys_of(&observation.fact) {
                    index.insert(key, owner);
                }
            }
        }
    }

    fn replace(&mut self, id: ScopeId, old: &Counted, scope: &Scope) {
        self.totals.replace(&old.cells, &scope.cells);
        if let Some(truth) = &scope.truth {
            self.totals.keep(truth);
        }
        if let Some(recent) = &mut self.recent {
            recent.replace(old.truth.as_ref().unwrap_or(&old.cells), scope.truth());
            recent.called(id, scope.surface, scope.last_call);
        }
        self.state.meta_mut().counted = true;
    }
}

/// What a scope amounted to before it changed.
struct Counted {
    cells: Cells,
    truth: Option<Cells>,
}

impl Counted {
    fn take(scope: &mut Scope) -> Self {
        Self {
            cells: std::mem::take(&mut scope.cells),
            truth: scope.truth.take(),
        }
    }
}

/// Times up to here are of the present; a clock may be a little ahead.
pub(super) fn present(now: Timestamp) -> Timestamp {
    Timestamp(now.0.saturating_add(Slot::MILLIS))
}
