//! Token counts in four disjoint classes.

use serde::{Deserialize, Serialize};

/// The label `token_type`: four disjoint classes that add up to what the model processed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum TokenType {
    /// Uncached input.
    Input,
    CacheRead,
    CacheWrite,
    /// Output, with the reasoning inside.
    Output,
}

impl TokenType {
    pub const ALL: [Self; 4] = [Self::Input, Self::CacheRead, Self::CacheWrite, Self::Output];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::CacheRead => "cache_read",
            Self::CacheWrite => "cache_write",
            Self::Output => "output",
        }
    }
}

/// The most tokens that one statement may claim in one class. More is no model call but a broken or
/// hostile file, and is treated as unknown.
const MOST: u64 = 1_000_000_000_000;

/// What a store calls "input": the whole prompt, with cache reads and writes inside.
///
/// A type of its own, so that a gross count can't be taken for the uncached class by accident:
/// only [`GrossInput::split`] makes [`Tokens`] of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GrossInput(pub u64);

/// Tokens of a call (or of several, for aggregates). `None` is unknown, which is not zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tokens {
    input: Option<u64>,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
    output: Option<u64>,
    reasoning: Option<u64>,
}

impl GrossInput {
    /// Splits a gross count into the disjoint classes.
    ///
    /// Where reads and writes exceed the gross count, the store had split the numbers already
    /// (CLI before 1.0.51, some spans): everything is kept as it is, and the second value is `true`
    /// so that the reader can count a data-quality warning.
    pub fn split(self, cache_read: Option<u64>, cache_write: Option<u64>) -> (Tokens, bool) {
        let cached = cache_read
            .unwrap_or(0)
            .saturating_add(cache_write.unwrap_or(0));
        let (input, already_split) = match self.0.checked_sub(cached) {
            Some(rest) => (rest, false),
            None => (self.0, true),
        };
        let tokens = Tokens::default()
            .with(TokenType::Input, Some(input))
            .with(TokenType::CacheRead, cache_read)
            .with(TokenType::CacheWrite, cache_write);
        (tokens, already_split)
    }
}

impl Tokens {
    /// Sets one class; absurd counts become unknown.
    #[must_use]
    pub fn with(mut self, class: TokenType, count: Option<u64>) -> Self {
        let count = count.filter(|&n| n <= MOST);
        match class {
            TokenType::Input => self.input = count,
            TokenType::CacheRead => self.cache_read = count,
            TokenType::CacheWrite => self.cache_write = count,
            TokenType::Output => self.output = count,
        }
        self
    }

    /// Sets the reasoning part of the output. It is shown beside the classes, never added.
    #[must_use]
    pub fn with_reasoning(mut self, count: Option<u64>) -> Self {
        self.reasoning = count.filter(|&n| n <= MOST);
        self
    }

    pub fn get(&self, class: TokenType) -> Option<u64> {
        match class {
            TokenType::Input => self.input,
            TokenType::CacheRead => self.cache_read,
            TokenType::CacheWrite => self.cache_write,
            TokenType::Output => self.output,
        }
    }

    pub fn reasoning(&self) -> Option<u64> {
        self.reasoning
    }

    /// The whole prompt, if its uncached part is known: what decides a long-context price tier.
    pub fn gross_input(&self) -> Option<GrossInput> {
        let cached = self.cache_read.unwrap_or(0) + self.cache_write.unwrap_or(0);
        self.input.map(|input| GrossInput(input + cached))
    }

    /// No class is known to be above zero.
    pub fn is_empty(&self) -> bool {
        TokenType::ALL
            .iter()
            .all(|&class| self.get(class).unwrap_or(0) == 0)
    }

    /// Every class is known (reasoning aside).
    pub fn is_complete(&self) -> bool {
        TokenType::ALL
            .iter()
            .all(|&class| self.get(class).is_some())
    }

    /// Sum class by class; a class is unknown only if both sides don't know it.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        let add = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
        };
        self.zip(other, add)
    }

    /// `max(0, self − other)` class by class; what `other` doesn't know is taken for zero there.
    #[must_use]
    pub fn minus(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a.map(|a| a.saturating_sub(b.unwrap_or(0))))
    }

    /// The counts of `self`, and those of `other` where `self` doesn't know one.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        self.zip(other, Option::or)
    }

    fn zip(&self, other: &Self, f: impl Fn(Option<u64>, Option<u64>) -> Option<u64>) -> Self {
        Self {
            input: f(self.input, other.input),
            cache_read: f(self.cache_read, other.cache_read),
            cache_write: f(self.cache_write, other.cache_write),
            output: f(self.output, other.output),
            reasoning: f(self.reasoning, other.reasoning),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gross_input_is_split_into_disjoint_classes() {
        let (tokens, already_split) = GrossInput(9_000).split(Some(8_000), Some(100));
        assert!(!already_split);
        assert_eq!(tokens.get(TokenType::Input), Some(900));
        assert_eq!(tokens.gross_input(), Some(GrossInput(9_000)));
    }

    #[test]
    fn numbers_that_were_split_already_are_kept() {
        let (tokens, already_split) = GrossInput(10).split(Some(20), None);
        assert!(already_split);
        assert_eq!(tokens.get(TokenType::Input), Some(10));
        assert_eq!(tokens.get(TokenType::CacheRead), Some(20));
        assert_eq!(tokens.get(TokenType::CacheWrite), None);
    }

    #[test]
    fn absurd_counts_are_unknown() {
        let tokens = Tokens::default().with(TokenType::Output, Some(u64::MAX));
        assert_eq!(tokens.get(TokenType::Output), None);
    }
}
