use super::*;
use crate::stores::vscode::skim::Skim;
use crate::stores::vscode::testing::Seen;

fn request(json: &str) -> Request {
    let lean = Lean::read(&mut Skim::document(json.as_bytes()), &SHAPE).unwrap();
    Request::read(&lean, 0).unwrap()
}

fn stated(request: &Request) -> Vec<Fact> {
    let mut seen = Seen::default();
    let place = Place {
        session: "s",
        file: "f",
        evidence: Evidence::JournalRequest,
        began: None,
    };
    request.observe(&place, &mut seen);
    seen.facts()
}

fn turn(json: &str) -> TurnFact {
    turn_of(&request(json))
}

fn turn_of(request: &Request) -> TurnFact {
    match stated(request).as_slice() {
        [Fact::Turn(turn)] => turn.clone(),
        other => panic!("{other:?}"),
    }
}

fn counts(tokens: &Tokens) -> [Option<u64>; 4] {
    TokenType::ALL.map(|class| tokens.get(class))
}

#[test]
fn edge_108_output_is_the_sum_and_input_a_lower_bound() {
    let turn = turn(
        r#"{"requestId":"r","completionTokens":490,
            "result":{"metadata":{"promptTokens":32543,"outputTokens":60}}}"#,
    );
    assert_eq!(counts(&turn.tokens), [Some(32_543), None, None, Some(490)]);
    assert!(turn.lower_bound);
}

#[test]
fn edge_110_last_round_figures_alone_are_a_lower_bound() {
    let turn = turn(
        r#"{"requestId":"r","result":{"metadata":{"outputTokens":88,"toolCallRounds":[{}]}}}"#,
    );
    assert_eq!(counts(&turn.tokens), [None, None, None, Some(88)]);
    assert!(turn.lower_bound);
}

#[test]
fn one_round_is_known_exactly() {
    let turn = turn(
        r#"{"requestId":"r","completionTokens":15,"promptTokens":18249,"elapsedMs":2272,
            "result":{"timings":{"firstProgress":1602},
                      "metadata":{"outputTokens":15,"toolCallRounds":[{"toolCalls":[]}]}}}"#,
    );
    assert!(!turn.lower_bound);
    assert_eq!(
        (turn.calls, turn.duration_ms, turn.first_token_ms),
        (1, Some(2272), Some(1602))
    );
}

#[test]
fn several_rounds_are_one_call_of_which_not_all_is_known() {
    let turn = turn(
        r#"{"requestId":"r","completionTokens":138,"promptTokens":18508,
            "result":{"metadata":{"toolCallRounds":[{},{},{}]}}}"#,
    );
    assert_eq!(
        (turn.calls, turn.lower_bound, turn.duration_ms),
        (1, true, None)
    );
}

#[test]
fn edge_116_figures_as_text_are_unknown_and_a_request_without_id_has_its_place() {
    let parsed = request(r#"{"completionTokens":"12","promptTokens":-3,"modelState":{"value":1}}"#);
    assert_eq!(parsed.id, RequestId::Position(0));
    let turn = turn_of(&parsed);
    assert_eq!(counts(&turn.tokens), [None; 4]);
    assert!(!turn.lower_bound);
}

#[test]
fn edge_119_totals_per_model_beat_the_sums() {
    let turn = turn(
        r#"{"requestId":"r","completionTokens":150,"promptTokens":9000,"modelTotals":[
            {"model":"gpt-5.4","inputTokens":9000,"cachedTokens":7000,"outputTokens":120},
            {"model":"copilot/gpt-5-mini","inputTokens":800,"cachedTokens":0,"outputTokens":30}]}"#,
    );
    let per_model: Vec<_> = turn
        .per_model
        .iter()
        .map(|(model, tokens)| (model.as_str(), counts(tokens)))
        .collect();
    assert_eq!(
        per_model,
        [
            ("gpt-5.4", [Some(2000), Some(7000), None, Some(120)]),
            ("gpt-5-mini", [Some(800), Some(0), None, Some(30)]),
        ]
    );
    assert_eq!(counts(&turn.tokens), [None; 4]);
    assert_eq!((turn.calls, turn.lower_bound), (2, false));
}

