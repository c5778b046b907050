//! `stores`: what was looked for, what was found, what it holds and what is wrong with it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde::Serialize;
use tracing::subscriber::NoSubscriber;

use super::{CommandError, Setup, print, progress};
use crate::cli::StoresArgs;
use crate::ledger::{Snapshot, StoreStatus, Told};
use crate::stores::StoreKind;
use crate::usage::printable;

/// How many problems of one store the table shows.
const MOST_PROBLEMS: usize = 5;

/// One store, as `--json` prints it.
#[derive(Debug, Serialize)]
struct Row<'a> {
    store: &'static str,
    /// `up`, `down` or `absent`.
    state: &'static str,
    files: u64,
    /// `null` for databases: SQLite reads what it needs.
    bytes_read: Option<u64>,
    told: Told,
    /// Statements about calls that another store had told already or better.
    duplicates: u64,
    skipped: &'a BTreeMap<&'static str, u64>,
    parse_errors: &'a BTreeMap<&'static str, u64>,
    problems: &'a [String],
    looked_at: Vec<String>,
}

/// Reads everything anew, without a ledger: it shows what is there now.
pub(super) fn run(setup: &Setup, args: &StoresArgs) -> Result<(), CommandError> {
    let mut scanner = setup.scanner()?;
    // What is wrong is told below, store by store.
    let snapshot = tracing::subscriber::with_default(NoSubscriber::new(), || {
        scanner.pass(&mut progress::on_terminal())
    });
    let rows: Vec<Row<'_>> = snapshot
        .stores
        .iter()
        .map(|(&kind, status)| row(&snapshot, kind, status))
        .collect();
    let text = if args.json {
        let mut json = serde_json::to_string_pretty(&rows)
            .map_err(|error| CommandError::failed(error.to_string()))?;
        json.push('\n');
        json
    } else {
        table(&rows, &snapshot)
    };
    print(&text)
}

fn row<'a>(snapshot: &Snapshot, kind: StoreKind, status: &'a StoreStatus) -> Row<'a> {
    Row {
        store: kind.as_str(),
        state: match status.up {
            Some(true) => "up",
            Some(false) => "down",
            None => "absent",
        },
        files: status.files,
        bytes_read: (!kind.is_database()).then_some(status.bytes_read),
        told: status.told,
        duplicates: snapshot
            .duplicate_observations
            .get(&kind)
            .copied()
            .unwrap_or(0),
        skipped: &status.skipped,
        parse_errors: &status.parse_errors,
        problems: &status.problems,
        looked_at: status
            .looked_at
            .iter()
            .map(|path| printable(&path.to_string_lossy()).into_owned())
            .collect(),
    }
}

fn table(rows: &[Row<'_>], snapshot: &Snapshot) -> String {
    let mut text = format!(
        "{:<22} {:<7} {:>7} {:>12}  {}\n",
        "STORE", "STATE", "FILES", "BYTES READ", "TELLS OF"
    );
    let (found, absent): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row.state != "absent");
    for row in found {
        let bytes = row.bytes_read.map_or("–".to_owned(), |n| n.to_string());
        let _ = writeln!(
            text,
            "{:<22} {:<7} {:>7} {:>12}  {}",
            row.store,
            row.state,
            row.files,
            bytes,
            held(row.told)
        );
        for (what, counts) in [
            ("skipped", row.skipped),
            ("not understood", row.parse_errors),
        ] {
            for (reason, count) in counts {
                let _ = writeln!(text, "    {what}: {count} ({reason})");
            }
        }
        if row.duplicates > 0 {
            let _ = writeln!(
                text,
                "    told by another store as well: {}",
                row.duplicates
            );
        }
        for problem in row.problems.iter().take(MOST_PROBLEMS) {
            let _ = writeln!(text, "    problem: {problem}");
        }
        let more = row.problems.len().saturating_sub(MOST_PROBLEMS);
        if more > 0 {
            let _ = writeln!(text, "    and {more} problems more; --json lists all");
        }
    }
    // Several stores may be looked for in the same places: these are named once.
    let mut named: BTreeMap<&str, &str> = BTreeMap::new();
    for row in absent {
        let _ = writeln!(text, "{:<22} absent", row.store);
        let mut elsewhere = BTreeSet::new();
        for place in &row.looked_at {
            match named.get(place.as_str()) {
                Some(&store) => {
                    elsewhere.insert(store);
                }
                None => {
                    named.insert(place, row.store);
                    let _ = writeln!(text, "    looked at {place}");
                }
            }
        }
        for store in elsewhere {
            let _ = writeln!(text, "    looked at places of {store}");
        }
        for problem in row.problems {
            let _ = writeln!(text, "    {problem}");
        }
    }
    let calls: u128 = snapshot.series.iter().map(calls).sum();
    let _ = writeln!(text, "\n{calls} calls in all, each counted once.");
    text
}

/// What a store says, as counts of its statements: `120 calls, 3 failures`.
fn held(told: Told) -> String {
    let counts = [
        (told.calls, "call"),
        (told.turns, "turn"),
        (told.legs, "run"),
        (told.totals, "running total"),
        (told.failures, "failure"),
        (told.tool_calls, "tool call"),
    ];
    let some: Vec<String> = counts
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, what)| format!("{n} {what}{}", if *n == 1 { "" } else { "s" }))
        .collect();
    if some.is_empty() {
        "no calls".to_owned()
    } else {
        some.join(", ")
    }
}

fn calls(series: &crate::ledger::Series) -> u128 {
    let is_call = |measure| matches!(measure, crate::usage::Measure::Calls(_));
    series
        .values
        .iter()
        .filter(|&(&measure, _)| is_call(measure))
        .map(|(_, value)| value.amount)
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_named_once() {
        let snapshot = Snapshot::default();
        let absent = StoreStatus {
            looked_at: vec!["/a".into(), "/b".into()],
            ..StoreStatus::default()
        };
        let rows = [StoreKind::VsCodeChat, StoreKind::VsCodeDebug]
            .map(|kind| row(&snapshot, kind, &absent));
        let table = table(&rows, &snapshot);
        assert_eq!(table.matches("/a\n").count(), 1, "{table}");
        assert!(table.contains("looked at places of vscode_chat"), "{table}");
    }

    #[test]
    fn it_tells_what_is_held_and_the_first_problems() {
        let snapshot = Snapshot::default();
        let files = StoreStatus {
            up: Some(false),
            files: 9,
            bytes_read: 4_096,
            told: Told {
                calls: 120,
                failures: 1,
                ..Told::default()
            },
            problems: (0..9).map(|n| format!("problem number {n}")).collect(),
            ..StoreStatus::default()
        };
        let database = StoreStatus {
            up: Some(true),
            files: 1,
            ..StoreStatus::default()
        };
        let rows = [
            row(&snapshot, StoreKind::CliEvents, &files),
            row(&snapshot, StoreKind::CliStore, &database),
        ];
        let table = table(&rows, &snapshot);
        assert!(table.contains("4096  120 calls, 1 failure\n"), "{table}");
        assert!(table.contains("–  no calls\n"), "{table}");
        assert_eq!(table.matches("problem number").count(), 5, "{table}");
        assert!(table.contains("and 4 problems more"), "{table}");
    }
}
