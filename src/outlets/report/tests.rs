use jiff::tz::TimeZone;

use super::*;
use crate::ledger::{Amount, SeriesLabels};
use crate::outlets::period::Period;
use crate::usage::{
    FailureReason, Initiator, Measure, Project, Provider, Slot, Surface, Timestamp, TokenType,
};

fn slot(text: &str) -> Slot {
    Timestamp::parse_iso(text).unwrap().slot()
}

fn labels(model: &str, project: &str) -> SeriesLabels {
    SeriesLabels {
        provider: Provider::Copilot,
        model: model.to_owned(),
        project: Project::named(project),
        surface: Surface::Cli,
        user: None,
    }
}

struct Usage {
    labels: SeriesLabels,
    session: &'static str,
    slot: Slot,
    amounts: Vec<(Measure, u64)>,
}

/// Two sessions: one with reported costs over midnight in Berlin, one of a model without a price, and with
/// estimates.
fn usage() -> Vec<Usage> {
    let reported = |time: &str, nano: u64| Usage {
        labels: labels("gpt-5.4", "shop"),
        session: "a1b2",
        slot: slot(time),
        amounts: vec![
            (Measure::Calls(Initiator::User), 1),
            (Measure::Tokens(TokenType::Input), 13_100),
            (Measure::Tokens(TokenType::CacheRead), 1_000),
            (Measure::Tokens(TokenType::CacheWrite), 0),
            (Measure::Tokens(TokenType::Output), 62),
            (Measure::CostReported, nano * 10),
            (Measure::Credits, nano),
        ],
    };
    vec![
        reported("2026-11-29T22:57:00Z", 1_637_500_000),
        reported("2026-11-29T23:02:00Z", 3_280_000_000),
        Usage {
            labels: labels("claude-haiku-4-5", "web, \"new\""),
            session: "c3d4",
            slot: slot("2026-11-30T09:00:00Z"),
            amounts: vec![
                (Measure::Calls(Initiator::Unknown), 2),
                (Measure::Tokens(TokenType::Output), 1_500),
                (Measure::EstimatedTokens(TokenType::Output), 1_500),
                (Measure::CostListPrice, 7_500_000_000),
                (Measure::PartialCalls, 2),
            ],
        },
        Usage {
            labels: labels("gpt-5.7", "web, \"new\""),
            session: "c3d4",
            slot: slot("2026-11-30T09:05:00Z"),
            amounts: vec![
                (Measure::Calls(Initiator::Unknown), 1),
                (Measure::Tokens(TokenType::Input), 10),
                (Measure::Tokens(TokenType::Output), 20),
                (Measure::UnpricedCalls, 1),
                (Measure::Failures(FailureReason::RateLimit), 1),
            ],
        },
    ]
}

fn report(by: By, period: Period) -> Report {
    let mut report = Report::new(by, period, TimeZone::get("Europe/Berlin").unwrap());
    for usage in usage() {
        for &(measure, amount) in &usage.amounts {
            report.add(Amount {
                labels: &usage.labels,
                session: Some(usage.session),
                slot: usage.slot,
                measure,
                amount,
            });
        }
    }
    report
}

