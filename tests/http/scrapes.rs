//! Real Prometheus servers and promtool read what is exposed.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};

use copilot_exporter::ledger::Snapshot;
use copilot_exporter::metrics::{self, ConstantLabels, SampleValue};

use crate::server::TestServer;
use crate::snapshots::{HOSTILE, full};
use crate::support::prometheus::Prometheus;
use crate::support::tools::tool;
use crate::support::{http, wait};

const FORMATS: [(&str, &str); 3] = [
    ("text/plain;version=0.0.4", "text/plain"),
    (
        "application/openmetrics-text;version=1.0.0",
        "application/openmetrics-text",
    ),
    (
        "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited",
        "application/vnd.google.protobuf",
    ),
];

#[test]
fn promtool_2_has_nothing_to_say() {
    promtool("promtool");
}

#[test]
fn promtool_3_has_nothing_to_say() {
    promtool("promtool3");
}

fn promtool(program: &str) {
    let server = TestServer::start(full(20));
    let metrics = http::get(server.port, "/metrics").unwrap().text();
    let mut child = Command::new(tool(program))
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(metrics.as_bytes()).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert_eq!(said, "");
    assert!(output.status.success());
}

#[test]
fn no_series_is_there_twice_and_families_are_together() {
    let server = TestServer::start(full(40));
    let metrics = http::get(server.port, "/metrics").unwrap().text();
    let mut families = BTreeSet::new();
    let mut series = BTreeSet::new();
    let mut family = "";
    for line in metrics.lines() {
        if let Some(typed) = line.strip_prefix("# TYPE ") {
            family = typed.split(' ').next().unwrap();
            assert!(families.insert(family), "{family} begins twice");
        } else if !line.starts_with('#') {
            assert!(line.starts_with(family), "{line} is not of {family}");
            let (labels, _) = line.rsplit_once(' ').unwrap();
            assert!(series.insert(labels), "{labels} is there twice");
        }
    }
    assert!(series.len() > 1_000);
}

#[test]
fn prometheus_2_reads_the_same_in_all_formats() {
    reads_the_same("prometheus");
}

#[test]
fn prometheus_3_reads_the_same_in_all_formats() {
    reads_the_same("prometheus3");
}

fn reads_the_same(program: &str) {
    let snapshot = full(HOSTILE.len());
    let expected = expected(&snapshot);
    let server = TestServer::start(snapshot);
    let ports = FORMATS.map(|(accept, _)| insisting_on(accept, server.port));
    for (port, (_, kind)) in ports.iter().zip(FORMATS) {
        let answer = http::get(*port, "/metrics").unwrap();
        assert!(answer.header("content-type").unwrap().starts_with(kind));
    }
    let prometheus = Prometheus::start(program, &Prometheus::scraping(&ports));
    for port in ports {
        let instance = format!("127.0.0.1:{port}");
        prometheus.wait_for(&format!("up{{instance='{instance}'}}"), |up| up == 1.0);
        let read = wait::eventually("all series", || {
            let query = format!(
                "{{instance='{instance}',__name__=~'copilot_.*',__name__!~'copilot_exporter_.*'}}"
            );
            let samples = prometheus.query(&query).into_iter();
            let read: BTreeMap<_, _> = samples
                .map(|mut sample| {
                    sample.labels.remove("instance");
                    sample.labels.remove("job");
                    (sample.labels, sample.value)
                })
                .collect();
            (read.len() >= expected.len()).then_some(read)
        });
        assert_eq!(read, expected, "{instance}");
    }
}

/// What a server must store: labels with `__name__`, and values.
fn expected(snapshot: &Snapshot) -> BTreeMap<BTreeMap<String, String>, f64> {
    let mut expected = BTreeMap::new();
    for family in metrics::usage(snapshot, &ConstantLabels::default()) {
        for sample in &family.samples {
            let mut add = |suffix: &str, le: Option<f64>, value: f64| {
                let labels = sample.labels.iter();
                let mut labels: BTreeMap<_, _> = labels
                    .map(|(n, v)| (n.to_string(), v.to_string()))
                    .collect();
                labels.insert("__name__".to_owned(), format!("{}{suffix}", family.name));
                if let Some(le) = le {
                    // As OpenMetrics spells floats.
                    let text = if le.is_infinite() {
                        "+Inf".to_owned()
                    } else {
                        format!("{le:?}")
                    };
                    labels.insert("le".to_owned(), text);
                }
                assert_eq!(expected.insert(labels, value), None);
            };
            match &sample.value {
                SampleValue::Number(value) => add("", None, *value),
                SampleValue::Histogram(histogram) => {
                    let mut below = 0;
                    for &(bound, count) in &histogram.buckets {
                        below += count;
                        add("_bucket", Some(bound), below as f64);
                    }
                    add("_bucket", Some(f64::INFINITY), histogram.count() as f64);
                    add("_sum", None, histogram.sum);
                    add("_count", None, histogram.count() as f64);
                }
            }
        }
    }
    expected
}

/// A proxy that asks `port` for one format, whatever its client prefers.
fn insisting_on(accept: &'static str, port: u16) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let own = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || forward(stream, accept, port));
        }
    });
    own
}

fn forward(mut client: TcpStream, accept: &str, port: u16) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        client.read_exact(&mut byte)?;
        head.extend(byte);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let kept = head.lines().filter(|line| {
        let line = line.to_ascii_lowercase();
        !line.starts_with("accept:") && !line.starts_with("connection:") && !line.is_empty()
    });
    let mut head: String = kept.flat_map(|line| [line, "\r\n"]).collect();
    head.push_str(&format!("Accept: {accept}\r\nConnection: close\r\n\r\n"));
    let mut server = TcpStream::connect(("127.0.0.1", port))?;
    server.write_all(head.as_bytes())?;
    io::copy(&mut server, &mut client)?;
    Ok(())
}

#[test]
fn created_times_are_where_the_formats_have_them() {
    let server = TestServer::with(full(2), Default::default(), |config| {
        config.openmetrics_created = true;
    });
    let server = server.unwrap();
    let open = http::get_with(
        server.port,
        "/metrics",
        &[("Accept", "application/openmetrics-text")],
    );
    let text = open.unwrap().text();
    assert!(text.contains("\ncopilot_tokens_created{"));
    assert!(text.contains("\ncopilot_call_duration_seconds_created{"));
    assert!(text.lines().any(|line| line.ends_with(" 1790000000")));
}
