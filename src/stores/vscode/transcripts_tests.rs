use std::fs;
use std::path::PathBuf;

use super::*;
use crate::stores::testing::classes;
use crate::stores::vscode::testing::Seen;

const FILE: &str =
    ".config/Code/User/workspaceStorage/w1/GitHub.copilot-chat/transcripts/s-9.jsonl";

struct Dir(tempfile::TempDir);

impl Dir {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn home(&self) -> Home {
        Home {
            dir: self.0.path().to_owned(),
            ..Home::default()
        }
    }

    fn write(&self, lines: &[String]) -> PathBuf {
        let path = self.0.path().join(FILE);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, lines.concat()).unwrap();
        path
    }
}

/// What the lines amount to, read at once; the same must come out line by line.
fn read(lines: &[String]) -> Vec<CallFact> {
    let dir = Dir::new();
    dir.write(lines);
    let mut seen = Seen::default();
    seen.read_all(&Transcripts, &dir.home());
    let (mut again, mut cursor) = (Seen::default(), Cursor::default());
    for n in 1..=lines.len() {
        let source = Source::file(dir.write(&lines[..n]));
        cursor = again
            .read(&Transcripts, &dir.home(), &source, &cursor)
            .unwrap();
    }
    assert_eq!(calls(&again), calls(&seen));
    assert!(seen.observations().iter().all(|one| one.scope == "s-9"));
    calls(&seen)
}

fn calls(seen: &Seen) -> Vec<CallFact> {
    let call = |fact| match fact {
        Fact::Call(call) => Some(call),
        _ => None,
    };
    seen.facts().into_iter().filter_map(call).collect()
}

fn event(second: u32, kind: &str, data: &str) -> String {
    format!(
        r#"{{"type":"{kind}","data":{{{data}}},"id":"e{second}","timestamp":"2026-11-01T00:00:{second:02}.000Z","parentId":null}}"#
    ) + "\n"
}

