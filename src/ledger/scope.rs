//! One scope (session): its statements, and what they were last found to amount to.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::cells::Cells;
use super::intake::SourceId;
use crate::usage::{Evidence, Fact, Key, Observation, Surface, Timestamp, TokenType, Tokens, Usd};

/// A scope's number in the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ScopeId(pub(super) u32);

impl ScopeId {
    /// Set for scopes of single statements that are of no known session.
    const LONE: u32 = 1 << 31;

    pub(super) fn new(number: u32, lone: bool) -> Self {
        Self(if lone { number | Self::LONE } else { number })
    }

    pub(super) fn is_lone(self) -> bool {
        self.0 & Self::LONE != 0
    }
}

/// A statement and the source that makes it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Statement {
    pub(super) source: SourceId,
    pub(super) observation: Observation,
}

/// What the ledger keeps of a scope.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Scope {
    pub(super) name: String,
    /// The label `user`: that of the home that told of the scope first.
    pub(super) user: Option<Arc<str>>,
    pub(super) first_seen: Timestamp,
    /// When its statements last changed, by the clock.
    pub(super) touched: Timestamp,
    /// The newest time that a statement names.
    pub(super) newest: Option<Timestamp>,
    pub(super) statements: Vec<Statement>,
    /// Set once the statements up to this time were folded into `base`.
    pub(super) folded_until: Option<Timestamp>,
    pub(super) base: Cells,
    /// What `truth` was when `base` was folded.
    pub(super) base_truth: Option<Cells>,
    /// What is counted.
    pub(super) cells: Cells,
    /// What the statements say, if that isn't what is counted: some of it had been published elsewhere.
    pub(super) truth: Option<Cells>,
    /// What was published and no statement backs any more.
    pub(super) unbacked: Cells,
    /// Of `cells` and `unbacked`, what had been published when the present pass began to change them.
    pub(super) anchor: Cells,
    /// The pass that changed `cells` last.
    pub(super) pass: u64,
    /// The list price of each call, fixed at first sight: an update of the price table leaves it alone.
    pub(super) prices: BTreeMap<u64, Option<Usd>>,
    pub(super) duplicates: u64,
    /// The newest call.
    pub(super) last_call: Option<Timestamp>,
    pub(super) surface: Option<Surface>,
}

impl Scope {
    /// What the statements say.
    pub(super) fn truth(&self) -> &Cells {
        self.truth.as_ref().unwrap_or(&self.cells)
    }

    /// Adds statements, or replaces their former versions. `false`: nothing changed.
    pub(super) fn merge(&mut self, statements: Vec<Statement>) -> bool {
        let mut places: HashMap<Key, usize> = self
            .statements
            .iter()
            .enumerate()
            .map(|(at, known)| (known.observation.id, at))
            .collect();
        let mut changed = false;
        for statement in statements {
            if self.is_folded_away(&statement.observation) {
                continue;
            }
            let time = time_of(&statement.observation.fact);
            match places.entry(statement.observation.id) {
                Entry::Vacant(place) => {
                    place.insert(self.statements.len());
                    self.statements.push(statement);
                }
                Entry::Occupied(place) => {
                    let known = &mut self.statements[*place.get()];
                    if *known == statement || !supersedes(&statement, known) {
                        continue;
                    }
                    *known = statement;
                }
            }
            self.newest = self.newest.max(time);
            changed = true;
        }
        changed
    }

    /// The statement speaks of what was folded. It is counted already, or came too late to be told from
    /// what is.
    fn is_folded_away(&self, observation: &Observation) -> bool {
        let Some(until) = self.folded_until else {
            return false;
        };
        match &observation.fact {
            Fact::Session(_) => false,
            Fact::Total(_) => true,
            fact => time_of(fact).is_none_or(|time| time <= until),
        }
    }
}

/// The time that decides how old a statement is.
pub(super) fn time_of(fact: &Fact) -> Option<Timestamp> {
    match fact {
        Fact::Call(call) => call.time,
        Fact::Turn(turn) => turn.start,
        Fact::Leg(leg) => Some(leg.to),
        Fact::Total(total) => total.time,
        Fact::Failure(failure) => failure.time,
        Fact::Session(session) => session.started,
        Fact::Tool(tool) => tool.time,
    }
}

/// The identities of what a statement is about.
pub(super) fn keys_of(fact: &Fact) -> &[Key] {
    match fact {
        Fact::Call(call) => &call.keys,
        Fact::Turn(turn) => &turn.keys,
        Fact::Failure(failure) => &failure.keys,
        // Ids of tool calls repeat over sessions, so they join none.
        Fact::Leg(_) | Fact::Total(_) | Fact::Session(_) | Fact::Tool(_) => &[],
    }
}

/// Whether a version of a statement replaces the one that is known. The source that made it may restate it
/// as it likes; a copy elsewhere wins only if it knows more, so that an old copy takes nothing away,
/// whichever is read first.
fn supersedes(new: &Statement, known: &Statement) -> bool {
    new.source == known.source
        || fullness(&new.observation.fact) > fullness(&known.observation.fact)
}

/// Evidence, number of figures known, their sum: compared in that order.
fn fullness(fact: &Fact) -> (Option<Evidence>, usize, u64) {
    let (evidence, tokens, credits, extra) = match fact {
        Fact::Call(call) => (
            Some(call.evidence),
            call.tokens,
            call.credits,
            usize::from(call.time.is_some()) + usize::from(call.model.is_some()),
        ),
        Fact::Turn(turn) => (
            Some(turn.evidence),
            turn.per_model
                .iter()
                .fold(turn.tokens, |sum, (_, tokens)| sum.plus(tokens)),
            turn.credits,
            usize::from(turn.end.is_some()) + usize::from(turn.model.is_some()),
        ),
        Fact::Leg(leg) => (None, leg.tokens, leg.credits, 0),
        Fact::Total(total) => (None, total.tokens, total.credits, 0),
        Fact::Failure(_) | Fact::Tool(_) => (None, Tokens::default(), None, 0),
        Fact::Session(session) => (
            None,
            Tokens::default(),
            None,
            usize::from(session.project.is_some())
                + usize::from(session.model.is_some())
                + session.providers.len(),
        ),
    };
    let known = TokenType::ALL.iter().filter_map(|&class| tokens.get(class));
    let figures = known.clone().count() + usize::from(credits.is_some()) + extra;
    let sum = known.fold(credits.map_or(0, |credits| credits.0), u64::saturating_add);
    (evidence, figures, sum)
}