fn written(report: &Report, format: Format) -> String {
    let mut out = Vec::new();
    report
        .write(format, Credits(1_500_000_000), &mut out)
        .unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn tables() {
    let by = [By::Day, By::Project, By::Model, By::Surface, By::Session];
    for by in by {
        let table = written(&report(by, Period::default()), Format::Table);
        insta::assert_snapshot!(format!("table_by_{}", by.as_str()), table);
    }
}

#[test]
fn columns_are_aligned() {
    let table = written(&report(By::Model, Period::default()), Format::Table);
    let grid: Vec<&str> = table.lines().take_while(|line| !line.is_empty()).collect();
    let widths: Vec<usize> = grid.iter().map(|line| line.chars().count()).collect();
    assert!(
        grid.len() > 5 && widths.iter().all(|&width| width == widths[0]),
        "{table}"
    );
}

#[test]
fn json_has_all_digits_and_null_for_what_is_unknown() {
    let text = written(&report(By::Project, Period::default()), Format::Json);
    insta::assert_snapshot!("json_by_project", text);
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let web = &json["rows"][1];
    assert_eq!(web["project"], "web, \"new\"");
    assert_eq!(web["cache_read_tokens"], serde_json::Value::Null);
    assert_eq!(web["partial_calls"], 2);
    assert_eq!(json["total"]["cost_usd"], 0.056_675);
    assert_eq!(json["unattributed_ai_credits"], 1.5);
}

#[test]
fn csv_is_quoted() {
    let text = written(&report(By::Project, Period::default()), Format::Csv);
    insta::assert_snapshot!("csv_by_project", text);
}

#[test]
fn names_command_neither_a_terminal_nor_a_spreadsheet() {
    let labels = labels("=HYPERLINK(\"x\")", "shop");
    let mut report = Report::new(By::Session, Period::default(), TimeZone::UTC);
    report.add(Amount {
        labels: &labels,
        session: Some("a\u{1b}[2J\u{202e}b"),
        slot: slot("2026-11-30"),
        measure: Measure::Calls(Initiator::User),
        amount: 1,
    });
    for format in [Format::Table, Format::Csv] {
        let text = written(&report, format);
        assert!(text.contains(r"a\u{1b}[2J\u{202e}b"), "{text}");
    }
    let mut report = Report::new(By::Model, Period::default(), TimeZone::UTC);
    report.add(Amount {
        labels: &labels,
        session: None,
        slot: slot("2026-11-30"),
        measure: Measure::Calls(Initiator::User),
        amount: 1,
    });
    let text = written(&report, Format::Csv);
    assert!(text.contains("\n\"'=HYPERLINK(\"\"x\"\")\","), "{text}");
}

#[test]
fn only_what_lies_in_the_period() {
    let period = Period {
        since: Some(slot("2026-11-29T23:00:00Z")),
        until: Some(slot("2026-11-30T09:05:00Z")),
    };
    let json = written(&report(By::Day, period), Format::Json);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["rows"].as_array().unwrap().len(), 1);
    assert_eq!(json["rows"][0]["day"], "2026-11-30");
    assert_eq!(json["total"]["calls"], 3);
    assert_eq!(json["since"], "2026-11-29T23:00:00Z");
}

#[test]
fn edge_241_both_bases_and_the_share_of_each() {
    let mut both = Report::new(By::Model, Period::default(), TimeZone::UTC);
    let labels = labels("gpt-5.4", "shop");
    for (measure, amount) in [
        (Measure::Calls(Initiator::User), 2),
        (Measure::CostReported, 3_000_000_000_000),
        (Measure::CostListPrice, 1_000_000_000_000),
    ] {
        both.add(Amount {
            labels: &labels,
            session: None,
            slot: slot("2026-11-30"),
            measure,
            amount,
        });
    }
    let table = written(&both, Format::Table);
    for text in ["~4.0000", "3.0000 USD (75.0 %)", "~1.0000 USD (25.0 %)"] {
        assert!(table.contains(text), "{text}: {table}");
    }
}

#[test]
fn edge_246_unpriced_is_not_free() {
    let table = written(&report(By::Model, Period::default()), Format::Table);
    let row = table
        .lines()
        .find(|line| line.starts_with("gpt-5.7"))
        .unwrap();
    assert!(row.ends_with('?'), "{row}");
}

#[test]
fn list_prices_before_credits_are_equivalents() {
    for (day, says) in [("2026-05-31T23:59:59Z", true), ("2026-06-01", false)] {
        let mut old = Report::new(By::Day, Period::default(), TimeZone::UTC);
        old.add(Amount {
            labels: &labels("gpt-5.4", "shop"),
            session: None,
            slot: slot(day),
            measure: Measure::CostListPrice,
            amount: 1,
        });
        let table = written(&old, Format::Table);
        assert_eq!(table.contains("not a bill"), says, "{table}");
    }
}

#[test]
fn nothing_is_said_to_be_nothing() {
    let empty = Report::new(By::Day, Period::default(), TimeZone::UTC);
    let mut out = Vec::new();
    empty.write(Format::Table, Credits(0), &mut out).unwrap();
    assert!(String::from_utf8(out).unwrap().starts_with("No usage"));
}
