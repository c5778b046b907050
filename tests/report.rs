//! `report` on a genuine session whose provider told what each call cost (`fixtures/copilot-cli/provider-cost`):
//! two models, a sub-agent and a resumed run.

mod support;

use std::fs;
use std::process::{Command, Output};

use support::exporter::{Exporter, PROGRAM};
use support::home::Home;
use support::tools::root;

/// The provider's bill in nano-AIU, from its own log of the three and two calls.
const GPT_5_4: u64 = 1_699_500_000 + 178_450_000 + 178_950_000;
const GPT_5_MINI: u64 = 510_875_000 + 70_250_000;

const EVENTS: &str = ".copilot/session-state/ce66e962-5ead-4c39-bca5-f00d160460e0/events.jsonl";

/// As it was written: by a client whose provider is the user's own.
fn own_provider() -> Home {
    let home = Home::new().with("copilot-cli/provider-cost/home", ".");
    home.write("config.toml", "time_zone = \"Europe/Berlin\"\n");
    home
}

/// The same session, had Copilot been the provider.
fn copilot() -> Home {
    let home = own_provider();
    let genuine = root()
        .join("fixtures/copilot-cli/provider-cost/home")
        .join(EVENTS);
    let events = fs::read_to_string(genuine).expect("a fixture");
    let signed_in = events.replace("\"isByok\":true", "\"isByok\":false");
    assert_ne!(events, signed_in);
    home.write(EVENTS, signed_in);
    home
}

fn run(home: &Home, arguments: &[&str]) -> Output {
    Command::new(PROGRAM)
        .arg("report")
        .args(arguments)
        .arg("--no-state")
        .arg("--home")
        .arg(home.path())
        .arg("--config")
        .arg(home.path().join("config.toml"))
        .output()
        .expect("the report")
}

