//! Ways in for the fuzz targets: a reader's parser over bytes instead of files.

use super::chat_sessions::replay;
use super::session::Session;
use super::{debug_logs, transcripts};
use crate::stores::{Cursor, Sink};
use crate::usage::{Evidence, Fact, Observation, SessionFact};

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
    /// What was stated, in order; nothing where none of it counts.
    fn sorted(mut self) -> Vec<Observation> {
        let counts = |one: &Observation| !matches!(one.fact, Fact::Session(_));
        if !self.0.iter().any(counts) {
            return Vec::new();
        }
        for one in &mut self.0 {
            // A request without a time has that of its session, which a later line may state anew.
            match &mut one.fact {
                Fact::Call(call) => call.time = None,
                Fact::Turn(turn) => turn.start = None,
                Fact::Failure(failure) => failure.time = None,
                Fact::Session(session) => *session = SessionFact::default(),
                _ => {}
            }
        }
        self.0.sort_by_key(|observation| observation.id);
        self.0
    }
}

/// A journal read at once and one read in two passes state the same, and what is kept between passes doesn't
/// change by being kept.
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
    let saved = save(&session);
    let mut session = Session::load(serde_json::from_str(&saved).expect("what was saved"));
    assert_eq!(save(&session), saved);
    let rest = usize::try_from(read)
        .ok()
        .and_then(|read| bytes.get(read..));
    let (_, end) = replay(&mut session, rest.unwrap_or_default(), read, &mut parts);
    assert!(end.is_ok());
    session.observe("f", "s", Evidence::JournalRequest, None, &mut parts);
    assert_eq!(whole.sorted(), parts.sorted());
}

fn save(session: &Session) -> String {
    let saved = session.save().map(|saved| serde_json::to_string(&saved));
    saved.and_then(Result::ok).expect("a session can be saved")
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    /// Lines as a writer makes them, and what disks make of those.
    const LINES: [&str; 14] = [
        r#"{"kind":0,"v":{"sessionId":"s","requests":[{"requestId":"a","completionTokens":5}]}}"#,
        r#"{"kind":2,"k":["requests"],"v":[{"requestId":"b","modelState":{"value":1}}]}"#,
        r#"{"kind":2,"k":["requests"],"i":1,"v":[{"requestId":"c","result":{"metadata":{}}}]}"#,
        r#"{"kind":1,"k":["requests",0,"completionTokens"],"v":9}"#,
        r#"{"kind":1,"k":["requests",1,"result","metadata","promptTokens"],"v":1e3}"#,
        r#"{"kind":1,"k":["requests",0,"modelTotals"],"v":[{"model":"m","outputTokens":2}]}"#,
        r#"{"kind":3,"k":["requests",0]}"#,
        r#"{"kind":1,"k":["requests"],"v":"text"}"#,
        r#"{"v":{"requests":{}},"kind":0}"#,
        r#"{"kind":1,"k":["sessionId"],"v":"\ud800"}"#,
        r#"{"kind":1,"k":["requests",0,"result"],"v":{"details":"GPT • 2 credits","errorDetails":{"code":"x"}}}"#,
        r#"{"kind":1,"k":["workingDirectory"],"v":"file:///home/kim/a.git"}"#,
        "null",
        "{",
    ];

    fn text() -> impl Strategy<Value = Vec<u8>> {
        let line = prop_oneof![
            9 => proptest::sample::select(&LINES[..]).prop_map(|line| line.as_bytes().to_vec()),
            1 => proptest::collection::vec(any::<u8>(), 0..40),
        ];
        let change = (any::<proptest::sample::Index>(), any::<u8>());
        let lines = proptest::collection::vec(line, 0..20);
        (lines, proptest::collection::vec(change, 0..3)).prop_map(|(lines, changes)| {
            let mut text = lines.join(&b'\n');
            for (at, byte) in changes {
                if !text.is_empty() {
                    let at = at.index(text.len());
                    text[at] = byte;
                }
            }
            text
        })
    }

    #[test]
    fn a_session_keeps_the_id_under_which_its_first_request_was_stated() {
        let lines = [
            LINES[0],
            r#"{"kind":1,"k":["sessionId"],"v":"another"}"#,
            r#"{"kind":1,"k":["requests",0,"completionTokens"],"v":9}"#,
        ];
        super::journal(lines.join("\n").as_bytes());
        super::journal(lines[1..].join("\n").as_bytes());
    }

    #[test]
    fn an_id_that_is_longer_when_it_is_escaped_stays_whole() {
        let id = "\u{1}".repeat(1000);
        let line = format!(r#"{{"kind":2,"v":[{{"requestId":"{id}","completionTokens":5}}]}}"#);
        super::journal(format!("{line}\n{}\n", "{}".repeat(line.len() / 2)).as_bytes());
    }

    #[test]
    fn a_figure_that_falls_to_nothing_stays_what_it_was() {
        for name in ["promptTokens", "completionTokens", "copilotCredits"] {
            let line = |n| format!(r#"{{"kind":1,"k":["requests",0,"{name}"],"v":{n}}}"#);
            super::journal(format!("{}\n{} \n", line(9), line(0)).as_bytes());
        }
        let line = |n| {
            let path = r#"["requests",0,"result","metadata","outputTokens"]"#;
            format!(r#"{{"kind":1,"k":{path},"v":{n}}}"#)
        };
        super::journal(format!("{}\n{} \n", line(9), line(0)).as_bytes());
    }

    proptest! {
        #[test]
        fn whatever_a_file_holds_it_is_read_the_same_in_two_passes(text in text()) {
            super::journal(&text);
            super::transcript(&text);
            super::debug_log(&text);
        }
    }
}
