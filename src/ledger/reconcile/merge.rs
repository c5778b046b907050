//! From all statements about one call to the call: for every field, the best statement that tells it.

use std::cmp::Reverse;

use crate::usage::{
    CallFact, Credits, Evidence, Initiator, Key, PremiumRequests, Provider, Surface, Timestamp,
    TokenType, Tokens,
};

use super::facts::{Stated, is_cli};
use super::model::Model;

/// A set of kinds of evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Kinds {
    bits: u16,
    best: Option<Evidence>,
}

impl Kinds {
    pub(super) fn has(self, evidence: Evidence) -> bool {
        self.bits & (1 << evidence as u16) != 0
    }

    pub(super) fn and(self, evidence: Evidence) -> Self {
        Self {
            bits: self.bits | 1 << evidence as u16,
            best: self.best.max(Some(evidence)),
        }
    }

    pub(super) fn is_only(self, evidence: Evidence) -> bool {
        self.bits == 1 << evidence as u16
    }

    /// `None` for what no statement about a call says.
    pub(super) fn best(self) -> Option<Evidence> {
        self.best
    }
}

impl FromIterator<Evidence> for Kinds {
    fn from_iter<I: IntoIterator<Item = Evidence>>(kinds: I) -> Self {
        kinds.into_iter().fold(Self::default(), Self::and)
    }
}

/// A call, or the remainder of an aggregate, before it has its session's labels.
#[derive(Debug, Clone)]
pub(super) struct Call<'a> {
    /// Its statements, as positions among the facts; empty for what no statement about a call says.
    pub(super) members: Vec<usize>,
    /// Of what kinds they are.
    pub(super) evidence: Kinds,
    /// Some statement has an identity that other stores share.
    pub(super) is_keyed: bool,
    pub(super) surface: Surface,
    pub(super) count: u64,
    pub(super) time: Option<Timestamp>,
    /// When the answer was there: what rows, records and messages are stamped with.
    pub(super) finished: Option<Timestamp>,
    pub(super) model: Option<Model<'a>>,
    pub(super) provider: Option<&'a Provider>,
    pub(super) initiator: Initiator,
    pub(super) tokens: Tokens,
    pub(super) estimated: bool,
    /// The token counts are a lower bound.
    pub(super) lower_bound: bool,
    /// An aggregate tells what this call's own statements don't.
    pub(super) completed: bool,
    /// As stated, whoever bills.
    pub(super) credits: Option<Credits>,
    pub(super) premium: Option<PremiumRequests>,
    pub(super) duration_ms: Option<u64>,
    pub(super) first_token_ms: Option<u64>,
    /// Orders calls of the same time.
    pub(super) id: Key,
}

impl<'a> Call<'a> {
    /// Nothing known yet, of a store of `surface`.
    pub(super) fn unknown(id: Key, surface: Surface) -> Self {
        Self {
            members: Vec::new(),
            evidence: Kinds::default(),
            is_keyed: false,
            surface,
            count: 1,
            time: None,
            finished: None,
            model: None,
            provider: None,
            initiator: Initiator::Unknown,
            tokens: Tokens::default(),
            estimated: false,
            lower_bound: false,
            completed: false,
            credits: None,
            premium: None,
            duration_ms: None,
            first_token_ms: None,
            id,
        }
    }

    /// `members` are at least one statement about the call.
    pub(super) fn merged(facts: &[Stated<'a, CallFact>], members: Vec<usize>) -> Option<Self> {
        let mut ranked: Vec<Stated<'a, CallFact>> = members.iter().map(|&at| facts[at]).collect();
        ranked.sort_by_key(|stated| {
            let fact = stated.fact;
            Reverse((fact.evidence, known_input_classes(&fact.tokens), stated.id))
        });
        let best = ranked.first()?;
        let told = || ranked.iter().map(|stated| stated.fact);
        let (tokens, estimated) = tokens(told());
        let initiator = told()
            .map(|fact| fact.initiator)
            .find(|&initiator| initiator != Initiator::Unknown)
            .unwrap_or_default();
        let timed = ranked.iter().find(|stated| stated.fact.time.is_some());
        Some(Self {
            members,
            evidence: told().map(|fact| fact.evidence).collect(),
            is_keyed: ranked.iter().any(has_foreign_key),
            time: timed.and_then(|stated| stated.fact.time),
            finished: timed.and_then(finished),
            model: ranked.iter().find_map(|stated| stated.model),
            provider: provider(told()),
            initiator,
            tokens,
            estimated,
            credits: told().find_map(|fact| fact.credits),
            premium: told()
                .find_map(|fact| fact.premium)
                .filter(|_| initiator == Initiator::User),
            duration_ms: told().find_map(|fact| fact.duration_ms),
            first_token_ms: told().find_map(|fact| fact.first_token_ms),
            ..Self::unknown(best.id, best.surface)
        })
    }

    pub(super) fn has(&self, evidence: Evidence) -> bool {
        self.evidence.has(evidence)
    }

    pub(super) fn is_compaction(&self) -> bool {
        self.initiator == Initiator::Compaction
    }

    /// Only output is known, if anything: what an aggregate completes.
    pub(super) fn is_mere_message(&self) -> bool {
        self.evidence.best() == Some(Evidence::Message)
    }

    /// Everything is known to be 0: no call (edge case 49), unlike one whose tokens are unknown.
    pub(super) fn is_nothing(&self) -> bool {
        let tells = TokenType::ALL
            .iter()
            .any(|&class| self.tokens.get(class).is_some());
        tells
            && self.tokens.is_empty()
            && self.tokens.reasoning().unwrap_or(0) == 0
            && self.credits.unwrap_or_default() == Credits(0)
    }
}

/// A key that is the statement's own identity is shared with its copies only.
fn has_foreign_key(stated: &Stated<'_, CallFact>) -> bool {
    stated.fact.keys.iter().any(|&key| key != stated.id)
}

/// Spans of editors are stamped with their start, everything else with the answer.
fn finished(stated: &Stated<'_, CallFact>) -> Option<Timestamp> {
    let fact = stated.fact;
    let lasted = match fact.evidence {
        Evidence::Span if !is_cli(stated.surface) => fact.duration_ms.unwrap_or(0),
        _ => 0,
    };
    let lasted = i64::try_from(lasted).unwrap_or(0);
    Some(Timestamp(fact.time?.0.saturating_add(lasted)))
}

/// The user's own provider, if one statement names it: the others may only know that Copilot was asked.
fn provider<'a>(told: impl Iterator<Item = &'a CallFact> + Clone) -> Option<&'a Provider> {
    let named = told.filter_map(|fact| fact.provider.as_ref());
    named
        .clone()
        .find(|&provider| *provider != Provider::Copilot)
        .or_else(|| named.clone().next())
}

