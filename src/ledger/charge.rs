//! What a resolved call counts as: its amounts, its money included.

use super::reconcile::ResolvedCall;
use crate::pricing::{self, CREDITS_BEGIN, Catalogue, ModelId};
use crate::usage::{
    Credits, Histogram, Initiator, Measure, PremiumRequests, Provider, Timestamp, TokenType, Usd,
};

/// What a call costs, on the best basis it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Charge {
    /// What was reported with the call.
    Reported(Credits),
    ListPrice(Usd),
    /// Unknown, which is not free.
    Unpriced,
}

impl Charge {
    /// The charge of a call that happened at `time` (formats, models-and-prices.md §4).
    ///
    /// `list_price` is what its tokens cost at the price of that day. A user's own provider that reports a
    /// charge is believed as well; the 0 that Copilot notes for the others is its own charge, not theirs.
    pub(super) fn of(call: &ResolvedCall, list_price: Option<Usd>) -> Self {
        let credits = call
            .credits
            .filter(|&credits| call.provider == Provider::Copilot || credits.0 > 0)
            .filter(|&credits| !is_absent_in_disguise(credits, call, list_price));
        match (credits, list_price) {
            (Some(credits), _) => Self::Reported(credits),
            (None, Some(usd)) => Self::ListPrice(usd),
            (None, None) => Self::Unpriced,
        }
    }
}

/// 0 credits beside tokens that have a price: the writer didn't know the charge.
fn is_absent_in_disguise(credits: Credits, call: &ResolvedCall, list_price: Option<Usd>) -> bool {
    credits.0 == 0 && !call.tokens.is_empty() && list_price.is_some_and(|usd| usd.0 > 0)
}

/// What the user's prompt counts as in premium requests. What a store says beats the table, which is
/// asked for plans of its time and, if `still_billed`, for annual plans since.
pub(super) fn premium_requests(
    call: &ResolvedCall,
    model: &ModelId,
    time: Timestamp,
    still_billed: bool,
) -> Option<PremiumRequests> {
    let by_table = || {
        let is_prompt = call.initiator == Initiator::User && call.count > 0;
        let is_billed =
            call.provider == Provider::Copilot && (still_billed || time < CREDITS_BEGIN);
        (is_prompt && is_billed)
            .then(|| pricing::premium_requests(model, time))
            .flatten()
    };
    call.premium.or_else(by_table)
}

/// The list price of a call, by the price of its day.
pub(super) fn list_price(
    catalogue: &Catalogue,
    call: &ResolvedCall,
    model: &ModelId,
    time: Timestamp,
) -> Option<Usd> {
    catalogue.list_price(model, time, &call.tokens, call.count)
}

/// Every amount that the call adds to its series.
pub(super) fn amounts(
    call: &ResolvedCall,
    charge: Charge,
    premium: Option<PremiumRequests>,
) -> Vec<(Measure, u64)> {
    let mut amounts = Vec::with_capacity(12);
    let mut add = |measure, amount| amounts.push((measure, amount));
    if call.count > 0 {
        add(Measure::Calls(call.initiator), call.count);
    }
    for class in TokenType::ALL {
        if let Some(tokens) = call.tokens.get(class) {
            add(Measure::Tokens(class), tokens);
            if call.estimated {
                add(Measure::EstimatedTokens(class), tokens);
            }
        }
    }
    if let Some(tokens) = call.tokens.reasoning() {
        add(Measure::Reasoning, tokens);
    }
    match charge {
        Charge::Reported(credits) => {
            add(Measure::CostReported, saturate(credits.usd().0));
            if call.provider == Provider::Copilot {
                add(Measure::Credits, credits.0);
            }
        }
        Charge::ListPrice(usd) => add(Measure::CostListPrice, saturate(usd.0)),
        Charge::Unpriced if call.count > 0 => add(Measure::UnpricedCalls, call.count),
        Charge::Unpriced => {}
    }
    if let Some(premium) = premium {
        add(Measure::PremiumRequests, premium.0);
    }
    if call.partial && call.count > 0 {
        add(Measure::PartialCalls, call.count);
    }
    let times = [
        (Histogram::Duration, call.duration_ms),
        (Histogram::TimeToFirstToken, call.first_token_ms),
    ];
    for (histogram, millis) in times {
        if let Some(millis) = millis {
            add(Measure::Bucket(histogram, Histogram::bucket(millis)), 1);
            add(Measure::HistogramSum(histogram), millis);
        }
    }
    amounts
}

fn saturate(amount: u128) -> u64 {
    u64::try_from(amount).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
