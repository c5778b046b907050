//! What the exporter makes of a home.

use std::collections::BTreeMap;
use std::path::Path;

use copilot_exporter::config::Config;
use copilot_exporter::ledger::{Ledger, Settings, Snapshot};
use copilot_exporter::scan::Scanner;
use copilot_exporter::usage::{Measure, Timestamp, TokenType};

/// The name of an OTel file in a home; the configuration names it.
pub const OUTFILE: &str = "copilot-otel.jsonl";

pub fn scanner(home: &Path) -> Scanner {
    let config = Config {
        homes: vec![home.display().to_string()],
        otel_files: vec![home.join(OUTFILE)],
        ..Config::default()
    };
    let settings = Settings::new(&config).unwrap();
    let ledger = Ledger::open(None, settings, Timestamp::now()).unwrap();
    Scanner::new(&config, ledger)
}

pub fn pass(scanner: &mut Scanner) -> Figures {
    let snapshot = scanner.pass(&mut |_| ());
    snapshot.mark_seen();
    Figures::of(&snapshot)
}

/// What a snapshot shows, over all series; what no series has is unknown.
#[derive(Debug, PartialEq, Default)]
pub struct Figures {
    pub calls: u128,
    pub failures: u128,
    pub input: Option<u128>,
    pub cache_read: Option<u128>,
    pub output: Option<u128>,
    pub estimated_output: Option<u128>,
    pub reasoning: Option<u128>,
    pub partial: u128,
}

impl Figures {
    pub fn of(snapshot: &Snapshot) -> Self {
        let mut sums: BTreeMap<Measure, u128> = BTreeMap::new();
        for series in &snapshot.series {
            for (&measure, value) in &series.values {
                *sums.entry(measure).or_default() += value.amount;
            }
        }
        let of = |measure| sums.get(&measure).copied();
        let all = |wanted: fn(&Measure) -> bool| {
            let chosen = sums.iter().filter(|(measure, _)| wanted(measure));
            chosen.map(|(_, n)| n).sum()
        };
        Self {
            calls: all(|measure| matches!(measure, Measure::Calls(_))),
            failures: all(|measure| matches!(measure, Measure::Failures(_))),
            input: of(Measure::Tokens(TokenType::Input)),
            cache_read: of(Measure::Tokens(TokenType::CacheRead)),
            output: of(Measure::Tokens(TokenType::Output)),
            estimated_output: of(Measure::EstimatedTokens(TokenType::Output)),
            reasoning: of(Measure::Reasoning),
            partial: of(Measure::PartialCalls).unwrap_or(0),
        }
    }
}
