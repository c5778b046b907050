//! What is counted for a series: a sparse vector of monotone integers.

use serde::{Deserialize, Serialize};

use super::{Initiator, TokenType, Tool};

/// Why a call failed; a closed set, since it is a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum FailureReason {
    /// HTTP 401 and 403.
    Auth,
    /// HTTP 429, and quota messages.
    RateLimit,
    /// Other HTTP 4xx.
    BadRequest,
    /// HTTP 5xx.
    Server,
    /// No answer, a cut stream, a timeout.
    Network,
    /// The user stopped it.
    Cancelled,
    /// A failure of which the store says no more.
    Other,
}

impl FailureReason {
    pub const ALL: [Self; 7] = [
        Self::Auth,
        Self::RateLimit,
        Self::BadRequest,
        Self::Server,
        Self::Network,
        Self::Cancelled,
        Self::Other,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auth => "auth",
            Self::RateLimit => "rate_limit",
            Self::BadRequest => "bad_request",
            Self::Server => "server",
            Self::Network => "network",
            Self::Cancelled => "cancelled",
            Self::Other => "other",
        }
    }

    pub fn of_status(status: u16) -> Self {
        match status {
            401 | 403 => Self::Auth,
            429 => Self::RateLimit,
            400..=499 => Self::BadRequest,
            500..=599 => Self::Server,
            _ => Self::Other,
        }
    }
}

/// The histograms of call times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Histogram {
    Duration,
    TimeToFirstToken,
}

impl Histogram {
    pub const ALL: [Self; 2] = [Self::Duration, Self::TimeToFirstToken];

    /// Upper bounds in milliseconds; one more bucket, +Inf, follows the last.
    pub const BOUNDS_MILLIS: [u64; 11] = [
        250, 500, 1_000, 2_000, 4_000, 8_000, 15_000, 30_000, 60_000, 120_000, 300_000,
    ];

    /// The bucket of a time; `BOUNDS_MILLIS.len()` is the one to +Inf.
    pub fn bucket(millis: u64) -> u8 {
        Self::BOUNDS_MILLIS.partition_point(|&bound| bound < millis) as u8
    }
}

/// One thing that is counted. Amounts are integers of the unit named here, so that sums are exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Measure {
    Calls(Initiator),
    Tokens(TokenType),
    /// Reasoning tokens: a part of the output tokens.
    Reasoning,
    /// The part of `Tokens` that is estimated from text length.
    EstimatedTokens(TokenType),
    /// Picodollars, from nano-AIU.
    CostReported,
    /// Picodollars, from tokens at the list price of the call's day.
    CostListPrice,
    /// Nano-AIU that Copilot itself reported.
    Credits,
    /// Millionths of a premium request.
    PremiumRequests,
    UnpricedCalls,
    /// Calls of which some token class is unknown.
    PartialCalls,
    Failures(FailureReason),
    ToolCalls(Tool),
    Sessions,
    /// Calls by time, in the bucket `Histogram::bucket` (not cumulative).
    Bucket(Histogram, u8),
    /// Milliseconds.
    HistogramSum(Histogram),
}

/// A sparse vector of amounts, in the order of [`Measure`].
///
/// A measure that is absent was never known: unlike one that is present with 0, it is not exposed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Measures(Vec<(Measure, u128)>);

impl Measures {
    pub fn get(&self, measure: Measure) -> Option<u128> {
        self.0
            .binary_search_by_key(&measure, |&(m, _)| m)
            .ok()
            .map(|at| self.0[at].1)
    }

    pub fn add(&mut self, measure: Measure, amount: u128) {
        match self.0.binary_search_by_key(&measure, |&(m, _)| m) {
            Ok(at) => self.0[at].1 = self.0[at].1.saturating_add(amount),
            Err(at) => self.0.insert(at, (measure, amount)),
        }
    }

    pub fn set(&mut self, measure: Measure, amount: u128) {
        match self.0.binary_search_by_key(&measure, |&(m, _)| m) {
            Ok(at) => self.0[at].1 = amount,
            Err(at) => self.0.insert(at, (measure, amount)),
        }
    }

    pub fn add_all(&mut self, other: &Self) {
        for &(measure, amount) in &other.0 {
            self.add(measure, amount);
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (Measure, u128)> + '_ {
        self.0.iter().copied()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All calls, whoever caused them.
    pub fn calls(&self) -> u128 {
        self.sum(|measure| matches!(measure, Measure::Calls(_)))
    }

    /// All tokens of all classes.
    pub fn tokens(&self) -> u128 {
        self.sum(|measure| matches!(measure, Measure::Tokens(_)))
    }

    /// Reported cost and list price together, in picodollars; `None` if nothing is priced.
    pub fn cost(&self) -> Option<u128> {
        let is_cost = |m| matches!(m, Measure::CostReported | Measure::CostListPrice);
        self.iter()
            .any(|(m, _)| is_cost(m))
            .then(|| self.sum(is_cost))
    }

    fn sum(&self, wanted: impl Fn(Measure) -> bool) -> u128 {
        self.iter()
            .filter(|&(m, _)| wanted(m))
            .map(|(_, n)| n)
            .sum()
    }
}

impl FromIterator<(Measure, u128)> for Measures {
    fn from_iter<I: IntoIterator<Item = (Measure, u128)>>(items: I) -> Self {
        let mut measures = Self::default();
        for (measure, amount) in items {
            measures.add(measure, amount);
        }
        measures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bucket_bounds_are_inclusive() {
        assert_eq!(Histogram::bucket(0), 0);
        assert_eq!(Histogram::bucket(250), 0);
        assert_eq!(Histogram::bucket(251), 1);
        assert_eq!(
            usize::from(Histogram::bucket(u64::MAX)),
            Histogram::BOUNDS_MILLIS.len()
        );
    }

    #[test]
    fn absent_is_not_zero() {
        let mut measures = Measures::default();
        assert_eq!(measures.get(Measure::Reasoning), None);
        measures.add(Measure::Reasoning, 0);
        assert_eq!(measures.get(Measure::Reasoning), Some(0));
        assert_eq!(measures.cost(), None);
    }
}
