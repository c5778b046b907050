//! Failed requests: each once, however many stores tell of it.

use std::cmp::Reverse;

use crate::usage::{Evidence, FailureFact, Timestamp};

use super::ResolvedFailure;
use super::facts::Stated;
use super::identity::Sets;
use super::nearest::{Candidate, Side, pairs};
use super::session::Labels;

/// A client gives up at most this long after (or, by the time of the request, before) its last attempt.
const GIVES_UP_WITHIN_MS: u64 = 120_000;

/// The failures, in the order of their time.
pub(super) fn resolve(
    facts: &[Stated<'_, FailureFact>],
    labels: &Labels<'_>,
) -> Vec<ResolvedFailure> {
    let mut sets = Sets::by_keys(facts.iter().map(|failure| failure.fact.keys.as_slice()));
    let told: Vec<Failure<'_>> = sets
        .members()
        .into_iter()
        .filter_map(|members| Failure::of(facts, &members))
        .collect();
    let ends = ends_of_attempts(&told);
    let is_failure = |(at, _): &(usize, &Failure<'_>)| ends.binary_search(at).is_err();
    told.iter()
        .enumerate()
        .filter(is_failure)
        .map(|(_, failure)| failure.resolved(labels))
        .collect()
}

/// The failures that only say that attempts which are known one by one have come to an end, in order.
fn ends_of_attempts(told: &[Failure<'_>]) -> Vec<usize> {
    let candidates = told.iter().enumerate().filter_map(|(index, failure)| {
        Some(Candidate {
            alike: (),
            millis: failure.time?.0,
            side: match failure.evidence >= Evidence::Span {
                true => Side::Right,
                false => Side::Left,
            },
            index,
        })
    });
    let pairs = pairs(candidates.collect(), GIVES_UP_WITHIN_MS);
    let mut ends: Vec<usize> = pairs.into_iter().map(|(end, _)| end).collect();
    ends.sort_unstable();
    ends
}

/// A failure, from all statements about it.
struct Failure<'a> {
    /// The best one.
    stated: Stated<'a, FailureFact>,
    evidence: Evidence,
    time: Option<Timestamp>,
}

impl<'a> Failure<'a> {
    fn of(facts: &[Stated<'a, FailureFact>], members: &[usize]) -> Option<Self> {
        let mut told: Vec<Stated<'a, FailureFact>> = members.iter().map(|&at| facts[at]).collect();
        told.sort_by_key(|failure| (Reverse(failure.fact.evidence), failure.id));
        let stated = *told.first()?;
        Some(Self {
            stated,
            evidence: stated.fact.evidence,
            time: told.iter().find_map(|failure| failure.fact.time),
        })
    }

    fn resolved(&self, labels: &Labels<'_>) -> ResolvedFailure {
        let fact = self.stated.fact;
        ResolvedFailure {
            time: self.time,
            model: fact.model.clone(),
            provider: labels.provider(fact.provider.as_ref(), self.stated.model),
            surface: labels.surface(self.stated.surface),
            project: labels.project(),
            reason: fact.reason,
        }
    }
}
