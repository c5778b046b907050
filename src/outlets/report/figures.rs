//! The numbers of a row, by name.

use super::decimal::Decimal;
use crate::usage::{Measure, Measures, TokenType};

/// What is written of a row to JSON and CSV, in the order of the columns. `None` is unknown, which is not 0.
pub(super) fn figures(measures: &Measures) -> [(&'static str, Option<Decimal>); 17] {
    let whole = |measure| measures.get(measure).map(Decimal::whole);
    let tokens = |class| whole(Measure::Tokens(class));
    // Nothing of these is a known 0.
    let counted = |measure| Some(whole(measure).unwrap_or(Decimal::whole(0)));
    let usd = |amount: Option<u128>| amount.map(|pico| Decimal::new(pico, 12));
    [
        ("calls", Some(Decimal::whole(measures.calls()))),
        ("input_tokens", tokens(TokenType::Input)),
        ("cache_read_tokens", tokens(TokenType::CacheRead)),
        ("cache_write_tokens", tokens(TokenType::CacheWrite)),
        ("output_tokens", tokens(TokenType::Output)),
        ("total_tokens", total_tokens(measures)),
        ("reasoning_tokens", whole(Measure::Reasoning)),
        (
            "estimated_tokens",
            Some(Decimal::whole(estimated(measures))),
        ),
        ("cost_usd", usd(measures.cost())),
        (
            "cost_reported_usd",
            usd(measures.get(Measure::CostReported)),
        ),
        (
            "cost_list_price_usd",
            usd(measures.get(Measure::CostListPrice)),
        ),
        ("ai_credits", credits(measures)),
        ("premium_requests", premium_requests(measures)),
        ("unpriced_calls", counted(Measure::UnpricedCalls)),
        ("partial_calls", counted(Measure::PartialCalls)),
        ("failed_requests", Some(Decimal::whole(failures(measures)))),
        ("sessions", counted(Measure::Sessions)),
    ]
}

pub(super) fn credits(measures: &Measures) -> Option<Decimal> {
    let nano = measures.get(Measure::Credits)?;
    Some(Decimal::new(nano, 9))
}

pub(super) fn premium_requests(measures: &Measures) -> Option<Decimal> {
    let micro = measures.get(Measure::PremiumRequests)?;
    Some(Decimal::new(micro, 6))
}

pub(super) fn estimated(measures: &Measures) -> u128 {
    sum(measures, |measure| {
        matches!(measure, Measure::EstimatedTokens(_))
    })
}

pub(super) fn failures(measures: &Measures) -> u128 {
    sum(measures, |measure| matches!(measure, Measure::Failures(_)))
}

fn total_tokens(measures: &Measures) -> Option<Decimal> {
    let known = TokenType::ALL
        .iter()
        .any(|&class| measures.get(Measure::Tokens(class)).is_some());
    known.then(|| Decimal::whole(measures.tokens()))
}

fn sum(measures: &Measures, wanted: impl Fn(Measure) -> bool) -> u128 {
    measures
        .iter()
        .filter(|&(measure, _)| wanted(measure))
        .map(|(_, amount)| amount)
        .sum()
}
