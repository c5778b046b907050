//! The ledger as a whole: statements in, snapshots out.

mod counting;
mod durable;
mod faults;
mod folding;
mod labels;
mod publishing;
mod released;
mod viewing;
mod windows;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Ledger, LedgerError, Reader, ScanStatus, Settings, Snapshot};
use crate::config::Config;
use crate::stores::{Cursor, Sink, StoreKind};
use crate::usage::{
    CallFact, Credits, Evidence, Fact, Initiator, Key, LegFact, Measure, Observation, Project,
    ProjectHint, ProjectRank, SessionFact, Surface, Timestamp, TokenType, Tokens, Tool, ToolFact,
    TurnFact,
};

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const DAY: i64 = 24 * 60 * MINUTE;

const INPUT: Measure = Measure::Tokens(TokenType::Input);
const OUTPUT: Measure = Measure::Tokens(TokenType::Output);

fn at(text: &str) -> Timestamp {
    Timestamp::parse_iso(text).unwrap()
}

/// The time at which every test begins.
fn start() -> Timestamp {
    at("2026-11-18T12:00:00Z")
}

/// A call of `session`, identified by `id`, at the start, of 100 tokens of input and 10 of output.
fn call(session: &str, id: &str) -> Observation {
    let tokens = Tokens::default()
        .with(TokenType::Input, Some(100))
        .with(TokenType::CacheRead, Some(0))
        .with(TokenType::CacheWrite, Some(0))
        .with(TokenType::Output, Some(10));
    Observation {
        scope: session.to_owned(),
        id: Key::event(id),
        surface: Surface::Cli,
        fact: Fact::Call(CallFact {
            evidence: Evidence::UsageRecord,
            keys: vec![Key::response(id)],
            time: Some(start()),
            model: Some("gpt-5.4".to_owned()),
            provider: None,
            initiator: Initiator::User,
            tokens,
            estimated: false,
            credits: None,
            premium: None,
            duration_ms: None,
            first_token_ms: None,
            project: None,
        }),
    }
}

/// The same, changed.
fn call_with(session: &str, id: &str, change: impl FnOnce(&mut CallFact)) -> Observation {
    let mut observation = call(session, id);
    if let Fact::Call(call) = &mut observation.fact {
        change(call);
    }
    observation
}

fn output(call: &mut CallFact, count: u64) {
    call.tokens = call.tokens.with(TokenType::Output, Some(count));
}

/// A span that names no session, about the call whose response id it shares.
fn lone_span(id: &str) -> Observation {
    let span = call_with("", id, |call| call.evidence = Evidence::Span);
    Observation {
        scope: Observation::lone_scope(Key::span("trace", id)),
        id: Key::span("trace", id),
        ..span
    }
}

/// The session's project.
fn project(session: &str, name: &str) -> Observation {
    Observation {
        scope: session.to_owned(),
        id: Key::of("session", &[session]),
        surface: Surface::Cli,
        fact: Fact::Session(SessionFact {
            project: Some(ProjectHint {
                rank: ProjectRank::Repository,
                project: Project::named(name).unwrap(),
            }),
            ..SessionFact::default()
        }),
    }
}

fn settings(config: &Config) -> Settings {
    Settings::new(config).unwrap()
}

fn config() -> Config {
    Config {
        time_zone: Some("UTC".to_owned()),
        ..Config::default()
    }
}

/// A ledger with a clock.
struct Book {
    dir: Option<tempfile::TempDir>,
    config: Config,
    now: Timestamp,
    ledger: Ledger,
}

impl Book {
    fn in_memory() -> Self {
        Self::with(None, config())
    }

    fn on_disk() -> Self {
        Self::with(Some(tempfile::tempdir().unwrap()), config())
    }

    fn with(dir: Option<tempfile::TempDir>, config: Config) -> Self {
        let path = dir.as_ref().map(|dir| dir.path().join("state"));
        let ledger = Ledger::open(path.as_deref(), settings(&config), start()).unwrap();
        Self {
            dir,
            config,
            now: start(),
            ledger,
        }
    }

    fn state_dir(&self) -> PathBuf {
        self.dir.as_ref().unwrap().path().join("state")
    }

