//! Ways in for the fuzz targets: a reader's parser over bytes instead of files.

use super::chat_sessions::replay;
use super::session::Session;
use super::{debug_logs, transcripts};
use crate::stores::{Cursor, Sink};
use crate::usage::{Evidence, Observation};

#[derive(Debug, Default)]
struct Kept(Vec<Observation>);

impl Sink for Kept {
    fn observe(&mut self, observation: Observation) {
        self.0.retain(|known| known.id != observation.id);
        self.0.push(observation);
    }

    fn checkpoint(&mut self, _: Cursor) {}

    fn parse_error(&mut self, _: &'static str) {}

    fn skipped(&mut self, _: &'static str) {}

    fn bytes_read(&mut self, _: u64) {}
}

impl Kept {
    fn sorted(mut self) -> Vec<Observation> {
        self.0.sort_by_key(|observation| observation.id);
        self.0
    }
}

/// A journal read at once and one read in two passes state the same.
pub fn journal(bytes: &[u8]) {
    let mut whole = Kept::default();
    let mut session = Session::default();
    let (_, end) = replay(&mut session, bytes, 0, &mut whole);
    assert!(end.is_ok());
    session.observe("f", "s", Evidence::JournalRequest, None, &mut whole);

    let mut parts = Kept::default();
    let mut session = Session::default();
    let (read, _) = replay(&mut session, &bytes[..bytes.len() / 2], 0, &mut parts);
    session.observe("f", "s", Evidence::JournalRequest, None, &mut parts);
    let saved = session.save().map(|saved| serde_json::to_string(&saved));
    let saved = saved.and_then(Result::ok).expect("a session can be saved");
    let mut session = Session::load(serde_json::from_str(&saved).expect("what was saved"));
    let rest = usize::try_from(read)
        .ok()
        .and_then(|read| bytes.get(read..));
    let (_, end) = replay(&mut session, rest.unwrap_or_default(), read, &mut parts);
    assert!(end.is_ok());
    session.observe("f", "s", Evidence::JournalRequest, None, &mut parts);
    assert_eq!(whole.sorted(), parts.sorted());
}

/// A transcript's lines.
pub fn transcript(bytes: &[u8]) {
    let mut state = transcripts::State::default();
    for line in bytes.split(|&byte| byte == b'\n') {
        let _ = state.take(line, 0, "s");
    }
}

/// A debug log's lines.
pub fn debug_log(bytes: &[u8]) {
    for line in bytes.split(|&byte| byte == b'\n') {
        let _ = debug_logs::round(line, "s", false);
    }
}
