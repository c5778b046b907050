use super::*;
use crate::usage::{Project, Surface, Tokens};

const JULY: &str = "2026-07-15T12:00:00Z";

fn at(text: &str) -> Timestamp {
    Timestamp::parse_iso(text).unwrap()
}

/// A call of a user in July 2026: a million tokens of output.
fn call(credits: Option<u64>) -> ResolvedCall {
    ResolvedCall {
        count: 1,
        time: Some(at(JULY)),
        model: Some("gpt-5.4".to_owned()),
        provider: Provider::Copilot,
        surface: Surface::Cli,
        project: Project::unknown(),
        initiator: Initiator::User,
        tokens: Tokens::default().with(TokenType::Output, Some(1_000_000)),
        estimated: false,
        partial: false,
        credits: credits.map(Credits),
        premium: None,
        duration_ms: None,
        first_token_ms: None,
    }
}

fn charge(call: &ResolvedCall) -> Charge {
    let catalogue = Catalogue::default();
    let model = catalogue.canonical(call.model.as_deref());
    let price = list_price(&catalogue, call, &model, at(JULY));
    Charge::of(call, price)
}

fn amount(call: &ResolvedCall, measure: Measure) -> Option<u64> {
    let all = amounts(call, charge(call), call.premium);
    let found = all.into_iter().find(|&(known, _)| known == measure);
    found.map(|(_, amount)| amount)
}

const LIST_PRICE: Usd = Usd(15 * Usd::PICO);

#[test]
fn edge_240_what_copilot_reports_beats_the_list_price() {
    assert_eq!(charge(&call(Some(7))), Charge::Reported(Credits(7)));
    assert_eq!(amount(&call(Some(7)), Measure::CostReported), Some(70));
    assert_eq!(amount(&call(Some(7)), Measure::CostListPrice), None);
}

#[test]
fn edge_241_without_a_report_the_list_price() {
    assert_eq!(charge(&call(None)), Charge::ListPrice(LIST_PRICE));
    assert_eq!(amount(&call(None), Measure::CostReported), None);
    assert_eq!(amount(&call(None), Measure::Credits), None);
}

#[test]
fn edge_242_no_credits_beside_priced_tokens_are_unknown() {
    assert_eq!(charge(&call(Some(0))), Charge::ListPrice(LIST_PRICE));
    assert_eq!(amount(&call(Some(0)), Measure::Credits), None);
    // Nothing was used, so nothing was charged.
    let mut idle = call(Some(0));
    idle.tokens = Tokens::default();
    assert_eq!(charge(&idle), Charge::Reported(Credits(0)));
}

#[test]
fn own_providers_are_paid_what_they_report_else_list_price_and_cost_no_credit() {
    for (credits, want) in [
        (None, Charge::ListPrice(LIST_PRICE)),
        // Copilot's own charge, which says nothing of the provider's.
        (Some(0), Charge::ListPrice(LIST_PRICE)),
        (Some(7), Charge::Reported(Credits(7))),
    ] {
        let mut own = call(credits);
        own.provider = Provider::own("openai");
        assert_eq!(charge(&own), want);
        assert_eq!(amount(&own, Measure::Credits), None);
    }
}

#[test]
fn edge_246_without_a_price_a_call_is_unpriced() {
    let mut unheard_of = call(None);
    unheard_of.model = Some("gpt-9".to_owned());
    assert_eq!(charge(&unheard_of), Charge::Unpriced);
    assert_eq!(amount(&unheard_of, Measure::UnpricedCalls), Some(1));
    for cost in [Measure::CostReported, Measure::CostListPrice] {
        assert_eq!(amount(&unheard_of, cost), None);
    }
}

#[test]
fn edge_251_premium_requests_are_no_cost() {
    let mut prompt = call(None);
    prompt.model = None;
    prompt.premium = Some(PremiumRequests(15_000_000));
    assert_eq!(amount(&prompt, Measure::PremiumRequests), Some(15_000_000));
    for cost in [Measure::CostReported, Measure::CostListPrice] {
        assert_eq!(amount(&prompt, cost), None);
    }
}

#[test]
fn edge_249_premium_requests_as_the_row_says() {
    let catalogue = Catalogue::default();
    let model = catalogue.canonical(Some("claude-opus-4.7"));
    let counted = |call: &ResolvedCall, time: &str, still_billed| {
        let premium = premium_requests(call, &model, at(time), still_billed)?;
        Some(premium.0)
    };
    let mut compaction = call(None);
    compaction.initiator = Initiator::Compaction;
    assert_eq!(counted(&compaction, "2026-05-02", false), None);
    compaction.premium = Some(PremiumRequests(1_000_000));
    assert_eq!(counted(&compaction, "2026-05-02", false), Some(1_000_000));
    // A prompt without a row: the multiplier of its day, for plans that were billed so.
    let prompt = call(None);
    assert_eq!(counted(&prompt, "2026-04-30", false), Some(7_500_000));
    assert_eq!(
        counted(&prompt, "2026-05-31T23:59:59Z", false),
        Some(15_000_000)
    );
    assert_eq!(counted(&prompt, "2026-06-01", false), None);
    assert_eq!(counted(&prompt, "2026-06-01", true), Some(27_000_000));
}
