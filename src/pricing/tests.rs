//! The format page's examples, and what must hold for any prices.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::catalogue::Tier;
use super::shipped::day;
use super::*;
use crate::config::PriceOverride;
use crate::usage::{Timestamp, TokenType, Tokens, Usd};

const MILLION: u64 = 1_000_000;

fn tokens(input: u64, cache_read: u64, cache_write: u64, output: u64) -> Tokens {
    Tokens::default()
        .with(TokenType::Input, Some(input))
        .with(TokenType::CacheRead, Some(cache_read))
        .with(TokenType::CacheWrite, Some(cache_write))
        .with(TokenType::Output, Some(output))
}

fn at(text: &str) -> Timestamp {
    Timestamp::parse_iso(text).unwrap()
}

fn cost(name: &str, time: &str, tokens: Tokens) -> Option<f64> {
    let catalogue = Catalogue::default();
    let model = catalogue.canonical(Some(name));
    let usd = catalogue.list_price(&model, at(time), &tokens, 1)?;
    Some(usd.as_f64())
}

fn canonical(name: &str) -> String {
    let id = Catalogue::default().canonical(Some(name));
    id.as_str().to_owned()
}

#[test]
fn names_of_the_format_page() {
    for (seen, want) in [
        ("claude-sonnet-4.5", "claude-sonnet-4-5"),
        ("Claude Sonnet 4.5", "claude-sonnet-4-5"),
        ("copilot/claude-sonnet-4.5", "claude-sonnet-4-5"),
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("claude-3.7-sonnet", "claude-sonnet-3-7"),
        ("claude-3-7-sonnet-thought", "claude-sonnet-3-7"),
        ("claude-3.5-sonnet-20241022", "claude-sonnet-3-5"),
        ("claude-opus-41", "claude-opus-4-1"),
        ("claude-opus-4.1", "claude-opus-4-1"),
        ("claude-opus-4.6-1m", "claude-opus-4-6"),
        ("claude-opus-4.6[1m]", "claude-opus-4-6"),
        ("claude-opus-4-5@20251101", "claude-opus-4-5"),
        (
            "Claude Opus 4.8 (fast mode) (Preview)",
            "claude-opus-4-8-fast",
        ),
        ("claude-opus-4.6-fast", "claude-opus-4.6-fast"),
        ("gpt-5-mini-2026-01-01", "gpt-5-mini"),
        ("openai/gpt-4o-2024-08-06", "gpt-4o"),
        ("GPT-5.6 Luna", "gpt-5.6-luna"),
        ("GPT-5.6 Luna[^2]", "gpt-5.6-luna"),
        ("Raptor mini (Preview)", "raptor-mini"),
        ("raptor_mini", "raptor-mini"),
        ("gemini-3-pro-preview", "gemini-3-pro"),
        ("models/gemini-3.1-pro-preview", "gemini-3.1-pro"),
        ("github_copilot/gpt-4.1", "gpt-4.1"),
        ("oswe-vscode-prime", "oswe-vscode-prime"),
        ("copilot/oswe-vscode-prime", "oswe-vscode-prime"),
        ("copilot/copilot/ new", "new"),
        ("copilot/copilot/@", "unknown"),
        ("mai-code-1-flash-picker", "mai-code-1-flash"),
        ("MAI-Code-1-Flash-internal", "mai-code-1-flash"),
        ("  O3 ", "o3"),
    ] {
        assert_eq!(canonical(seen), want, "{seen}");
    }
}

#[test]
fn names_that_are_no_model() {
    for seen in [
        "",
        "  ",
        "auto",
        "Auto",
        "copilot/auto",
        "github_copilot/auto",
        "copilot",
        "resumed",
        "copilot-openai-auto",
        "copilot-anthropic-auto",
        "unknown",
        "\u{0}",
    ] {
        assert_eq!(canonical(seen), ModelId::UNKNOWN, "{seen:?}");
    }
    assert!(Catalogue::default().canonical(None).is_unknown());
}