#[test]
fn edge_120_credits_of_the_turn_and_those_in_words_as_the_last_resort() {
    let credits = |json: &str| turn(json).credits;
    assert_eq!(
        credits(r#"{"requestId":"r","copilotCredits":1.6,"result":{"details":"M • 9 credits"}}"#),
        Some(Credits(1_600_000_000))
    );
    assert_eq!(
        credits(r#"{"requestId":"r","result":{"details":"GPT-5.4 • 1.6 credits"}}"#),
        Some(Credits(1_600_000_000))
    );
    for details in ["GPT-5.4 • 1x", "GPT-5.4", " credits", "x credits"] {
        let json = format!(r#"{{"requestId":"r","result":{{"details":"{details}"}}}}"#);
        assert_eq!(credits(&json), None, "{details}");
    }
}

#[test]
fn edge_122_the_resolved_model_beats_the_chosen_one() {
    let model = |json| turn(json).model;
    let auto = r#"{"requestId":"r","modelId":"copilot/auto","result":{"metadata":{"resolvedModel":"gpt-5.4"}}}"#;
    assert_eq!(model(auto).as_deref(), Some("gpt-5.4"));
    let unresolved = r#"{"requestId":"r","modelId":"copilot/auto","result":{}}"#;
    assert_eq!(model(unresolved), None);
}

#[test]
fn edge_123_the_users_own_provider_takes_no_credits() {
    let turn = turn(
        r#"{"requestId":"r","modelId":"anthropic/claude-sonnet-4.5","completionTokens":5,"copilotCredits":2}"#,
    );
    assert_eq!(turn.provider, Some(Provider::own("anthropic")));
    assert_eq!(
        (turn.model.as_deref(), turn.credits),
        (Some("claude-sonnet-4.5"), None)
    );
}

#[test]
fn edge_124_a_pending_request_counts_what_it_has() {
    let mut pending = request(r#"{"requestId":"r","modelState":{"value":0}}"#);
    assert_eq!(stated(&pending), []);
    pending.absorb(request(
        r#"{"requestId":"r","modelState":{"value":0},"completionTokens":40}"#,
    ));
    pending.absorb(request(
        r#"{"requestId":"r","modelState":{"value":1},"completionTokens":90}"#,
    ));
    assert_eq!(turn_of(&pending).tokens.get(TokenType::Output), Some(90));
}

#[test]
fn edge_126_cancelled_with_figures_counts_and_failed_without_is_a_failure() {
    let cancelled = turn(r#"{"requestId":"r","modelState":{"value":2},"completionTokens":7}"#);
    assert_eq!(cancelled.tokens.get(TokenType::Output), Some(7));
    let failed = r#"{"requestId":"r","modelState":{"value":3,"completedAt":1790000009000},
        "timestamp":1790000001000,"result":{"errorDetails":{"code":"rateLimited"}}}"#;
    let facts = stated(&request(failed));
    let [Fact::Failure(failure)] = facts.as_slice() else {
        panic!("{facts:?}");
    };
    assert_eq!(failure.reason, FailureReason::RateLimit);
    assert_eq!(failure.time, Some(Timestamp(1_790_000_001_000)));
    let paid = r#"{"requestId":"r","modelState":{"value":3},"completionTokens":9,"result":{"errorDetails":{}}}"#;
    assert_eq!(turn(paid).tokens.get(TokenType::Output), Some(9));
}

#[test]
fn edge_127_waiting_time_is_no_duration() {
    let turn = turn(
        r#"{"requestId":"r","timeSpentWaiting":1790000000000,"completionTokens":5,
            "result":{"metadata":{"toolCallRounds":[{}]}}}"#,
    );
    assert_eq!(turn.duration_ms, None);
}

#[test]
fn edge_131_thinking_is_inside_the_output() {
    let turn = turn(
        r#"{"requestId":"r","completionTokens":500,
            "result":{"metadata":{"toolCallRounds":[{"thinking":{"tokens":300}}]}}}"#,
    );
    assert_eq!(turn.tokens.get(TokenType::Output), Some(500));
}

#[test]
fn edge_134_a_mirror_speaks_in_the_cli_sessions_scope_and_claudes_not_at_all() {
    let mirror = r#"{"requestId":"r","completionTokens":5,"result":{"metadata":{"copilotSessionId":"cli-1"}}}"#;
    let mut seen = Seen::default();
    let place = Place {
        session: "s",
        file: "f",
        evidence: Evidence::JournalRequest,
        began: None,
    };
    request(mirror).observe(&place, &mut seen);
    assert_eq!(seen.observations()[0].scope, "cli-1");
    let claude =
        r#"{"requestId":"r","completionTokens":5,"result":{"metadata":{"claudeSessionId":"c"}}}"#;
    assert_eq!(stated(&request(claude)), []);
}

#[test]
fn other_participants_are_not_copilots() {
    let of = |extension: &str| {
        let json = format!(
            r#"{{"requestId":"r","completionTokens":5,"agent":{{"extensionId":{extension}}}}}"#
        );
        stated(&request(&json)).len()
    };
    assert_eq!(of(r#"{"value":"probe.probe"}"#), 0);
    assert_eq!(of(r#""probe.probe""#), 0);
    assert_eq!(of(r#"{"value":"GitHub.copilot-chat"}"#), 1);
    assert_eq!(of(r#"{"value":"nullExtensionDescription"}"#), 1);
}

#[test]
fn a_summary_is_a_call_of_its_own_unless_the_totals_hold_it() {
    let usage = r#""summaries":[{"toolCallRoundId":"t1","text":"…","usage":{"prompt_tokens":5000,
        "completion_tokens":70,"prompt_tokens_details":{"cached_tokens":4000},"model":"gpt-5-mini"}},{"text":"x"}]"#;
    let alone =
        format!(r#"{{"requestId":"r","completionTokens":9,"result":{{"metadata":{{{usage}}}}}}}"#);
    let facts = stated(&request(&alone));
    let [Fact::Turn(_), Fact::Call(call)] = facts.as_slice() else {
        panic!("{facts:?}");
    };
    assert_eq!(
        counts(&call.tokens),
        [Some(1000), Some(4000), None, Some(70)]
    );
    assert_eq!(call.model.as_deref(), Some("gpt-5-mini"));
    assert_eq!(call.initiator, Initiator::Compaction);
    let inside = format!(
        r#"{{"requestId":"r","modelTotals":[{{"model":"m","outputTokens":9}}],"result":{{"metadata":{{{usage}}}}}}}"#
    );
    // Totals that come later take its place.
    let mut seen = request(&alone);
    seen.absorb(request(&inside));
    for request in [seen, request(&inside)] {
        let facts = stated(&request);
        let [Fact::Turn(turn), Fact::Session(nothing)] = facts.as_slice() else {
            panic!("{facts:?}");
        };
        assert_eq!(turn.per_model.len(), 1);
        assert_eq!(*nothing, SessionFact::default());
    }
}

#[test]
fn a_request_that_was_copilots_when_it_was_over_stays_so() {
    let over = r#"{"requestId":"r","completionTokens":9,"modelState":{"value":1}}"#;
    let of_another = r#"{"requestId":"r","agent":{"extensionId":{"value":"acme.agent"}}}"#;
    let mut seen = request(over);
    seen.absorb(request(of_another));
    assert!(seen.is_copilots());
    let mut pending = request(r#"{"requestId":"r","modelState":{"value":0}}"#);
    pending.absorb(request(of_another));
    pending.absorb(request(&over.replace(
        "\"r\",",
        "\"r\",\"agent\":{\"extensionId\":\"acme.agent\"},",
    )));
    assert!(!pending.is_copilots());
}

#[test]
fn what_is_cleared_or_undone_stays_counted() {
    let mut seen = request(
        r#"{"requestId":"r","completionTokens":120,"copilotCredits":2,"promptTokens":10,
            "modelTotals":[{"model":"m","outputTokens":9}],"modelState":{"value":1}}"#,
    );
    let before = seen.clone();
    seen.absorb(request(r#"{"requestId":"r","modelState":{"value":0}}"#));
    assert_eq!(seen, before);
}
