//! One request in several stores: each call once, told by the best (formats, vscode.md §9).

use copilot_exporter::usage::{Measure, Surface};

use crate::figures::{Figures, OUTFILE, pass, scanner};
use crate::support::home::Home;

const WORKSPACE: &str = ".config/Code/User/workspaceStorage/w1";
const START: u64 = 1_790_000_000_000;

/// A finished request of a minute's length, in the given minute of the session.
fn request(minute: u64, figures: &str) -> String {
    let start = START + minute * 60_000;
    format!(
        r#"{{"requestId":"request_{minute}","timestamp":{start},"modelId":"copilot/gpt-5.4",
            "modelState":{{"value":1,"completedAt":{}}}{figures}}}"#,
        start + 50_000
    )
    .replace('\n', " ")
}

fn session(requests: &[String]) -> String {
    format!(
        "{{\"kind\":0,\"v\":{{\"sessionId\":\"s-9\",\"requests\":[{}]}}}}\n",
        requests.join(",")
    )
}

/// A model call's line in a debug log, so many seconds into the session.
fn round(second: u64, input: u64, cached: u64, output: u64) -> String {
    format!(
        r#"{{"ts":{},"dur":900,"sid":"s-9","type":"llm_request","spanId":"b{second}","status":"ok","attrs":{{"model":"gpt-5.4","inputTokens":{input},"cachedTokens":{cached},"outputTokens":{output},"responseId":"r{second}"}}}}"#,
        START + second * 1000
    ) + "\n"
}

/// The same as a line of an OTel file.
fn span(second: u64, input: u64, cached: u64, output: u64, more: &str) -> String {
    format!(
        r#"{{"name":"chat gpt-5.4","spanContext":{{"traceId":"t","spanId":"b{second}"}},"startTime":[{},0],"endTime":[{},0],"attributes":{{"gen_ai.operation.name":"chat","gen_ai.response.id":"r{second}","gen_ai.response.model":"gpt-5.4","copilot_chat.chat_session_id":"s-9","gen_ai.usage.input_tokens":{input},"gen_ai.usage.cache_read.input_tokens":{cached},"gen_ai.usage.output_tokens":{output}{more}}},"resource":{{"attributes":{{"service.name":"copilot-chat"}}}}}}"#,
        START / 1000 + second,
        START / 1000 + second + 1
    ) + "\n"
}

/// What a transcript has of a call, so many seconds (below 60) into the session.
fn message(second: u64, content: &str) -> String {
    format!(
        r#"{{"type":"assistant.message","data":{{"messageId":"m{second}","content":"{content}"}},"id":"e{second}","timestamp":"2026-09-21T14:13:{:02}.000Z"}}"#,
        20 + second
    ) + "\n"
}

fn write_session(home: &Home, requests: &[String]) {
    home.write(
        &format!("{WORKSPACE}/chatSessions/s-9.jsonl"),
        session(requests),
    );
}

fn write_debug_log(home: &Home, lines: &[String]) {
    let place = format!("{WORKSPACE}/GitHub.copilot-chat/debug-logs/s-9/main.jsonl");
    home.write(&place, lines.concat());
}

fn write_transcript(home: &Home, lines: &[String]) {
    let place = format!("{WORKSPACE}/GitHub.copilot-chat/transcripts/s-9.jsonl");
    home.write(&place, lines.concat());
}

fn read(home: &Home) -> Figures {
    pass(&mut scanner(home.path()))
}

fn sum(home: &Home, wanted: Measure) -> Option<u128> {
    let mut scanner = scanner(home.path());
    let snapshot = scanner.pass(&mut |_| ());
    let series = snapshot.series.iter();
    let of_vscode = series.filter(|series| series.labels.surface == Surface::VsCode);
    let amounts = of_vscode.filter_map(|series| series.values.get(&wanted));
    amounts.map(|value| value.amount).reduce(|a, b| a + b)
}