#[test]
fn versions_are_never_shortened() {
    for seen in [
        "gpt-5.7",
        "gpt-5.3",
        "claude-opus-4.9",
        "claude-opus",
        "claude-",
        "gpt-5-",
        "gpt-5-nano",
        "raptor-mini-x",
        "claude-opus-4.7-high-high",
        "gpt-5-fast",
        "(",
        "[^",
        "-2026-01-01",
    ] {
        assert_eq!(canonical(seen), seen, "{seen}");
        assert_eq!(cost(seen, "2026-09-01", tokens(1, 1, 1, 1)), None, "{seen}");
    }
}

#[test]
fn edge_212_unknown_names_are_cleaned_and_bounded() {
    assert_eq!(canonical(" My\u{7} Own\nModel "), "my ownmodel");
    let long = canonical(&"É".repeat(5_000));
    assert_eq!(long.chars().count(), 200);
    // A lower-case letter may take more characters than its upper case.
    assert_eq!(canonical(&"İ".repeat(300)).chars().count(), 200);
}

#[test]
fn examples_of_the_format_page() {
    for (model, counts, want) in [
        (
            "claude-sonnet-4-5",
            tokens(4, 35_495, 35_783, 345),
            0.150_021_75,
        ),
        ("gpt-4.1", tokens(0, 0, 0, 150), 0.0012),
        ("gpt-5", tokens(50, 40, 10, 0), 0.000_08),
        ("gpt-5.4", tokens(100_000, 200_000, 0, 1_000), 0.6225),
        ("claude-haiku-4-5", tokens(MILLION, 0, 0, MILLION), 6.0),
    ] {
        assert_eq!(cost(model, "2026-09-01", counts), Some(want), "{model}");
    }
}

#[test]
fn edge_184_jetbrains_names() {
    assert_eq!(canonical("claude-opus-4.6"), "claude-opus-4-6");
    assert_eq!(canonical("gpt-5.6-sol"), "gpt-5.6-sol");
    assert_eq!(canonical("gpt-5.3"), "gpt-5.3");
    assert_eq!(cost("gpt-5.3", "2026-09-01", tokens(1, 1, 1, 1)), None);
}

#[test]
fn edge_233_dotted_ids_have_the_price_of_dashed_ones() {
    for name in ["claude-haiku-4.5", "claude-haiku-4-5"] {
        let million = tokens(MILLION, 0, 0, MILLION);
        assert_eq!(cost(name, "2026-09-01", million), Some(6.0), "{name}");
    }
}

#[test]
fn edge_234_copilots_prefix_is_stripped() {
    let counts = tokens(MILLION, 0, 0, 0);
    assert_eq!(canonical("copilot/claude-sonnet-4.6"), "claude-sonnet-4-6");
    assert_eq!(
        cost("copilot/claude-sonnet-4.6", "2026-09-01", counts),
        Some(3.0)
    );
}

#[test]
fn edge_235_unknown_models_are_unpriced() {
    for name in ["gpt-5.7", "raptor-mini-x", ""] {
        assert_eq!(cost(name, "2026-09-01", tokens(1, 1, 1, 1)), None, "{name}");
    }
}

#[test]
fn edge_236_suffixes_that_are_part_of_a_name() {
    assert_eq!(canonical("gpt-5.1-codex-max"), "gpt-5.1-codex-max");
    assert_eq!(canonical("claude-opus-4.7-high"), "claude-opus-4-7");
}

#[test]
fn edge_237_luna_and_terra_on_the_day_of_the_cut() {
    for (model, before, after) in [("GPT-5.6 Luna", 1.0, 0.2), ("GPT-5.6 Terra", 2.5, 2.0)] {
        // Five calls of 200,000 tokens: below the long-context threshold.
        let fifth = tokens(MILLION / 5, 0, 0, 0);
        for (time, want) in [
            ("2026-07-29T23:59:59.999Z", before),
            ("2026-07-30T00:00:00Z", after),
        ] {
            let catalogue = Catalogue::default();
            let id = catalogue.canonical(Some(model));
            let one = catalogue.list_price(&id, at(time), &fifth, 1).unwrap();
            assert_eq!(Usd(one.0 * 5).as_f64(), want, "{model} {time}");
            let sum = catalogue.list_price(&id, at(time), &tokens(MILLION, 0, 0, 0), 5);
            assert_eq!(sum, Some(Usd(one.0 * 5)), "{model} {time}");
        }
    }
}

