//! `history` by way of promtool in a real Prometheus, which then knows what `report` says.

mod support;

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use support::exporter::PROGRAM;
use support::home::Home;
use support::prometheus::Prometheus;
use support::tools::tool;

/// Midnight of 2026-10-26 UTC, in seconds.
const FIRST_DAY: u64 = 1_792_972_800;
const DAY: u64 = 86_400;
const DAYS: u64 = 31;

/// A session of the CLI in `project`: a call at each of `times` (Unix seconds), of `model`, with what Copilot
/// charged for it if it says so.
fn session(home: &Home, project: &str, model: &str, times: &[u64], nano_aiu: Option<u64>) {
    let mut lines = format!(
        r#"{{"type":"session.start","id":"{project}-0","timestamp":"{}","data":{{"sessionId":"{project}","copilotVersion":"1.0.102","context":{{"cwd":"/srv/{project}"}}}}}}"#,
        iso(times[0] - 1)
    );
    for (n, &time) in times.iter().enumerate() {
        let n = n as u64 + 1;
        let charge = match nano_aiu {
            Some(nano) => format!(
                r#""aiCreditsStatus":"complete","copilotUsage":{{"totalNanoAiu":{},"tokenDetails":[]}}"#,
                nano + n
            ),
            None => r#""aiCreditsStatus":"unavailable""#.to_owned(),
        };
        lines.push_str(&format!(
            "\n{}",
            format_args!(
                r#"{{"type":"session.usage_record","id":"{project}-{n}","timestamp":"{}","data":{{"usage":{{"model":"{model}","inputTokens":{},"outputTokens":60,"cacheReadTokens":8000,"cacheWriteTokens":0,"initiator":"user","isByok":false,"apiCallId":"{project}-r{n}","accounting":{{"sourceSessionId":"{project}","sequence":{n},"usageId":"{project}-r{n}"}},{charge}}}}}}}"#,
                iso(time),
                9_000 + n
            )
        ));
    }
    lines.push('\n');
    let path = format!(".copilot/session-state/{project}/events.jsonl");
    home.write(&path, lines);
}

fn iso(seconds: u64) -> String {
    let time = jiff::Timestamp::from_second(seconds as i64).expect("a time");
    time.to_string()
}

/// A month of work: reported and priced calls, one of no known price, and calls at the edges of days.
fn month_of_work() -> Home {
    let home = Home::new();
    home.write("config.toml", "time_zone = \"UTC\"\n");
    let daily: Vec<u64> = (0..DAYS)
        .filter(|day| day % 7 < 5)
        .flat_map(|day| (0..=day % 4).map(move |n| FIRST_DAY + day * DAY + 30_000 + n * 4_321))
        .collect();
    session(&home, "shop", "gpt-5.4", &daily, Some(540_000_000));
    let edges: Vec<u64> = (1..DAYS)
        .flat_map(|day| [FIRST_DAY + day * DAY - 1, FIRST_DAY + day * DAY])
        .collect();
    session(&home, "web", "claude-sonnet-4.5", &edges, None);
    let once = [FIRST_DAY + 3 * DAY + 5];
    session(&home, "lab", "gpt-9-unheard-of", &once, None);
    home
}

fn exporter(home: &Home, arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command
        .args(arguments)
        .arg("--no-state")
        .arg("--home")
        .arg(home.path())
        .arg("--config")
        .arg(home.path().join("config.toml"));
    command
}