#[test]
fn edge_104_an_otel_file_without_calls_silences_nothing() {
    let home = Home::new();
    write_session(
        &home,
        &[request(0, r#","completionTokens":7,"promptTokens":50"#)],
    );
    home.write(OUTFILE, "{}\n{\"scopeMetrics\":[]}\n");
    let known = read(&home);
    assert_eq!((known.calls, known.output), (1, Some(7)));
}

#[test]
fn edge_105_spans_replace_only_the_requests_that_they_cover() {
    let home = Home::new();
    let figures = r#","completionTokens":30,"promptTokens":900"#;
    write_session(&home, &[request(0, figures), request(1, figures)]);
    home.write(
        OUTFILE,
        span(70, 800, 600, 10, "") + &span(80, 900, 700, 20, ""),
    );
    let known = read(&home);
    assert_eq!(known.calls, 3);
    assert_eq!(known.output, Some(60));
    assert_eq!(known.input, Some(900 + 200 + 200));
}

#[test]
fn edge_120_credits_of_a_request_beat_the_list_price() {
    let home = Home::new();
    let figures = r#","completionTokens":30,"promptTokens":900,"copilotCredits":1.6"#;
    write_session(&home, &[request(0, figures)]);
    // A credit is a cent: $0.016 in picodollars.
    assert_eq!(sum(&home, Measure::CostReported), Some(16_000_000_000));
    assert_eq!(sum(&home, Measure::Credits), Some(1_600_000_000));
    assert_eq!(sum(&home, Measure::CostListPrice).unwrap_or(0), 0);
}

#[test]
fn edge_121_what_a_session_was_charged_beyond_its_requests_is_unattributed() {
    let home = Home::new();
    let requests = [(0, 2), (1, 5), (2, 5)].map(|(minute, running)| {
        let figures = format!(
            r#","completionTokens":3,"copilotCredits":1,"sessionCopilotCredits":{running}"#
        );
        request(minute, &figures)
    });
    write_session(&home, &requests);
    let mut scanner = scanner(home.path());
    let snapshot = scanner.pass(&mut |_| ());
    assert_eq!(snapshot.unattributed_credits.0, 2_000_000_000);
    assert_eq!(sum(&home, Measure::Credits), Some(3_000_000_000));
}

#[test]
fn edge_135_nano_aiu_beat_the_credits_that_are_shown() {
    let home = Home::new();
    let figures = r#","completionTokens":30,"copilotCredits":1.6"#;
    write_session(&home, &[request(0, figures)]);
    let nano = r#","copilot_chat.copilot_usage_nano_aiu":1700000000"#;
    home.write(OUTFILE, span(10, 800, 600, 30, nano));
    assert_eq!(sum(&home, Measure::Credits), Some(1_700_000_000));
}

#[test]
fn a_requests_credits_fill_in_where_its_calls_have_none() {
    let home = Home::new();
    let figures = r#","completionTokens":30,"copilotCredits":1.6"#;
    write_session(&home, &[request(0, figures)]);
    write_debug_log(&home, &[round(5, 800, 600, 10), round(9, 900, 700, 20)]);
    assert_eq!(sum(&home, Measure::Credits), Some(1_600_000_000));
    assert_eq!(read(&home).calls, 2);
}

#[test]
fn edge_143_the_journal_counts_where_it_has_figures_and_the_transcript_elsewhere() {
    let home = Home::new();
    write_session(
        &home,
        &[request(0, r#","completionTokens":30,"promptTokens":9"#)],
    );
    write_transcript(&home, &[message(5, &"x".repeat(80))]);
    let known = read(&home);
    assert_eq!(
        (known.calls, known.output, known.estimated_output),
        (1, Some(30), None)
    );

    write_session(&home, &[request(0, "")]);
    let known = read(&home);
    assert_eq!((known.calls, known.output), (1, Some(20)));
    assert_eq!(known.estimated_output, Some(20));
}

#[test]
fn edge_144_transcripts_and_debug_logs_where_no_session_is_left() {
    let home = Home::new();
    write_transcript(&home, &[message(5, &"x".repeat(80)), message(11, "abcd")]);
    write_debug_log(&home, &[round(4, 800, 600, 10), round(10, 900, 700, 20)]);
    let known = read(&home);
    assert_eq!(
        (known.calls, known.output, known.estimated_output),
        (2, Some(30), None)
    );
    assert_eq!((known.input, known.cache_read), (Some(400), Some(1300)));
}

#[test]
fn edge_145_three_rounds_in_the_debug_log_are_the_requests_calls() {
    let home = Home::new();
    write_session(
        &home,
        &[request(0, r#","completionTokens":99,"promptTokens":900"#)],
    );
    write_debug_log(
        &home,
        &[
            round(4, 700, 0, 10),
            round(8, 800, 700, 20),
            round(12, 900, 800, 30),
        ],
    );
    let known = read(&home);
    // What the request's sum has beyond its rounds is noted, never added.
    assert_eq!((known.calls, known.output), (3, Some(60)));
    assert_eq!((known.input, known.cache_read), (Some(900), Some(1500)));
}

#[test]
fn edge_117_and_227_copies_of_one_session_count_once_in_any_order() {
    let older = session(&[request(0, r#","completionTokens":10"#)]);
    let newer = session(&[
        request(0, r#","completionTokens":30"#),
        request(1, r#","completionTokens":5"#),
    ]);
    for (first, second) in [(&older, &newer), (&newer, &older)] {
        let home = Home::new();
        home.write(&format!("{WORKSPACE}/chatSessions/s-9.jsonl"), first);
        let other = ".config/Code - Insiders/User/workspaceStorage/a/chatSessions/s-9.jsonl";
        home.write(other, second);
        let known = read(&home);
        assert_eq!((known.calls, known.output), (2, Some(35)));
    }
}

#[test]
fn edge_134_a_mirror_of_a_session_that_the_cli_knows_adds_nothing() {
    let home = Home::new();
    let figures = r#","completionTokens":30,"promptTokens":900,"result":{"metadata":{"copilotSessionId":"cli-1"}}"#;
    write_session(&home, &[request(0, figures)]);
    assert_eq!(read(&home).calls, 1);
    home.write(
        ".copilot/session-state/cli-1/events.jsonl",
        "{\"type\":\"session.start\",\"data\":{\"sessionId\":\"cli-1\"},\"id\":\"e1\",\"timestamp\":\"2026-09-21T14:13:20.000Z\"}\n\
         {\"type\":\"assistant.message\",\"data\":{\"messageId\":\"m1\",\"model\":\"gpt-5.4\",\"content\":\"x\",\"outputTokens\":12},\"id\":\"e2\",\"timestamp\":\"2026-09-21T14:13:25.000Z\"}\n",
    );
    let known = read(&home);
    assert_eq!((known.calls, known.output), (1, Some(12)));
}

#[test]
fn edge_161_and_162_a_broken_database_leaves_the_sessions_alone() {
    let home = Home::new();
    write_session(&home, &[request(0, r#","completionTokens":7"#)]);
    let place = ".config/Code/User/globalStorage/github.copilot-chat/agent-traces.db";
    for content in ["", "no database at all"] {
        home.write(place, content);
        assert_eq!(read(&home).output, Some(7), "{content:?}");
    }
}
