//! Lifetime totals of a session: its usage where nobody knows better, or a bound of its credits.

use crate::usage::{Credits, Provider, Surface, Tokens, TotalFact};

use super::facts::{Facts, Stated, is_cli};
use super::merge::Call;
use super::session::Labels;

/// A total of credits alone bounds what the session spent.
fn is_bound(total: &TotalFact) -> bool {
    total.model.is_none() && total.tokens == Tokens::default()
}

/// The usage of a session that only the desktop app's totals know: what each reading adds to those before
/// it, at its time. How many calls that were nobody says; it is counted as one.
pub(super) fn usage<'a>(facts: &Facts<'a>) -> Vec<Call<'a>> {
    let elsewhere = |surface| is_cli(surface) && surface != Surface::Desktop;
    let is_known_better = !facts.calls.is_empty()
        || !facts.turns.is_empty()
        || !facts.legs.is_empty()
        || facts
            .sessions
            .iter()
            .any(|session| elsewhere(session.surface));
    if is_known_better {
        return Vec::new();
    }
    let mut calls: Vec<Call<'a>> = Vec::new();
    let mut before = Tokens::default();
    let mut spent = Credits(0);
    for total in facts.totals.iter().filter(|total| !is_bound(total.fact)) {
        let fact = total.fact;
        let tokens = fact.tokens.minus(&before);
        // 0 beside tokens is unknown, not free.
        let credits = fact
            .credits
            .filter(|credits| credits.0 > 0 || fact.tokens.is_empty())
            .map(|credits| Credits(credits.0.saturating_sub(spent.0)));
        let grew = !tokens.is_empty() || credits.is_some_and(|credits| credits.0 > 0);
        if !grew {
            continue;
        }
        before = most(&before, &fact.tokens);
        spent = spent.max(fact.credits.unwrap_or_default());
        let is_first = calls.is_empty();
        calls.push(Call {
            count: u64::from(is_first),
            time: fact.time,
            model: total.model,
            tokens,
            credits,
            completed: !is_first,
            ..Call::unknown(total.id, total.surface)
        });
    }
    calls
}

/// The greater of both, class by class.
fn most(a: &Tokens, b: &Tokens) -> Tokens {
    a.plus(&b.minus(a))
}

/// By how much the session's own total of credits exceeds what its calls up to then are known to cost: real
/// spend of no known model. A session of the user's own providers spends none.
pub(super) fn unattributed<'a>(
    totals: &[Stated<'a, TotalFact>],
    calls: &[Call<'a>],
    labels: &Labels<'a>,
) -> Credits {
    let bounds = totals.iter().filter(|total| is_bound(total.fact));
    let highest = bounds
        .filter_map(|total| Some((total.fact.credits?, total.fact.time)))
        .max();
    let Some((bound, time)) = highest else {
        return Credits(0);
    };
    let is_own = |call: &Call<'a>| {
        labels.provider(call.provider, labels.model(call.model)) != Provider::Copilot
    };
    if !calls.is_empty() && calls.iter().all(is_own) {
        return Credits(0);
    }
    let known = calls
        .iter()
        .filter(|call| time.is_none() || call.time <= time)
        .filter_map(|call| call.credits)
        .fold(0, |sum: u64, credits| sum.saturating_add(credits.0));
    Credits(bound.0.saturating_sub(known))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usage::TokenType;

    #[test]
    fn the_greater_of_each_class() {
        let tokens = |input, output| {
            Tokens::default()
                .with(TokenType::Input, input)
                .with(TokenType::Output, output)
        };
        let (a, b) = (tokens(Some(5), Some(1)), tokens(Some(3), Some(9)));
        assert_eq!(most(&a, &b), tokens(Some(5), Some(9)));
        assert_eq!(most(&Tokens::default(), &a), a);
    }
}
