//! The exporter is killed five hundred times, at random moments of its scans, while the stores grow, are
//! rewritten and disappear. Afterwards its totals are those of an exporter that was never disturbed, and
//! those of the calls that were made; and no value that it showed ever fell.

#![cfg(unix)]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use support::exporter::PROGRAM;
use support::home::Home;

const MODELS: [&str; 4] = ["gpt-5.4", "claude-haiku-4.5", "gpt-5-mini", "own-model"];

/// A small generator (xorshift): the same moments and calls in every run of the test.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// What the calls so far add up to.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Truth {
    calls: u64,
    input: u64,
    cache_read: u64,
    output: u64,
}

/// The sessions of a CLI, written line by line.
struct Sessions {
    home: Home,
    random: Random,
    calls: u64,
    truth: Truth,
    /// Lines of each session; empty: deleted.
    lines: Vec<String>,
    /// A line whose end isn't written yet.
    torn: Option<(usize, String)>,
}

impl Sessions {
    fn new(seed: u64) -> Self {
        let mut sessions = Self {
            home: Home::new(),
            random: Random(seed),
            calls: 0,
            truth: Truth::default(),
            lines: Vec::new(),
            torn: None,
        };
        for _ in 0..12 {
            sessions.open();
        }
        sessions
    }

    fn file(session: usize) -> String {
        format!(".copilot/session-state/5d1e0000-0000-4000-8000-{session:012}/events.jsonl")
    }

    fn open(&mut self) {
        let session = self.lines.len();
        let start = format!(
            r#"{{"type":"session.start","id":"start-{session}","timestamp":"2026-11-02T10:00:00.000Z","data":{{"sessionId":"5d1e0000-0000-4000-8000-{session:012}","copilotVersion":"1.0.102","context":{{"cwd":"/srv/project-{}"}}}}}}"#,
            session % 3
        );
        self.lines.push(String::new());
        self.write(session, &format!("{start}\n"));
    }

    fn write(&mut self, session: usize, text: &str) {
        self.lines[session].push_str(text);
        self.home.append(&Self::file(session), text);
    }

    /// The line of a call, which counts as soon as its end is written.
    fn call(&mut self, session: usize) -> String {
        self.calls += 1;
        let number = self.calls;
        // The last model appears late, so that series are born under fire.
        let models = if number > 400 { 4 } else { 3 };
        let model = MODELS[self.random.below(models) as usize];
        let (input, cached, output) = (
            self.random.below(10_000),
            self.random.below(50_000),
            self.random.below(2_000),
        );
        self.truth.calls += 1;
        self.truth.input += input;
        self.truth.cache_read += cached;
        self.truth.output += output;
        let (second, minute) = (number % 60, number / 60 % 60);
        format!(
            r#"{{"type":"session.usage_record","id":"record-{number}","timestamp":"2026-11-02T11:{minute:02}:{second:02}.000Z","data":{{"usage":{{"model":"{model}","inputTokens":{},"outputTokens":{output},"cacheReadTokens":{cached},"cacheWriteTokens":0,"initiator":"user","isByok":false,"apiCallId":"resp-{number}","accounting":{{"sourceSessionId":"5d1e0000-0000-4000-8000-{session:012}","sequence":{number},"usageId":"resp-{number}"}},"aiCreditsStatus":"unavailable"}}}}}}"#,
            input + cached
        )
    }

    /// Some calls in some sessions; now and then a line is left torn, and a file rewritten.
    fn go_on(&mut self) {
        self.mend();
        for _ in 0..1 + self.random.below(3) {
            let session = self.random.below(self.lines.len() as u64) as usize;
            if self.lines[session].is_empty() {
                continue;
            }
            for _ in 0..1 + self.random.below(4) {
                let call = self.call(session);
                self.write(session, &format!("{call}\n"));
            }
        }
        match self.random.below(12) {
            0 => self.tear(),
            1 => self.rewrite(),
            2 => self.open(),
            _ => {}
        }
    }

    fn tear(&mut self) {
        let session = self.lines.len() - 1;
        let line = self.call(session);
        let (head, rest) = line.split_at(line.len() / 2);
        self.write(session, head);
        self.torn = Some((session, format!("{rest}\n")));
    }

    /// Another file with the same lines takes the file's place.
    fn rewrite(&mut self) {
        let session = self.random.below(self.lines.len() as u64) as usize;
        if !self.lines[session].is_empty() {
            let path = self.home.path().join(Self::file(session));
            let other = path.with_extension("new");
            fs::write(&other, &self.lines[session]).unwrap();
            fs::rename(other, path).unwrap();
        }
    }

    /// The oldest session that is left is deleted. Only after everything was counted.
    fn delete_one(&mut self) {
        let oldest = self.lines.iter().position(|lines| !lines.is_empty());
        if let Some(session) = oldest.filter(|&session| session + 6 < self.lines.len()) {
            let path = self.home.path().join(Self::file(session));
            fs::remove_dir_all(path.parent().unwrap()).unwrap();
            self.lines[session].clear();
        }
    }
}

/// A state folder and the values that were shown from it.
struct Ledger {
    state: tempfile::TempDir,
    shown: BTreeMap<String, f64>,
}

