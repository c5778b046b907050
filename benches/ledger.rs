//! A developer's ledger of a million calls: its size, a pass over nothing new, and a pass over one new call.

use std::collections::BTreeMap;
use std::path::Path;

use copilot_exporter::config::Config;
use copilot_exporter::ledger::{Ledger, ScanStatus, Settings};
use copilot_exporter::stores::{Cursor, Sink, StoreKind};
use copilot_exporter::usage::{
    CallFact, Evidence, Fact, Initiator, Key, Observation, Surface, Timestamp, TokenType, Tokens,
};
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};

const SESSIONS: u64 = 10_000;
const CALLS: u64 = 100;
const MODELS: [&str; 5] = [
    "gpt-5.4",
    "claude-opus-4.6",
    "claude-haiku-4.5",
    "gpt-5-mini",
    "gemini-3.1-pro",
];
/// 2026-12-01.
const NOW: Timestamp = Timestamp(1_796_083_200_000);
const DAY: u64 = 86_400_000;

/// As the CLI's store tells it: a record in the log, and a row in the database.
fn statements(session: u64, call: u64) -> [Observation; 2] {
    let number = session * CALLS + call;
    let name = format!("5d1e0000-0000-4000-8000-{session:012}");
    // Spread over the last 85 days, so that nothing folds.
    let began = NOW.0 as u64 - 85 * DAY + session * 85 * DAY / SESSIONS;
    let time = Timestamp((began + call * 20_000) as i64);
    let tokens = Tokens::default()
        .with(TokenType::Input, Some(number * 7_919 % 9_000))
        .with(TokenType::CacheRead, Some(number * 104_729 % 90_000))
        .with(TokenType::CacheWrite, Some(0))
        .with(TokenType::Output, Some(number * 31 % 2_000));
    let record = CallFact {
        evidence: Evidence::UsageRecord,
        keys: vec![Key::response(&number.to_string())],
        time: Some(time),
        model: Some(MODELS[(session % 5) as usize].to_owned()),
        provider: None,
        initiator: Initiator::Agent,
        tokens,
        estimated: false,
        credits: None,
        premium: None,
        duration_ms: Some(1_000 + number % 30_000),
        first_token_ms: None,
        project: None,
    };
    let row = CallFact {
        evidence: Evidence::StoreRow,
        keys: Vec::new(),
        ..record.clone()
    };
    [("record", record), ("row", row)].map(|(kind, fact)| Observation {
        scope: name.clone(),
        id: Key::of(kind, &[&number.to_string()]),
        surface: Surface::Cli,
        fact: Fact::Call(fact),
    })
}

fn open(dir: &Path) -> Ledger {
    let settings = Settings::new(&Config::default()).expect("the shipped prices");
    Ledger::open(Some(dir), settings, NOW).expect("a ledger")
}

fn pass(ledger: &mut Ledger) {
    ledger.begin_pass(NOW);
    ledger.finish_pass(NOW, ScanStatus::default(), BTreeMap::new());
}

fn take(ledger: &mut Ledger, source: &str, statements: impl IntoIterator<Item = Observation>) {
    let mut intake = ledger.intake(StoreKind::CliEvents, Path::new(source), None);
    for statement in statements {
        intake.observe(statement);
    }
    intake.finish(Cursor(vec![0; 120]), vec![0; 41]);
}

fn fill(dir: &Path) {
    let mut ledger = open(dir);
    for session in 0..SESSIONS {
        let calls = (0..CALLS).flat_map(|call| statements(session, call));
        take(&mut ledger, &session.to_string(), calls);
    }
    pass(&mut ledger);
}

fn size(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).expect("the state folder");
    entries
        .map(|entry| {
            entry
                .and_then(|entry| entry.metadata())
                .map_or(0, |of| of.len())
        })
        .sum()
}

fn million_calls(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let dir = folder.path().join("state");
    let begun = std::time::Instant::now();
    fill(&dir);
    println!(
        "a million calls, each told twice: {:.1} MB, {:.1} s",
        size(&dir) as f64 / 1e6,
        begun.elapsed().as_secs_f64()
    );
    let mut group = criterion.benchmark_group("million calls");
    group.sample_size(10);
    group.bench_function("start and a pass over nothing new", |bencher| {
        bencher.iter(|| pass(&mut open(&dir)));
    });
    let mut ledger = open(&dir);
    pass(&mut ledger);
    group.bench_function("a further pass over nothing new", |bencher| {
        bencher.iter(|| pass(&mut ledger));
    });
    let mut next = CALLS;
    group.bench_function("a pass over one new call", |bencher| {
        bencher.iter_batched(
            || {
                next += 1;
                statements(SESSIONS - 1, next)
            },
            |new| {
                take(&mut ledger, "growing", new);
                pass(&mut ledger);
            },
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

criterion_group!(benches, million_calls);
criterion_main!(benches);