fn message(second: u32, id: &str, content: &str) -> String {
    event(
        second,
        "assistant.message",
        &format!(r#""messageId":"{id}","content":"{content}","toolRequests":[]"#),
    )
}

const USAGE: &str = r#""model":"gpt-5.4","inputTokens":5000,"outputTokens":80,"totalTokens":5080,
    "cacheReadTokens":4000,"cacheCreationInputTokens":300,"copilotUsageNanoAiu":5"#;

fn usage(second: u32) -> String {
    event(second, "assistant.usage", &USAGE.replace('\n', ""))
}

#[test]
fn edge_136_and_140_usage_is_exact_and_the_session_is_the_files_stem() {
    let calls = read(&[usage(1)]);
    let [call] = calls.as_slice() else {
        panic!("{calls:?}");
    };
    assert_eq!(
        classes(&call.tokens),
        [Some(700), Some(4000), Some(300), Some(80)]
    );
    assert_eq!(call.model.as_deref(), Some("gpt-5.4"));
    assert_eq!((call.credits, call.estimated), (Some(Credits(5)), false));
}

#[test]
fn edge_137_a_message_alone_is_an_estimate() {
    let calls = read(&[message(1, "m", &"x".repeat(40))]);
    let [call] = calls.as_slice() else {
        panic!("{calls:?}");
    };
    assert_eq!(classes(&call.tokens), [None, None, None, Some(10)]);
    assert!(call.estimated);
    assert_eq!(
        (call.model.as_deref(), call.evidence),
        (None, Evidence::TranscriptMessage)
    );
}

#[test]
fn everything_that_was_said_counts_rounded_up() {
    let data = r#""messageId":"m","content":"😀é","reasoningText":"ab","toolRequests":[{"toolCallId":"call_1","arguments":"{\"a\":1}"},{"arguments":{"x":1}},null]"#;
    let calls = read(&[event(1, "assistant.message", data)]);
    // 3 + 2 + 7 units.
    assert_eq!(classes(&calls[0].tokens)[3], Some(3));
}

#[test]
fn a_message_and_the_usage_of_its_call_share_a_key_whichever_comes_first() {
    for lines in [
        vec![message(1, "m", "abc"), usage(2)],
        vec![usage(1), message(2, "m", "abc")],
        vec![message(1, "m", "abc"), usage(2), message(2, "m", "abc")],
    ] {
        let calls = read(&lines);
        let [a, b] = calls.as_slice() else {
            panic!("{calls:?}");
        };
        assert!(a.keys.iter().any(|key| b.keys.contains(key)), "{lines:?}");
    }
}

#[test]
fn only_messages_that_were_written_before_builds_wrote_usage_stay_alone() {
    let calls = read(&[
        message(1, "old", "abcd"),
        message(50, "new", "abcd"),
        usage(51),
    ]);
    let shares = |a: usize, b: usize| calls[a].keys.iter().any(|key| calls[b].keys.contains(key));
    assert!(shares(1, 2) && !shares(0, 1) && !shares(0, 2));
}

#[test]
fn edge_138_and_141_a_choice_or_a_vendor_is_no_model() {
    let start = event(
        0,
        "session.start",
        r#""selectedModel":"gpt-5.4","vscodeVersion":"1""#,
    );
    let data = r#""messageId":"m","content":"x","toolRequests":[{"toolCallId":"call_1"}]"#;
    let calls = read(&[start.clone(), event(1, "assistant.message", data)]);
    assert_eq!(calls[0].model, None);
    let auto = event(
        1,
        "session.model_change",
        r#""newModel":"copilot-openai-auto""#,
    );
    assert_eq!(read(&[auto.clone(), message(2, "m", "x")])[0].model, None);
    let change = event(
        1,
        "session.model_change",
        r#""newModel":"claude-haiku-4.5""#,
    );
    let calls = read(&[
        start,
        change,
        message(2, "m", "x"),
        auto.replace("e1", "e9"),
    ]);
    assert_eq!(calls[0].model.as_deref(), Some("claude-haiku-4.5"));
}

#[test]
fn edge_139_a_shutdown_is_ignored() {
    let data = r#""modelMetrics":{"gpt-5.4":{"usage":{"inputTokens":900,"outputTokens":90}}}"#;
    assert_eq!(read(&[event(1, "session.shutdown", data)]), []);
}

#[test]
fn edge_142_replayed_history_is_nothing_new() {
    let calls = read(&[
        message(1, "m", "abcd"),
        message(2, "n", "abcd"),
        message(1, "m", "abcd").replace("e1", "e7"),
    ]);
    assert_eq!(calls.len(), 2);
}

#[test]
fn lines_that_say_nothing_are_no_calls() {
    let calls = read(&[
        message(1, "m", ""),
        "null\n".to_owned(),
        "\n".to_owned(),
        "{\"type\":\"assistant.message\"}\n".to_owned(),
        event(3, "user.message", r#""content":"\"assistant.message\"""#),
        event(
            4,
            "assistant.message",
            r#""messageId":"k","outputTokens":12"#,
        ),
    ]);
    let [call] = calls.as_slice() else {
        panic!("{calls:?}");
    };
    assert_eq!(classes(&call.tokens)[3], Some(12));
    assert!(!call.estimated);
}

#[test]
fn tool_requests_are_stated_where_they_are_wanted() {
    let data = r#""messageId":"m1","content":"x","toolRequests":[{"toolCallId":"t1","name":"read_file","arguments":"{}"},{"toolCallId":"t2","name":"mcp_acme_do","arguments":"{}"}]"#;
    let dir = Dir::new();
    dir.write(&[event(1, "assistant.message", data)]);
    let tools = |tool_calls| {
        let home = Home {
            tool_calls,
            ..dir.home()
        };
        let mut seen = Seen::default();
        seen.read_all(&Transcripts, &home);
        let tool = |fact| match fact {
            Fact::Tool(fact) => Some(fact.tool.as_str()),
            _ => None,
        };
        let mut tools: Vec<_> = seen.facts().into_iter().filter_map(tool).collect();
        tools.sort_unstable();
        tools
    };
    assert_eq!(tools(true), ["mcp", "read_file"]);
    assert!(tools(false).is_empty());
}
