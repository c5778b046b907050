//! The event log of a session, `session-state/<session>/events.jsonl`, and the same events in the layouts
//! of older clients.

mod legs;
mod line;
mod parser;
mod shapes;
mod state;
mod statements;

use std::path::{Path, PathBuf};

use super::root;
use super::workspace::Workspace;
use crate::stores::files::{self, is_absent};
use crate::stores::lines::Lines;
use crate::stores::{Cursor, Discovery, Home, Reader, Reason, Sink, Source, StoreError, StoreKind};
use parser::Parser;

const VERSION: u32 = 2;

/// An event that matters is small; lines above this hold contents of tools, and are told if they don't.
const LONGEST_LINE: usize = 16 << 20;

/// After so many bytes what was read is offered for a commit.
const CHECKPOINT_BYTES: u64 = 32 << 20;

/// The reader of the store `cli_events`.
#[derive(Debug)]
pub(in crate::stores) struct Events;

impl Reader for Events {
    fn kind(&self) -> StoreKind {
        StoreKind::CliEvents
    }

    fn discover(&self, home: &Home) -> Discovery {
        let root = root(home);
        let mut discovery = Discovery::default();
        for name in ["session-state", "history-session-state"] {
            let folder = root.join(name);
            match files::list(&root, &folder) {
                Ok(entries) => {
                    let sessions = entries
                        .into_iter()
                        .filter(|entry| !entry.name.as_encoded_bytes().starts_with(b"."));
                    discovery.sources.extend(sessions.filter_map(source));
                }
                Err(error) => {
                    let error = StoreError::new(&folder, Reason::Io(error));
                    discovery.problems.push(error);
                }
            }
            discovery.looked_at.push(folder);
        }
        discovery
    }

    fn read(
        &self,
        home: &Home,
        source: &Source,
        cursor: &Cursor,
        sink: &mut dyn Sink,
    ) -> Result<Cursor, StoreError> {
        let root = root(home);
        let Some(session) = session_of(&source.path) else {
            let text = "no session's name".to_owned();
            return Err(StoreError::new(&source.path, Reason::Shape(text)));
        };
        let opened = Lines::open(&root, &source.path, cursor, VERSION);
        let (lines, state) = match opened {
            Err(StoreError {
                reason: Reason::Io(error),
                ..
            }) if is_absent(&error) => return Ok(cursor.clone()),
            opened => opened?,
        };
        let mut lines = lines.with_longest_line(LONGEST_LINE, line::is_contents);
        let workspace = match source.companions.first() {
            Some(path) => Workspace::read(&root, path),
            None => Workspace::default(),
        };
        let mut parser = Parser::new(&session, state);
        parser.tool_calls = home.tool_calls;
        let mut committed = 0;
        while let Some(line) = lines.next(sink)? {
            let end = line.offset;
            parser.read_line(line, sink);
            if end - committed.max(lines.began()) > CHECKPOINT_BYTES {
                committed = end;
                parser.session(&workspace, sink);
                sink.checkpoint(lines.cursor(&parser.state));
            }
        }
        parser.session(&workspace, sink);
        Ok(lines.cursor(&parser.state))
    }
}

/// Reads the lines of a log that lies in memory.
#[cfg(fuzzing)]
pub(super) fn parse(log: &[u8], sink: &mut dyn Sink) {
    let mut parser = Parser::new("session", state::State::default());
    for (number, bytes) in log.split(|&byte| byte == b'\n').enumerate() {
        let (number, offset) = (number as u64, number as u64);
        let line = crate::stores::lines::Line {
            bytes,
            number,
            offset,
        };
        parser.read_line(line, sink);
    }
    parser.session(&Workspace::default(), sink);
}

/// The event log of a session's folder, or the file that an old client wrote in its place.
fn source(entry: files::Entry) -> Option<Source> {
    if !entry.is_dir {
        let is_log = entry.path.extension().is_some_and(|e| e == "jsonl");
        return is_log.then(|| Source::file(entry.path));
    }
    let path = entry.path.join("events.jsonl");
    // Whether it is a regular file is asked when it is opened.
    path.symlink_metadata().ok()?;
    Some(Source {
        path,
        companions: vec![entry.path.join("workspace.yaml")],
    })
}

/// The session's id: the name of its folder, or of its file.
fn session_of(path: &Path) -> Option<String> {
    let name: PathBuf = match path.file_name()?.to_str() {
        Some("events.jsonl") => path.parent()?.file_name()?.into(),
        _ => path.file_stem()?.into(),
    };
    Some(name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests;
