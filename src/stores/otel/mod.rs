//! OpenTelemetry files of all of Copilot's programs: the CLI's spans, VS Code's spans and log records, and
//! OTLP's envelopes. One file may hold several of these shapes, line by line.

mod attributes;
mod line;
mod span;

use std::collections::VecDeque;
use std::path::Path;

use memchr::memmem;
use serde::{Deserialize, Serialize};

use super::json::looks_like_object;
use super::lines::Lines;
use super::{Cursor, Sink, StoreError};
use crate::usage::{Key, Surface};

pub(crate) use attributes::{Attributes, Value};
use line::Line;
pub(crate) use span::{Span, is_model};

const VERSION: u32 = 1;

/// How many traces' sessions are remembered.
const MOST_TRACES: usize = 256;

/// What the lines before say about those to come.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct State {
    /// Sessions by trace, oldest first: VS Code's log records of calls name only the trace.
    traces: VecDeque<(Key, String)>,
}

/// Reads what is new in a file below `root`; `surface` is told by its place, where its lines don't tell.
///
/// # Errors
/// When the file can't be opened or read.
pub(crate) fn read_file(
    root: &Path,
    path: &Path,
    cursor: &Cursor,
    surface: Surface,
    sink: &mut dyn Sink,
) -> Result<Cursor, StoreError> {
    let (mut lines, mut state) = Lines::open::<State>(root, path, cursor, VERSION)?;
    while let Some(line) = lines.next(sink)? {
        state.read_line(line.bytes, surface, sink);
    }
    Ok(lines.cursor(&state))
}

impl State {
    /// Reads one line.
    pub(crate) fn read_line(&mut self, line: &[u8], surface: Surface, sink: &mut dyn Sink) {
        let line = line.trim_ascii();
        if line.is_empty() {
            return;
        }
        if line == b"{}" {
            return sink.skipped("empty_object");
        }
        if !looks_like_object(line) {
            return sink.parse_error("not_an_object");
        }
        if !may_matter(line) {
            return;
        }
        let Ok(line) = serde_json::from_slice::<Line<'_>>(line) else {
            return sink.parse_error("json");
        };
        for span in line.spans(surface) {
            let reading = span.read(self.session_of(&span));
            self.remember(&span);
            if reading.cache_above_input {
                sink.parse_error("cache_above_input");
            }
            for observation in reading.observations {
                sink.observe(observation);
            }
        }
    }

    fn session_of(&self, span: &Span) -> Option<&str> {
        let trace = trace(span)?;
        let mut traces = self.traces.iter().rev();
        let found = traces.find(|(known, _)| *known == trace);
        found.map(|(_, session)| session.as_str())
    }

    fn remember(&mut self, span: &Span) {
        let (Some(trace), Some(session)) = (trace(span), span.session()) else {
            return;
        };
        if self.session_of(span).is_none() {
            self.traces.push_back((trace, session.to_owned()));
            if self.traces.len() > MOST_TRACES {
                self.traces.pop_front();
            }
        }
    }
}

fn trace(span: &Span) -> Option<Key> {
    (!span.trace_id.is_empty()).then(|| Key::of("trace", &[&span.trace_id]))
}

/// Whether a line can hold a call, or name the session or the repository of one.
fn may_matter(line: &[u8]) -> bool {
    let needles: [&[u8]; 4] = [
        b"\"chat\"",
        b"session.start",
        b"git.repository",
        b"repo.remote_url",
    ];
    needles
        .iter()
        .any(|needle| memmem::find(line, needle).is_some())
}

#[cfg(test)]
mod tests;