fn known_input_classes(tokens: &Tokens) -> usize {
    [
        TokenType::Input,
        TokenType::CacheRead,
        TokenType::CacheWrite,
    ]
    .into_iter()
    .filter(|&class| tokens.get(class).is_some())
    .count()
}

/// The prompt's classes from one statement, since stores split it differently; the output from one, too.
/// The second value: some of it is estimated.
fn tokens<'a>(told: impl Iterator<Item = &'a CallFact> + Clone) -> (Tokens, bool) {
    let donor = |knows: fn(&Tokens) -> bool| {
        let knowing = told.clone().filter(move |fact| knows(&fact.tokens));
        knowing
            .clone()
            .find(|fact| !fact.tokens.is_empty())
            .or_else(|| knowing.clone().next())
    };
    let input = donor(|tokens| known_input_classes(tokens) > 0);
    let output = donor(|tokens| tokens.get(TokenType::Output).is_some());
    let reasoning = donor(|tokens| tokens.reasoning().is_some());
    let mut tokens = input.map(|fact| fact.tokens).unwrap_or_default();
    let output_tokens = output.and_then(|fact| fact.tokens.get(TokenType::Output));
    tokens = tokens
        .with(TokenType::Output, output_tokens)
        .with_reasoning(reasoning.and_then(|fact| fact.tokens.reasoning()));
    let estimated =
        input.is_some_and(|fact| fact.estimated) || output.is_some_and(|fact| fact.estimated);
    let somebody_does_not_know = told.clone().any(|fact| fact.tokens == Tokens::default());
    if tokens.is_empty() && somebody_does_not_know {
        // A row of zeros beside a record without usage: the provider told nothing.
        return (Tokens::default(), false);
    }
    (tokens, estimated)
}

/// Divides what an aggregate was charged among the `calls` that don't know their share, by their tokens,
/// so that the sum is exact and none of them is priced once more.
pub(super) fn share(credits: Credits, mut calls: Vec<&mut Call<'_>>) {
    let weight = |call: &Call<'_>| {
        let tokens = TokenType::ALL
            .iter()
            .filter_map(|&class| call.tokens.get(class));
        1 + tokens.map(u128::from).sum::<u128>()
    };
    let mut weights: u128 = calls.iter().map(|call| weight(call)).sum();
    let mut rest = u128::from(credits.0);
    for call in &mut calls {
        let part = rest * weight(call) / weights.max(1);
        weights -= weight(call);
        rest -= part;
        call.credits = Some(Credits(u64::try_from(part).unwrap_or(u64::MAX)));
    }
}

/// The calls at the positions `at`, which rise.
pub(super) fn pick<'c, 'a>(calls: &'c mut [Call<'a>], at: &[usize]) -> Vec<&'c mut Call<'a>> {
    let mut rest = calls.iter_mut();
    let mut next = 0;
    at.iter()
        .filter_map(|&at| {
            let call = rest.nth(at.checked_sub(next)?);
            next = at + 1;
            call
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up() {
        let mut calls: Vec<Call<'_>> = [100, 0, 7]
            .into_iter()
            .map(|output| Call {
                tokens: Tokens::default().with(TokenType::Output, Some(output)),
                ..Call::unknown(Key(output), Surface::Cli)
            })
            .collect();
        share(Credits(1_000_003), calls.iter_mut().collect());
        let shares: Vec<u64> = calls
            .iter()
            .filter_map(|call| call.credits)
            .map(|c| c.0)
            .collect();
        assert_eq!(shares.iter().sum::<u64>(), 1_000_003);
        assert!(
            shares[0] > shares[2] && shares[2] > shares[1] && shares[1] > 0,
            "{shares:?}"
        );
    }
}
