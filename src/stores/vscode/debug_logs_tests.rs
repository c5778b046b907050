use std::fs;

use super::*;
use crate::stores::testing::classes;
use crate::stores::vscode::testing::Seen;

const FOLDER: &str = ".config/Code/User/workspaceStorage/w1/GitHub.copilot-chat/debug-logs/s-9";

fn read(files: &[(&str, &str)]) -> Seen {
    let dir = tempfile::tempdir().unwrap();
    let home = Home {
        dir: dir.path().to_owned(),
        ..Home::default()
    };
    fs::create_dir_all(dir.path().join(FOLDER)).unwrap();
    let mut seen = Seen::default();
    for (name, text) in files {
        fs::write(dir.path().join(FOLDER).join(name), text).unwrap();
        seen.read_all(&DebugLogs, &home);
    }
    seen
}

fn calls(seen: &Seen) -> Vec<CallFact> {
    let call = |fact| match fact {
        Fact::Call(call) => Some(call),
        _ => None,
    };
    seen.facts().into_iter().filter_map(call).collect()
}

fn line(span: &str, attrs: &str) -> String {
    format!(
        r#"{{"ts":1790000001000,"dur":2100,"sid":"s-9","type":"llm_request","name":"chat","spanId":"{span}","status":"ok","attrs":{{{attrs}}}}}"#
    ) + "\n"
}

#[test]
fn the_example_of_the_format_page() {
    let text = line(
        "00b1",
        r#""model":"claude-haiku-4.5","inputTokens":6000,"outputTokens":70,"cachedTokens":5200,"copilotUsageNanoAiu":167000000,"ttft":90,"responseId":"r-1""#,
    );
    let seen = read(&[("main.jsonl", &text)]);
    let [call] = calls(&seen).try_into().unwrap();
    assert_eq!(
        classes(&call.tokens),
        [Some(800), Some(5200), None, Some(70)]
    );
    assert_eq!(call.credits, Some(Credits(167_000_000)));
    assert_eq!(
        (call.duration_ms, call.first_token_ms),
        (Some(2100), Some(90))
    );
    assert_eq!(call.time, Some(Timestamp(1_790_000_001_000)));
    assert!(call.keys.contains(&Key::response("r-1")));
    assert_eq!(seen.observations()[0].scope, "s-9");
}

#[test]
fn edge_145_each_line_is_a_call() {
    let text: String = ["a", "b", "c"]
        .map(|span| line(span, r#""inputTokens":10,"outputTokens":1"#))
        .concat();
    assert_eq!(calls(&read(&[("main.jsonl", &text)])).len(), 3);
}

#[test]
fn edge_146_a_childs_log_belongs_to_its_parents_session() {
    let child = line("c", r#""inputTokens":10,"outputTokens":1"#).replace("s-9", "call_5");
    let seen = read(&[("runSubagent-default-call_5.jsonl", &child)]);
    assert_eq!(seen.observations()[0].scope, "s-9");
    assert_eq!(calls(&seen)[0].initiator, Initiator::Subagent);
}

#[test]
fn edge_147_a_log_whose_head_was_cut_tells_nothing_new() {
    let lines = ["a", "b", "c"].map(|span| line(span, r#""inputTokens":10,"outputTokens":1"#));
    let seen = read(&[
        ("main.jsonl", &lines.concat()),
        ("main.jsonl", &lines[1..].concat()),
    ]);
    assert_eq!(calls(&seen).len(), 3);
}

#[test]
fn an_error_without_tokens_is_a_failure_and_other_lines_are_no_calls() {
    let failed = line("a", r#""model":"m","error":"…""#).replace(r#""ok""#, r#""error""#);
    let other = r#"{"ts":1,"type":"generic","name":"mentions \"llm_request\"","spanId":"x"}"#;
    let broken = r#"{"type":"llm_request","attrs":{"inputTokens":"#;
    let nameless = r#"{"type":"llm_request","attrs":{"inputTokens":5}}"#;
    let text = format!("{failed}{other}\n{broken}\n{nameless}\n\n");
    let seen = read(&[("main.jsonl", &text)]);
    assert!(matches!(seen.facts().as_slice(), [Fact::Failure(_)]));
    assert_eq!(seen.errors, ["line", "line"]);
}
