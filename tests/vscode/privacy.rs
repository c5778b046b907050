//! What the exporter keeps for itself holds nothing of people's work.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::figures::OUTFILE;
use crate::support::exporter::PROGRAM;
use crate::support::home::Home;

const WORKSPACE: &str = ".config/Code/User/workspaceStorage/w1";
/// Stands in every text that the stores hold and that is neither an id nor a name of a model or a project.
const CANARY: &str = "canary";

/// A session whose every text has a canary. `{}` in a text stands for it.
const JOURNAL: &str = r#"{"kind":0,"v":{"version":3,"sessionId":"s-9","creationDate":1790000000000,"customTitle":"{}","requesterUsername":"{}","inputState":{"inputText":"{}"},"repoData":{"remoteUrl":"https://{}:{}@{}.example/{}/shop.git"},"workingDirectory":{"external":"file:///home/{}/shop","path":"/home/{}/shop","fsPath":"/home/{}/shop"},"requests":[{"requestId":"request_1","timestamp":1790000001000,"modelId":"customendpoint/{}/demo","message":{"text":"{}","parts":[{"text":"{}"}]},"variableData":{"variables":[{"value":{"path":"/{}"}}]},"response":[{"value":"{}"},{"toolId":"{}","toolSpecificData":{"commandLine":{"original":"{}"}}}],"agent":{"extensionId":{"value":"github.copilot-chat"},"id":"{}"},"requestSource":"{}","modelState":{"value":3,"completedAt":1790000009000},"result":{"details":"{} 1.6 credits {}","errorDetails":{"code":"{}","message":"{}"},"timings":{"totalElapsed":"{}"},"metadata":{"promptTokens":70,"outputTokens":7,"toolCallRounds":[{"response":"{}","toolCalls":[{"arguments":"{}","name":"{}","id":"{}"}]},"{}"],"toolCallResults":{"{}":"{}"},"renderedUserMessage":[{"text":"{}"}],"summaries":[{"text":"{}","toolCallRoundId":"r1","usage":{"prompt_tokens":5}}],"claudeSessionId":""}}}]}}
{"kind":2,"k":["requests"],"v":[{"requestId":"request_2","timestamp":1790000060000,"modelId":"copilot/gpt-5.4","message":{"text":"{}"},"agent":{"extensionId":"{}"},"completionTokens":"{}","result":"{}"}]}
{"kind":1,"k":["workingDirectory"],"v":"vscode-remote://ssh-remote%2B{}/home/{}/shop"}
"#;
const LATER: &str = r#"{"kind":1,"k":["requests",1,"result"],"v":{"details":"{}","errorDetails":{"code":"{}"},"metadata":{"promptTokens":3,"outputTokens":2,"toolCallRounds":["{}"]}}}
{"kind":1,"k":["requests",1,"agent","extensionId"],"v":{"value":"github.copilot-chat","_lower":"{}"}}
{"kind":1,"k":["requests",1,"completionTokens"],"v":11}
{"kind":1,"k":["workingDirectory","path"],"v":"/srv/{}/shop"}
"#;
const TRANSCRIPT: &str = r#"{"type":"session.start","data":{"startTime":"2026-09-21T14:13:20Z","context":{"cwd":"/home/{}/shop"}},"id":"e0"}
{"type":"assistant.message","data":{"messageId":"m1","content":"{}","reasoningText":"{}","toolRequests":[{"toolCallId":"t1","name":"{}","arguments":"{}"}]},"id":"e1","timestamp":"2026-09-21T14:13:21.000Z"}
"#;
const DEBUG_LOG: &str = r#"{"ts":1790000001000,"dur":900,"sid":"s-9","type":"llm_request","spanId":"b1","status":"ok","attrs":{"model":"gpt-5.4","inputTokens":9,"outputTokens":4,"responseId":"r1","systemPrompt":"{}","error":"{}"}}
"#;
const SPAN: &str = r#"{"name":"chat {}","spanContext":{"traceId":"t","spanId":"b2"},"startTime":[1790000001,0],"endTime":[1790000002,0],"attributes":{"gen_ai.operation.name":"chat","gen_ai.response.id":"r2","gen_ai.response.model":"gpt-5.4","copilot_chat.chat_session_id":"s-8","gen_ai.usage.input_tokens":9,"gen_ai.usage.output_tokens":4,"gen_ai.input.messages":"{}","github.copilot.git.repository":"https://{}@{}.example/{}/shop.git","error.type":"{}"}}
"#;
const EVENTS: &str = r#"{"type":"session.start","id":"c1","timestamp":"2026-09-21T14:13:20.000Z","data":{"sessionId":"s-7","context":{"cwd":"/home/{}/shop","gitRoot":"/home/{}/shop","repository":"{}/shop","branch":"{}"}}}
{"type":"user.message","id":"c2","timestamp":"2026-09-21T14:13:21.000Z","data":{"content":"{}"}}
{"type":"assistant.message","id":"c3","timestamp":"2026-09-21T14:13:22.000Z","data":{"messageId":"m1","content":"{}","outputTokens":5,"toolRequests":[{"toolCallId":"t1","name":"{}","arguments":{"command":"{}"}}]}}
{"type":"session.error","id":"c4","timestamp":"2026-09-21T14:13:23.000Z","data":{"errorType":"{}","message":"{}","stack":"{}"}}
"#;

