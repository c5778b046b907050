//! OTLP push to real receivers: VictoriaMetrics and oteltap over HTTP, rotel over gRPC, and a sink whose
//! requests are decoded here.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use copilot_exporter::config::{OtlpConfig, OtlpProtocol, Temporality};
use copilot_exporter::ledger::{Series, SeriesLabels, Snapshot, Value};
use copilot_exporter::metrics::{ConstantLabels, Recorder, families};
use copilot_exporter::outlets::Format;
use copilot_exporter::outlets::otlp::{Pusher, Settings, Stats};
use copilot_exporter::usage::{
    Histogram, Initiator, Measure, Project, Provider, Surface, Timestamp, TokenType,
};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point;
use prost::Message;
use support::http::{self, Sink};
use support::process::{Process, free_port};
use support::tools::tool;
use support::wait::eventually;
use tokio::sync::watch;

const BORN: Timestamp = Timestamp(1_780_000_000_000);

/// A snapshot in which a model called `calls` times, with every kind of family in it.
fn snapshot(calls: u128, names: &[&str]) -> Snapshot {
    let value = |amount, baseline| Value {
        amount,
        born: BORN,
        baseline,
    };
    let series = names.iter().map(|&name| Series {
        labels: SeriesLabels {
            provider: Provider::Copilot,
            model: "gpt-5.4".to_owned(),
            project: Project::named(name),
            surface: Surface::Cli,
            user: None,
        },
        values: BTreeMap::from([
            (Measure::Calls(Initiator::User), value(calls, 10)),
            (
                Measure::Tokens(TokenType::Input),
                value(calls * 1_000, 10_000),
            ),
            (Measure::CostListPrice, value(calls * 2_500_000_000, 0)),
            (Measure::Bucket(Histogram::Duration, 3), value(calls, 0)),
            (
                Measure::HistogramSum(Histogram::Duration),
                value(calls * 1_500, 0),
            ),
        ]),
    });
    Snapshot {
        taken: Timestamp::now(),
        epoch: BORN,
        ready: true,
        series: series.collect(),
        ..Snapshot::default()
    }
}

/// A push loop that runs beside a test.
struct Push {
    publish: watch::Sender<Arc<Snapshot>>,
    stop: watch::Sender<bool>,
    stats: Arc<Stats>,
    running: tokio::task::JoinHandle<()>,
}

impl Push {
    fn start(config: OtlpConfig, watermark: Option<std::path::PathBuf>, first: Snapshot) -> Self {
        let config = OtlpConfig {
            interval_seconds: Some(1),
            timeout_seconds: Some(5),
            ..config
        };
        let settings = Settings::resolve(&config, &|_| None)
            .unwrap()
            .expect("an endpoint");
        let stats = Arc::new(Stats::default());
        let render =
            Arc::new(|snapshot: &Snapshot| families(snapshot, &ConstantLabels::default(), None));
        let pusher = Pusher::new(
            settings,
            "instance-1",
            watermark,
            Arc::clone(&stats),
            render,
        )
        .unwrap();
        let (publish, snapshots) = watch::channel(Arc::new(first));
        let (stop, stopping) = watch::channel(false);
        Self {
            publish,
            stop,
            stats,
            running: tokio::spawn(pusher.run(snapshots, stopping, Arc::default())),
        }
    }

    /// Asks it to stop and waits until the last push is done.
    async fn end(self) {
        self.stop.send(true).unwrap();
        self.running.await.unwrap();
    }
}

fn at(url: String) -> OtlpConfig {
    OtlpConfig {
        endpoint: Some(url),
        ..OtlpConfig::default()
    }
}

/// Name and labels of every sample line of an exposition, with its value.
fn samples(text: &str) -> BTreeMap<String, f64> {
    text.lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| {
            let (series, value) = line.rsplit_once(' ').expect("a value");
            (normal(series), value.parse().expect("a number"))
        })
        .collect()
}

