use super::*;
use crate::stores::testing::{Kept, classes};
use crate::usage::{
    Credits, Evidence, Fact, FailureReason, Initiator, Observation, Provider, Timestamp,
};

fn read(lines: &str, surface: Surface) -> Kept {
    let (mut state, mut kept) = (State::default(), Kept::default());
    for line in lines.lines() {
        state.read_line(line.as_bytes(), surface, &mut kept);
    }
    kept
}

fn cli(lines: &str) -> Kept {
    read(lines, Surface::Cli)
}

/// The span of copilot-cli.md §10.
const SPAN: &str = r#"{"type":"span","traceId":"00000000000000000000000000000a01","spanId":"00000000000000b1","name":"chat gpt-5.4","kind":2,"startTime":[1793600000,0],"endTime":[1793600002,500000000],"attributes":{"gen_ai.operation.name":"chat","gen_ai.conversation.id":"5d1e0000-0000-4000-8000-000000000001","gen_ai.response.id":"resp-7","gen_ai.response.model":"gpt-5.4","gen_ai.usage.input_tokens":9000,"gen_ai.usage.output_tokens":60,"gen_ai.usage.cache_read.input_tokens":8000,"github.copilot.nano_aiu":540000000,"github.copilot.initiator":"user"},"status":{"code":0}}"#;

/// The envelope of others.md §1.
const ENVELOPE: &str = r#"{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"vs-copilot"}}]},"scopeSpans":[{"spans":[{"traceId":"00000000000000000000000000000c01","spanId":"00000000000000d1","name":"chat gpt-5.4","startTimeUnixNano":"1790000000000000000","endTimeUnixNano":"1790000003000000000","attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"chat"}},{"key":"gen_ai.response.model","value":{"stringValue":"gpt-5.4"}},{"key":"gen_ai.usage.input_tokens","value":{"stringValue":"8100"}},{"key":"gen_ai.usage.cache_read.input_tokens","value":{"stringValue":"7000"}},{"key":"gen_ai.usage.output_tokens","value":{"stringValue":"150"}}]}]}]}]}"#;

#[test]
fn a_span_of_the_cli() {
    let kept = cli(SPAN);
    let [call] = kept.calls()[..] else {
        panic!("{kept:?}")
    };
    assert_eq!(
        classes(&call.tokens),
        [Some(1_000), Some(8_000), Some(0), Some(60)]
    );
    assert_eq!(call.credits, Some(Credits(540_000_000)));
    assert_eq!(call.initiator, Initiator::User);
    assert_eq!(call.time, Some(Timestamp(1_793_600_002_500)));
    assert_eq!(call.duration_ms, Some(2_500));
    assert!(call.keys.contains(&Key::response("resp-7")));
    let observation = &kept.observations[0];
    assert_eq!(observation.scope, "5d1e0000-0000-4000-8000-000000000001");
    assert_eq!(observation.surface, Surface::Cli);
}

#[test]
fn an_envelope_of_visual_studio_with_strings_as_numbers() {
    let kept = cli(ENVELOPE);
    let [call] = kept.calls()[..] else {
        panic!("{kept:?}")
    };
    assert_eq!(
        classes(&call.tokens),
        [Some(1_100), Some(7_000), Some(0), Some(150)]
    );
    assert_eq!(call.time, Some(Timestamp(1_790_000_000_000)));
    assert_eq!(kept.observations[0].surface, Surface::VisualStudio);
}

