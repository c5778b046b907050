//! Debug logs of the chat extension: one `llm_request` line a model call (formats, vscode.md §5).

use std::ffi::OsStr;

use memchr::memmem;

use crate::stores::lines::Lines;
use crate::stores::{Cursor, Discovery, Home, Reader, Sink, Source, StoreError, StoreKind};
use crate::usage::{
    CallFact, Credits, Evidence, Fact, FailureFact, FailureReason, GrossInput, Initiator, Key,
    Observation, SessionFact, Surface, Timestamp, TokenType, Tokens,
};

use super::layout::{Search, root_of, source, workspace_file};
use super::lean::{Lean, Shape};
use super::model::model_name;
use super::skim::Skim;
use super::workspace::project_of;

const VERSION: u32 = 1;

/// What is kept of a line.
const SHAPE: Shape = Shape::Object(&[
    ("ts", Shape::Leaf),
    ("dur", Shape::Leaf),
    ("sid", Shape::Leaf),
    ("type", Shape::Leaf),
    ("spanId", Shape::Leaf),
    ("status", Shape::Leaf),
    (
        "attrs",
        Shape::Object(&[
            ("model", Shape::Leaf),
            ("inputTokens", Shape::Leaf),
            ("outputTokens", Shape::Leaf),
            ("cachedTokens", Shape::Leaf),
            ("copilotUsageNanoAiu", Shape::Leaf),
            ("ttft", Shape::Leaf),
            ("responseId", Shape::Leaf),
            ("error", Shape::Leaf),
        ]),
    ),
]);

/// Reads the logs of all sessions; a child's log lies in the folder of its parent's session.
#[derive(Debug)]
pub(crate) struct DebugLogs;

impl Reader for DebugLogs {
    fn kind(&self) -> StoreKind {
        StoreKind::VsCodeDebug
    }

    fn discover(&self, home: &Home) -> Discovery {
        let mut search = Search::new(home);
        for user in search.users() {
            let mut storages = search.workspaces(&user);
            storages.extend(search.global_storages(&user));
            for storage in storages {
                for extension in search.extensions(&storage) {
                    for session in search.folders(&extension.join("debug-logs")) {
                        for file in search.files(&session, &["jsonl"]) {
                            search.add(source(file));
                        }
                    }
                }
            }
        }
        search.finish()
    }

    fn read(
        &self,
        home: &Home,
        source: &Source,
        cursor: &Cursor,
        sink: &mut dyn Sink,
    ) -> Result<Cursor, StoreError> {
        let path = source.path.as_path();
        let root = root_of(home, path);
        let folder = path.parent().and_then(|folder| folder.file_name());
        let session = folder.unwrap_or_default().to_string_lossy();
        let is_child = path.file_stem() != Some(OsStr::new("main"));
        let (mut lines, ()) = Lines::open::<()>(root, path, cursor, VERSION)?;
        let mut any = false;
        while let Some(line) = lines.next(sink)? {
            if memmem::find(line.bytes, b"\"llm_request\"").is_none() {
                continue;
            }
            match round(line.bytes, &session, is_child) {
                Ok(Some(observation)) => {
                    sink.observe(observation);
                    any = true;
                }
                Ok(None) => {}
                Err(()) => sink.parse_error("line"),
            }
        }
        let project = workspace_file(path).and_then(|file| project_of(root, &file));
        if let (true, Some(project)) = (any, project) {
            sink.observe(Observation {
                scope: session.clone().into_owned(),
                id: Key::of("vscode debug session", &[&path.to_string_lossy()]),
                surface: Surface::VsCode,
                fact: Fact::Session(SessionFact {
                    project: Some(project),
                    ..SessionFact::default()
                }),
            });
        }
        Ok(lines.cursor(&()))
    }
}

/// What a line says of a model call; `Ok(None)` for a line about something else.
pub(super) fn round(line: &[u8], session: &str, is_child: bool) -> Result<Option<Observation>, ()> {
    let entry = Lean::read(&mut Skim::lines(line), &SHAPE).map_err(drop)?;
    if entry.text_at(&["type"]) != Some("llm_request") {
        return Ok(None);
    }
    let attr = |name| ["attrs", name];
    let count = |name| entry.count_at(&attr(name));
    let response = entry.text_at(&attr("responseId"));
    let span = entry.text_at(&["spanId"]);
    let log = entry.text_at(&["sid"]).unwrap_or(session);
    let id = match (span, response) {
        (Some(span), _) => Key::of("vscode debug", &[log, span]),
        (None, Some(response)) => Key::of("vscode debug", &[response]),
        // Nothing tells this line from a copy of another one.
        (None, None) => return Err(()),
    };
    let keys = response
        .map(Key::response)
        .into_iter()
        .chain(span.map(span_key))
        .collect();
    let (input, cached) = (count("inputTokens"), count("cachedTokens"));
    let output = count("outputTokens");
    let tokens = match input {
        // What was written to the cache is not told and stays in the input.
        Some(input) => GrossInput(input).split(cached, None).0,
        None => Tokens::default().with(TokenType::CacheRead, cached),
    };
    let time = entry.at(&["ts"]).and_then(Lean::number);
    let time = time.and_then(Timestamp::from_magnitude);
    let model = entry.text_at(&attr("model")).and_then(model_name);
    let failed = entry.text_at(&["status"]) == Some("error") || entry.at(&attr("error")).is_some();
    let has_usage = [input, cached, output].iter().flatten().any(|&n| n > 0);
    let fact = match failed && !has_usage {
        true => Fact::Failure(FailureFact {
            evidence: Evidence::Span,
            keys,
            time,
            model,
            provider: None,
            reason: FailureReason::Other,
            project: None,
        }),
        false => Fact::Call(CallFact {
            evidence: Evidence::Span,
            keys,
            time,
            model,
            provider: None,
            initiator: match is_child {
                true => Initiator::Subagent,
                false => Initiator::Unknown,
            },
            tokens: tokens.with(TokenType::Output, output),
            estimated: false,
            credits: count("copilotUsageNanoAiu").map(Credits),
            premium: None,
            duration_ms: entry.count_at(&["dur"]),
            first_token_ms: count("ttft"),
            project: None,
        }),
    };
    Ok(Some(Observation {
        scope: session.to_owned(),
        id,
        surface: Surface::VsCode,
        fact,
    }))
}

/// A span where its trace isn't known: debug logs tell only the span.
pub(super) fn span_key(span: &str) -> Key {
    Key::of("vscode span", &[span])
}

#[cfg(test)]
#[path = "debug_logs_tests.rs"]
mod tests;
