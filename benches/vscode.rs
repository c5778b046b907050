//! A journal of 100 MB: read whole, and brought up to date after one more line.

use std::fs::{self, OpenOptions};
use std::hint::black_box;
use std::io::Write;
use std::path::Path;

use copilot_exporter::stores::{Cursor, Home, Sink, Source, StoreKind, readers};
use copilot_exporter::usage::Observation;
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};

const BYTES: u64 = 100 << 20;

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

/// A session of long answers, as agents leave them: requests, their text in pieces, and their figures.
fn write_journal(path: &Path) -> std::io::Result<()> {
    let mut file = std::io::BufWriter::new(fs::File::create(path)?);
    let code = "    let value = \\\"text\\\".to_owned();\\n".repeat(60);
    let answer = "A sentence that an agent says about the code. ".repeat(50);
    writeln!(
        file,
        r#"{{"kind":0,"v":{{"version":3,"sessionId":"s","creationDate":1790000000000,"requests":[]}}}}"#
    )?;
    let (mut written, mut n) = (0, 0);
    while written < BYTES {
        let mut lines = vec![format!(
            r#"{{"kind":2,"k":["requests"],"v":[{{"requestId":"request_{n}","timestamp":{time},"modelId":"copilot/gpt-5.4","message":{{"text":"{answer}"}}}}]}}"#,
            time = 1_790_000_000_000_u64 + n * 60_000
        )];
        for part in 0..20 {
            lines.push(format!(
                r#"{{"kind":2,"k":["requests",{n},"response"],"v":[{{"value":"{answer}{code}"}}],"i":{part}}}"#
            ));
        }
        lines.push(format!(
            r#"{{"kind":1,"k":["requests",{n},"result"],"v":{{"metadata":{{"renderedUserMessage":[{{"text":"{code}"}}],"toolCallRounds":[{{"response":"{answer}"}}],"promptTokens":9000,"outputTokens":70}}}}}}"#
        ));
        lines.push(format!(
            r#"{{"kind":1,"k":["requests",{n},"completionTokens"],"v":490}}"#
        ));
        for line in lines {
            writeln!(file, "{line}")?;
            written += line.len() as u64 + 1;
        }
        n += 1;
    }
    file.flush()
}

fn journal(c: &mut Criterion) {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let path = dir.path().join("s.jsonl");
    write_journal(&path).expect("to write the journal");
    let home = Home {
        dir: dir.path().to_owned(),
        ..Home::default()
    };
    let source = Source::file(&path);
    let reader = readers()
        .into_iter()
        .find(|reader| reader.kind() == StoreKind::VsCodeChat)
        .expect("the reader of chat sessions");
    let read = |cursor: &Cursor| {
        let mut sink = Counted::default();
        reader
            .read(&home, &source, cursor, &mut sink)
            .expect("to read the journal")
    };

    let mut group = c.benchmark_group("chat session of 100 MB");
    group.sample_size(10);
    group.throughput(Throughput::Bytes(BYTES));
    group.bench_function("cold", |b| b.iter(|| read(&Cursor::default())));
    group.throughput(Throughput::Elements(1));
    let mut cursor = read(&Cursor::default());
    let mut output = 500;
    group.bench_function("one more line", |b| {
        b.iter_batched(
            || {
                output += 1;
                let line = format!(
                    "{{\"kind\":1,\"k\":[\"requests\",0,\"completionTokens\"],\"v\":{output}}}\n"
                );
                let file = OpenOptions::new().append(true).open(&path);
                file.and_then(|mut file| file.write_all(line.as_bytes()))
                    .expect("to append to the journal");
            },
            |()| cursor = read(&cursor),
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

criterion_group!(benches, journal);
criterion_main!(benches);
