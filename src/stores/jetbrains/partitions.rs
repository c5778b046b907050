//! Partition files, `~/.copilot/jb/<conversation>/partition-<n>.jsonl`, which newer plugins write beside
//! their database. They tell of the same turns, and count where the database doesn't.

use std::path::Path;

use memchr::memmem;
use serde::{Deserialize, Serialize};

use super::contents::utf16_units;
use super::conversations::same_case;
use super::store::estimate;
use crate::stores::json::{Number, Text, filled, lenient, looks_like_object};
use crate::stores::lines::Lines;
use crate::stores::otel::is_model;
use crate::stores::{
    Cursor, Discovery, Home, Reader, Reason, Sink, Source, StoreError, StoreKind, files,
};
use crate::usage::{
    CallFact, Evidence, Fact, FailureFact, FailureReason, Initiator, Key, Observation, Surface,
    Timestamp, TokenType, Tokens,
};

const VERSION: u32 = 1;

/// Partition files.
#[derive(Debug)]
pub(in crate::stores) struct Partitions;

impl Reader for Partitions {
    fn kind(&self) -> StoreKind {
        StoreKind::JetBrainsPartitions
    }

    fn discover(&self, home: &Home) -> Discovery {
        // The plugin doesn't know `COPILOT_HOME`.
        let root = home.dir.join(".copilot/jb");
        let mut discovery = Discovery::default();
        let mut problem = |path: &Path, error| {
            let error = StoreError::new(path, Reason::Io(error));
            discovery.problems.push(error);
        };
        let found = files::walk(&root, &root, 1, &mut problem);
        discovery.sources = found
            .into_iter()
            .filter(|path| is_partition(path))
            .map(Source::file)
            .collect();
        discovery.looked_at.push(root);
        discovery
    }

    fn read(
        &self,
        home: &Home,
        source: &Source,
        cursor: &Cursor,
        sink: &mut dyn Sink,
    ) -> Result<Cursor, StoreError> {
        let (mut lines, mut state) =
            Lines::open::<State>(&home.dir, &source.path, cursor, VERSION)?;
        if state.conversation.is_empty() {
            let folder = source.path.parent().and_then(Path::file_name);
            state.conversation = same_case(&folder.unwrap_or_default().to_string_lossy());
        }
        while let Some(line) = lines.next(sink)? {
            state.line(line.bytes, &source.path, line.number, sink);
        }
        Ok(lines.cursor(&state))
    }
}

fn is_partition(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with("partition-") && name.ends_with(".jsonl"))
}

/// What the lines before say about those to come.
#[derive(Debug, Default, Serialize, Deserialize)]
struct State {
    conversation: String,
    /// The model answered in the turn that is open.
    answered: bool,
}

#[derive(Debug, Deserialize)]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    id: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    timestamp: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    data: Option<Data<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Data<'a> {
    #[serde(borrow, deserialize_with = "lenient")]
    conversation_id: Option<Text<'a>>,
    #[serde(borrow, deserialize_with = "lenient")]
    content: Option<Text<'a>>,
    #[serde(borrow, deserialize_with = "lenient")]
    text: Option<Text<'a>>,
    #[serde(borrow, deserialize_with = "lenient")]
    message_id: Option<Text<'a>>,
    #[serde(deserialize_with = "lenient")]
    iteration_number: Option<Number>,
    #[serde(deserialize_with = "lenient")]
    output_tokens: Option<Number>,
    #[serde(borrow, deserialize_with = "lenient")]
    model: Option<Text<'a>>,
    #[serde(borrow, deserialize_with = "lenient")]
    turn_id: Option<Text<'a>>,
    #[serde(borrow, deserialize_with = "lenient")]
    status: Option<Text<'a>>,
}

