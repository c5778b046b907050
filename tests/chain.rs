//! The whole chain, for real: files on disk → exporter → Prometheus → rules → Alertmanager → webhook. One spike,
//! one alert, and nothing else. Once scraped, once pushed over OTLP through VictoriaMetrics.

mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use support::exporter::{Exporter, PROGRAM};
use support::home::Home;
use support::http::{self, Sink};
use support::process::{Process, free_port};
use support::prometheus::Prometheus;
use support::tools::{root, tool};
use support::wait::eventually;
use tempfile::TempDir;

const SESSION: &str = "5d1e0000-0000-4000-8000-000000000001";
const HOUR: u64 = 3_600;

fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs()
}

fn iso(second: u64) -> String {
    let at = jiff::Timestamp::from_second(second.try_into().unwrap()).unwrap();
    format!("{at:.3}")
}

/// A home whose one session has cost 1.50 USD in each hour of the past three days.
struct Work {
    home: Home,
    calls: u64,
}

impl Work {
    fn of_three_days() -> Self {
        let mut work = Self {
            home: Home::new(),
            calls: 0,
        };
        let start = now() - 72 * HOUR;
        let context = json!({"cwd": "/srv/shop", "repository": "acme/shop"});
        let begin = json!({
            "type": "session.start", "id": "start", "timestamp": iso(start), "parentId": null,
            "data": {"sessionId": SESSION, "copilotVersion": "1.0.102", "context": context},
        });
        work.append(&format!("{begin}\n"));
        let calls: String = (0..72 * 6)
            .map(|ten_minutes| work.call(start + ten_minutes * HOUR / 6, 25))
            .collect();
        work.append(&calls);
        work
    }

    /// Sixty calls for 60 USD together, now; in one stroke, so that no scan sees a part of them.
    fn spike(&mut self) {
        let calls: String = (0..60).map(|_| self.call(now(), 100)).collect();
        self.append(&calls);
    }

    /// The line of a call that cost `credits` (0.01 USD each).
    fn call(&mut self, second: u64, credits: u64) -> String {
        self.calls += 1;
        let id = format!("call-{}", self.calls);
        let event = json!({
            "type": "session.usage_record", "id": id, "timestamp": iso(second), "parentId": "start",
            "data": {"usage": {
                "model": "gpt-5.4", "inputTokens": 9_000, "outputTokens": 60, "cacheReadTokens": 8_000,
                "cacheWriteTokens": 0, "initiator": "user", "isByok": false, "apiCallId": id,
                "accounting": {"sourceSessionId": SESSION, "sequence": self.calls, "usageId": id},
                "aiCreditsStatus": "complete",
                "copilotUsage": {"totalNanoAiu": credits * 1_000_000_000},
            }},
        });
        format!("{event}\n")
    }

    fn append(&self, lines: &str) {
        let path = format!(".copilot/session-state/{SESSION}/events.jsonl");
        self.home.append(&path, lines);
    }
}

fn succeeds(program: impl Into<PathBuf>, arguments: &[&str]) -> Vec<u8> {
    let program = program.into();
    let output = Command::new(&program).args(arguments).output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{} {arguments:?}: {complaint}",
        program.display()
    );
    output.stdout
}

/// A data folder in which the past is what `history` says, with what the recording rules make of it: as if
/// Prometheus had been running all the time.
fn past(work: &Work, labels: &BTreeMap<String, String>) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let (file, data) = (folder.path().join("history.om"), folder.path().join("data"));
    let (file, data) = (file.to_str().unwrap(), data.to_str().unwrap());
    let mut arguments = vec![
        "history".to_owned(),
        "--no-state".to_owned(),
        "--home".to_owned(),
    ];
    arguments.push(work.home.path().display().to_string());
    for (name, value) in labels {
        arguments.extend(["--label".to_owned(), format!("{name}={value}")]);
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    std::fs::write(file, succeeds(PROGRAM, &arguments)).unwrap();
    let create = ["tsdb", "create-blocks-from"];
    let openmetrics = ["openmetrics", "--max-block-duration=256h", file, data];
    succeeds(tool("promtool3"), &[&create[..], &openmetrics].concat());

    let prometheus = Prometheus::start_on("prometheus3", "global: {}", Some(data.as_ref()));
    let recording = folder.path().join("recording.yml");
    std::fs::write(&recording, rules_with_a_past().to_string()).unwrap();
    let (start, end) = ((now() - 72 * HOUR).to_string(), (now() - HOUR).to_string());
    let url = format!("http://127.0.0.1:{}", prometheus.port);
    let of_rules = [
        "rules",
        "--start",
        &start,
        "--end",
        &end,
        "--url",
        &url,
        "--output-dir",
        data,
        "--eval-interval=4m",
        recording.to_str().unwrap(),
    ];
    succeeds(tool("promtool3"), &[&create[..], &of_rules].concat());
    folder
}

