//! Writing a step the way the tool of its session does.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::people::Tool;
use super::work::{Call, Deed, Session, Step};
use crate::usage::{Credits, Initiator, Timestamp, TokenType};

/// The versions of the clients that the team uses.
const CLI_VERSION: &str = "1.0.102";

/// Where the team's files are written. Lines are gathered until [`Desk::flush`], file by file.
#[derive(Debug)]
pub(super) struct Desk {
    homes: PathBuf,
    lines: BTreeMap<PathBuf, Vec<u8>>,
}

impl Desk {
    pub(super) fn new(homes: &Path) -> Self {
        Self {
            homes: homes.to_owned(),
            lines: BTreeMap::new(),
        }
    }

    /// Takes down what `step` leaves behind.
    pub(super) fn write(&mut self, step: &Step) -> io::Result<()> {
        let home = self.homes.join(step.session.person.name);
        match step.session.tool {
            Tool::Cli => self.cli(&home, step),
            Tool::VsCode => self.debug_log(&home, step),
            Tool::VsCodeJournal => self.journal(&home, step),
        }
    }

    /// Appends to the files what was taken down.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        for (path, lines) in std::mem::take(&mut self.lines) {
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            let mut file = OpenOptions::new().create(true).append(true).open(path)?;
            file.write_all(&lines)?;
        }
        Ok(())
    }

    fn append(&mut self, path: &Path, line: &Value) -> io::Result<()> {
        let lines = self.lines.entry(path.to_owned()).or_default();
        serde_json::to_writer(&mut *lines, line)?;
        lines.push(b'\n');
        Ok(())
    }

    /// The file is there, or is about to be.
    fn begun(&self, path: &Path) -> bool {
        self.lines.contains_key(path) || path.exists()
    }

    fn cli(&mut self, home: &Path, step: &Step) -> io::Result<()> {
        let session = &step.session;
        let Deed::Call(call) = &step.deed else {
            return Ok(());
        };
        let path = home
            .join(".copilot/session-state")
            .join(&session.id)
            .join("events.jsonl");
        if !self.begun(&path) {
            self.append(&path, &session_start(home, session))?;
        }
        self.append(&path, &usage_record(step, call))
    }

    fn debug_log(&mut self, home: &Path, step: &Step) -> io::Result<()> {
        let session = &step.session;
        let storage = self.workspace(home, session)?;
        let path = storage
            .join("GitHub.copilot-chat/debug-logs")
            .join(&session.id)
            .join("main.jsonl");
        let model = session.model.name;
        let line = match &step.deed {
            Deed::Failure { code } => json!({
                "ts": step.time.0, "dur": 400, "sid": session.id, "type": "llm_request", "name": "chat",
                "spanId": step.id, "status": "error", "attrs": {"model": model, "error": code},
            }),
            Deed::Call(call) => json!({
                "ts": step.time.0, "dur": call.duration_ms, "sid": session.id, "type": "llm_request",
                "name": "chat", "spanId": step.id, "status": "ok",
                "attrs": {
                    "model": model,
                    "inputTokens": gross_input(call),
                    "cachedTokens": call.tokens.get(TokenType::CacheRead),
                    "outputTokens": call.tokens.get(TokenType::Output),
                    "copilotUsageNanoAiu": call.nano_aiu,
                    "ttft": call.first_token_ms,
                    "responseId": step.id,
                },
            }),
        };
        self.append(&path, &line)
    }

    fn journal(&mut self, home: &Path, step: &Step) -> io::Result<()> {
        let session = &step.session;
        let storage = self.workspace(home, session)?;
        let path = storage
            .join("chatSessions")
            .join(format!("{}.jsonl", session.id));
        if !self.begun(&path) {
            let state = json!({
                "version": 3, "sessionId": session.id, "creationDate": session.began.0, "requests": [],
            });
            self.append(&path, &json!({"kind": 0, "v": state}))?;
        }
        let id = format!("request_{}", step.id);
        let model = format!("copilot/{}", session.model.name);
        let request = match &step.deed {
            Deed::Failure { code } => json!({
                "requestId": id,
                "timestamp": step.time.0,
                "modelId": model,
                "result": {"errorDetails": {"code": code}},
                "modelState": {"value": 3, "completedAt": step.time.0 + 400},
            }),
            Deed::Call(call) => json!({
                "requestId": id,
                "timestamp": step.time.0,
                "modelId": model,
                "promptTokens": gross_input(call),
                "completionTokens": call.tokens.get(TokenType::Output),
                "copilotCredits": call.nano_aiu as f64 / Credits::NANO as f64,
                "elapsedMs": call.duration_ms,
                "modelState": {"value": 1, "completedAt": step.time.0 + call.duration_ms as i64},
            }),
        };
        self.append(
            &path,
            &json!({"kind": 2, "k": ["requests"], "v": [request]}),
        )
    }

    /// The folder of the session's project in VS Code's workspace storage. It is there before any session
    /// is, as with VS Code.
    fn workspace(&self, home: &Path, session: &Session) -> io::Result<PathBuf> {
        let project = session.project;
        let id = xxhash_rust::xxh3::xxh3_128(project.as_bytes());
        let storage = home
            .join(".config/Code/User/workspaceStorage")
            .join(format!("{id:032x}"));
        let file = storage.join("workspace.json");
        if !file.exists() {
            fs::create_dir_all(&storage)?;
            let person = session.person.name;
            let folder = format!("file:///home/{person}/src/{project}");
            fs::write(file, json!({"folder": folder}).to_string())?;
        }
        Ok(storage)
    }
}

