//! Pairs of two kinds of things that lie nearest in time, one to one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// One of the two kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Side {
    Left,
    Right,
}

/// A thing that looks for its counterpart among those that are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Candidate<L> {
    pub(super) alike: L,
    pub(super) millis: i64,
    pub(super) side: Side,
    pub(super) index: usize,
}

/// Pairs (left, right) of alike candidates at most `within` milliseconds apart, the nearest pair first.
///
/// Between the two of a nearest pair lies no candidate that is still free, whatever its side: it would be
/// nearer to one of them. So only neighbours have to be looked at, which takes O(n log n).
pub(super) fn pairs<L: Copy + Ord>(
    mut candidates: Vec<Candidate<L>>,
    within: u64,
) -> Vec<(usize, usize)> {
    candidates.sort_unstable();
    let mut line = Line::new(&candidates, within);
    for at in 1..candidates.len() {
        line.propose(at - 1, at);
    }
    let mut found = Vec::new();
    while let Some((a, b)) = line.take() {
        found.push(match candidates[a].side {
            Side::Left => (candidates[a].index, candidates[b].index),
            Side::Right => (candidates[b].index, candidates[a].index),
        });
    }
    found
}

/// The free candidates, each with its free neighbours.
struct Line<'a, L> {
    candidates: &'a [Candidate<L>],
    within: u64,
    before: Vec<usize>,
    after: Vec<usize>,
    taken: Vec<bool>,
    proposed: BinaryHeap<Reverse<(u64, usize, usize)>>,
}

/// No neighbour.
const END: usize = usize::MAX;

impl<'a, L: Copy + Ord> Line<'a, L> {
    fn new(candidates: &'a [Candidate<L>], within: u64) -> Self {
        let count = candidates.len();
        Self {
            candidates,
            within,
            before: (0..count)
                .map(|at| at.checked_sub(1).unwrap_or(END))
                .collect(),
            after: (1..=count)
                .map(|at| if at < count { at } else { END })
                .collect(),
            taken: vec![false; count],
            proposed: BinaryHeap::new(),
        }
    }

    fn propose(&mut self, a: usize, b: usize) {
        let (one, other) = (&self.candidates[a], &self.candidates[b]);
        let apart = one.millis.abs_diff(other.millis);
        if one.side != other.side && one.alike == other.alike && apart <= self.within {
            self.proposed.push(Reverse((apart, a, b)));
        }
    }

    fn take(&mut self) -> Option<(usize, usize)> {
        while let Some(Reverse((_, a, b))) = self.proposed.pop() {
            if self.taken[a] || self.taken[b] {
                continue;
            }
            self.taken[a] = true;
            self.taken[b] = true;
            let (before, after) = (self.before[a], self.after[b]);
            if before != END {
                self.after[before] = after;
            }
            if after != END {
                self.before[after] = before;
            }
            if before != END && after != END {
                self.propose(before, after);
            }
            return Some((a, b));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(left: &[i64], right: &[i64], within: u64) -> Vec<(usize, usize)> {
        let side = |side, times: &[i64]| {
            let candidate = move |(index, &millis)| Candidate {
                alike: (),
                millis,
                side,
                index,
            };
            times.iter().enumerate().map(candidate).collect::<Vec<_>>()
        };
        let mut found = pairs(
            [side(Side::Left, left), side(Side::Right, right)].concat(),
            within,
        );
        found.sort_unstable();
        found
    }

    #[test]
    fn the_nearest_pair_goes_first() {
        assert_eq!(of(&[0, 100], &[90], 120), [(1, 0)]);
        assert_eq!(of(&[0, 100], &[90, 110], 120), [(0, 1), (1, 0)]);
    }

    #[test]
    fn nobody_is_paired_beyond_the_limit_or_twice() {
        assert_eq!(of(&[0], &[121], 120), []);
        assert_eq!(of(&[0, 1, 2], &[1], 120), [(1, 0)]);
        assert_eq!(of(&[5, 5], &[5, 5], 0), [(0, 1), (1, 0)]);
    }

    #[test]
    fn only_alike_things_are_paired() {
        let candidate = |alike, side| Candidate {
            alike,
            millis: 0,
            side,
            index: 0,
        };
        let unlike = vec![candidate("a", Side::Left), candidate("b", Side::Right)];
        assert!(pairs(unlike, 1_000).is_empty());
    }
}