/// The recording rules whose past alerts look at (JSON is YAML too).
fn rules_with_a_past() -> Value {
    let file = root().join("deploy/prometheus/rules/recording.yml");
    let rules: Value = serde_saphyr::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let all = rules["groups"].as_array().unwrap().iter();
    let rules: Vec<&Value> = all
        .flat_map(|group| group["rules"].as_array().unwrap())
        .filter(|rule| {
            let name = rule["record"].as_str().unwrap();
            name.starts_with("instance") && name.contains(":increase")
        })
        .collect();
    assert_eq!(rules.len(), 2);
    json!({"groups": [{"name": "past", "rules": rules}]})
}

/// The rules that ship, patience aside: what they wait for minutes for, a test waits a second for.
fn rules(folder: &Path) -> PathBuf {
    let to = folder.join("rules");
    std::fs::create_dir_all(&to).unwrap();
    for name in ["settings.yml", "recording.yml", "alerts.yml"] {
        let rules =
            std::fs::read_to_string(root().join("deploy/prometheus/rules").join(name)).unwrap();
        let hasty: String = rules
            .lines()
            .map(|line| match line.trim_start().starts_with("for: ") {
                true => "        for: 1s\n".to_owned(),
                false => format!("{line}\n"),
            })
            .collect();
        std::fs::write(to.join(name), hasty).unwrap();
    }
    to
}

/// Everything behind the scrape: a Prometheus with rules, an Alertmanager, and a webhook.
struct Watch {
    prometheus: Prometheus,
    _alertmanager: Process,
    webhook: Sink,
}

impl Watch {
    fn start(past: &TempDir, scrape_configs: &str) -> Self {
        let webhook = Sink::start();
        let port = free_port();
        let mut alertmanager =
            Process::start("alertmanager", tool("alertmanager"), |folder, command| {
                let file = folder.join("alertmanager.yml");
                let config = format!(
                    "route: {{receiver: hook, group_wait: 0s, group_interval: 1s}}\n\
                 receivers: [{{name: hook, webhook_configs: [{{url: 'http://127.0.0.1:{}/'}}]}}]\n",
                    webhook.port
                );
                std::fs::write(&file, config).unwrap();
                command
                    .arg(format!("--config.file={}", file.display()))
                    .arg(format!("--storage.path={}", folder.join("data").display()))
                    .arg(format!("--web.listen-address=127.0.0.1:{port}"))
                    .arg("--cluster.listen-address=");
            });
        alertmanager.wait_ready(port, "/-/ready");
        let rules = rules(past.path());
        let config = format!(
            "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\n\
             rule_files: ['{}/*.yml']\n\
             alerting: {{alertmanagers: [{{static_configs: [{{targets: ['127.0.0.1:{port}']}}]}}]}}\n\
             scrape_configs:\n{scrape_configs}",
            rules.display()
        );
        let data = past.path().join("data");
        Self {
            prometheus: Prometheus::start_on("prometheus3", &config, Some(&data)),
            _alertmanager: alertmanager,
            webhook,
        }
    }

