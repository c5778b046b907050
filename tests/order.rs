//! Stores of genuine CLI sessions become visible in any order and piece by piece, with restarts between: the
//! totals are the bill's in the end, and on the way no counter falls.

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use copilot_exporter::config::Config;
use copilot_exporter::ledger::{Ledger, SeriesLabels, Settings, Snapshot};
use copilot_exporter::scan::Scanner;
use copilot_exporter::usage::{Measure, Timestamp, TokenType};
use proptest::prelude::*;
use serde::Deserialize;
use support::home::Home;

const SCENARIOS: [&str; 16] = [
    "anthropic",
    "basic",
    "compaction",
    "errors",
    "interactive",
    "kill-resume",
    "nogit",
    "otel-file",
    "provider-cost",
    "responses-reasoning",
    "resume-model-switch",
    "subagents",
    "ver-1.0.102",
    "ver-1.0.24",
    "ver-1.0.49",
    "ver-1.0.75",
];

/// The calls of which some store of the scenario tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
struct Sums {
    calls: u128,
    input: u128,
    cache_read: u128,
    cache_write: u128,
    output: u128,
}

#[derive(Deserialize)]
struct Truth {
    held: BTreeMap<String, Sums>,
}

impl Sums {
    fn held(scenario: &str) -> Self {
        let truth = fs::read(fixtures(scenario).join("truth.json")).unwrap();
        let truth: Truth = serde_json::from_slice(&truth).unwrap();
        truth
            .held
            .values()
            .fold(Self::default(), |sum, of_model| Self {
                calls: sum.calls + of_model.calls,
                input: sum.input + of_model.input,
                cache_read: sum.cache_read + of_model.cache_read,
                cache_write: sum.cache_write + of_model.cache_write,
                output: sum.output + of_model.output,
            })
    }

    /// Over all series: what was counted under a label before it was known better stays there.
    fn published(values: &Published) -> Self {
        let sum = |wanted: &dyn Fn(Measure) -> bool| {
            let wanted = values.iter().filter(|((_, measure), _)| wanted(*measure));
            wanted.map(|(_, amount)| amount).sum()
        };
        let tokens = |class| sum(&|measure| measure == Measure::Tokens(class));
        Self {
            calls: sum(&|measure| matches!(measure, Measure::Calls(_))),
            input: tokens(TokenType::Input),
            cache_read: tokens(TokenType::CacheRead),
            cache_write: tokens(TokenType::CacheWrite),
            output: tokens(TokenType::Output),
        }
    }
}

fn fixtures(scenario: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures/copilot-cli")
        .join(scenario)
}

/// A file of the scenario, and how much of it can be seen.
#[derive(Debug)]
struct Growing {
    at: String,
    content: Vec<u8>,
    visible: usize,
}

/// The files of a scenario. The database and its log are seen together: a part of a database is none.
fn files(scenario: &str) -> (Vec<Growing>, Vec<Growing>) {
    let mut found = Vec::new();
    let home = fixtures(scenario).join("home");
    list(&home, &home, "", &mut found);
    let otel = fixtures(scenario).join("otel");
    if otel.exists() {
        list(&otel, &otel, ".copilot/otel/", &mut found);
    }
    found.sort_by(|a, b| a.at.cmp(&b.at));
    found
        .into_iter()
        .partition(|file| !file.at.contains("session-store"))
}

fn list(root: &Path, folder: &Path, prefix: &str, found: &mut Vec<Growing>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            list(root, &path, prefix, found);
            continue;
        }
        let relative = path.strip_prefix(root).unwrap().to_str().unwrap();
        found.push(Growing {
            at: format!("{prefix}{relative}"),
            content: fs::read(&path).unwrap(),
            visible: 0,
        });
    }
}

/// Every value that was shown.
type Published = BTreeMap<(SeriesLabels, Measure), u128>;

fn published(snapshot: &Snapshot) -> Published {
    let values = snapshot.series.iter().flat_map(|series| {
        let value = |(&measure, value): (&Measure, _)| {
            let value: &copilot_exporter::ledger::Value = value;
            ((series.labels.clone(), measure), value.amount)
        };
        series.values.iter().map(value)
    });
    values.collect()
}

/// A home that fills, and an exporter that watches it.
struct Watched {
    home: Home,
    state: tempfile::TempDir,
    scanner: Option<Scanner>,
    shown: Published,
}

impl Watched {
    fn new() -> Self {
        Self {
            home: Home::new(),
            state: tempfile::tempdir().unwrap(),
            scanner: None,
            shown: Published::new(),
        }
    }

    fn show_up_to(&self, file: &mut Growing, end: usize) {
        self.home.append(&file.at, &file.content[file.visible..end]);
        file.visible = end;
    }

    fn scanner(&mut self) -> &mut Scanner {
        let (home, state) = (self.home.path(), self.state.path());
        self.scanner.get_or_insert_with(|| {
            let config = Config {
                homes: vec![home.display().to_string()],
                ..Config::default()
            };
            let settings = Settings::new(&config).unwrap();
            let ledger = Ledger::open(Some(state), settings, Timestamp::now()).unwrap();
            Scanner::new(&config, ledger)
        })
    }

    fn restart(&mut self) {
        self.scanner = None;
    }

    fn pass(&mut self, seen: bool) -> Result<(), TestCaseError> {
        let snapshot = self.scanner().pass(&mut |_| ());
        if seen {
            snapshot.mark_seen();
        }
        let now = published(&snapshot);
        for (place, before) in &self.shown {
            prop_assert!(
                now.get(place) >= Some(before),
                "{place:?} fell from {before}"
            );
        }
        self.shown = now;
        Ok(())
    }
}

/// What happens next; the numbers choose among what is possible.
#[derive(Debug, Clone)]
enum Step {
    Grow { file: prop::sample::Index, by: u32 },
    Store,
    Restart,
    Pass { seen: bool },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (any::<prop::sample::Index>(), 1_u32..20_000)
            .prop_map(|(file, by)| Step::Grow { file, by }),
        1 => Just(Step::Store),
        1 => Just(Step::Restart),
        4 => any::<bool>().prop_map(|seen| Step::Pass { seen }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 48,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn whatever_the_order_the_totals_are_the_bills(
        scenario in prop::sample::select(SCENARIOS.as_slice()),
        steps in prop::collection::vec(step(), 0..40),
        // The last to be seen whole.
        last in any::<prop::sample::Index>(),
    ) {
        let (mut growing, mut store) = files(scenario);
        let mut watched = Watched::new();
        for step in steps {
            match step {
                Step::Grow { file, by } => {
                    let file = file.index(growing.len());
                    let file = &mut growing[file];
                    let end = file.content.len().min(file.visible + by as usize);
                    watched.show_up_to(file, end);
                }
                Step::Store => show_store(&watched, &mut store),
                Step::Restart => watched.restart(),
                Step::Pass { seen } => watched.pass(seen)?,
            }
        }
        let last = last.index(growing.len());
        growing.rotate_left(last);
        for file in &mut growing {
            watched.show_up_to(file, file.content.len());
            watched.pass(true)?;
        }
        show_store(&watched, &mut store);
        // A new series is shown with 0 first.
        for _ in 0..3 {
            watched.pass(true)?;
        }
        prop_assert_eq!(Sums::published(&watched.shown), Sums::held(scenario), "{}", scenario);
    }
}

fn show_store(watched: &Watched, store: &mut [Growing]) {
    for file in store {
        watched.show_up_to(file, file.content.len());
    }
}
