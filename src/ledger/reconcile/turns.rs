//! Requests of editors, of which a store knows sums or the last round only: better statements about the
//! calls within one replace its tokens, and its credits are theirs.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::usage::{
    CallFact, Credits, Evidence, Initiator, Key, PremiumRequests, Provider, Surface, Timestamp,
    TokenType, Tokens, TurnFact,
};

use super::facts::{Stated, tells_single_calls};
use super::identity::Sets;
use super::merge::{Call, pick, share};
use super::model::Model;

/// Clocks of two processes: how far a call may lie outside its turn.
const SLACK_MS: i64 = 2_000;

/// A conversation's turn without an end is not taken to last longer than this.
const LONGEST_TURN_MS: i64 = 3_600_000;

/// Settles turns against calls. Returns how many statements told nothing new.
pub(super) fn settle<'a>(
    facts: &[Stated<'a, CallFact>],
    turns: &[Stated<'a, TurnFact>],
    calls: &mut Vec<Call<'a>>,
) -> u64 {
    let mut turns = Turn::merged(turns);
    let known = turns.len();
    drop_covered_turns(&mut turns);
    let covered = drop_covered_calls(&turns, calls);
    let mut inside = Inside::of(&turns, facts, calls);
    let mut keep = vec![true; calls.len()];
    let mut added = Vec::new();
    let mut duplicates = known - turns.len() + covered;
    for (turn, inside) in turns.iter().zip(&mut inside.0) {
        let is_better = |&at: &usize| turn.is_worse_than(calls[at].evidence.best());
        let is_less = |&at: &usize| turn.is_better_than(calls[at].evidence.best());
        if inside.iter().any(is_better) {
            for &at in inside.iter().filter(|at| !is_better(at)) {
                keep[at] = false;
                duplicates += 1;
            }
            inside.retain(|&at| keep[at]);
            turn.give(calls, inside);
            duplicates += 1;
        } else if turn.has_figures() || !inside.iter().any(is_less) {
            for &at in inside.iter().filter(|at| is_less(at)) {
                keep[at] = false;
                duplicates += 1;
            }
            added.extend(turn.calls());
        } else {
            inside.retain(is_less);
            turn.give(calls, inside);
            duplicates += 1;
        }
    }
    let mut keep = keep.into_iter();
    calls.retain(|_| keep.next().unwrap_or(true));
    calls.append(&mut added);
    duplicates as u64
}

/// When a turn of unknown end is over at last.
fn longest(start: Timestamp) -> Timestamp {
    Timestamp(start.0.saturating_add(LONGEST_TURN_MS))
}

/// A turn, from all copies of it.
#[derive(Debug)]
struct Turn<'a> {
    id: Key,
    surface: Surface,
    evidence: Evidence,
    keys: Vec<Key>,
    /// The copy with the best figures.
    fact: &'a TurnFact,
    start: Option<Timestamp>,
    end: Option<Timestamp>,
    model: Option<Model<'a>>,
    provider: Option<&'a Provider>,
    initiator: Initiator,
    credits: Option<Credits>,
    premium: Option<PremiumRequests>,
}