#[test]
fn edge_238_sol_on_the_day_of_the_cut() {
    let million = tokens(0, 0, 0, MILLION);
    for (time, want) in [
        ("2026-08-20T23:59:59Z", 30.0),
        ("2026-08-21T00:00:00Z", 15.0),
        ("2026-09-21T23:59:59Z", 15.0),
        ("2026-09-22T00:00:00Z", 20.0),
    ] {
        assert_eq!(cost("gpt-5.6-sol", time, million), Some(want), "{time}");
    }
}

#[test]
fn edge_239_long_context_by_the_calls_own_gross_input() {
    let catalogue = Catalogue::default();
    let model = catalogue.canonical(Some("gpt-5.4"));
    let price = |tokens, calls| {
        let price = catalogue.price(&model, at("2026-09-01"), &tokens, calls);
        price.map(|price| (price.usd.as_f64(), price.tier)).unwrap()
    };
    assert_eq!(price(tokens(272_000, 0, 0, 0), 1), (0.68, Tier::Base));
    assert_eq!(
        price(tokens(272_001, 0, 0, 0), 1),
        (1.360_005, Tier::LongContext)
    );
    let mixed = price(tokens(1, 200_000, 72_000, 1_000), 1);
    assert_eq!(mixed, (0.000_005 + 0.1 + 0.36 + 0.0225, Tier::LongContext));
    assert_eq!(price(tokens(500_000, 0, 0, 0), 5), (1.25, Tier::Undecided));
    assert_eq!(price(tokens(200_000, 0, 0, 0), 5), (0.5, Tier::Base));
    // A part of the prompt is enough to know.
    let read = Tokens::default().with(TokenType::CacheRead, Some(300_000));
    assert_eq!(price(read, 1), (0.15, Tier::LongContext));
}

#[test]
fn edge_243_cache_writes_without_a_price_cost_what_input_does() {
    let write = tokens(0, 0, MILLION, 0);
    assert_eq!(cost("gpt-4.1", "2026-09-01", write), Some(2.0));
    assert_eq!(cost("claude-haiku-4-5", "2026-09-01", write), Some(1.25));
}

#[test]
fn edge_244_reasoning_is_inside_output() {
    let plain = tokens(0, 0, 0, 1_000);
    let reasoned = plain.with_reasoning(Some(900));
    let time = "2026-09-01";
    assert_eq!(
        cost("gpt-5.4", time, plain),
        cost("gpt-5.4", time, reasoned)
    );
}

#[test]
fn edge_246_want_of_a_price_is_not_zero() {
    let nothing_known = Tokens::default();
    assert_eq!(cost("gpt-5.4", "2026-09-01", nothing_known), None);
    assert_eq!(cost("gpt-5.4", "2026-09-01", tokens(0, 0, 0, 0)), Some(0.0));
    assert_eq!(cost("auto", "2026-09-01", tokens(1, 1, 1, 1)), None);
}

/// At the last moment before, and the first of, every day on which a price begins.
#[test]
fn every_row_holds_from_its_day_on() {
    let catalogue = Catalogue::default();
    for (model, timeline) in catalogue.timelines() {
        let periods = timeline.periods();
        for (index, period) in periods.iter().enumerate() {
            let first = timeline.at(period.from).unwrap();
            assert_eq!(first, period, "{model}");
            let before = timeline.at(Timestamp(period.from.0 - 1)).unwrap();
            assert_eq!(before, &periods[index.saturating_sub(1)], "{model}");
            let next = periods.get(index + 1).map(|next| next.from);
            assert_eq!(period.to, next, "{model}: a gap or an overlap");
        }
    }
}

