//! What a token costs: exact integers, and the days on which they hold.

use crate::usage::{Timestamp, TokenType, Tokens, Usd};

/// Picodollars per token are USD per million tokens times this.
const PICO_PER_TOKEN: f64 = 1e6;

/// The most that a million tokens may cost, in USD.
const MOST: f64 = 1e6;

/// The price of one token, by class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rates {
    input: Usd,
    cache_read: Usd,
    cache_write: Usd,
    output: Usd,
}

impl Rates {
    /// From USD per million tokens. A class without a charge of its own (`None`) costs what input does.
    /// `None`: some number is not a price.
    pub(super) fn from_usd_per_million(
        input: f64,
        cache_read: Option<f64>,
        cache_write: Option<f64>,
        output: f64,
    ) -> Option<Self> {
        Some(Self {
            input: per_token(input)?,
            cache_read: per_token(cache_read.unwrap_or(input))?,
            cache_write: per_token(cache_write.unwrap_or(input))?,
            output: per_token(output)?,
        })
    }

    /// The price of one token of a class.
    pub fn per_token(&self, class: TokenType) -> Usd {
        match class {
            TokenType::Input => self.input,
            TokenType::CacheRead => self.cache_read,
            TokenType::CacheWrite => self.cache_write,
            TokenType::Output => self.output,
        }
    }

    /// For display.
    pub fn usd_per_million(&self, class: TokenType) -> f64 {
        self.per_token(class).0 as f64 / PICO_PER_TOKEN
    }

    /// What the known classes cost together. Reasoning is inside output and costs nothing of its own.
    pub(super) fn cost(&self, tokens: &Tokens) -> Usd {
        let cost = |class| {
            let count = u128::from(tokens.get(class).unwrap_or(0));
            count.saturating_mul(self.per_token(class).0)
        };
        Usd(TokenType::ALL.into_iter().map(cost).sum())
    }
}

fn per_token(usd_per_million: f64) -> Option<Usd> {
    (0.0..=MOST)
        .contains(&usd_per_million)
        .then(|| Usd((usd_per_million * PICO_PER_TOKEN).round() as u128))
}

/// The rates of calls with a long prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LongContext {
    /// A gross input above this takes `rates` for all of the call's tokens.
    pub(super) threshold: u64,
    pub(super) rates: Rates,
}

/// A model's prices from one day to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Period {
    /// 00:00 UTC of the first day.
    pub(super) from: Timestamp,
    /// 00:00 UTC of the first day after; `None`: until further notice.
    pub(super) to: Option<Timestamp>,
    pub(super) base: Rates,
    pub(super) long_context: Option<LongContext>,
    /// Some rate was not published but concluded.
    pub(super) inferred: bool,
}

/// All periods of a model, ascending and without overlap.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Timeline(Vec<Period>);

impl Timeline {
    pub(super) fn add(&mut self, period: Period) {
        let at = self.0.partition_point(|other| other.from <= period.from);
        self.0.insert(at, period);
    }

    /// Lets `own`, the user's prices, hold from their first day on, whatever the table said.
    pub(super) fn override_with(&mut self, own: Timeline) {
        let Some(first) = own.0.first() else {
            return;
        };
        self.0.retain(|period| period.from < first.from);
        if let Some(last) = self.0.last_mut() {
            last.to = Some(last.to.map_or(first.from, |to| to.min(first.from)));
        }
        self.0.extend(own.0);
        for at in 1..self.0.len() {
            let next = self.0[at].from;
            let period = &mut self.0[at - 1];
            period.to = Some(period.to.map_or(next, |to| to.min(next)));
        }
    }

    /// The period of a time. The first one also prices what came before it.
    pub(super) fn at(&self, time: Timestamp) -> Option<&Period> {
        let after = self.0.partition_point(|period| period.from <= time);
        let period = self.0.get(after.saturating_sub(1))?;
        period.to.is_none_or(|to| time < to).then_some(period)
    }

    #[cfg(test)]
    pub(super) fn periods(&self) -> &[Period] {
        &self.0
    }
}
