//! Failed requests: each once, however many stores tell of it.

use std::cmp::Reverse;

use crate::usage::{Evidence, FailureFact, Timestamp};

use super::ResolvedFailure;
use super::facts::Stated;
use super::identity::Sets;
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
    let mut attempts: Vec<Timestamp> = told
        .iter()
        .filter(|failure| failure.evidence >= Evidence::Span)
        .filter_map(|failure| failure.time)
        .collect();
    attempts.sort_unstable();
    told.iter()
        .filter(|failure| !failure.ends(&attempts))
        .map(|failure| failure.resolved(labels))
        .collect()
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

    /// It only says that the attempts that are known one by one have come to an end.
    fn ends(&self, attempts: &[Timestamp]) -> bool {
        let Some(time) = self.time else {
            return false;
        };
        let later = attempts.partition_point(|attempt| *attempt < time);
        let near = |attempt: &Timestamp| attempt.0.abs_diff(time.0) <= GIVES_UP_WITHIN_MS;
        let before = later.checked_sub(1).and_then(|at| attempts.get(at));
        self.evidence < Evidence::Span && before.into_iter().chain(attempts.get(later)).any(near)
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
