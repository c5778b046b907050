//! Genuine stores of VS Code: all of them together give the bill, and each subset gives what it can know.

use copilot_exporter::usage::{Initiator, Measure};
use serde::Deserialize;

use crate::figures::{Figures, OUTFILE, pass, scanner};
use crate::support::home::Home;
use crate::support::tools;

const FIXTURE: &str = "vscode/copilot-chat-0.67";
const WORKSPACE: &str = ".config/Code/User/workspaceStorage/711913d1";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Store {
    ChatSession,
    Transcript,
    DebugLogs,
    Traces,
    Outfile,
}

const STORES: [Store; 5] = [
    Store::ChatSession,
    Store::Transcript,
    Store::DebugLogs,
    Store::Traces,
    Store::Outfile,
];

impl Store {
    /// Its name in the fixture, and its place in a home.
    fn place(self) -> (&'static str, String) {
        let extension = format!("{WORKSPACE}/GitHub.copilot-chat");
        match self {
            Self::ChatSession => ("chatSessions", format!("{WORKSPACE}/chatSessions")),
            Self::Transcript => ("transcripts", format!("{extension}/transcripts")),
            Self::DebugLogs => ("debug-logs", format!("{extension}/debug-logs")),
            Self::Traces => (
                "agent-traces.db",
                ".config/Code/User/globalStorage/github.copilot-chat/agent-traces.db".to_owned(),
            ),
            Self::Outfile => (OUTFILE, OUTFILE.to_owned()),
        }
    }

    fn put(self, home: Home) -> Home {
        let (from, to) = self.place();
        home.with(&format!("{FIXTURE}/{from}"), &to)
    }
}

fn subsets() -> impl Iterator<Item = Vec<Store>> {
    (1..1_u32 << STORES.len()).map(|bits| {
        let chosen = STORES.iter().enumerate();
        chosen
            .filter(|(at, _)| bits & (1 << at) != 0)
            .map(|(_, &store)| store)
            .collect()
    })
}

#[derive(Deserialize)]
struct Truth {
    calls: Vec<TrueCall>,
}

#[derive(Deserialize)]
struct TrueCall {
    seq: u32,
    billed: Option<Billed>,
}

#[derive(Deserialize)]
struct Billed {
    input_total: u128,
    cache_read: u128,
    output_total: u128,
    reasoning: u128,
}

/// Sums over the bill's calls with these numbers.
struct Bill(Truth);

impl Bill {
    fn read() -> Self {
        let path = tools::root().join(format!("fixtures/{FIXTURE}/truth.json"));
        Self(serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap())
    }

    fn sum(&self, numbers: impl IntoIterator<Item = u32>, of: fn(&Billed) -> u128) -> u128 {
        let billed = |seq| {
            let mut calls = self.0.calls.iter();
            let call = calls.find(|call| call.seq == seq).unwrap();
            of(call.billed.as_ref().unwrap())
        };
        numbers.into_iter().map(billed).sum()
    }

    /// What these stores can know, by what the fixture's description says of each.
    fn known_to(&self, stores: &[Store]) -> Figures {
        let has = |store| stores.contains(&store);
        let (gross, cached) = (
            |call: &Billed| call.input_total,
            |call: &Billed| call.cache_read,
        );
        let output = |call: &Billed| call.output_total;
        let mut known = Figures {
            failures: u128::from(has(Store::ChatSession)),
            ..Figures::default()
        };
        if has(Store::Traces) {
            known.calls = 7;
            known.input = Some(self.sum(1..=7, gross) - self.sum(1..=7, cached));
            known.cache_read = Some(self.sum(1..=7, cached));
            known.output = Some(self.sum(1..=7, output));
            known.reasoning = Some(self.sum(1..=7, |call| call.reasoning));
        } else if has(Store::DebugLogs) || has(Store::Outfile) {
            let first = if has(Store::Outfile) { 1 } else { 3 };
            known.calls = if has(Store::Outfile) { 7 } else { 5 };
            known.cache_read = has(Store::DebugLogs).then(|| self.sum(3..=7, cached));
            known.input = Some(self.sum(first..=7, gross) - known.cache_read.unwrap_or(0));
            known.output = Some(self.sum(first..=7, output));
            // Neither tells what was written to the cache.
            known.partial = known.calls;
        } else if has(Store::ChatSession) {
            known.calls = 2;
            known.input = Some(self.sum([3, 7], gross));
            known.output = Some(self.sum([3, 4, 5, 7], output));
            known.partial = 2;
        } else {
            known.calls = 5;
            // A quarter of the lengths of what was said: 57, 106, 94, 42 and 42 characters.
            known.output = Some(15 + 27 + 24 + 11 + 11);
            known.estimated_output = known.output;
            known.partial = 5;
        }
        known
    }
}

