//! Entry points for fuzzing: the parsers, without files.

use super::events;
use super::figures::Details;
use super::workspace::Workspace;
use crate::stores::{Cursor, Sink, otel};
use crate::usage::{Observation, Surface};

struct Nowhere;

impl Sink for Nowhere {
    fn observe(&mut self, _: Observation) {}
    fn checkpoint(&mut self, _: Cursor) {}
    fn parse_error(&mut self, _: &'static str) {}
    fn skipped(&mut self, _: &'static str) {}
    fn bytes_read(&mut self, _: u64) {}
}

/// An event log.
pub fn event_log(bytes: &[u8]) {
    events::parse(bytes, &mut Nowhere);
}

/// An OpenTelemetry file.
pub fn otel_file(bytes: &[u8]) {
    let mut state = otel::State::default();
    for line in bytes.split(|&byte| byte == b'\n') {
        state.read_line(line, Surface::Cli, &mut Nowhere);
    }
}

/// A `workspace.yaml`, and a row's billed details.
pub fn small_texts(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let _ = Workspace::parse(&text);
    let _ = Details::of_json(&text);
}
