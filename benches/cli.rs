//! Event logs of the CLI, 200 MB: read cold, beside what merely looking at their bytes costs.

use std::fs::{self, File, OpenOptions};
use std::hint::black_box;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use copilot_exporter::stores::{Cursor, Home, Sink, Source, StoreKind, readers};
use copilot_exporter::usage::Observation;
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use memchr::{memchr_iter, memmem::Finder};

const SESSIONS: u64 = 100;
const BYTES_OF_A_SESSION: u64 = 2 << 20;

/// Counts what it is told and forgets it.
#[derive(Default)]
struct Counted(u64);

impl Sink for Counted {
    fn observe(&mut self, observation: Observation) {
        black_box(observation);
        self.0 += 1;
    }

    fn checkpoint(&mut self, _: Cursor) {}

    fn parse_error(&mut self, _: &'static str) {}

    fn skipped(&mut self, _: &'static str) {}

    fn bytes_read(&mut self, _: u64) {}
}

/// A session as agents leave them: most bytes are what tools printed.
fn write_log(path: &Path) -> std::io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    let printed = "src/main.rs:12: \\\"let value\\\" = text.to_owned();\\n".repeat(120);
    let answer = "A sentence that an agent says about the code. ".repeat(8);
    let (mut written, mut n) = (0, 0u64);
    while written < BYTES_OF_A_SESSION {
        let time = format!("2026-09-01T{:02}:{:02}:00.000Z", n / 60 % 24, n % 60);
        let tail = |id: &str| format!(r#","id":"{id}-{n}","timestamp":"{time}","parentId":null}}"#);
        let lines = [
            format!(
                r#"{{"type":"user.message","data":{{"content":"{answer}"}}{}"#,
                tail("u")
            ),
            format!(
                r#"{{"type":"assistant.message","data":{{"messageId":"m{n}","model":"gpt-5.4","content":"{answer}","toolRequests":[],"turnId":"0","apiCallId":"r{n}","outputTokens":70}}{}"#,
                tail("a")
            ),
            format!(
                r#"{{"type":"tool.execution_complete","data":{{"success":true,"result":{{"content":"{printed}"}}}}{}"#,
                tail("t")
            ),
        ];
        for line in lines {
            writeln!(file, "{line}")?;
            written += line.len() as u64 + 1;
        }
        n += 1;
    }
    writeln!(
        file,
        r#"{{"type":"session.shutdown","data":{{"modelMetrics":{{"gpt-5.4":{{"requests":{{"count":{n}}},"usage":{{"inputTokens":{},"outputTokens":{}}}}}}}}},"id":"s","timestamp":"2026-09-02T00:00:00.000Z"}}"#,
        n * 9_000,
        n * 70
    )?;
    file.flush()
}

/// Reads all files through one buffer.
fn skim(paths: &[PathBuf], mut look: impl FnMut(&[u8])) {
    let mut buffer = vec![0; 256 << 10];
    for path in paths {
        let mut file = File::open(path).expect("a log");
        loop {
            match file.read(&mut buffer).expect("to read a log") {
                0 => break,
                n => look(&buffer[..n]),
            }
        }
    }
}

fn event_logs(c: &mut Criterion) {
    let dir = tempfile::tempdir().expect("a temporary folder");
    for n in 0..SESSIONS {
        let folder = dir.path().join(format!(".copilot/session-state/{n:04}"));
        fs::create_dir_all(&folder).expect("a folder");
        write_log(&folder.join("events.jsonl")).expect("to write a log");
    }
    let home = Home {
        dir: dir.path().to_owned(),
        ..Home::default()
    };
    let reader = readers()
        .into_iter()
        .find(|reader| reader.kind() == StoreKind::CliEvents)
        .expect("the reader of event logs");
    let sources = reader.discover(&home).sources;
    let paths: Vec<_> = sources.iter().map(|source| source.path.clone()).collect();
    let read = |source: &Source, cursor: &Cursor| {
        let mut sink = Counted::default();
        let read = reader.read(&home, source, cursor, &mut sink);
        let cursor = read.expect("to read the log");
        black_box(sink.0);
        cursor
    };

    let mut group = c.benchmark_group("cli_events");
    group.sample_size(10);
    group.throughput(Throughput::Bytes(SESSIONS * BYTES_OF_A_SESSION));
    group.bench_function("count_newlines", |b| {
        b.iter(|| {
            let mut lines = 0;
            skim(&paths, |bytes| lines += memchr_iter(b'\n', bytes).count());
            lines
        });
    });
    group.bench_function("search_three_markers", |b| {
        let markers = ["session.", "assistant.message", "subagent."].map(Finder::new);
        b.iter(|| {
            let mut found = 0;
            skim(&paths, |bytes| {
                for marker in &markers {
                    found += marker.find_iter(bytes).count();
                }
            });
            found
        });
    });
    group.bench_function("cold", |b| {
        b.iter(|| {
            for source in &sources {
                black_box(read(source, &Cursor::default()));
            }
        });
    });
    group.throughput(Throughput::Bytes(100 << 10));
    group.bench_function("one_log_grew_by_100_kb", |b| {
        let source = &sources[0];
        let whole = fs::read(&source.path).expect("a log");
        let kept = whole.len() - (100 << 10);
        fs::write(&source.path, &whole[..kept]).expect("to shorten a log");
        let before = read(source, &Cursor::default());
        let mut file = OpenOptions::new()
            .append(true)
            .open(&source.path)
            .expect("to open a log");
        file.write_all(&whole[kept..]).expect("to append to a log");
        b.iter_batched(
            || before.clone(),
            |cursor| read(source, &cursor),
            BatchSize::SmallInput,
        );
    });
    group.bench_function("discover", |b| b.iter(|| reader.discover(&home)));
    group.finish();
}

criterion_group!(benches, event_logs);
criterion_main!(benches);