#[test]
fn edge_099_spans_without_type_are_read_and_metrics_skipped() {
    let untyped = SPAN.replace(r#""type":"span","#, "");
    assert_eq!(read(&untyped, Surface::VsCode).calls().len(), 1);
    let metric = SPAN.replace(r#""type":"span""#, r#""type":"metric""#);
    let kept = cli(&metric);
    assert!(kept.observations.is_empty() && kept.parse_errors.is_empty());
    let batch = r#"{"resource":{},"scopeMetrics":[{"metrics":[{"attributes":{"gen_ai.operation.name":"chat"}}]}]}"#;
    assert!(read(batch, Surface::VsCode).observations.is_empty());
}

#[test]
fn edge_100_calls_of_one_trace_without_response_id_are_one_per_span() {
    let one = SPAN.replace(r#""gen_ai.response.id":"resp-7","#, "");
    let two = one.replace("00000000000000b1", "00000000000000b2");
    let kept = cli(&format!("{one}\n{two}\n{one}"));
    let mut ids: Vec<_> = kept.observations.iter().map(|o| o.id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 2);
    assert_ne!(kept.calls()[0].keys, kept.calls()[1].keys);
}

/// A record of one call and one that starts a session, as VS Code writes them.
const RECORD: &str = r#"{"hrTime":[1796096175,822000000],"spanContext":{"traceId":"ec7b","spanId":"a09f"},"resource":{"_rawAttributes":[["service.name","copilot-chat"]]},"attributes":{"event.name":"gen_ai.client.inference.operation.details","gen_ai.operation.name":"chat","gen_ai.response.model":"demo-large","gen_ai.response.id":"resp-9","gen_ai.usage.input_tokens":18249,"gen_ai.usage.output_tokens":15},"_body":"GenAI inference: demo-large"}"#;
const START: &str = r#"{"hrTime":[1796096174,292000000],"spanContext":{"traceId":"ec7b","spanId":"a09f"},"attributes":{"event.name":"copilot_chat.session.start","session.id":"83ded98c"},"_body":"copilot_chat.session.start"}"#;

#[test]
fn edge_101_a_log_record_shares_its_key_with_the_span_and_ranks_below() {
    let span = SPAN.replace("resp-7", "resp-9");
    let kept = read(&format!("{START}\n{RECORD}\n{span}"), Surface::VsCode);
    let [record, span] = kept.calls()[..] else {
        panic!("{kept:?}")
    };
    assert!(record.keys.iter().any(|key| span.keys.contains(key)));
    assert!(record.evidence < span.evidence);
    assert_eq!(record.evidence, Evidence::LogRecord);
    assert_eq!(
        classes(&record.tokens),
        [Some(18_249), None, None, Some(15)],
        "the cached part is unknown"
    );
    assert_eq!(kept.observations[0].scope, "83ded98c");
    assert_eq!(kept.observations[0].surface, Surface::VsCode);
}

#[test]
fn a_log_record_of_an_unknown_trace_stands_for_itself() {
    let kept = read(RECORD, Surface::VsCode);
    assert!(kept.observations[0].is_lone());
}

#[test]
fn edge_102_and_103_cost_is_a_multiplier_and_reasoning_is_inside_output() {
    let line = SPAN.replace(
        r#""github.copilot.nano_aiu":540000000"#,
        r#""github.copilot.cost":1,"gen_ai.usage.reasoning.output_tokens":40"#,
    );
    let kept = cli(&line);
    let call = kept.calls()[0];
    assert_eq!(call.credits, None);
    assert_eq!(call.premium.map(|p| p.0), Some(1_000_000));
    assert_eq!(call.tokens.reasoning(), Some(40));
    assert_eq!(classes(&call.tokens)[3], Some(60));
}

#[test]
fn edge_106_both_line_shapes_in_one_file_give_both_surfaces() {
    let vscode = SPAN
        .replace(r#""type":"span","#, "")
        .replace("resp-7", "resp-8")
        .replace("b1", "b3")
        .replace(
            r#""status""#,
            r#""resource":{"attributes":{"service.name":"copilot-chat"}},"status""#,
        );
    let kept = cli(&format!("{SPAN}\n{vscode}"));
    let surfaces: Vec<_> = kept.observations.iter().map(|o| o.surface).collect();
    assert_eq!(surfaces, [Surface::Cli, Surface::VsCode]);
}

#[test]
fn edge_107_empty_objects_are_skipped_without_noise() {
    let kept = read("{}\n\n{}\n", Surface::VsCode);
    assert_eq!(kept.skipped, ["empty_object"; 2]);
    assert!(kept.parse_errors.is_empty() && kept.observations.is_empty());
}

#[test]
fn edge_153_invoke_agent_repeats_its_children() {
    let line = SPAN.replace(r#"name":"chat""#, r#"name":"invoke_agent""#);
    assert!(cli(&line).observations.is_empty());
}

#[test]
fn a_failed_attempt_is_a_failure_unless_it_was_billed() {
    let failed = SPAN.replace(r#""code":0"#, r#""code":2"#);
    assert_eq!(cli(&failed).calls().len(), 1, "it has usage");
    let bare = r#"{"type":"span","traceId":"t","spanId":"s","startTime":[1796091012,0],"endTime":[1796091013,0],"attributes":{"gen_ai.operation.name":"chat","gen_ai.conversation.id":"c","gen_ai.request.model":"gpt-5.4","error.type":"ERR"},"status":{"code":2,"message":"Model call failed"}}"#;
    for (error, want) in [
        ("ModelCallError", FailureReason::Other),
        ("SessionDestroyedError", FailureReason::Cancelled),
        ("429", FailureReason::RateLimit),
        ("500", FailureReason::Server),
    ] {
        let kept = cli(&bare.replace("ERR", error));
        let Fact::Failure(failure) = &kept.observations[0].fact else {
            panic!("{kept:?}")
        };
        assert_eq!(failure.reason, want);
        assert_eq!(failure.model.as_deref(), Some("gpt-5.4"));
    }
    let unreported = cli(&bare.replace(r#""code":2"#, r#""code":0"#));
    assert_eq!(classes(&unreported.calls()[0].tokens), [None; 4]);
}

#[test]
fn edge_149_figures_that_cannot_be_gross_are_kept_and_counted() {
    let line = SPAN.replace(":9000", ":1000").replace(":8000", ":50000");
    let kept = cli(&line);
    assert_eq!(
        classes(&kept.calls()[0].tokens),
        [Some(1_000), Some(50_000), Some(0), Some(60)]
    );
    assert_eq!(kept.parse_errors, ["cache_above_input"]);
}

#[test]
fn edge_155_and_156_each_span_has_its_own_session_and_the_repository_is_the_sessions() {
    let parent = SPAN.replace(
        r#""gen_ai.response.id""#,
        r#""copilot_chat.chat_session_id":"call_0005_0","copilot_chat.parent_chat_session_id":"main","github.copilot.git.repository":"git@host:o/repo.git","gen_ai.response.id""#,
    );
    let kept = read(&parent.replace(r#""type":"span","#, ""), Surface::VsCode);
    let [call, session] = &kept.observations[..] else {
        panic!("{kept:?}")
    };
    assert_eq!(
        (call.scope.as_str(), session.scope.as_str()),
        ("main", "main")
    );
    let Fact::Session(session) = &session.fact else {
        panic!("{session:?}")
    };
    assert_eq!(session.project.as_ref().unwrap().project.as_str(), "repo");
}

#[test]
fn versions_without_a_key_for_cache_writes_leave_them_unknown() {
    let old = SPAN.replace(
        r#""status""#,
        r#""resource":{"attributes":{"service.name":"github-copilot","service.version":"1.0.49"}},"status""#,
    );
    let write = |kept: &Kept| classes(&kept.calls()[0].tokens)[2];
    assert_eq!(write(&cli(&old)), None);
    assert_eq!(write(&cli(&old.replace("1.0.49", "1.0.102"))), Some(0));
}

#[test]
fn providers_other_than_github_are_the_users_own() {
    let with = |name: &str| {
        let attribute = format!(r#""gen_ai.provider.name":"{name}","gen_ai.response.id""#);
        let kept = cli(&SPAN.replace(r#""gen_ai.response.id""#, &attribute));
        kept.calls()[0].provider.clone()
    };
    assert_eq!(with("anthropic"), Some(Provider::own("anthropic")));
    assert_eq!(with("github"), None, "BYOK calls say so, too");
}

#[test]
fn edge_014_broken_lines_cost_only_themselves() {
    let lines = format!("null\n17\n\"chat\"\n{{\"chat\"\n{{\"a\":\"chat\"x}}\n{SPAN}");
    let kept = cli(&lines);
    assert_eq!(kept.calls().len(), 1);
    assert_eq!(kept.parse_errors.len(), 5);
    let odd = r#"{"type":"span","traceId":5,"spanId":[],"startTime":"x","endTime":{},"status":null,"attributes":{"gen_ai.operation.name":"chat","gen_ai.response.id":"r"}}"#;
    let kept = cli(odd);
    assert_eq!(kept.calls().len(), 1, "{kept:?}");
}

#[test]
fn statements_survive_serialisation() {
    let kept = cli(SPAN);
    let json = serde_json::to_string(&kept.observations[0]).unwrap();
    let back: Observation = serde_json::from_str(&json).unwrap();
    assert_eq!(back, kept.observations[0]);
}