    /// Ends the process at once, without any farewell, and starts another.
    fn restart(self) -> Self {
        self.stop().start().unwrap()
    }

    fn stop(self) -> Stopped {
        Stopped {
            dir: self.dir.unwrap(),
            config: self.config,
            now: self.now,
        }
    }

    fn later(&mut self, millis: i64) {
        self.now.0 += millis;
    }

    fn say(&mut self, source: &str, statements: impl IntoIterator<Item = Observation>) {
        self.say_by(StoreKind::CliEvents, source, statements);
    }

    fn say_by(
        &mut self,
        kind: StoreKind,
        source: &str,
        statements: impl IntoIterator<Item = Observation>,
    ) {
        let mut intake = self.ledger.intake(kind, Path::new(source), None);
        for statement in statements {
            intake.observe(statement);
        }
        intake.finish(Cursor(b"end".to_vec()), b"stamp".to_vec());
    }

    /// Ends a pass.
    fn publish(&mut self) -> Arc<Snapshot> {
        let snapshot = self
            .ledger
            .finish_pass(self.now, ScanStatus::default(), BTreeMap::new());
        self.ledger.begin_pass(self.now);
        snapshot
    }

    /// A whole pass with one source.
    fn pass(&mut self, statements: impl IntoIterator<Item = Observation>) -> Arc<Snapshot> {
        self.say("a", statements);
        self.publish()
    }

    /// The same, and somebody gets the snapshot.
    fn seen_pass(&mut self, statements: impl IntoIterator<Item = Observation>) -> Arc<Snapshot> {
        let snapshot = self.pass(statements);
        snapshot.mark_seen();
        snapshot
    }
}

/// A ledger that nobody keeps.
struct Stopped {
    dir: tempfile::TempDir,
    config: Config,
    now: Timestamp,
}

impl Stopped {
    fn start(self) -> Result<Book, LedgerError> {
        let path = self.dir.path().join("state");
        let ledger = Ledger::open(Some(&path), settings(&self.config), self.now)?;
        Ok(Book {
            dir: Some(self.dir),
            config: self.config,
            now: self.now,
            ledger,
        })
    }
}

/// The published sum of a measure over all series.
fn sum(snapshot: &Snapshot, measure: Measure) -> u128 {
    snapshot
        .series
        .iter()
        .filter_map(|series| series.values.get(&measure))
        .map(|value| value.amount)
        .sum()
}

fn calls(snapshot: &Snapshot) -> u128 {
    Initiator::ALL
        .into_iter()
        .map(|initiator| sum(snapshot, Measure::Calls(initiator)))
        .sum()
}

/// The published value of a measure in the series of a project.
fn of_project(snapshot: &Snapshot, project: &str, measure: Measure) -> Option<u128> {
    let is_it = |label: &Project| label.as_str() == project;
    let series = snapshot
        .series
        .iter()
        .find(|series| series.labels.project.as_ref().is_some_and(is_it))?;
    series.values.get(&measure).map(|value| value.amount)
}

/// All published values.
fn published(snapshot: &Snapshot) -> Vec<(String, Measure, u128)> {
    snapshot
        .series
        .iter()
        .flat_map(|series| {
            series
                .values
                .iter()
                .map(|(&measure, value)| (format!("{:?}", series.labels), measure, value.amount))
        })
        .collect()
}

/// The truth, as reports have it.
fn truth(ledger: &Ledger, measure: Measure) -> u128 {
    let mut sum = 0;
    ledger
        .amounts(|amount| {
            if amount.measure == measure {
                sum += u128::from(amount.amount);
            }
        })
        .unwrap();
    sum
}

/// Input by project, as reports have it.
fn told(book: &Book) -> BTreeMap<String, u64> {
    let mut by_project: BTreeMap<String, u64> = BTreeMap::new();
    book.ledger
        .amounts(|amount| {
            if amount.measure == INPUT {
                *by_project
                    .entry(amount.labels.project.clone().unwrap().to_string())
                    .or_default() += amount.amount;
            }
        })
        .unwrap();
    by_project
}

fn credits(call: &mut CallFact, nano: u64) {
    call.credits = Some(Credits(nano));
}
