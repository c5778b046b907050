//! Genuine CLI sessions that become visible bit by bit, in any order, cut at any byte, over restarts: no
//! counter ever falls, and in the end all agree with the provider's bill.

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use copilot_exporter::config::Config;
use copilot_exporter::ledger::{Ledger, SeriesLabels, Settings, Snapshot};
use copilot_exporter::scan::Scanner;
use copilot_exporter::usage::{Measure, Timestamp, TokenType};
use proptest::prelude::*;
use serde_json::Value;

use support::home::Home;

/// Sessions of all kinds of clients.
const SCENARIOS: [&str; 10] = [
    "anthropic",
    "compaction",
    "errors",
    "interactive",
    "kill-resume",
    "provider-cost",
    "subagents",
    "ver-1.0.24",
    "ver-1.0.49",
    "ver-1.0.75",
];

/// The bytes of a file that become visible at once, appended to what is there.
#[derive(Debug, Clone)]
struct Piece {
    file: PathBuf,
    bytes: Vec<u8>,
}

fn files(dir: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
}

/// The files of a scenario, logs cut in pieces; a database and its `-wal` are one step.
fn steps(name: &str, cuts: &[f64]) -> Vec<Vec<Piece>> {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures/copilot-cli")
        .join(name);
    let mut steps = Vec::new();
    let mut store = Vec::new();
    for (from, to) in [("home", ""), ("otel", ".copilot/otel")] {
        let root = fixture.join(from);
        let mut found = Vec::new();
        if root.exists() {
            files(&root, &mut found);
        }
        for path in found {
            let file = Path::new(to).join(path.strip_prefix(&root).unwrap());
            let bytes = fs::read(&path).unwrap();
            if file.to_string_lossy().contains("session-store") {
                store.push(Piece { file, bytes });
            } else {
                steps.push(cut(&file, &bytes, cuts));
            }
        }
    }
    steps.push(vec![]);
    let mut sequences: Vec<Vec<Vec<Piece>>> = steps
        .into_iter()
        .map(|pieces| pieces.into_iter().map(|piece| vec![piece]).collect())
        .collect();
    sequences.push(vec![store]);
    interleave(sequences, cuts)
}

fn cut(file: &Path, bytes: &[u8], cuts: &[f64]) -> Vec<Piece> {
    let mut places: Vec<usize> = cuts
        .iter()
        .map(|cut| (cut * bytes.len() as f64) as usize)
        .collect();
    places.extend([0, bytes.len()]);
    places.sort_unstable();
    places
        .windows(2)
        .map(|pair| Piece {
            file: file.to_owned(),
            bytes: bytes[pair[0]..pair[1]].to_vec(),
        })
        .collect()
}

/// One step of one sequence after the other, in an order that `choices` gives.
fn interleave(mut sequences: Vec<Vec<Vec<Piece>>>, choices: &[f64]) -> Vec<Vec<Piece>> {
    for sequence in &mut sequences {
        sequence.reverse();
    }
    let mut steps = Vec::new();
    let mut at = 0;
    while sequences.iter().any(|sequence| !sequence.is_empty()) {
        sequences.retain(|sequence| !sequence.is_empty());
        let choice = choices[at % choices.len()] * 7.3 + at as f64 * 0.37;
        at += 1;
        let chosen = (choice.fract() * sequences.len() as f64) as usize;
        steps.extend(sequences[chosen].pop());
    }
    steps
}

fn scanner(home: &Path, state: &Path) -> Scanner {
    let config = Config {
        homes: vec![home.display().to_string()],
        ..Config::default()
    };
    let settings = Settings::new(&config).unwrap();
    let ledger = Ledger::open(Some(state), settings, Timestamp::now()).unwrap();
    Scanner::new(&config, ledger)
}

type Counters = BTreeMap<(SeriesLabels, Measure), u128>;

fn counters(snapshot: &Snapshot) -> Counters {
    let series = snapshot.series.iter().flat_map(|series| {
        let values = series.values.iter();
        values.map(|(measure, value)| ((series.labels.clone(), *measure), value.amount))
    });
    series.collect()
}

/// Calls and the four classes of tokens by model.
fn sums(counters: &Counters) -> BTreeMap<String, [u128; 5]> {
    let mut sums: BTreeMap<String, [u128; 5]> = BTreeMap::new();
    for ((labels, measure), amount) in counters {
        let at = match measure {
            Measure::Calls(_) => 0,
            Measure::Tokens(class) => 1 + TokenType::ALL.iter().position(|c| c == class).unwrap(),
            _ => continue,
        };
        sums.entry(labels.model.to_string()).or_default()[at] += amount;
    }
    sums
}

fn held(name: &str) -> BTreeMap<String, [u128; 5]> {
    let path = format!(
        "{}/fixtures/copilot-cli/{name}/truth.json",
        env!("CARGO_MANIFEST_DIR")
    );
    let truth: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let of_model = |sums: &Value| {
        ["calls", "input", "cache_read", "cache_write", "output"]
            .map(|key| u128::from(sums[key].as_u64().unwrap()))
    };
    let models = truth["held"].as_object().unwrap().iter();
    models
        .map(|(model, sums)| (model.replace("sonnet-4.6", "sonnet-4-6"), of_model(sums)))
        .collect()
}

#[test]
fn edge_073_and_088_deleted_stores_take_nothing_away() {
    for name in ["compaction", "subagents"] {
        let (home, state) = (Home::new(), tempfile::tempdir().unwrap());
        let home = home.with(&format!("copilot-cli/{name}/home"), "");
        let mut scanner_ = scanner(home.path(), state.path());
        let first = counters(&scanner_.pass(&mut |_| {}));
        assert_eq!(sums(&first), held(name));
        for gone in ["session-store.db", "session-store.db-wal"] {
            fs::remove_file(home.path().join(".copilot").join(gone)).unwrap();
        }
        assert_eq!(counters(&scanner_.pass(&mut |_| {})), first);
        fs::remove_dir_all(home.path().join(".copilot")).unwrap();
        drop(scanner_);
        let mut scanner_ = scanner(home.path(), state.path());
        assert_eq!(counters(&scanner_.pass(&mut |_| {})), first);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 24,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn stores_may_appear_in_any_order(
        scenario in prop::sample::select(SCENARIOS.as_slice()),
        cuts in prop::collection::vec(0.0..1.0f64, 1..4),
        restarts in any::<u64>(),
    ) {
        let (home, state) = (Home::new(), tempfile::tempdir().unwrap());
        let mut scanner_ = scanner(home.path(), state.path());
        let mut before = Counters::new();
        for (at, step) in steps(scenario, &cuts).into_iter().enumerate() {
            for piece in step {
                home.append(&piece.file.to_string_lossy(), piece.bytes);
            }
            if restarts >> (at % 64) & 1 == 1 {
                drop(scanner_);
                scanner_ = scanner(home.path(), state.path());
            }
            let snapshot = scanner_.pass(&mut |_| {});
            snapshot.mark_seen();
            let now = counters(&snapshot);
            for (counter, amount) in &before {
                let present = now.get(counter);
                prop_assert!(present >= Some(amount), "{counter:?}: {amount} then {present:?}");
            }
            before = now;
        }
        // What waited at 0 for a scrape is shown by the next pass.
        let last = scanner_.pass(&mut |_| {});
        prop_assert_eq!(sums(&counters(&last)), held(scenario));
    }
}
