//! Which statements speak of one call, because they share an identity.

use crate::usage::{CallFact, Evidence, Key, Timestamp, TokenType};

use super::facts::Stated;

/// Disjoint sets of statements (union-find); a set's representative is its first statement.
#[derive(Debug)]
pub(super) struct Sets(Vec<usize>);

impl Sets {
    /// Every statement alone.
    pub(super) fn new(count: usize) -> Self {
        Self((0..count).collect())
    }

    /// Sets of statements that share a key.
    pub(super) fn by_keys<'k>(keys: impl ExactSizeIterator<Item = &'k [Key]>) -> Self {
        let mut sets = Self::new(keys.len());
        for same in buckets(keys) {
            for pair in same.windows(2) {
                sets.join(pair[0].1, pair[1].1);
            }
        }
        sets
    }

    pub(super) fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.first(a), self.first(b));
        self.0[a.max(b)] = a.min(b);
    }

    /// The representative of the set of `member`.
    pub(super) fn first(&mut self, mut member: usize) -> usize {
        while self.0[member] != member {
            self.0[member] = self.0[self.0[member]];
            member = self.0[member];
        }
        member
    }

    /// The sets, in the order of their first members, each in the order of its members.
    pub(super) fn members(&mut self) -> Vec<Vec<usize>> {
        let mut by_first: Vec<(usize, usize)> =
            (0..self.0.len()).map(|at| (self.first(at), at)).collect();
        by_first.sort_unstable();
        by_first
            .chunk_by(|a, b| a.0 == b.0)
            .map(|set| set.iter().map(|&(_, member)| member).collect())
            .collect()
    }
}

/// Pairs (key, statement) of every key that several statements have.
fn buckets<'k>(keys: impl Iterator<Item = &'k [Key]>) -> Vec<Vec<(Key, usize)>> {
    let mut pairs: Vec<(Key, usize)> = keys
        .enumerate()
        .flat_map(|(at, keys)| keys.iter().map(move |&key| (key, at)))
        .collect();
    pairs.sort_unstable();
    pairs.dedup();
    pairs
        .chunk_by(|a, b| a.0 == b.0)
        .filter(|same| same.len() > 1)
        .map(<[_]>::to_vec)
        .collect()
}

/// Joins the statements about calls that share a key and don't contradict each other.
///
/// Some providers repeat their response ids (a counter that restarts, a small random number): then one
/// key stands for several calls, which their times and figures tell apart.
pub(super) fn join(calls: &[Stated<'_, CallFact>]) -> Sets {
    let mut sets = Sets::new(calls.len());
    for same in buckets(calls.iter().map(|call| call.fact.keys.as_slice())) {
        let mut told: Vec<Vec<usize>> = Vec::new();
        for (_, at) in same {
            let fits = |one: &&mut Vec<usize>| {
                let mut last = one.iter().rev().take(LOOK_BACK);
                last.all(|&other| agree(calls[other].fact, calls[at].fact))
            };
            // Statements are in the order of time, so those about one call are near each other.
            let best = told
                .iter_mut()
                .rev()
                .take(LOOK_BACK)
                .filter(fits)
                .min_by_key(|one| one.last().map(|&other| apart(calls, other, at)));
            match best {
                Some(one) => {
                    sets.join(one[0], at);
                    one.push(at);
                }
                None => told.push(vec![at]),
            }
        }
    }
    sets
}

/// How many of the calls under one repeated key, and how many statements about each, are looked at.
const LOOK_BACK: usize = 16;

/// The longest a statement about a call can be apart from another: a span tells when the call began, a
/// record when it was over.
const LONGEST_CALL_MS: u64 = 3_600_000;

/// A copied record has the time of the original; two calls have not.
const COPY_MS: u64 = 10;

/// How far apart the parts of one message are written.
const CHUNKS_MS: u64 = 2_000;

/// Two statements with a common key can speak of one call.
fn agree(a: &CallFact, b: &CallFact) -> bool {
    let within = |limit| distance(a.time, b.time).is_none_or(|apart| apart <= limit);
    if a.evidence != b.evidence {
        return within(LONGEST_CALL_MS);
    }
    match a.evidence {
        Evidence::Message => within(CHUNKS_MS),
        Evidence::UsageRecord | Evidence::StoreRow => same_figures(a, b) && within(COPY_MS),
        _ => same_figures(a, b) && within(LONGEST_CALL_MS),
    }
}

/// Prompt and output are equal, as far as both know them.
fn same_figures(a: &CallFact, b: &CallFact) -> bool {
    let equal = |a: Option<u64>, b: Option<u64>| a.zip(b).is_none_or(|(a, b)| a == b);
    let prompt = |call: &CallFact| call.tokens.gross_input().map(|gross| gross.0);
    let output = |call: &CallFact| call.tokens.get(TokenType::Output);
    equal(prompt(a), prompt(b)) && equal(output(a), output(b))
}

fn apart(calls: &[Stated<'_, CallFact>], a: usize, b: usize) -> u64 {
    distance(calls[a].fact.time, calls[b].fact.time).unwrap_or(u64::MAX)
}

fn distance(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<u64> {
    Some(a?.0.abs_diff(b?.0))
}
