//! Transcripts of the chat extension: `assistant.usage` where the build writes it, else the length of what
//! was said, as an estimate (formats, vscode.md §4).

use memchr::memmem;
use serde::{Deserialize, Serialize};

use crate::stores::lines::Lines;
use crate::stores::tool_requests::tool_requests;
use crate::stores::{Cursor, Discovery, Home, Reader, Sink, Source, StoreError, StoreKind};
use crate::usage::{
    CallFact, Credits, Evidence, Fact, GrossInput, Initiator, Key, Observation, Project,
    ProjectHint, ProjectRank, SessionFact, Surface, Timestamp, TokenType, Tokens, ToolFact,
};

use super::layout::{Search, root_of, source, stem, workspace_file};
use super::lean::{Lean, Shape};
use super::model::model_name;
use super::skim::Skim;
use super::workspace::project_of;

const VERSION: u32 = 1;
/// How far apart a message and the usage of its call are written.
const SAME_CALL_MS: u64 = 120_000;
/// How many of either wait for their counterpart.
const MOST_OPEN: usize = 64;
/// Characters a token, on average.
const UNITS_PER_TOKEN: u64 = 4;

/// What is kept of a line: of what was said, only its length.
const SHAPE: Shape = Shape::Object(&[
    ("type", Shape::Leaf),
    ("id", Shape::Leaf),
    ("timestamp", Shape::Leaf),
    (
        "data",
        Shape::Object(&[
            ("messageId", Shape::Leaf),
            ("content", Shape::Units),
            ("reasoningText", Shape::Units),
            (
                "toolRequests",
                Shape::List(&Shape::Object(&[("arguments", Shape::Units)])),
            ),
            ("model", Shape::Leaf),
            ("newModel", Shape::Leaf),
            ("startTime", Shape::Leaf),
            ("context", Shape::Object(&[("cwd", Shape::Leaf)])),
            ("inputTokens", Shape::Leaf),
            ("outputTokens", Shape::Leaf),
            ("cacheReadTokens", Shape::Leaf),
            ("cacheCreationInputTokens", Shape::Leaf),
            ("copilotUsageNanoAiu", Shape::Leaf),
            ("parentToolCallId", Shape::Leaf),
        ]),
    ),
]);

/// Reads the transcripts of all workspaces.
#[derive(Debug)]
pub(crate) struct Transcripts;

/// What the lines before say about those to come.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct State {
    model: Option<String>,
    started: Option<Timestamp>,
    folder: Option<Project>,
    /// Messages whose usage may follow, oldest first. The two share no id; they are given a common key here.
    messages: Vec<Open>,
    /// Usages whose message may follow.
    usages: Vec<Open>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Open {
    key: Key,
    time: Option<Timestamp>,
}

impl Reader for Transcripts {
    fn kind(&self) -> StoreKind {
        StoreKind::VsCodeTranscripts
    }

