//! The numbers in the names are those of the collected edge cases; cases without one state a rule.

use std::fs;

use super::*;
use crate::stores::testing::{Kept, classes};
use crate::usage::{
    Credits, Evidence, Fact, FailureReason, Initiator, Key, ProjectRank, Provider, SessionFact,
    Surface, Timestamp, TotalFact,
};

mod legs;
mod messages;
mod records;
mod sessions;

/// A session's folder in a home of its own.
struct Session {
    dir: tempfile::TempDir,
    cursor: Cursor,
}

impl Session {
    fn new(lines: &str) -> Self {
        let session = Self {
            dir: tempfile::tempdir().unwrap(),
            cursor: Cursor::default(),
        };
        fs::create_dir_all(session.path().parent().unwrap()).unwrap();
        fs::write(session.path(), lines).unwrap();
        session
    }

    fn path(&self) -> PathBuf {
        self.dir
            .path()
            .join(".copilot/session-state/s1/events.jsonl")
    }

    fn pass(&mut self) -> Kept {
        self.pass_with(false)
    }

    fn pass_with(&mut self, tool_calls: bool) -> Kept {
        let home = Home {
            dir: self.dir.path().to_owned(),
            tool_calls,
            ..Home::default()
        };
        let mut kept = Kept::default();
        for source in Events.discover(&home).sources {
            self.cursor = Events
                .read(&home, &source, &self.cursor, &mut kept)
                .unwrap();
        }
        kept
    }
}

fn read(lines: &str) -> Kept {
    Session::new(lines).pass()
}

fn event(id: &str, time: &str, kind: &str, data: &str) -> String {
    format!(r#"{{"type":"{kind}","data":{data},"id":"{id}","timestamp":"2026-09-{time}"}}"#) + "\n"
}

fn message(id: &str, data: &str) -> String {
    event(id, "01T10:00:00.000Z", "assistant.message", data)
}

/// A shutdown of one model: count, gross input, cache read, cache write, output.
fn shutdown(id: &str, time: &str, [count, input, read, write, output]: [u64; 5]) -> String {
    let data = format!(
        r#"{{"modelMetrics":{{"claude-sonnet-4.5":{{"requests":{{"count":{count},"cost":1}},"usage":{{"inputTokens":{input},"outputTokens":{output},"cacheReadTokens":{read},"cacheWriteTokens":{write},"reasoningTokens":0}}}}}}}}"#
    );
    event(id, time, "session.shutdown", &data)
}

fn resume(id: &str, time: &str, data: &str) -> String {
    event(id, time, "session.resume", data)
}

/// Input, cache read, cache write of each leg.
fn legs(kept: &Kept) -> Vec<[u64; 3]> {
    let tokens = kept.legs().into_iter().map(|leg| classes(&leg.tokens));
    tokens
        .map(|[input, read, write, _]| [input, read, write].map(Option::unwrap))
        .collect()
}

fn outputs(kept: &Kept) -> Vec<Option<u64>> {
    let calls = kept.calls().into_iter();
    calls.map(|call| classes(&call.tokens)[3]).collect()
}

fn models(kept: &Kept) -> Vec<Option<&str>> {
    let calls = kept.calls().into_iter();
    calls.map(|call| call.model.as_deref()).collect()
}

fn session(kept: &Kept) -> SessionFact {
    let facts = kept.observations.iter().map(|o| &o.fact);
    let sessions = facts.filter_map(|fact| match fact {
        Fact::Session(session) => Some(session.clone()),
        _ => None,
    });
    sessions.collect::<Vec<_>>().pop().unwrap_or_default()
}

fn credit_totals(kept: &Kept) -> Vec<&TotalFact> {
    let facts = kept.observations.iter().map(|o| &o.fact);
    facts
        .filter_map(|fact| match fact {
            Fact::Total(total) => Some(total),
            _ => None,
        })
        .collect()
}

/// The record of copilot-cli.md §4.
const RECORD: &str = r#"{"type":"session.usage_record","id":"u1","timestamp":"2026-11-02T10:00:03.100Z","parentId":"e9","data":{"usage":{"model":"gpt-5.4","inputTokens":9000,"outputTokens":60,"cacheReadTokens":8000,"cacheWriteTokens":0,"reasoningTokens":20,"cost":0.0,"duration":812,"timeToFirstTokenMs":240.5,"initiator":"user","isByok":false,"apiCallId":"resp-7","accounting":{"sourceSessionId":"5d1e0000-0000-4000-8000-000000000001","sequence":1,"usageId":"resp-7"},"aiCreditsStatus":"complete","copilotUsage":{"totalNanoAiu":540000000,"tokenDetails":[{"tokenType":"input","tokenCount":1000,"batchSize":1000000,"costPerBatch":250000000000},{"tokenType":"cache_read","tokenCount":8000,"batchSize":1000000,"costPerBatch":25000000000},{"tokenType":"output","tokenCount":60,"batchSize":1000000,"costPerBatch":1500000000000}]}}}}"#;