fn report(home: &Home) -> serde_json::Value {
    let output = exporter(home, &["report", "--by", "day", "--json"])
        .output()
        .expect("the report");
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Blocks of the home's history, made by `promtool` in `folder`.
fn blocks(home: &Home, promtool: &str, folder: &Path) {
    let file = folder.join("history.om");
    let labels = ["--label", "job=copilot", "--label", "instance=laptop"];
    let status = exporter(home, &["history"])
        .args(labels)
        .stdout(Stdio::from(File::create(&file).expect("a file")))
        .status()
        .expect("the history");
    assert!(status.success());
    let output = Command::new(tool(promtool))
        .args([
            "tsdb",
            "create-blocks-from",
            "openmetrics",
            "--max-block-duration=240h",
        ])
        .arg(&file)
        .arg(folder.join("data"))
        .output()
        .expect("promtool");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

fn one(prometheus: &Prometheus, query: &str, time: u64) -> f64 {
    let samples = prometheus.query_at(query, time as f64);
    assert_eq!(samples.len(), 1, "{query} at {time}: {samples:?}");
    samples[0].value
}

fn close(got: f64, want: f64) -> bool {
    (got - want).abs() <= 1e-9 * want.abs().max(1.0)
}

/// The spend per day that a Prometheus of each major version knows after the import is what `report` says.
#[test]
fn prometheus_knows_the_past_month_as_report_does() {
    let home = month_of_work();
    let report = report(&home);
    let days = report["rows"].as_array().expect("rows");
    assert_eq!(days.len() as u64, DAYS);
    for (promtool, program) in [("promtool", "prometheus"), ("promtool3", "prometheus3")] {
        let folder = tempfile::tempdir().expect("a folder");
        blocks(&home, promtool, folder.path());
        let data = folder.path().join("data");
        let prometheus = Prometheus::start_on(program, "global: {}\n", Some(&data));
        for (n, day) in days.iter().enumerate() {
            let end = FIRST_DAY + (n as u64 + 1) * DAY;
            for (metric, figure) in [("cost_usd", "cost_usd"), ("calls", "calls")] {
                let want = day[figure].as_f64().expect("a number");
                let total = format!("sum(copilot_{metric}_total{{job=\"copilot\"}}");
                let difference = format!("{total}) - ({total} offset 1d) or vector(0))");
                let got = one(&prometheus, &difference, end);
                assert!(
                    close(got, want),
                    "{program} {figure} {}: {got}, not {want}",
                    day["day"]
                );
            }
        }
        // Before version 3 a range holds both of its ends, and so whole days.
        if program == "prometheus" {
            for (n, day) in days.iter().enumerate() {
                let end = FIRST_DAY + (n as u64 + 1) * DAY;
                let got = one(
                    &prometheus,
                    "sum(increase(copilot_cost_usd_total[1d]))",
                    end,
                );
                let want = day["cost_usd"].as_f64().expect("a number");
                assert!(
                    close(got, want),
                    "increase {}: {got}, not {want}",
                    day["day"]
                );
            }
        }
        let names = prometheus.label_values("instance", "copilot_calls_total");
        assert_eq!(names, ["laptop"]);
        let unpriced = "copilot_unpriced_calls_total{model=\"gpt-9-unheard-of\"}";
        assert_eq!(one(&prometheus, unpriced, FIRST_DAY + 4 * DAY), 1.0);
    }
}

/// The last sample of every counter is what the exporter shows now.
#[test]
fn history_ends_with_what_is_exposed() {
    let home = month_of_work();
    let run = |arguments: &[&str]| {
        let output = exporter(&home, arguments).output().expect("an exporter");
        assert!(output.status.success());
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let history = run(&["history", "--step", "24h"]);
    assert!(history.ends_with("# EOF\n"));
    let mut last = std::collections::BTreeMap::new();
    for line in history.lines().filter(|line| !line.starts_with('#')) {
        let (sample, _time) = line.rsplit_once(' ').expect("a time");
        let (series, value) = sample.rsplit_once(' ').expect("a value");
        last.insert(series.to_owned(), value.to_owned());
    }
    let live = run(&["once"]);
    let counters: Vec<(&str, &str)> = live
        .lines()
        .filter(|line| line.starts_with("copilot_") && !line.starts_with("copilot_exporter_"))
        .filter_map(|line| line.rsplit_once(' '))
        .filter(|(series, _)| {
            series
                .split('{')
                .next()
                .is_some_and(|name| name.ends_with("_total"))
        })
        .collect();
    assert!(counters.len() > 10, "{live}");
    for (series, value) in &counters {
        assert_eq!(
            last.get(*series).map(String::as_str),
            Some(*value),
            "{series}"
        );
    }
    assert_eq!(last.len(), counters.len());
}