impl<'a> Turn<'a> {
    /// Turns by their keys, in the order of their start: copies in other folders, files and formats are
    /// one turn, and the best figures ever stated are its figures.
    fn merged(turns: &[Stated<'a, TurnFact>]) -> Vec<Self> {
        let mut sets = Sets::by_keys(turns.iter().map(|turn| turn.fact.keys.as_slice()));
        let sets = sets.members().into_iter();
        let mut merged: Vec<Self> = sets
            .filter_map(|members| Self::of(members.into_iter().map(|at| turns[at]).collect()))
            .collect();
        merged.sort_unstable_by_key(|turn| (turn.start, turn.id));
        merged
    }

    fn of(mut copies: Vec<Stated<'a, TurnFact>>) -> Option<Self> {
        copies.sort_by_key(|copy| Reverse(richness(copy)));
        let best = copies.first()?;
        let told = || copies.iter().map(|copy| copy.fact);
        let evidence = told().map(|fact| fact.evidence).max()?;
        let start = told().filter_map(|fact| fact.start).min();
        let end = told().filter_map(|fact| fact.end).max();
        let at_most = start.filter(|_| is_conversation(evidence));
        let named = || told().filter_map(|fact| fact.provider.as_ref());
        Some(Self {
            id: best.id,
            surface: best.surface,
            evidence,
            keys: told().flat_map(|fact| fact.keys.iter().copied()).collect(),
            fact: best.fact,
            start,
            end: end.or(at_most.map(longest)),
            model: copies.iter().find_map(|copy| copy.model),
            provider: named()
                .find(|&provider| *provider != Provider::Copilot)
                .or_else(|| named().next()),
            initiator: told()
                .map(|fact| fact.initiator)
                .find(|&initiator| initiator != Initiator::Unknown)
                .unwrap_or_default(),
            credits: told().filter_map(|fact| fact.credits).max(),
            premium: told().filter_map(|fact| fact.premium).max(),
        })
    }

    fn has_figures(&self) -> bool {
        !self.fact.per_model.is_empty() || self.fact.tokens != Tokens::default()
    }

    /// Calls are known one by one, or exactly.
    fn is_worse_than(&self, evidence: Option<Evidence>) -> bool {
        evidence > Some(self.evidence) && evidence.is_some_and(tells_single_calls)
    }

    /// Calls are known by their text alone, or are of the very store that tells of the turn.
    fn is_better_than(&self, evidence: Option<Evidence>) -> bool {
        evidence < Some(self.evidence)
            || is_conversation(self.evidence) && evidence == Some(self.evidence)
    }

    /// What the calls inside lack and the turn knows.
    fn give(&self, calls: &mut [Call<'a>], inside: &[usize]) {
        let is_of_model = |call: &Call<'a>| match (call.model, self.model) {
            (Some(a), Some(b)) => a.key == b.key,
            _ => true,
        };
        let mut known = 0_u64;
        let mut lacking = Vec::new();
        for &at in inside {
            let call = &mut calls[at];
            if is_of_model(call) {
                call.provider = call.provider.or(self.provider);
                call.model = call.model.or(self.model);
            }
            match call.credits {
                Some(credits) => known = known.saturating_add(credits.0),
                None => lacking.push(at),
            }
        }
        if let Some(credits) = self.credits {
            share(
                Credits(credits.0.saturating_sub(known)),
                pick(calls, &lacking),
            );
        }
        let is_counted = inside.iter().any(|&at| calls[at].premium.is_some());
        if let (Some(&first), false) = (inside.first(), is_counted) {
            calls[first].premium = self.premium;
        }
    }

    /// The turn as calls, where nobody knows them better.
    fn calls(&self) -> Vec<Call<'a>> {
        let of_models = self.fact.per_model.len().max(1) as u64;
        let whole = Call {
            // What is known of the turn's calls beyond one for each model is put to the first model.
            count: u64::from(self.fact.calls).max(of_models) - (of_models - 1),
            time: self.start.or(self.end),
            model: self.model,
            provider: self.provider,
            initiator: self.initiator,
            tokens: self.fact.tokens,
            estimated: self.fact.estimated,
            lower_bound: self.fact.lower_bound,
            credits: self.credits,
            premium: self.premium,
            duration_ms: self.fact.duration_ms,
            first_token_ms: self.fact.first_token_ms,
            ..Call::unknown(self.id, self.surface)
        };
        if self.fact.per_model.is_empty() {
            return vec![whole];
        }
        let mut calls: Vec<Call<'a>> = Vec::new();
        for (model, tokens) in &self.fact.per_model {
            let first = calls.is_empty();
            calls.push(Call {
                count: if first { whole.count } else { 1 },
                model: Some(Model::of(model)),
                tokens: *tokens,
                credits: None,
                premium: whole.premium.filter(|_| first),
                duration_ms: whole.duration_ms.filter(|_| first),
                first_token_ms: whole.first_token_ms.filter(|_| first),
                ..whole.clone()
            });
        }
        if let Some(credits) = self.credits {
            share(credits, calls.iter_mut().collect());
        }
        calls
    }
}

/// Orders the copies of a turn: exact sums, then what is finished, then the better store, then more.
fn richness(copy: &Stated<'_, TurnFact>) -> (bool, bool, bool, Evidence, u64, u64, Key) {
    let fact = copy.fact;
    let output = fact.tokens.get(TokenType::Output);
    let prompt = fact.tokens.gross_input().map_or(0, |gross| gross.0);
    (
        !fact.per_model.is_empty(),
        fact.tokens != Tokens::default() && !fact.estimated,
        fact.end.is_some(),
        fact.evidence,
        output.unwrap_or(0),
        prompt,
        copy.id,
    )
}