/// Each row's rates as the table file has them, class by class, in both tiers.
#[test]
fn every_row_prices_as_the_table_says() {
    let rows: Vec<serde_json::Value> = serde_json::from_str(include_str!("prices.json")).unwrap();
    let catalogue = Catalogue::default();
    for row in rows {
        let name = row["model"].as_str().unwrap();
        let model = catalogue.canonical(Some(name));
        assert_eq!(model.as_str(), name);
        assert_eq!(vendor(&model), row["vendor"].as_str(), "{name}");
        let from = day(row["valid_from"].as_str().unwrap()).unwrap();
        let check = |rates: &serde_json::Value, base_input: u64| {
            let input = rates["input"].as_f64().unwrap();
            let rate = |class: &str| rates[class].as_f64().unwrap_or(input);
            let counts = tokens(base_input, 3, 5, 7);
            let want = (base_input as f64) * input
                + 3.0 * rate("cache_read")
                + 5.0 * rate("cache_write")
                + 7.0 * rate("output");
            let got = catalogue.list_price(&model, from, &counts, 1).unwrap();
            assert_eq!(got.0, (want * 1e6).round() as u128, "{name} {base_input}");
        };
        check(&row["usd_per_million"], 1_000);
        if let Some(long) = row.get("long_context") {
            let threshold = long["threshold"].as_u64().unwrap();
            check(&row["usd_per_million"], threshold - 8);
            check(&long["usd_per_million"], threshold - 7);
        }
    }
}

fn own_price(model: &str, input: f64, valid_from: Option<&str>) -> PriceOverride {
    PriceOverride {
        model: model.to_owned(),
        input,
        output: 10.0 * input,
        cache_read: None,
        cache_write: None,
        valid_from: valid_from.map(str::to_owned),
    }
}

#[test]
fn own_prices_come_before_the_table() {
    let prices = [
        own_price("Claude Haiku 4.5", 0.5, Some("2026-08-01")),
        own_price("gpt-5.4", 1.0, None),
        own_price("gpt-5.4", 1.5, Some("2026-10-01")),
        own_price("llama-4", 0.1, Some("2026-08-01")),
    ];
    let aliases = BTreeMap::from([
        ("Our Llama".to_owned(), "llama-4".to_owned()),
        ("oswe-vscode-prime".to_owned(), "Raptor mini".to_owned()),
    ]);
    let catalogue = Catalogue::new(&prices, &aliases).unwrap();
    let cost = |name: &str, time: &str| {
        let model = catalogue.canonical(Some(name));
        let million = tokens(MILLION, 0, 0, 0);
        let price = catalogue.price(&model, at(time), &million, 1)?;
        Some(price.usd.as_f64())
    };
    for (name, time, want) in [
        ("claude-haiku-4-5", "2026-07-31T23:59:59Z", Some(1.0)),
        ("claude-haiku-4-5", "2026-08-01T00:00:00Z", Some(0.5)),
        ("gpt-5.4", "2025-06-01", Some(1.0)),
        ("gpt-5.4", "2026-09-30T23:59:59Z", Some(1.0)),
        ("gpt-5.4", "2026-10-01", Some(1.5)),
        ("llama-4", "2025-01-01", Some(0.1)),
        ("our llama", "2026-09-01", Some(0.1)),
        ("copilot/oswe-vscode-prime", "2026-09-01", Some(0.25)),
        ("llama-4-x", "2026-09-01", None),
    ] {
        assert_eq!(cost(name, time), want, "{name} {time}");
    }
    // What is not said separately costs what input does.
    let model = catalogue.canonical(Some("llama-4"));
    let read = tokens(0, MILLION, MILLION, 0);
    let usd = catalogue.list_price(&model, at("2026-09-01"), &read, 1);
    assert_eq!(usd.map(Usd::as_f64), Some(0.2));
}