/// Labels in order of their names, bucket bounds without a fraction of zero (receivers differ in it). The
/// test's own label values hold no comma.
fn normal(series: &str) -> String {
    let Some((name, labels)) = series.split_once('{') else {
        return format!("{series}{{}}");
    };
    let labels: BTreeSet<String> = labels
        .trim_end_matches('}')
        .split(',')
        .filter(|label| !label.is_empty())
        .map(|label| match label.strip_prefix("le=") {
            Some(bound) => format!("le={}", bound.replace(".0\"", "\"")),
            None => label.to_owned(),
        })
        .collect();
    format!(
        "{name}{{{}}}",
        labels.into_iter().collect::<Vec<_>>().join(",")
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn victoria_metrics_shows_what_a_scrape_shows_series_by_series() {
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
                    "-retentionPeriod=100y",
                ]);
        },
    );
    receiver.wait_ready(port, "/health");

    let snapshot = snapshot(25, &["shop", "web \"quoted\\ \u{e9}"]);
    let recorder = Recorder::new();
    let all = families(
        &snapshot,
        &ConstantLabels::default(),
        Some(&recorder.exporter()),
    );
    let want = samples(&String::from_utf8(Format::Text.render(&all)).unwrap());
    let config = at(format!("http://127.0.0.1:{port}/opentelemetry"));
    let settings = Settings::resolve(
        &OtlpConfig {
            interval_seconds: Some(1),
            ..config
        },
        &|_| None,
    )
    .unwrap()
    .unwrap();
    let stats = Arc::new(Stats::default());
    let render = Arc::new(move |_: &Snapshot| all.clone());
    let pusher = Pusher::new(settings, "instance-1", None, Arc::clone(&stats), render).unwrap();
    let (_publish, snapshots) = watch::channel(Arc::new(snapshot));
    let (stop, stopping) = watch::channel(false);
    let running = tokio::spawn(pusher.run(snapshots, stopping, Arc::default()));
    eventually("a push", || (stats.status().succeeded > 0).then_some(()));
    stop.send(true).unwrap();
    running.await.unwrap();

    let query = http::encode("{__name__=~\"copilot.*|process.*\"}");
    let got = eventually("all series", || {
        let answer = http::get(port, &format!("/api/v1/query?query={query}"))
            .ok()?
            .json();
        let got = received(&answer);
        (got.len() >= want.len()).then_some(got)
    });
    let missing: Vec<_> = want
        .keys()
        .filter(|series| !got.contains_key(*series))
        .collect();
    let extra: Vec<_> = got
        .keys()
        .filter(|series| !want.contains_key(*series))
        .collect();
    assert!(
        missing.is_empty() && extra.is_empty(),
        "missing {missing:#?}\nextra {extra:#?}"
    );
    for (series, value) in &want {
        let difference = (got[series] - value).abs();
        assert!(
            difference <= value.abs() * 1e-12,
            "{series}: {} is not {value}",
            got[series]
        );
    }
}