impl State {
    fn line(&mut self, line: &[u8], path: &Path, number: u64, sink: &mut dyn Sink) {
        if line.trim_ascii().is_empty() {
            return;
        }
        if !looks_like_object(line) {
            return sink.parse_error("not_an_object");
        }
        let may_matter = [&b"\"assistant."[..], b"\"partition.created\""];
        if !may_matter
            .iter()
            .any(|needle| memmem::find(line, needle).is_some())
        {
            return;
        }
        let Ok(event) = serde_json::from_slice::<Event<'_>>(line) else {
            return sink.parse_error("json");
        };
        // The fields may stand beside the type as well.
        let data = match event.data {
            Some(data) => data,
            None => serde_json::from_slice(line).unwrap_or_default(),
        };
        let time = filled(&event.timestamp).and_then(Timestamp::parse_iso);
        match event.kind.as_str() {
            "partition.created" => {
                if let Some(id) = filled(&data.conversation_id) {
                    self.conversation = same_case(id);
                }
            }
            "assistant.turn_start" => self.answered = false,
            "assistant.message" => {
                self.answered = true;
                let id = filled(&event.id);
                let fallback =
                    || id.map_or_else(|| format!("{}:{number}", path.display()), str::to_owned);
                let message = filled(&data.message_id).map_or_else(fallback, str::to_owned);
                self.message(&message, time, &data, sink);
            }
            "assistant.turn_end" => {
                let has_failed = matches!(filled(&data.status), Some("error" | "failed"));
                if let (true, false, Some(turn)) =
                    (has_failed, self.answered, filled(&data.turn_id))
                {
                    let key = Key::of("jetbrains partition turn", &[&self.conversation, turn]);
                    self.observe(key, Fact::Failure(failure(key, time)), sink);
                }
            }
            _ => {}
        }
    }

    /// One assistant message is one call.
    fn message(&self, id: &str, time: Option<Timestamp>, data: &Data<'_>, sink: &mut dyn Sink) {
        let iteration = data
            .iteration_number
            .map_or(String::new(), |n| n.count().to_string());
        let key = Key::of("jetbrains partition", &[&self.conversation, id, &iteration]);
        let text = filled(&data.content)
            .or(filled(&data.text))
            .unwrap_or_default();
        let exact = data.output_tokens.map(Number::count);
        let tokens = match exact {
            Some(output) => Tokens::default().with(TokenType::Output, Some(output)),
            None => estimate(utf16_units(text)),
        };
        let model = filled(&data.model).filter(|model| is_model(model));
        let call = CallFact {
            evidence: Evidence::Partition,
            keys: vec![key],
            time,
            model: model.map(str::to_owned),
            provider: None,
            initiator: Initiator::Unknown,
            tokens,
            estimated: exact.is_none() && !text.is_empty(),
            credits: None,
            premium: None,
            duration_ms: None,
            first_token_ms: None,
            project: None,
        };
        self.observe(key, Fact::Call(call), sink);
    }

    fn observe(&self, id: Key, fact: Fact, sink: &mut dyn Sink) {
        sink.observe(Observation {
            scope: self.conversation.clone(),
            id,
            surface: Surface::JetBrains,
            fact,
        });
    }
}

fn failure(key: Key, time: Option<Timestamp>) -> FailureFact {
    FailureFact {
        evidence: Evidence::Partition,
        keys: vec![key],
        time,
        model: None,
        provider: None,
        reason: FailureReason::Other,
        project: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stores::testing::{Kept, classes};
    use std::fs;

    fn read(lines: &str) -> Kept {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join(".copilot/jb/CONV-1");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("partition-1.jsonl"), lines).unwrap();
        fs::write(folder.join("other.jsonl"), lines).unwrap();
        let home = Home {
            dir: dir.path().to_owned(),
            env: [("COPILOT_HOME".to_owned(), "/elsewhere".to_owned())].into(),
            ..Home::default()
        };
        let found = Partitions.discover(&home);
        assert_eq!(found.sources.len(), 1);
        let mut kept = Kept::default();
        Partitions
            .read(&home, &found.sources[0], &Cursor::default(), &mut kept)
            .unwrap();
        kept
    }

    #[test]
    fn each_assistant_message_is_a_call_of_estimated_length() {
        let kept = read(concat!(
            r#"{"type":"partition.created","data":{"conversationId":"c-9","partitionId":1,"source":"agent"}}"#,
            "\n",
            r#"{"type":"user.message","data":{"content":"why \"assistant.message\"?","turnId":"t1"}}"#,
            "\n",
            r#"{"type":"assistant.turn_start","data":{"turnId":"t1"}}"#,
            "\n",
            r#"{"type":"assistant.message","timestamp":"2026-08-07T17:56:38Z","data":{"content":"hello world","messageId":"m1","iterationNumber":1}}"#,
            "\n",
            r#"{"type":"assistant.message","data":{"text":"","messageId":"m1","iterationNumber":2,"thinking":{"id":"x","text":"hm"}}}"#,
            "\n",
            r#"{"type":"assistant.message","messageId":"m2","text":"x","outputTokens":40}"#,
            "\n",
            "null\n{\"type\":5,\"x\":\"assistant.\"}\n",
            r#"{"type":"assistant.turn_end","data":{"turnId":"t1","status":"failed"}}"#,
            "\n",
        ));
        let outputs: Vec<_> = kept
            .calls()
            .iter()
            .map(|call| classes(&call.tokens))
            .collect();
        let only = |output| [None, None, None, output];
        assert_eq!(outputs, [only(Some(3)), only(None), only(Some(40))]);
        let estimated: Vec<bool> = kept.calls().iter().map(|call| call.estimated).collect();
        assert_eq!(estimated, [true, false, false]);
        assert!(kept.observations.iter().all(|o| o.scope == "c-9"));
        assert_eq!(kept.calls()[0].time, Some(Timestamp(1_786_125_398_000)));
        assert_eq!(kept.parse_errors, ["not_an_object", "json"]);
        assert_eq!(kept.observations.len(), 3, "an answered turn is no failure");
    }

    #[test]
    fn a_turn_that_ends_in_an_error_without_an_answer_is_a_failure() {
        let kept = read(concat!(
            r#"{"type":"assistant.turn_start","data":{"turnId":"t1"}}"#,
            "\n",
            r#"{"type":"assistant.turn_end","data":{"turnId":"t1","status":"error"}}"#,
            "\n",
        ));
        assert_eq!(kept.observations.len(), 1);
        assert!(matches!(kept.observations[0].fact, Fact::Failure(_)));
        assert_eq!(kept.observations[0].scope, "CONV-1");
    }
}