/// Which calls lie in which turn, each in the order of the calls.
struct Inside(Vec<Vec<usize>>);

impl Inside {
    fn of(turns: &[Turn<'_>], facts: &[Stated<'_, CallFact>], calls: &[Call<'_>]) -> Self {
        let mut inside = vec![Vec::new(); turns.len()];
        let by_key: HashMap<Key, usize> = turns
            .iter()
            .enumerate()
            .flat_map(|(at, turn)| turn.keys.iter().map(move |&key| (key, at)))
            .collect();
        for (index, call) in calls.iter().enumerate() {
            let mut keys = call.members.iter().flat_map(|&at| &facts[at].fact.keys);
            let turn = keys
                .find_map(|key| by_key.get(key).copied())
                .or_else(|| Self::at(turns, call.time?));
            if let Some(turn) = turn {
                inside[turn].push(index);
            }
        }
        Self(inside)
    }

    /// The turn that began last before `time`, if it lasted until then.
    fn at(turns: &[Turn<'_>], time: Timestamp) -> Option<usize> {
        let began = |slack: i64| {
            let until = Some(Timestamp(time.0.saturating_add(slack)));
            turns
                .partition_point(|turn| turn.start <= until)
                .checked_sub(1)
        };
        let lasted = |&at: &usize| {
            let turn = &turns[at];
            turn.start.is_some()
                && turn
                    .end
                    .is_none_or(|end| time.0 <= end.0.saturating_add(SLACK_MS))
        };
        // A call just before a turn is the turn's, unless the turn before was not over yet.
        began(0)
            .filter(lasted)
            .or_else(|| began(SLACK_MS).filter(lasted))
    }
}

/// Stores of one conversation that share no identity: of two, the better one counts where it reaches.
fn is_conversation(evidence: Evidence) -> bool {
    evidence <= Evidence::Nitrite
}

const CONVERSATIONS_BUT_THE_BEST: [Evidence; 2] = [Evidence::Partition, Evidence::Salvage];

fn drop_covered_turns(turns: &mut Vec<Turn<'_>>) {
    for evidence in CONVERSATIONS_BUT_THE_BEST {
        let reach = Reach::of_better(turns, &[], evidence);
        turns.retain(|turn| turn.evidence != evidence || !reach.covers(turn.start));
    }
}

fn drop_covered_calls(turns: &[Turn<'_>], calls: &mut Vec<Call<'_>>) -> usize {
    let before = calls.len();
    for evidence in CONVERSATIONS_BUT_THE_BEST {
        let reach = Reach::of_better(turns, calls, evidence);
        calls.retain(|call| call.evidence.best() != Some(evidence) || !reach.covers(call.time));
    }
    before - calls.len()
}

/// The stretch of time of which a conversation's better stores tell.
enum Reach {
    Nothing,
    /// They tell no times, and are taken to tell of everything.
    Everything,
    Between(Timestamp, Timestamp),
}

impl Reach {
    fn of_better(turns: &[Turn<'_>], calls: &[Call<'_>], than: Evidence) -> Self {
        let is_better = |evidence| is_conversation(evidence) && evidence > than;
        let turns = turns
            .iter()
            .filter(|turn| is_better(turn.evidence))
            .map(|turn| (turn.start, turn.end));
        let calls = calls
            .iter()
            .filter(|call| call.evidence.best().is_some_and(is_better))
            .map(|call| (call.time, None));
        let mut reach = Self::Nothing;
        for (start, end) in turns.chain(calls) {
            let Some(start) = start else {
                return Self::Everything;
            };
            let end = end.unwrap_or(longest(start));
            reach = match reach {
                Self::Between(first, last) => Self::Between(first.min(start), last.max(end)),
                _ => Self::Between(start, end),
            };
        }
        reach
    }

    fn covers(&self, time: Option<Timestamp>) -> bool {
        match (self, time) {
            (Self::Nothing, _) => false,
            (Self::Everything, _) | (_, None) => true,
            (Self::Between(first, last), Some(time)) => {
                let slack = |time: Timestamp, by: i64| time.0.saturating_add(by);
                (slack(*first, -SLACK_MS)..=slack(*last, SLACK_MS)).contains(&time.0)
            }
        }
    }
}