/// The text with its canaries, each with a number of its own.
fn planted(text: &str) -> String {
    let mut parts = text.split("{}");
    let first = parts.next().unwrap_or_default().to_owned();
    parts
        .enumerate()
        .fold(first, |text, (n, part)| format!("{text}{CANARY}{n}{part}"))
}

/// A pass over `home` with the ledger in `state`; gives the exposition.
fn once(home: &Home, state: &Path) -> String {
    let config = state.join("config.toml");
    let otel = home.path().join(OUTFILE);
    let text = format!("otel_files = [{:?}]\n", otel.display().to_string());
    fs::write(&config, text).unwrap();
    let output = Command::new(PROGRAM)
        .args(["once", "--config"])
        .arg(config)
        .arg("--home")
        .arg(home.path())
        .arg("--state-dir")
        .arg(state.join("state"))
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{told}");
    assert!(!told.contains(CANARY), "{told}");
    String::from_utf8(output.stdout).unwrap()
}

/// Fails with what stands around the first canary in a file of the folder.
fn assert_clean(folder: &Path) {
    let mut files = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        if let Some(at) = text.find(CANARY) {
            let near: String = text[..at].chars().rev().take(80).collect();
            let near: String = near.chars().rev().collect();
            panic!(
                "{}: {near}{}",
                path.display(),
                &text[at..at + CANARY.len() + 2]
            );
        }
        files += 1;
    }
    assert!(files > 0);
}

#[test]
fn the_state_folder_holds_no_text_of_a_chat() {
    let home = Home::new();
    let chat = format!("{WORKSPACE}/chatSessions/s-9.jsonl");
    home.write(&chat, planted(JOURNAL));
    let place = |rest: &str| format!("{WORKSPACE}/{rest}");
    home.write(
        &place("workspace.json"),
        planted(r#"{"folder":"file:///home/{}/shop"}"#),
    );
    home.write(
        &place("GitHub.copilot-chat/transcripts/s-6.jsonl"),
        planted(TRANSCRIPT),
    );
    home.write(
        &place("GitHub.copilot-chat/debug-logs/s-5/main.jsonl"),
        planted(DEBUG_LOG),
    );
    home.write(".copilot/session-state/s-7/events.jsonl", planted(EVENTS));
    home.write(OUTFILE, planted(SPAN));
    let state = tempfile::tempdir().unwrap();
    let first = once(&home, state.path());
    assert_clean(&state.path().join("state"));
    home.append(&chat, planted(LATER));
    let second = once(&home, state.path());
    assert_clean(&state.path().join("state"));
    for metrics in [first, second.clone()] {
        assert!(!metrics.contains(CANARY));
    }
    // All of it was read, and the later lines found the places that they change.
    let calls = |project: &str| {
        let wanted =
            |line: &&str| line.starts_with("copilot_calls_total{") && line.contains(project);
        second.lines().filter(wanted).count()
    };
    assert!(calls("project=\"shop\"") >= 4, "{second}");
}