#[test]
fn own_prices_that_cannot_be_used_are_named() {
    let none = BTreeMap::new();
    for (price, says) in [
        (own_price("gpt-5", -1.0, None), "gpt-5"),
        (own_price("gpt-5", f64::NAN, None), "gpt-5"),
        (own_price("gpt-5", 1e300, None), "gpt-5"),
        (own_price("gpt-5", 1.0, Some("August")), "valid_from"),
        (own_price("auto", 1.0, None), "no model"),
    ] {
        let error = Catalogue::new(&[price], &none).unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
    }
    let twice = [own_price("gpt-5", 1.0, None), own_price("GPT-5", 2.0, None)];
    let error = Catalogue::new(&twice, &none).unwrap_err();
    assert!(matches!(error, CatalogueError::Twice { .. }));
    for (alias, target) in [("mine", "auto"), ("auto", "gpt-5"), ("", "gpt-5")] {
        let aliases = BTreeMap::from([(alias.to_owned(), target.to_owned())]);
        assert!(Catalogue::new(&[], &aliases).is_err(), "{alias} = {target}");
    }
}

#[test]
fn want_of_a_price_is_told_once_for_each_model() {
    let catalogue = Catalogue::default();
    let tell = |name: &str| catalogue.tell_unpriced(&catalogue.canonical(Some(name)));
    assert!(tell("gpt-5.7"));
    assert!(!tell("GPT-5.7"));
    assert!(!tell("auto"));
    // Priced, though perhaps a call's tokens aren't known.
    assert!(!tell("gpt-5.4"));
    let told = (0..1_000).filter(|n| tell(&format!("model-{n}"))).count();
    assert!(told < 200, "{told}");
}

#[test]
fn conclusions_are_told_from_published_prices() {
    let catalogue = Catalogue::default();
    let sol = catalogue.canonical(Some("gpt-5.6-sol"));
    assert!(!catalogue.is_inferred(&sol, at("2026-08-20")));
    assert!(catalogue.is_inferred(&sol, at("2026-08-21")));
}

#[test]
fn sums_of_ten_million_calls_do_not_drift() {
    let catalogue = Catalogue::default();
    let model = catalogue.canonical(Some("gpt-5.4-nano"));
    let time = at("2026-09-01");
    let one = catalogue
        .list_price(&model, time, &tokens(1, 1, 0, 1), 1)
        .unwrap();
    let mut sum = 0_u128;
    for _ in 0..10_000_000 {
        sum += one.0;
    }
    assert_eq!(Usd(sum).as_f64(), 14.7);
}

fn counts() -> impl Strategy<Value = Tokens> {
    let class = || proptest::option::of(0_u64..1_000_000_000);
    (class(), class(), class(), class()).prop_map(|(input, read, write, output)| {
        Tokens::default()
            .with(TokenType::Input, input)
            .with(TokenType::CacheRead, read)
            .with(TokenType::CacheWrite, write)
            .with(TokenType::Output, output)
    })
}

proptest! {
    /// The cost of a sum is the sum of the costs, in whatever order: with base rates for all.
    #[test]
    fn cost_is_additive_and_order_free(calls in proptest::collection::vec(counts(), 1..20)) {
        let catalogue = Catalogue::default();
        let model = catalogue.canonical(Some("claude-sonnet-4-6"));
        let time = at("2026-09-01");
        let cost = |tokens: &Tokens| {
            catalogue.list_price(&model, time, tokens, 1).unwrap_or_default().0
        };
        let one_by_one: u128 = calls.iter().map(cost).sum();
        let backwards: u128 = calls.iter().rev().map(cost).sum();
        let whole = calls.iter().fold(Tokens::default(), |sum, tokens| sum.plus(tokens));
        prop_assert_eq!(one_by_one, backwards);
        prop_assert_eq!(one_by_one, cost(&whole));
    }

    /// Whatever a store calls a model, the id is clean, bounded and its own canonical id.
    #[test]
    fn canonical_ids_are_stable(name in "\\PC{0,40}|(copilot/|auto|gpt-5|claude-|opus|-4|[./@_()\\[\\]^ -]){0,6}") {
        let catalogue = Catalogue::default();
        let id = catalogue.canonical(Some(&name));
        prop_assert!(!id.as_str().is_empty());
        prop_assert!(id.as_str().chars().count() <= 200);
        prop_assert_eq!(catalogue.canonical(Some(id.as_str())), id);
    }
}