impl Ledger {
    fn new() -> Self {
        let state = tempfile::tempdir().unwrap();
        // Series are shown at 0 once, and at their value in the next run.
        fs::write(
            state.path().join("config.toml"),
            "[scan]\nzero_hold_seconds = 0\n",
        )
        .unwrap();
        Self {
            state,
            shown: BTreeMap::new(),
        }
    }

    fn command(&self, home: &Path) -> Command {
        let mut command = Command::new(PROGRAM);
        command
            .args(["once", "--config"])
            .arg(self.state.path().join("config.toml"))
            .arg("--home")
            .arg(home)
            .arg("--state-dir")
            .arg(self.state.path().join("state"))
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .stdout(Stdio::piped());
        command
    }

    /// A whole run: its counters, of which none may have fallen.
    fn run(&mut self, home: &Path) -> BTreeMap<String, f64> {
        let output = self.command(home).output().expect("to start the exporter");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        let shown = counters(&String::from_utf8(output.stdout).expect("UTF-8"));
        for (sample, before) in &self.shown {
            let now = shown.get(sample);
            assert!(
                now.is_some_and(|now| now >= before),
                "{sample}: {before}, then {now:?}"
            );
        }
        self.shown.clone_from(&shown);
        shown
    }

    /// A run that is killed after `delay`. `false`: it had ended by then.
    fn killed_run(&self, home: &Path, delay: Duration) -> bool {
        let mut child = self.command(home).spawn().expect("to start the exporter");
        std::thread::sleep(delay);
        let running = child.try_wait().expect("to ask for the exporter").is_none();
        child.kill().expect("to kill the exporter");
        child.wait().expect("to wait for the exporter");
        running
    }
}

/// The usage counters of an exposition.
fn counters(exposition: &str) -> BTreeMap<String, f64> {
    exposition
        .lines()
        .filter(|line| line.starts_with("copilot_") && !line.starts_with("copilot_exporter_"))
        .filter_map(|line| line.rsplit_once(' '))
        .filter(|(sample, _)| sample.contains("_total{"))
        .map(|(sample, value)| (sample.to_owned(), value.parse().expect("a number")))
        .collect()
}

fn sum(counters: &BTreeMap<String, f64>, name: &str, label: &str) -> u64 {
    counters
        .iter()
        .filter(|(sample, _)| sample.starts_with(name) && sample.contains(label))
        .map(|(_, value)| *value as u64)
        .sum()
}

fn truth(counters: &BTreeMap<String, f64>) -> Truth {
    let tokens = |class: &str| {
        let label = format!("token_type=\"{class}\"");
        sum(counters, "copilot_tokens_total{", &label)
    };
    Truth {
        calls: sum(counters, "copilot_calls_total{", ""),
        input: tokens("input"),
        cache_read: tokens("cache_read"),
        output: tokens("output"),
    }
}

impl Sessions {
    /// `calls` more in each of the sessions.
    fn fill(&mut self, calls: u32) {
        for session in 0..self.lines.len() {
            for _ in 0..calls {
                let call = self.call(session);
                self.write(session, &format!("{call}\n"));
            }
        }
    }

    fn mend(&mut self) {
        if let Some((session, rest)) = self.torn.take() {
            self.write(session, &rest);
        }
    }
}

/// Runs `ledger` until everything is shown, and compares it with the truth.
fn settled(ledger: &mut Ledger, sessions: &Sessions) -> BTreeMap<String, f64> {
    ledger.run(sessions.home.path());
    let totals = ledger.run(sessions.home.path());
    assert_eq!(truth(&totals), sessions.truth);
    totals
}

/// How long an undisturbed run takes, in microseconds.
fn duration(ledger: &mut Ledger, home: &Path) -> u64 {
    let begun = Instant::now();
    ledger.run(home);
    begun.elapsed().as_micros() as u64
}

#[test]
fn edge_218_three_hundred_kills_while_the_stores_change() {
    let mut sessions = Sessions::new(0x9e37_79b9_7f4a_7c15);
    sessions.fill(20);
    let (mut disturbed, mut undisturbed) = (Ledger::new(), Ledger::new());
    let longest = duration(&mut undisturbed, sessions.home.path());
    let mut kills = 0;
    while kills < 300 {
        for _ in 0..1 + sessions.random.below(8) {
            let delay = Duration::from_micros(sessions.random.below(longest));
            kills += u32::from(disturbed.killed_run(sessions.home.path(), delay));
            sessions.go_on();
        }
        sessions.mend();
        let totals = settled(&mut disturbed, &sessions);
        assert_eq!(
            totals,
            settled(&mut undisturbed, &sessions),
            "after {kills} kills"
        );
        sessions.delete_one();
    }
}

#[test]
fn edge_218_two_hundred_kills_in_the_first_scan() {
    let mut sessions = Sessions::new(0x2545_f491_4f6c_dd1d);
    sessions.fill(150);
    let home = sessions.home.path().to_owned();
    let mut undisturbed = Ledger::new();
    let longest = duration(&mut undisturbed, &home);
    let want = settled(&mut undisturbed, &sessions);
    let mut kills = 0;
    while kills < 200 {
        let mut disturbed = Ledger::new();
        for _ in 0..1 + sessions.random.below(8) {
            let delay = Duration::from_micros(sessions.random.below(longest));
            kills += u32::from(disturbed.killed_run(&home, delay));
        }
        assert_eq!(
            settled(&mut disturbed, &sessions),
            want,
            "after {kills} kills"
        );
    }
}
