//! `stores`: what was looked for, what was found, what it holds and what is wrong with it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use super::{CommandError, Setup, print, progress};
use crate::cli::StoresArgs;
use crate::ledger::{Snapshot, StoreStatus};
use crate::stores::StoreKind;

/// One store, as `--json` prints it.
#[derive(Debug, Serialize)]
struct Row<'a> {
    store: &'static str,
    /// `up`, `down` or `absent`.
    state: &'static str,
    files: u64,
    bytes_read: u64,
    /// Statements about calls that another store had told already or better.
    duplicates: u64,
    skipped: &'a BTreeMap<&'static str, u64>,
    parse_errors: &'a BTreeMap<&'static str, u64>,
    problems: &'a [String],
    looked_at: Vec<String>,
}

/// Reads everything anew, without a ledger: it shows what is there now.
pub(super) fn run(setup: &Setup, args: &StoresArgs) -> Result<(), CommandError> {
    let snapshot = setup.scanner()?.pass(&mut progress::on_terminal());
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
        bytes_read: status.bytes_read,
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
            .map(|path| path.display().to_string())
            .collect(),
    }
}

fn table(rows: &[Row<'_>], snapshot: &Snapshot) -> String {
    let mut text = format!(
        "{:<22} {:<7} {:>7} {:>12}\n",
        "STORE", "STATE", "FILES", "BYTES READ"
    );
    let (found, absent): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row.state != "absent");
    for row in found {
        let _ = writeln!(
            text,
            "{:<22} {:<7} {:>7} {:>12}",
            row.store, row.state, row.files, row.bytes_read
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
        for problem in row.problems {
            let _ = writeln!(text, "    problem: {problem}");
        }
    }
    for row in absent {
        let _ = writeln!(text, "{:<22} absent", row.store);
        for place in &row.looked_at {
            let _ = writeln!(text, "    looked at {place}");
        }
        for problem in row.problems {
            let _ = writeln!(text, "    {problem}");
        }
    }
    let calls: u128 = snapshot.series.iter().map(calls).sum();
    let _ = writeln!(text, "\n{calls} calls in all, each counted once.");
    text
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