/// The series of a query's answer, without the labels that stand for the resource.
fn received(answer: &serde_json::Value) -> BTreeMap<String, f64> {
    let series = answer["data"]["result"].as_array().into_iter().flatten();
    series
        .map(|series| {
            let labels = series["metric"].as_object().expect("labels");
            let name = labels["__name__"].as_str().expect("a name");
            let resource = [
                "__name__",
                "job",
                "instance",
                "service_name",
                "service_version",
                "service_instance_id",
                "os_type",
                "scope_name",
                "scope_version",
                "otel_scope_name",
                "otel_scope_version",
                "scope.name",
                "scope.version",
                "service.name",
                "service.version",
                "service.instance.id",
                "os.type",
            ];
            let own: Vec<String> = labels
                .iter()
                .filter(|(name, _)| !resource.contains(&name.as_str()))
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            let value = series["value"][1]
                .as_str()
                .and_then(|text| text.parse().ok())
                .expect("a number");
            (normal(&format!("{name}{{{}}}", own.join(","))), value)
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn rotel_takes_grpc_and_sees_each_series_own_start() {
    let (grpc, web) = (free_port(), free_port());
    let receiver = Process::start("rotel", tool("rotel"), |_, command| {
        command
            .arg("start")
            .arg(format!("--otlp-grpc-endpoint=127.0.0.1:{grpc}"))
            .arg(format!("--otlp-http-endpoint=127.0.0.1:{web}"))
            .args([
                "--debug-log",
                "metrics",
                "--debug-log-verbosity",
                "detailed",
                "--exporter",
                "blackhole",
            ]);
    });
    let config = OtlpConfig {
        protocol: Some(OtlpProtocol::Grpc),
        compression: Some("gzip".to_owned()),
        headers: BTreeMap::from([("x-tenant".to_owned(), "a".to_owned())]),
        ..at(format!("http://127.0.0.1:{grpc}"))
    };
    let push = Push::start(config, None, snapshot(25, &["shop"]));
    let output = eventually("rotel to print the calls", || {
        let output = receiver.output();
        output.contains("copilot.calls").then_some(output)
    });
    assert!(output.contains("service.instance.id"), "{output}");
    assert!(
        output.contains("2026-05-28") || output.contains("1780000000000000000"),
        "the series' own start: {output}"
    );
    eventually("an answer", || {
        (push.stats.status().succeeded > 0).then_some(())
    });
    push.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn oteltap_takes_http() {
    let port = free_port();
    let receiver = Process::start("oteltap", tool("oteltap"), |_, command| {
        command.args([
            "--port",
            &port.to_string(),
            "--await-metric",
            "copilot.tokens",
        ]);
    });
    let push = Push::start(
        at(format!("http://127.0.0.1:{port}")),
        None,
        snapshot(3, &["shop"]),
    );
    eventually("oteltap to print the tokens", || {
        receiver.output().contains("copilot.tokens").then_some(())
    });
    push.end().await;
}

/// What `sink` got of `metric` since it was last asked, in order.
fn drain(sink: &Sink, metric: &str) -> Vec<f64> {
    let mut values = Vec::new();
    while let Some(body) = sink.take() {
        let request = ExportMetricsServiceRequest::decode(body.as_slice()).expect("a request");
        let scopes = request
            .resource_metrics
            .iter()
            .flat_map(|resource| &resource.scope_metrics);
        for found in scopes
            .flat_map(|scope| &scope.metrics)
            .filter(|found| found.name == metric)
        {
            let Some(Data::Sum(data)) = &found.data else {
                panic!("{metric} is a sum")
            };
            for point in &data.data_points {
                let times = (point.start_time_unix_nano, point.time_unix_nano);
                assert!(times.0 > 0 && times.0 <= times.1, "{times:?}");
                match point.value {
                    Some(number_data_point::Value::AsDouble(value)) => values.push(value),
                    other => panic!("{metric} is a double, not {other:?}"),
                }
            }
        }
    }
    values
}

#[tokio::test(flavor = "multi_thread")]
async fn deltas_leave_history_out_and_go_on_after_a_restart() {
    let sink = Sink::start();
    let state = tempfile::tempdir().unwrap();
    let watermark = Some(state.path().join("otlp-delta.json"));
    let config = || OtlpConfig {
        temporality: Some(Temporality::Delta),
        ..at(format!("http://127.0.0.1:{}", sink.port))
    };
    // 10 of the calls are history.
    let push = Push::start(config(), watermark.clone(), snapshot(12, &["shop"]));
    eventually("the first push", || {
        (push.stats.status().succeeded > 0).then_some(())
    });
    push.publish.send_replace(Arc::new(snapshot(15, &["shop"])));
    push.end().await;
    // What happened while it was away arrives once.
    let push = Push::start(config(), watermark, snapshot(20, &["shop"]));
    eventually("a push", || {
        (push.stats.status().succeeded > 1).then_some(())
    });
    push.end().await;
    let arrived: f64 = drain(&sink, "copilot.calls").into_iter().sum();
    assert_eq!(arrived, 10.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn after_an_outage_the_totals_arrive_complete() {
    let port = free_port();
    let push = Push::start(
        at(format!("http://127.0.0.1:{port}")),
        None,
        snapshot(5, &["shop"]),
    );
    eventually("a failure", || {
        (push.stats.status().failed > 0).then_some(())
    });
    assert_eq!(push.stats.status().last_success, None);
    push.publish.send_replace(Arc::new(snapshot(40, &["shop"])));
    let sink = Sink::start_on(port);
    // A push that is tried again may still carry what was true when it began; the next is complete.
    eventually("the present total", || {
        (drain(&sink, "copilot.calls").last() == Some(&40.0)).then_some(())
    });
    push.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_never_answers_holds_nothing_up() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let config = at(format!("http://127.0.0.1:{port}"));
    let push = Push::start(config, None, snapshot(5, &["shop"]));
    // The publisher never waits for the push.
    for calls in 6..50 {
        push.publish
            .send_replace(Arc::new(snapshot(calls, &["shop"])));
    }
    let stopped = tokio::time::timeout(Duration::from_secs(20), push.end()).await;
    assert!(stopped.is_ok(), "stopping waits for a bounded time");
}
