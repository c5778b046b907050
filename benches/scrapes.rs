//! What 10,000 series cost: rendering each format, and 100 scrapes a second while new snapshots come and
//! another core is busy, as during a scan. Latency is counted from when a scrape was due, so that a
//! scrape which waits for the one before it is late. Usage: `cargo bench --bench scrapes [SECONDS]`

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use copilot_exporter::config::WebConfig;
use copilot_exporter::ledger::{Series, SeriesLabels, Snapshot, Value};
use copilot_exporter::metrics::{self, ConstantLabels, Recorder};
use copilot_exporter::outlets::Format;
use copilot_exporter::serve::{Server, Sources};
use copilot_exporter::usage::{
    Initiator, Measure, Project, Provider, Surface, Timestamp, TokenType,
};
use tokio::sync::{Notify, watch};

const SERIES: usize = 10_000;
const A_SECOND: u32 = 100;

fn main() {
    let seconds = std::env::args().find_map(|text| text.parse().ok());
    render();
    load(seconds.unwrap_or(10));
}

fn snapshot() -> Snapshot {
    let measures = [
        Measure::Calls(Initiator::User),
        Measure::Calls(Initiator::Agent),
        Measure::Tokens(TokenType::Input),
        Measure::Tokens(TokenType::CacheRead),
        Measure::Tokens(TokenType::CacheWrite),
        Measure::Tokens(TokenType::Output),
        Measure::Reasoning,
        Measure::CostReported,
        Measure::Credits,
        Measure::Sessions,
    ];
    let series = (0..SERIES / measures.len()).map(|n| Series {
        labels: SeriesLabels {
            provider: Provider::Copilot,
            model: format!("model-{}", n % 7),
            project: Project::named(&format!("project-{}", n / 7)),
            surface: Surface::Cli,
            user: None,
        },
        values: BTreeMap::from(measures.map(|measure| {
            let value = Value {
                amount: 1_234_567_890 + n as u128,
                born: Timestamp(1_790_000_000_000),
                baseline: 0,
            };
            (measure, value)
        })),
    });
    Snapshot {
        ready: true,
        series: series.collect(),
        ..Snapshot::default()
    }
}

fn render() {
    let snapshot = snapshot();
    for (name, format) in [
        ("text", Format::Text),
        ("openmetrics", Format::OpenMetrics { created: false }),
        ("protobuf", Format::Protobuf),
    ] {
        let mut bytes = 0;
        let mut best = Duration::MAX;
        for _ in 0..20 {
            let began = Instant::now();
            let families = metrics::usage(&snapshot, &ConstantLabels::default());
            bytes = format.render(&families).len();
            best = best.min(began.elapsed());
        }
        println!("render {SERIES} series as {name}: {best:.1?}, {bytes} bytes");
    }
}

fn load(seconds: u32) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let (publish, snapshots) = watch::channel(Arc::new(snapshot()));
    let config = WebConfig {
        listen: vec!["127.0.0.1:0".to_owned()],
        ..WebConfig::default()
    };
    let sources = Sources {
        snapshots,
        seen: Arc::new(Notify::new()),
        labels: ConstantLabels::default(),
        recorder: Arc::new(Recorder::new()),
    };
    let server = Server::bind(&config, sources).expect("a free port");
    let address = server.addresses().remove(0);
    runtime.spawn(server.run(std::future::pending()));

    let end = Arc::new(AtomicBool::new(false));
    let busy = std::thread::spawn({
        let end = end.clone();
        move || {
            while !end.load(Ordering::Relaxed) {
                std::hint::black_box((0..10_000u64).sum::<u64>());
            }
        }
    });
    let publisher = std::thread::spawn({
        let end = end.clone();
        move || {
            while !end.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_secs(1));
                publish.send_replace(Arc::new(snapshot()));
            }
        }
    });
    for (name, headers) in [("plain", ""), ("gzip", "Accept-Encoding: gzip\r\n")] {
        let mut latencies = scrape(&address, headers, seconds);
        latencies.sort();
        let at = |share: f64| latencies[((latencies.len() - 1) as f64 * share) as usize];
        println!(
            "{} scrapes, {A_SECOND}/s, {name}: p50 {:.1?}, p99 {:.1?}, max {:.1?}",
            latencies.len(),
            at(0.5),
            at(0.99),
            at(1.0)
        );
    }
    end.store(true, Ordering::Relaxed);
    for thread in [busy, publisher] {
        thread.join().expect("a thread to end");
    }
}

/// Four clients with kept connections, whose scrapes are due in turn.
fn scrape(address: &str, headers: &str, seconds: u32) -> Vec<Duration> {
    const CLIENTS: u32 = 4;
    let begin = Instant::now() + Duration::from_millis(200);
    let request = format!(
        "GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: application/openmetrics-text\r\n{headers}\r\n"
    );
    let client = |number: u32| {
        let mut stream = BufReader::new(TcpStream::connect(address).expect("the server"));
        let mut body = Vec::new();
        let mut latencies = Vec::new();
        for n in (number..seconds * A_SECOND).step_by(CLIENTS as usize) {
            let due = begin + Duration::from_secs(1) * n / A_SECOND;
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            stream
                .get_mut()
                .write_all(request.as_bytes())
                .expect("to send");
            receive(&mut stream, &mut body);
            latencies.push(due.elapsed());
        }
        latencies
    };
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| scope.spawn(move || client(number)))
            .collect();
        let results = clients.into_iter().map(|c| c.join().expect("a client"));
        results.flatten().collect()
    })
}

fn receive(stream: &mut BufReader<TcpStream>, body: &mut Vec<u8>) {
    let mut length = 0;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).expect("a head");
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.parse().expect("a length");
        }
    }
    body.resize(length, 0);
    stream.read_exact(body).expect("a body");
}