    /// Lets the spike happen while everybody watches, and demands one alert about it and no other.
    fn expect_one_alert(&self, work: &mut Work) {
        let usual = self
            .prometheus
            .wait_for("instance:copilot_cost_usd:usual1h", |usual| usual > 0.0);
        assert!((usual - 1.5).abs() < 0.2, "the usual hour costs {usual}");
        // Several scrapes of an ordinary minute: nothing is worth an alert.
        self.prometheus.wait_for(
            "count_over_time(copilot_calls_total{initiator='user'}[1m])",
            |n| n > 5.0,
        );
        assert_eq!(self.prometheus.query("ALERTS{alertstate='firing'}"), []);

        work.spike();
        let body = eventually("the alert", || self.webhook.take());
        let mut alerts = alerts(&body);
        while let Some(body) = self.webhook.take() {
            alerts.extend(self::alerts(&body));
        }
        for alert in &alerts {
            assert_eq!(
                alert["labels"]["alertname"], "CopilotSpendSpike",
                "{alerts:?}"
            );
            assert_eq!(alert["labels"]["severity"], "warning");
            let description = alert["annotations"]["description"].as_str().unwrap();
            assert!(description.contains(" spent $6"), "{description}");
        }
        let firing = self.prometheus.query("count(ALERTS{alertstate='firing'})");
        assert_eq!(firing.len(), 1);
        assert_eq!(firing[0].value, 1.0);
    }
}

fn alerts(body: &[u8]) -> Vec<Value> {
    let mut message: Value = serde_json::from_slice(body).unwrap();
    match message["alerts"].take() {
        Value::Array(alerts) => alerts,
        _ => panic!("not a message of Alertmanager: {message}"),
    }
}

#[test]
fn a_spike_is_one_alert_when_scraped() {
    let mut work = Work::of_three_days();
    let exporter = Exporter::serve(work.home.path(), "");
    let labels = BTreeMap::from([
        ("job".to_owned(), "copilot".to_owned()),
        (
            "instance".to_owned(),
            format!("127.0.0.1:{}", exporter.port),
        ),
    ]);
    let past = past(&work, &labels);
    let scrape = format!(
        "  - {{job_name: copilot, static_configs: [{{targets: ['127.0.0.1:{}']}}]}}\n",
        exporter.port
    );
    Watch::start(&past, &scrape).expect_one_alert(&mut work);
}

#[test]
fn a_spike_is_one_alert_when_pushed() {
    let mut work = Work::of_three_days();
    let port = free_port();
    let mut receiver = Process::start(
        "victoria-metrics",
        tool("victoria-metrics"),
        |folder, command| {
            command
                .arg(format!(
                    "-storageDataPath={}",
                    folder.join("data").display()
                ))
                .arg(format!("-httpListenAddr=127.0.0.1:{port}"))
                .args([
                    "-opentelemetry.usePrometheusNaming",
                    "-search.latencyOffset=0s",
                ])
                .arg(format!(
                    "-relabelConfig={}",
                    root()
                        .join("deploy/otel-collector/victoria-metrics-relabel.yml")
                        .display()
                ));
        },
    );
    receiver.wait_ready(port, "/health");
    let config = format!(
        "[otlp]\nendpoint = \"http://127.0.0.1:{port}/opentelemetry\"\ninterval_seconds = 1\n"
    );
    let _exporter = Exporter::serve(work.home.path(), &config);

    // The labels that the push brings, beside those of the calls.
    let query = http::encode("copilot_exporter_last_scan_timestamp_seconds");
    let labels = eventually("the first push", || {
        let answer = http::get(port, &format!("/api/v1/query?query={query}"))
            .ok()?
            .json();
        let metric = answer["data"]["result"][0]["metric"].as_object()?;
        let labels = metric.iter().filter(|(name, _)| *name != "__name__");
        Some(
            labels
                .map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned()))
                .collect::<BTreeMap<_, _>>(),
        )
    });
    assert!(
        labels.contains_key("job") && labels.contains_key("instance"),
        "{labels:?}"
    );
    let past = past(&work, &labels);
    // A Prometheus that evaluates the rules on what VictoriaMetrics has received.
    let scrape = format!(
        "  - job_name: federate\n    honor_labels: true\n    metrics_path: /federate\n    \
         params: {{'match[]': ['{{__name__=~\"copilot_.+\"}}']}}\n    \
         static_configs: [{{targets: ['127.0.0.1:{port}']}}]\n"
    );
    Watch::start(&past, &scrape).expect_one_alert(&mut work);
}
