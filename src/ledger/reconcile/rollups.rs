//! Spans of the CLI up to 1.0.75 that are no single calls: all calls of a sub-agent in one `chat` span, under
//! the response id of the last one.

use crate::usage::{CallFact, Evidence, Initiator, Timestamp, TokenType, Tokens};

use super::facts::{Stated, is_cli};
use super::legs::beyond;
use super::merge::Call;

/// Clocks of two stores: how far a call may lie outside the span that holds it.
const SLACK_MS: i64 = 2_000;

/// Takes apart what a sub-agent's span sums up. Its rows say it all; of its messages only the output is
/// known, so that the span keeps the tokens and they tell how many calls those are of.
///
/// Spans that a row or a message matches by its figures are calls of their own.
pub(super) fn settle(facts: &[Stated<'_, CallFact>], calls: &mut Vec<Call<'_>>) {
    let mut spans: Vec<Run> = (0..calls.len())
        .filter_map(|at| Run::of(facts, calls, at))
        .collect();
    if spans.is_empty() {
        return;
    }
    spans.sort_unstable_by_key(|span| (span.from, span.until));
    let mut parts: Vec<(Timestamp, usize)> = (0..calls.len())
        .filter(|&at| is_part(&calls[at]))
        .filter_map(|at| Some((calls[at].finished?, at)))
        .collect();
    parts.sort_unstable();
    for parallel in in_parallel(&spans) {
        let (first, last) = (parallel.0, parallel.1);
        let from = parts.partition_point(|part| part.0 < spans[first].from);
        let until = spans[first..last].iter().map(|span| span.until).max();
        let to = parts.partition_point(|part| Some(part.0) <= until);
        let inside: Vec<usize> = parts[from..to.max(from)]
            .iter()
            .map(|part| part.1)
            .collect();
        take_apart(calls, &spans[first..last], &inside);
    }
    calls.retain(|call| !call.members.is_empty());
}

/// A span that may sum up a sub-agent's run.
#[derive(Debug)]
struct Run {
    at: usize,
    from: Timestamp,
    until: Timestamp,
    /// Messages that have the span's response id, though not its output.
    messages: u64,
}

impl Run {
    fn of(facts: &[Stated<'_, CallFact>], calls: &[Call<'_>], at: usize) -> Option<Self> {
        let call = &calls[at];
        let may_be = is_cli(call.surface)
            && call.evidence.best() == Some(Evidence::Span)
            && matches!(call.initiator, Initiator::Unknown | Initiator::Subagent);
        let output = call.tokens.get(TokenType::Output).filter(|_| may_be)?;
        let own = || {
            let stated = call.members.iter().map(|&member| facts[member].fact);
            stated.filter(|fact| fact.evidence == Evidence::Message)
        };
        let is_its = |fact: &CallFact| {
            fact.tokens
                .get(TokenType::Output)
                .is_none_or(|n| n == output)
        };
        if own().any(is_its) {
            return None;
        }
        let until = call.time?;
        let lasted = i64::try_from(call.duration_ms?).ok()?;
        Some(Self {
            at,
            from: Timestamp(until.0.saturating_sub(lasted).saturating_sub(SLACK_MS)),
            until: Timestamp(until.0.saturating_add(SLACK_MS)),
            messages: own().count() as u64,
        })
    }
}

/// What a sub-agent's span may sum up.
fn is_part(call: &Call<'_>) -> bool {
    call.initiator == Initiator::Subagent && !call.has(Evidence::Span)
}

/// Ranges of spans that overlap; they can't be told apart by time.
fn in_parallel(spans: &[Run]) -> Vec<(usize, usize)> {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    let mut until = None;
    for (at, span) in spans.iter().enumerate() {
        match ranges.last_mut() {
            Some(range) if Some(span.from) <= until => range.1 = at + 1,
            _ => ranges.push((at, at + 1)),
        }
        until = until.max(Some(span.until));
    }
    ranges
}

fn take_apart(calls: &mut [Call<'_>], spans: &[Run], parts: &[usize]) {
    let sum = |of: &mut dyn Iterator<Item = usize>| {
        of.fold(Tokens::default(), |sum, at| sum.plus(&calls[at].tokens))
    };
    let is_message = |&&at: &&usize| calls[at].is_mere_message();
    let output = |tokens: &Tokens| tokens.get(TokenType::Output).unwrap_or(0);
    let whole = sum(&mut spans.iter().map(|span| span.at));
    let rows: Vec<usize> = parts.iter().filter(|at| !is_message(at)).copied().collect();
    let messages: Vec<usize> = parts.iter().filter(is_message).copied().collect();
    let told = sum(&mut rows.iter().copied());
    let said = output(&sum(&mut messages.iter().copied()));
    let own: u64 = spans.iter().map(|span| span.messages).sum();
    let is_of_these = said.saturating_add(output(&told)) <= output(&whole);
    let is_summed_up = !rows.is_empty() || own > 0 || !messages.is_empty() && is_of_these;
    let (Some((first, others)), true) = (spans.split_first(), is_summed_up) else {
        return;
    };
    for other in others {
        let members = std::mem::take(&mut calls[other.at].members);
        calls[first.at].members.extend(members);
    }
    if is_of_these {
        for &message in &messages {
            let members = std::mem::take(&mut calls[message].members);
            calls[first.at].members.extend(members);
        }
    }
    let absorbed = if is_of_these {
        messages.len() as u64
    } else {
        0
    };
    let rest = beyond(&whole, &told);
    let call = &mut calls[first.at];
    call.initiator = Initiator::Subagent;
    // Its messages are found: no other one is.
    call.evidence = call.evidence.and(Evidence::Message);
    call.count = (spans.len() as u64)
        .max(own + absorbed)
        .saturating_sub(rows.len() as u64);
    if !rows.is_empty() && rest.is_empty() {
        call.members.clear();
        return;
    }
    call.tokens = rest;
}