    fn discover(&self, home: &Home) -> Discovery {
        let mut search = Search::new(home);
        for user in search.users() {
            let mut storages = search.workspaces(&user);
            storages.extend(search.global_storages(&user));
            for storage in storages {
                for extension in search.extensions(&storage) {
                    for file in search.files(&extension.join("transcripts"), &["jsonl"]) {
                        search.add(source(file));
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
        let session = stem(path);
        let (mut lines, mut state) = Lines::open::<State>(root, path, cursor, VERSION)?;
        let mut any = false;
        while let Some(line) = lines.next(sink)? {
            if !may_matter(line.bytes) {
                continue;
            }
            match state.take(line.bytes, line.offset, &session) {
                Ok(Some(observation)) => {
                    if home.tool_calls {
                        tools(line.bytes, &observation, sink);
                    }
                    sink.observe(observation);
                    any = true;
                }
                Ok(None) => {}
                Err(()) => sink.parse_error("line"),
            }
        }
        let workspace = workspace_file(path).and_then(|file| project_of(root, &file));
        let folder = |project: Project| ProjectHint {
            rank: ProjectRank::Folder,
            project,
        };
        let project = workspace.or_else(|| state.folder.clone().map(folder));
        if any && (project.is_some() || state.started.is_some()) {
            sink.observe(Observation {
                id: Key::of("vscode transcript session", &[&path.to_string_lossy()]),
                scope: session,
                surface: Surface::VsCode,
                fact: Fact::Session(SessionFact {
                    started: state.started,
                    project,
                    ..SessionFact::default()
                }),
            });
        }
        Ok(lines.cursor(&state))
    }
}

fn may_matter(line: &[u8]) -> bool {
    let needles: [&[u8]; 4] = [
        b"\"assistant.message\"",
        b"\"assistant.usage\"",
        b"\"session.start\"",
        b"\"session.model_change\"",
    ];
    needles
        .iter()
        .any(|needle| memmem::find(line, needle).is_some())
}

impl State {
    /// Takes in a line, and gives what it says of a call; `Err` for a line that can't be read.
    pub(super) fn take(
        &mut self,
        line: &[u8],
        offset: u64,
        session: &str,
    ) -> Result<Option<Observation>, ()> {
        let entry = Lean::read(&mut Skim::lines(line), &SHAPE).map_err(drop)?;
        let data = |name| ["data", name];
        let text = |name| entry.text_at(&data(name));
        let kind = entry.text_at(&["type"]).unwrap_or_default();
        let known = matches!(
            kind,
            "assistant.message" | "assistant.usage" | "session.start" | "session.model_change"
        );
        if known && !matches!(entry.get("data"), Some(Lean::Object(_))) {
            return Err(());
        }
        let time = entry.text_at(&["timestamp"]).and_then(Timestamp::parse_iso);
        let position = format!("#{offset}");
        let event = entry.text_at(&["id"]).unwrap_or(&position);
        let said = |name| entry.at(&data(name)).and_then(Lean::count).unwrap_or(0);
        match kind {
            "session.start" => {
                let started = text("startTime").and_then(Timestamp::parse_iso);
                self.started = self.started.or(started).or(time);
                let cwd = entry.text_at(&["data", "context", "cwd"]);
                self.folder = self.folder.take().or(cwd.and_then(Project::of_folder));
            }
            "session.model_change" => {
                let model = text("newModel").or(text("model")).and_then(model_name);
                self.model = model.or(self.model.take());
            }
            "assistant.message" => {
                let requests = entry.at(&data("toolRequests")).map_or(&[][..], Lean::items);
                let arguments = requests
                    .iter()
                    .filter_map(|one| one.count_at(&["arguments"]));
                let units = said("content") + said("reasoningText") + arguments.sum::<u64>();
                let counted = entry.count_at(&data("outputTokens"));
                if units == 0 && requests.is_empty() && counted.is_none() {
                    return Ok(None);
                }
                let estimate = (units > 0).then(|| units.div_ceil(UNITS_PER_TOKEN));
                let id = text("messageId").unwrap_or(event);
                let id = Key::of("vscode transcript", &[session, id]);
                let mut keys = vec![id];
                match take_nearest(&mut self.usages, time) {
                    Some(usage) => keys.push(usage.key),
                    None => keep_open(&mut self.messages, Open { key: id, time }),
                }
                let call = CallFact {
                    tokens: Tokens::default().with(TokenType::Output, counted.or(estimate)),
                    estimated: counted.is_none() && estimate.is_some(),
                    ..self.call(Evidence::TranscriptMessage, keys, &entry, time)
                };
                return Ok(Some(observation(session, id, call)));
            }
            "assistant.usage" => {
                let id = Key::event(event);
                let mut keys = vec![id];
                match take_nearest(&mut self.messages, time) {
                    Some(message) => keys.push(message.key),
                    None => keep_open(&mut self.usages, Open { key: id, time }),
                }
                let call = self.usage(keys, &entry, time);
                return Ok(Some(observation(session, id, call)));
            }
            _ => {}
        }
        Ok(None)
    }

    fn usage(&self, keys: Vec<Key>, entry: &Lean, time: Option<Timestamp>) -> CallFact {
        let count = |name| entry.count_at(&["data", name]);
        let (read, write) = (count("cacheReadTokens"), count("cacheCreationInputTokens"));
        let tokens = match count("inputTokens") {
            Some(input) => GrossInput(input).split(read, write).0,
            None => Tokens::default()
                .with(TokenType::CacheRead, read)
                .with(TokenType::CacheWrite, write),
        };
        let is_child = entry.text_at(&["data", "parentToolCallId"]).is_some();
        CallFact {
            tokens: tokens.with(TokenType::Output, count("outputTokens")),
            credits: count("copilotUsageNanoAiu").map(Credits),
            initiator: match is_child {
                true => Initiator::Subagent,
                false => Initiator::Unknown,
            },
            ..self.call(Evidence::TranscriptUsage, keys, entry, time)
        }
    }

    /// A call of which only its model and time are known. Ids of tool calls tell a vendor at most, which is
    /// no model.
    fn call(
        &self,
        evidence: Evidence,
        keys: Vec<Key>,
        entry: &Lean,
        time: Option<Timestamp>,
    ) -> CallFact {
        let named = entry.text_at(&["data", "model"]).and_then(model_name);
        CallFact {
            evidence,
            keys,
            time,
            model: named.or(self.model.clone()),
            provider: None,
            initiator: Initiator::Unknown,
            tokens: Tokens::default(),
            estimated: false,
            credits: None,
            premium: None,
            duration_ms: None,
            first_token_ms: None,
            project: None,
        }
    }
}

fn observation(session: &str, id: Key, call: CallFact) -> Observation {
    Observation {
        scope: session.to_owned(),
        id,
        surface: Surface::VsCode,
        fact: Fact::Call(call),
    }
}

fn keep_open(open: &mut Vec<Open>, one: Open) {
    if open.len() == MOST_OPEN {
        open.remove(0);
    }
    open.push(one);
}

/// Takes the last one out, if it is near enough to `time`.
fn take_nearest(open: &mut Vec<Open>, time: Option<Timestamp>) -> Option<Open> {
    let near = |one: &mut Open| {
        let apart = one.time.zip(time).map(|(a, b)| a.0.abs_diff(b.0));
        apart.is_none_or(|apart| apart <= SAME_CALL_MS)
    };
    open.pop_if(near)
}

/// States which tools the message on `line` asks for, of which `call` was read.
fn tools(line: &[u8], call: &Observation, sink: &mut dyn Sink) {
    let Fact::Call(told) = &call.fact else {
        return;
    };
    for (id, tool) in tool_requests(line) {
        let fact = ToolFact {
            time: told.time,
            model: told.model.clone(),
            tool,
        };
        sink.observe(Observation {
            scope: call.scope.clone(),
            id: Key::of("tool request", &[&call.id.0.to_string(), &id]),
            surface: call.surface,
            fact: Fact::Tool(fact),
        });
    }
}

#[cfg(test)]
#[path = "transcripts_tests.rs"]
mod tests;