fn text(home: &Home, arguments: &[&str]) -> String {
    let output = run(home, arguments);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn json(home: &Home, arguments: &[&str]) -> serde_json::Value {
    serde_json::from_str(&text(home, &[arguments, &["--json"]].concat())).expect("JSON")
}

/// One nano-AIU is 1e-9 credits and 1e-11 dollars.
fn digits(nano_aiu: u64, places: usize) -> String {
    let unit = 10_u64.pow(places as u32);
    let digits = format!("{}.{:0places$}", nano_aiu / unit, nano_aiu % unit);
    digits.trim_end_matches('0').to_owned()
}

#[test]
fn what_copilot_charged_adds_up_to_the_bill() {
    let home = copilot();
    let text = text(&home, &["--by", "model", "--json"]);
    for nano in [GPT_5_4, GPT_5_MINI, GPT_5_4 + GPT_5_MINI] {
        for figure in ["cost_usd", "cost_reported_usd"] {
            let line = format!("\"{figure}\": {},", digits(nano, 11));
            assert!(text.contains(&line), "{line} in {text}");
        }
        let line = format!("\"ai_credits\": {},", digits(nano, 9));
        assert!(text.contains(&line), "{line} in {text}");
    }
    let report: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(report["total"]["calls"], 5);
    assert_eq!(
        report["total"]["cost_list_price_usd"],
        serde_json::Value::Null
    );
}

/// A provider of the user's own that told its charge: it is what was paid, though no Copilot credit.
#[test]
fn what_the_users_own_provider_reports_is_its_bill() {
    let text = text(&own_provider(), &["--by", "model", "--json"]);
    for nano in [GPT_5_4, GPT_5_MINI, GPT_5_4 + GPT_5_MINI] {
        let line = format!("\"cost_reported_usd\": {},", digits(nano, 11));
        assert!(text.contains(&line), "{line} in {text}");
    }
    let report: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(report["total"]["ai_credits"], serde_json::Value::Null);
    assert_eq!(
        report["total"]["cost_list_price_usd"],
        serde_json::Value::Null
    );
}

/// (13,268 × 2.50 + 26,112 × 0.25 + 72 × 15) / 1e6 and (3,977 × 0.25 + 3,840 × 0.025 + 36 × 2) / 1e6 dollars.
#[test]
fn what_an_own_provider_that_reports_nothing_charges_is_the_list_price() {
    let home = own_provider();
    let state = |file: &str| home.path().join(".copilot").join(file);
    for file in ["session-store.db", "session-store.db-wal"] {
        fs::remove_file(state(file)).expect("to remove the store");
    }
    let events = fs::read_to_string(home.path().join(EVENTS)).expect("events");
    home.write(EVENTS, events.replace("NanoAiu\":", "NanoAiuOff\":"));
    let report = json(&home, &["--by", "model"]);
    let rows = report["rows"].as_array().expect("rows");
    for (row, (model, usd)) in rows
        .iter()
        .zip([("gpt-5.4", 0.040_778), ("gpt-5-mini", 0.001_162_25)])
    {
        assert_eq!(row["model"], model);
        assert_eq!(row["cost_list_price_usd"], usd);
        assert_eq!(row["cost_reported_usd"], serde_json::Value::Null);
        assert_eq!(row["ai_credits"], serde_json::Value::Null);
    }
    assert_eq!(rows.len(), 2);
}

#[test]
fn tables() {
    for by in ["day", "project", "model", "surface", "session"] {
        insta::assert_snapshot!(format!("copilot_by_{by}"), text(&copilot(), &["--by", by]));
    }
    insta::assert_snapshot!("own_by_model", text(&own_provider(), &["--by", "model"]));
}

#[test]
fn only_the_period_that_is_asked_for() {
    let home = copilot();
    let calls = |arguments: &[&str]| json(&home, arguments)["total"]["calls"].clone();
    assert_eq!(calls(&["--since", "2026-12-01"]), 5);
    assert_eq!(calls(&["--until", "2026-11-30"]), 0);
    assert_eq!(calls(&["--since", "2026-12", "--until", "2026-12"]), 5);
    assert_eq!(calls(&["--since", "2026-12-01T04:00"]), 0);
}

/// A running exporter keeps the ledger: the report looks at it, and neither disturbs the other.
#[test]
fn beside_a_running_exporter_with_its_ledger() {
    let home = copilot();
    let state = tempfile::tempdir().expect("a folder");
    let exporter = Exporter::serve_with_state(home.path(), state.path(), "time_zone = \"UTC\"");
    // What the store forgets, the ledger keeps.
    fs::remove_dir_all(home.path().join(".copilot")).expect("to remove it");
    let output = Command::new(PROGRAM)
        .args(["report", "--by", "model", "--json", "--state-dir"])
        .arg(state.path())
        .arg("--home")
        .arg(home.path())
        .output()
        .expect("the report");
    assert!(output.status.success(), "{output:?}");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(report["total"]["calls"], 5);
    assert!(exporter.metrics().contains("copilot_calls_total{"));
}

/// A default install writes no spans: the event log and the store tell the same.
#[test]
fn edge_252_without_opentelemetry_the_other_stores_tell() {
    let home = own_provider();
    assert_eq!(json(&home, &[])["total"]["calls"], 5);
    for store in [".copilot/session-store.db", ".copilot/session-store.db-wal"] {
        fs::remove_file(home.path().join(store)).expect("to remove the store");
    }
    assert_eq!(json(&home, &[])["total"]["calls"], 5);
}

/// How full the context is says nothing of what was used.
#[test]
fn edge_248_context_sizes_are_no_tokens() {
    let home = Home::new();
    home.write("config.toml", "");
    let lines = [
        r#"{"type":"session.start","id":"e1","timestamp":"2026-11-02T10:00:00.000Z","data":{"sessionId":"s1","copilotVersion":"1.0.102"}}"#,
        r#"{"type":"session.usage_record","id":"e2","timestamp":"2026-11-02T10:00:03.100Z","data":{"usage":{"model":"gpt-5.4","inputTokens":9000,"outputTokens":60,"cacheReadTokens":8000,"cacheWriteTokens":0,"initiator":"user","isByok":false,"apiCallId":"resp-7","accounting":{"sourceSessionId":"s1","sequence":1,"usageId":"resp-7"},"aiCreditsStatus":"unavailable"}}}"#,
        r#"{"type":"session.truncation","id":"e3","timestamp":"2026-11-02T10:00:04.000Z","data":{"tokenLimit":128000,"preTruncationTokensInMessages":120000,"postTruncationTokensInMessages":90000,"currentTokens":90000,"systemTokens":5000,"conversationTokens":80000,"toolDefinitionsTokens":5000}}"#,
    ];
    home.write(
        ".copilot/session-state/s1/events.jsonl",
        lines.join("\n") + "\n",
    );
    let total = &json(&home, &[])["total"];
    for (figure, want) in [
        ("calls", 1),
        ("input_tokens", 1_000),
        ("cache_read_tokens", 8_000),
        ("cache_write_tokens", 0),
        ("output_tokens", 60),
        ("total_tokens", 9_060),
    ] {
        assert_eq!(total[figure], want, "{figure}");
    }
}

#[test]
fn wrong_times_are_wrong_usage() {
    for arguments in [
        ["--since", "soon"],
        ["--by", "colour"],
        ["--until", "2026-02-30"],
    ] {
        let output = run(&own_provider(), &arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty());
    }
}
