//! Snapshots for tests.

use std::collections::BTreeMap;

use copilot_exporter::ledger::{
    BudgetStatus, DayTotal, ModelInfo, Series, SeriesLabels, Snapshot, StoreStatus, Value, Window,
    WindowTotal,
};
use copilot_exporter::stores::StoreKind;
use copilot_exporter::usage::{
    Credits, Histogram, Initiator, Measure, Project, Provider, Surface, Timestamp, TokenType, Usd,
};

/// Names as nobody should give them.
pub const HOSTILE: [&str; 8] = [
    "shop",
    "say \"hi\"",
    "back\\slash\\n",
    "<script>alert(1)</script>",
    "{a=\"b\",c=\"d\"} 5",
    "größe 漢字 🦀",
    "# EOF",
    "' & \u{202e}gnp",
];

/// A snapshot with something in every family, of `projects` projects.
pub fn full(projects: usize) -> Snapshot {
    let series = (0..projects).map(|n| Series {
        labels: labels(n),
        values: values(n as u128),
    });
    let windows = (0..projects).flat_map(|n| Window::ALL.map(|window| window_total(n, window)));
    let stores = BTreeMap::from([
        (StoreKind::CliEvents, store(Some(true), "")),
        (
            StoreKind::JetBrains,
            store(Some(false), "/home/u/<b>: the database is busy"),
        ),
        (StoreKind::Xcode, store(None, "")),
    ]);
    Snapshot {
        taken: TAKEN,
        epoch: Timestamp(1_780_000_000_000),
        ready: true,
        series: series.collect(),
        windows: windows.collect(),
        days: days(),
        budgets: vec![
            budget("team <a>", 150, 100, Some(140)),
            budget("over", 10, 25, None),
        ],
        plan_allowance: Some(Credits(300 * Credits::NANO)),
        models: vec![ModelInfo {
            model: "claude-opus-4.5".to_owned(),
            vendor: Some("anthropic".to_owned()),
            usd_per_million: BTreeMap::from([(TokenType::Input, 5.0), (TokenType::Output, 25.0)]),
            inferred: false,
        }],
        active_sessions: BTreeMap::from([(Surface::Cli, 2)]),
        last_call: BTreeMap::from([(Provider::Copilot, TAKEN)]),
        stores,
        ..Snapshot::default()
    }
}

/// 2026-12-01 12:00 UTC.
pub const TAKEN: Timestamp = Timestamp(1_796_126_400_000);

fn labels(n: usize) -> SeriesLabels {
    let name = match HOSTILE.get(n) {
        Some(name) => (*name).to_owned(),
        None => format!("project-{n:05}"),
    };
    SeriesLabels {
        provider: Provider::Copilot,
        model: if n % 3 == 2 {
            "gpt-5.1-codex"
        } else {
            "claude-opus-4.5"
        }
        .to_owned(),
        project: Project::named(&name),
        surface: Surface::Cli,
        user: None,
    }
}

fn values(n: u128) -> BTreeMap<Measure, Value> {
    let measures = [
        (Measure::Calls(Initiator::User), 3 + n),
        (Measure::Calls(Initiator::Agent), 40 + n),
        (Measure::Tokens(TokenType::Input), 1_000_000 + n),
        (Measure::Tokens(TokenType::CacheRead), 8_000_000 + n),
        (Measure::Tokens(TokenType::Output), 0),
        (Measure::CostReported, 1_234_567_890_123 + n),
        (Measure::Credits, 123_456_789_012),
        (Measure::Sessions, 1),
        (Measure::Bucket(Histogram::Duration, 2), 5),
        (Measure::Bucket(Histogram::Duration, 11), 1),
        (Measure::HistogramSum(Histogram::Duration), 312_345),
    ];
    let value = |amount| Value {
        amount,
        born: Timestamp(1_790_000_000_000),
        baseline: 0,
    };
    measures
        .map(|(measure, amount)| (measure, value(amount)))
        .into()
}

fn window_total(n: usize, window: Window) -> WindowTotal {
    let times = match window {
        Window::Today => 1,
        Window::Week => 4,
        Window::Month => 15,
    };
    WindowTotal {
        window,
        labels: labels(n),
        cost: (n % 7 != 6).then(|| Usd(Usd::PICO * times * (n as u128 + 1) / 3)),
        tokens: BTreeMap::from([
            (TokenType::Input, 120_000 * times),
            (TokenType::CacheRead, 2_400_000 * times),
            (TokenType::Output, 31_000 * times),
        ]),
        calls: 17 * times,
    }
}

fn days() -> Vec<DayTotal> {
    let today = jiff::civil::date(2026, 12, 1);
    (0..30)
        .map(|ago| DayTotal {
            date: today - jiff::Span::new().days(29 - ago),
            cost: (ago % 7 < 5).then(|| Usd(Usd::PICO * ((ago as u128 * 37) % 23 + 2) / 2)),
            calls: if ago % 7 < 5 { 60 } else { 0 },
        })
        .collect()
}

fn budget(name: &str, amount: u128, used: u128, forecast: Option<u128>) -> BudgetStatus {
    BudgetStatus {
        name: name.to_owned(),
        amount: Usd(amount * Usd::PICO),
        used: Usd(used * Usd::PICO),
        forecast: forecast.map(|usd| Usd(usd * Usd::PICO)),
    }
}

fn store(up: Option<bool>, problem: &str) -> StoreStatus {
    StoreStatus {
        up,
        files: up.map_or(0, |_| 12),
        last_success: up.filter(|&up| up).map(|_| TAKEN),
        bytes_read: 4_096,
        parse_errors: BTreeMap::from([("shape", 2)]),
        looked_at: vec!["/home/u/.copilot/<here>".into()],
        problems: (!problem.is_empty())
            .then(|| problem.to_owned())
            .into_iter()
            .collect(),
        ..StoreStatus::default()
    }
}
