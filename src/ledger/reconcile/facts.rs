//! The statements about one scope, by kind and in an order of their own.

use crate::usage::{
    CallFact, Evidence, Fact, FailureFact, Key, LegFact, Observation, SessionFact, Surface,
    Timestamp, ToolFact, TotalFact, TurnFact,
};

use super::model::{Model, Models};

/// What is stated, and the statement that it is part of.
#[derive(Debug)]
pub(super) struct Stated<'a, F> {
    pub(super) id: Key,
    pub(super) surface: Surface,
    pub(super) model: Option<Model<'a>>,
    pub(super) fact: &'a F,
}

impl<F> Clone for Stated<'_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for Stated<'_, F> {}

impl<'a, F> Stated<'a, F> {
    fn new(observation: &Observation, model: Option<Model<'a>>, fact: &'a F) -> Self {
        Self {
            id: observation.id,
            surface: observation.surface,
            model,
            fact,
        }
    }
}

/// The statements, each kind sorted by time and identity, so that nothing depends on the order in which
/// they were seen.
#[derive(Debug, Default)]
pub(super) struct Facts<'a> {
    pub(super) calls: Vec<Stated<'a, CallFact>>,
    pub(super) turns: Vec<Stated<'a, TurnFact>>,
    pub(super) legs: Vec<Stated<'a, LegFact>>,
    pub(super) totals: Vec<Stated<'a, TotalFact>>,
    pub(super) failures: Vec<Stated<'a, FailureFact>>,
    pub(super) sessions: Vec<Stated<'a, SessionFact>>,
    pub(super) tools: Vec<Stated<'a, ToolFact>>,
}

impl<'a> Facts<'a> {
    pub(super) fn sorted(observations: &'a [Observation]) -> Self {
        let mut facts = Self::default();
        let mut models = Models::default();
        for observation in observations {
            facts.put(observation, &mut models);
        }
        sort_by_time(&mut facts.calls, |fact| fact.time);
        sort_by_time(&mut facts.turns, |fact| fact.start);
        sort_by_time(&mut facts.legs, |fact| Some(fact.to));
        sort_by_time(&mut facts.totals, |fact| fact.time);
        sort_by_time(&mut facts.failures, |fact| fact.time);
        sort_by_time(&mut facts.sessions, |fact| fact.started);
        sort_by_time(&mut facts.tools, |fact| fact.time);
        facts
    }

    fn put(&mut self, observation: &'a Observation, models: &mut Models<'a>) {
        let named = match &observation.fact {
            Fact::Call(fact) => &fact.model,
            Fact::Turn(fact) => &fact.model,
            Fact::Leg(fact) => &fact.model,
            Fact::Total(fact) => &fact.model,
            Fact::Failure(fact) => &fact.model,
            Fact::Session(fact) => &fact.model,
            Fact::Tool(fact) => &fact.model,
        };
        let model = named.as_deref().map(|name| models.of(name));
        match &observation.fact {
            Fact::Call(fact) => self.calls.push(Stated::new(observation, model, fact)),
            Fact::Turn(fact) => self.turns.push(Stated::new(observation, model, fact)),
            Fact::Leg(fact) => self.legs.push(Stated::new(observation, model, fact)),
            Fact::Total(fact) => self.totals.push(Stated::new(observation, model, fact)),
            Fact::Failure(fact) => self.failures.push(Stated::new(observation, model, fact)),
            Fact::Session(fact) => self.sessions.push(Stated::new(observation, model, fact)),
            Fact::Tool(fact) => self.tools.push(Stated::new(observation, model, fact)),
        }
    }

    /// The CLI's own stores know the session. What mirrors it (VS Code's chat sessions, JetBrains'
    /// conversations) then adds nothing.
    pub(super) fn are_of_the_cli(&self) -> bool {
        let is_own = |evidence| {
            matches!(
                evidence,
                Evidence::Message | Evidence::Span | Evidence::UsageRecord | Evidence::StoreRow
            )
        };
        !self.legs.is_empty()
            || self
                .calls
                .iter()
                .any(|call| is_cli(call.surface) && is_own(call.fact.evidence))
    }

    /// Leaves out what only mirrors a session of the CLI. Returns how many statements those are.
    pub(super) fn drop_mirrors(&mut self) -> usize {
        if !self.are_of_the_cli() {
            return 0;
        }
        let before = self.calls.len() + self.turns.len();
        self.turns.clear();
        self.tools.retain(|tool| is_cli(tool.surface));
        self.calls.retain(|call| {
            let evidence = call.fact.evidence;
            evidence == Evidence::Message || evidence > Evidence::TranscriptUsage
        });
        before - self.calls.len()
    }
}

/// A store that tells each call by itself, with its figures.
pub(super) fn tells_single_calls(evidence: Evidence) -> bool {
    evidence >= Evidence::LogRecord
}

/// The CLI and the desktop app write the same stores.
pub(super) fn is_cli(surface: Surface) -> bool {
    matches!(surface, Surface::Cli | Surface::Desktop)
}

fn sort_by_time<F>(facts: &mut [Stated<'_, F>], time: impl Fn(&F) -> Option<Timestamp>) {
    facts.sort_unstable_by_key(|stated| (time(stated.fact), stated.id));
}