#[test]
fn every_subset_of_the_genuine_stores_gives_what_it_can_know() {
    let bill = Bill::read();
    for stores in subsets() {
        let home = stores
            .iter()
            .fold(Home::new(), |home, store| store.put(home));
        let mut scanner = scanner(home.path());
        let known = pass(&mut scanner);
        assert_eq!(known, bill.known_to(&stores), "{stores:?}");
        assert_eq!(pass(&mut scanner), known, "nothing is new: {stores:?}");
    }
}

#[test]
fn labels_of_the_genuine_stores() {
    let home = STORES
        .iter()
        .fold(Home::new(), |home, store| store.put(home));
    let mut scanner = scanner(home.path());
    let snapshot = scanner.pass(&mut |_| ());
    let calls: Vec<_> = snapshot
        .series
        .iter()
        .flat_map(|series| {
            let labels = &series.labels;
            let project = labels
                .project
                .as_ref()
                .map_or("", |project| project.as_str());
            series
                .values
                .iter()
                .filter_map(move |(measure, value)| match measure {
                    Measure::Calls(initiator) => Some((
                        labels.provider.as_str(),
                        labels.model.as_str(),
                        project,
                        *initiator == Initiator::Subagent,
                        value.amount,
                    )),
                    _ => None,
                })
        })
        .collect();
    let of = |provider: &str, sub_agent: bool| -> u128 {
        let chosen = calls
            .iter()
            .filter(|call| call.0 == provider && call.3 == sub_agent);
        chosen.map(|call| call.4).sum()
    };
    assert_eq!(
        (of("customendpoint", false), of("customendpoint", true)),
        (4, 1)
    );
    assert_eq!(
        of("local", false),
        2,
        "background calls, of no session: {calls:?}"
    );
    assert!(calls.iter().all(|call| call.1 == "demo-large"));
    assert!(calls.iter().all(|call| call.2
        == if call.0 == "local" {
            "unknown"
        } else {
            "demo-repo"
        }));
}

/// Edge cases 163 and 69: stores that are switched on later upgrade what is counted, and add nothing twice.
#[test]
fn stores_that_arrive_later_upgrade_in_place() {
    let bill = Bill::read();
    for first in STORES {
        for second in STORES.into_iter().filter(|&second| second != first) {
            let home = first.put(Home::new());
            let mut scanner = scanner(home.path());
            let before = pass(&mut scanner);
            let home = second.put(home);
            // A new series is shown at 0 first.
            pass(&mut scanner);
            let after = pass(&mut scanner);
            let known = bill.known_to(&[first, second]);
            assert_eq!(
                after.calls,
                known.calls.max(before.calls),
                "{first:?}, {second:?}"
            );
            assert_eq!(after.failures, known.failures, "{first:?}, {second:?}");
            assert_eq!(
                after.output,
                known.output.max(before.output),
                "{first:?}, {second:?}"
            );
            // What was published of the last round's prompt, where it was more than its uncached part, stays.
            assert!(after.input >= known.input, "{first:?}, {second:?}");
            drop(home);
        }
    }
}

/// Stores that go away leave their totals behind (edge cases 160 and 215).
#[test]
fn deleted_stores_leave_their_totals() {
    let home = STORES
        .iter()
        .fold(Home::new(), |home, store| store.put(home));
    let mut scanner = scanner(home.path());
    let before = pass(&mut scanner);
    std::fs::remove_dir_all(home.path().join(".config")).unwrap();
    assert_eq!(pass(&mut scanner), before);
}

#[test]
fn another_extensions_participant_is_not_copilots() {
    let place = format!("{WORKSPACE}/chatSessions/s.jsonl");
    let home = Home::new().with("vscode/journal-other-participant.jsonl", &place);
    let mut scanner = scanner(home.path());
    let snapshot = scanner.pass(&mut |_| ());
    assert_eq!(Figures::of(&snapshot), Figures::default());
}