fn session_start(home: &Path, session: &Session) -> Value {
    let folder = home.join("src").join(session.project);
    json!({
        "type": "session.start",
        "id": format!("{}-start", session.id),
        "timestamp": iso(session.began),
        "parentId": null,
        "data": {
            "sessionId": session.id,
            "copilotVersion": CLI_VERSION,
            "producer": "copilot-agent",
            "startTime": iso(session.began),
            "selectedModel": session.model.name,
            "context": {
                "cwd": folder,
                "gitRoot": folder,
                "repository": format!("acme/{}", session.project),
                "hostType": "github",
                "branch": "main",
            },
        },
    })
}

fn usage_record(step: &Step, call: &Call) -> Value {
    let session = &step.session;
    let tokens = &call.tokens;
    let own = session.model.provider;
    let charged = match own {
        Some(_) => json!({"aiCreditsStatus": "unavailable"}),
        None => json!({
            "aiCreditsStatus": "complete",
            "copilotUsage": {"totalNanoAiu": call.nano_aiu},
        }),
    };
    let mut usage = json!({
        "model": session.model.name,
        "inputTokens": gross_input(call),
        "outputTokens": tokens.get(TokenType::Output),
        "cacheReadTokens": tokens.get(TokenType::CacheRead),
        "cacheWriteTokens": tokens.get(TokenType::CacheWrite),
        "reasoningTokens": tokens.reasoning(),
        "duration": call.duration_ms,
        "timeToFirstTokenMs": call.first_token_ms,
        "initiator": match call.initiator {
            Initiator::Subagent => "sub-agent",
            other => other.as_str(),
        },
        "isByok": own.is_some(),
        "modelProvider": own,
        "apiCallId": step.id,
        "accounting": {
            "sourceSessionId": session.id,
            "sequence": step.sequence,
            "usageId": step.id,
        },
    });
    if let (Some(usage), Value::Object(charged)) = (usage.as_object_mut(), charged) {
        usage.extend(charged);
        // What the client doesn't know it leaves out.
        usage.retain(|_, value| !value.is_null());
    }
    json!({
        "type": "session.usage_record",
        "id": step.id,
        "timestamp": iso(step.time),
        "parentId": format!("{}-start", session.id),
        "data": {"usage": usage},
    })
}

/// What the stores call input: the whole prompt.
fn gross_input(call: &Call) -> Option<u64> {
    call.tokens.gross_input().map(|gross| gross.0)
}

fn iso(time: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(time.0)
        .map(|at| format!("{at:.3}"))
        .unwrap_or_default()
}
