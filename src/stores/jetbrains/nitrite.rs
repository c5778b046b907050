//! Reading a Nitrite database: its sessions first, then the turns on pages that are new.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::io;

use xxhash_rust::xxh3::Xxh3;

use super::conversations::{Entity, Session, Told, Turn};
use super::leaves;
use super::mvstore::{Position, ReadAt, Store};
use super::seen::{Contexts, Seen};

/// The most turns inside of session documents.
const MOST_INNER_TURNS: usize = 200_000;

/// The sessions of a store, and what names its project.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    by_id: BTreeMap<String, Session>,
    /// Names that sibling stores know, by conversation.
    elsewhere: BTreeMap<String, String>,
    /// The name on which all sessions of this store id agree.
    agreed: Option<String>,
}

/// What went wrong in a walk, besides errors of the system.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Damage {
    pub(super) pages: u32,
    pub(super) documents: u32,
    pub(super) contents: u32,
}

/// What a walk gives.
#[derive(Debug, Default)]
pub(super) struct Walk {
    pub(super) sessions: Sessions,
    /// Turns in session documents.
    inner: Vec<Turn>,
    pub(super) damage: Damage,
    pub(super) bytes: u64,
}

impl Walk {
    /// Reads the sessions.
    ///
    /// # Errors
    /// When the file can't be read.
    pub(super) fn sessions<R: ReadAt + Sync>(store: &Store<R>) -> io::Result<Self> {
        let mut walk = Self::default();
        for map in maps(store, Entity::Session) {
            let mut sessions = Vec::new();
            let mut inner = std::mem::take(&mut walk.inner);
            walk.map(
                store,
                map,
                Entity::Session,
                &mut |_| false,
                &mut |_, told| {
                    sessions.extend(told.session.clone());
                    let room = MOST_INNER_TURNS.saturating_sub(inner.len());
                    inner.extend(told.turns.iter().take(room).cloned());
                },
            )?;
            walk.inner = inner;
            for session in sessions {
                walk.sessions.add(session);
            }
        }
        Ok(walk)
    }

    /// Gives every turn on leaves that are new to `seen`, and lets `seen` remember them.
    ///
    /// # Errors
    /// When the file can't be read.
    pub(super) fn turns<R: ReadAt + Sync>(
        &mut self,
        store: &Store<R>,
        seen: &mut Seen,
        visit: &mut dyn FnMut(&Turn, &Sessions, &mut Seen),
    ) -> io::Result<()> {
        let sessions = std::mem::take(&mut self.sessions);
        let contexts = sessions.contexts();
        let written = |leaf| store.written(leaf);
        let known = seen.leaves(store.created(), &contexts, written);
        let mut read = BTreeSet::new();
        for turn in &std::mem::take(&mut self.inner) {
            visit(turn, &sessions, seen);
        }
        for map in maps(store, Entity::Turn) {
            let mut passed = BTreeSet::new();
            let mut skip = |leaf| known.contains(&leaf) && passed.insert(leaf);
            self.map(store, map, Entity::Turn, &mut skip, &mut |leaf, told| {
                read.insert(leaf);
                for turn in &told.turns {
                    visit(turn, &sessions, seen);
                }
            })?;
            read.append(&mut passed);
        }
        seen.walked(store.created(), contexts, &read, written);
        self.sessions = sessions;
        Ok(())
    }

    fn map<R: ReadAt + Sync>(
        &mut self,
        store: &Store<R>,
        map: &str,
        entity: Entity,
        skip: &mut dyn FnMut(Position) -> bool,
        visit: &mut dyn FnMut(Position, &Told),
    ) -> io::Result<()> {
        let leaves = store.leaves(map, skip)?;
        self.bytes += leaves.bytes;
        self.damage.pages += leaves.damaged;
        leaves::read(store, &leaves, entity, &mut |leaf| {
            let Some(documents) = &leaf.documents else {
                self.damage.pages += 1;
                return;
            };
            self.bytes += documents.bytes;
            self.damage.documents += documents.broken;
            for told in &documents.told {
                self.damage.contents += told.broken;
                visit(leaf.position, told);
            }
        })
    }
}

fn maps<R: ReadAt>(store: &Store<R>, entity: Entity) -> impl Iterator<Item = &str> {
    store
        .maps()
        .filter(move |map| Entity::of_map(map) == Some(entity))
}

impl Sessions {
    pub(super) fn add(&mut self, session: Session) {
        // The same session in a second map fills in what the first doesn't tell.
        let known = self.by_id.entry(session.id.clone()).or_default();
        let before = std::mem::take(known);
        *known = Session {
            conversation: before.conversation.or(session.conversation),
            project: before.project.or(session.project),
            model: before.model.or(session.model),
            created: before.created.or(session.created),
            credits: match before.credits.is_empty() {
                true => session.credits,
                false => before.credits,
            },
            id: session.id,
        };
    }

    /// Takes in what the store's siblings know.
    pub(super) fn join(&mut self, siblings: &[Names]) {
        for names in siblings {
            self.elsewhere.extend(names.by_conversation.clone());
        }
        let own = self
            .by_id
            .values()
            .filter_map(|session| session.project.as_ref());
        let others = siblings.iter().flat_map(|names| &names.all);
        let names: BTreeSet<&String> = own.chain(others).collect();
        let mut names = names.into_iter();
        self.agreed = match (names.next(), names.next()) {
            (Some(name), None) => Some(name.clone()),
            _ => None,
        };
    }

    /// The session that one of these ids belongs to.
    pub(super) fn of<'i>(&self, ids: impl Iterator<Item = &'i String>) -> Option<&Session> {
        let mut ids = ids;
        ids.find_map(|id| self.by_id.get(id))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Session> {
        self.by_id.values()
    }

    /// The name of the project: the session's own, else that of its conversation in a sibling store, else
    /// the one on which the whole store id agrees.
    pub(super) fn project<'s>(&'s self, session: Option<&'s Session>) -> Option<&'s str> {
        let own = session.and_then(|session| {
            let elsewhere = || self.elsewhere.get(session.scope());
            session.project.as_ref().or_else(elsewhere)
        });
        own.or(self.agreed.as_ref()).map(String::as_str)
    }

    fn contexts(&self) -> Contexts {
        let mut contexts: Contexts = self
            .iter()
            .map(|session| (session.key(), self.context(session)))
            .collect();
        contexts.insert(0, hash(&self.agreed));
        contexts
    }

    /// What this session's turns depend on, hashed.
    pub(super) fn context(&self, session: &Session) -> u64 {
        hash(&(session, self.project(Some(session))))
    }
}

impl Session {
    pub(super) fn key(&self) -> u64 {
        hash(&self.id)
    }
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = Xxh3::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Project names that a store knows.
#[derive(Debug, Clone, Default)]
pub(super) struct Names {
    pub(super) by_conversation: BTreeMap<String, String>,
    pub(super) all: BTreeSet<String>,
}

impl Names {
    pub(super) fn of(sessions: &Sessions) -> Self {
        let named = || {
            let all = sessions.iter();
            all.filter_map(|session| Some((session, session.project.clone()?)))
        };
        Self {
            by_conversation: named()
                .map(|(session, name)| (session.scope().to_owned(), name))
                .collect(),
            all: named().map(|(_, name)| name).collect(),
        }
    }
}
