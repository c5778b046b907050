//! Messages, and whose model is in force.

use super::*;

#[test]
fn edge_001_a_message_alone_is_a_call_with_unknown_input() {
    let lines = event(
        "m",
        "01T09:00:00.000Z",
        "session.model_change",
        r#"{"newModel":"gpt-4.1"}"#,
    ) + &message("e", r#"{"messageId":"1","outputTokens":150}"#);
    let kept = read(&lines);
    let [call] = kept.calls()[..] else {
        panic!("{kept:?}")
    };
    assert_eq!(call.evidence, Evidence::Message);
    assert_eq!(call.model.as_deref(), Some("gpt-4.1"));
    assert_eq!(classes(&call.tokens), [None, None, None, Some(150)]);
    assert_eq!(kept.observations[0].scope, "s1");
}

#[test]
fn edge_002_to_005_the_model_in_force() {
    let change = |id, data| event(id, "01T09:00:00.000Z", "session.model_change", data);
    let plain = |id| message(id, r#"{"outputTokens":5}"#);
    let kept = read(
        &[
            change("a", r#"{"newModel":"m1"}"#),
            plain("b"),
            change("c", r#"{"newModel":"m2"}"#),
            plain("d"),
            change("e", r#"{"newModel":null}"#),
            plain("f"),
            change("g", r#"{"newModel":"x","source":"agent"}"#),
            plain("h"),
            message("i", r#"{"outputTokens":5,"model":"own"}"#),
            plain("j"),
        ]
        .concat(),
    );
    let want = ["m1", "m2", "m2", "m2", "own", "own"].map(Some);
    assert_eq!(models(&kept), want);

    let of_agent = r#"{"type":"session.model_change","data":{"newModel":"x"},"agentId":"a1","id":"k","timestamp":"2026-09-01T10:00:00Z"}"#;
    let lines = change("a", r#"{"newModel":"m1"}"#) + of_agent + "\n" + &plain("b");
    assert_eq!(models(&read(&lines)), [Some("m1")]);
}

#[test]
fn edge_006_a_model_that_comes_late_is_the_sessions() {
    let lines = message("a", r#"{"outputTokens":5}"#)
        + &shutdown("s", "01T11:00:00.000Z", [1, 100, 0, 0, 5]);
    let kept = read(&lines);
    assert_eq!(models(&kept), [None]);
    assert_eq!(session(&kept).model.as_deref(), Some("claude-sonnet-4.5"));
}

#[test]
fn edge_007_odd_tool_requests_do_no_harm() {
    let kept = read(
        &[r#""text""#, "null", r#"[null,{"name":5}]"#]
            .map(|odd| {
                message(
                    odd.trim_matches('"'),
                    &format!(r#"{{"outputTokens":5,"toolRequests":{odd}}}"#),
                )
            })
            .concat()
            .replace(r#""id":"[null,{"name":5}]""#, r#""id":"x""#),
    );
    assert_eq!(kept.calls().len(), 3, "{kept:?}");
}

#[test]
fn edge_008_to_010_outputs_of_zero_absent_and_odd() {
    let kept = read(
        &[
            message("a", r#"{"model":"m","outputTokens":0}"#),
            message("b", r#"{"model":"m","outputTokens":42}"#),
            message("c", r#"{"model":"m"}"#),
            message("d", r#"{"model":"m","outputTokens":"12"}"#),
            message("e", r#"{"model":"m","outputTokens":-3}"#),
            message("f", r#"{"model":"m","outputTokens":null}"#),
        ]
        .concat(),
    );
    assert_eq!(outputs(&kept), [Some(42), None, None, None, None]);
    assert_eq!(kept.parse_errors, ["number"; 3]);
}

#[test]
fn edge_013_messages_without_message_id_are_two_calls() {
    let kept = read(
        &[
            message("a", r#"{"model":"m","outputTokens":5}"#),
            message("b", r#"{"model":"m","outputTokens":5}"#),
        ]
        .concat(),
    );
    assert_eq!(kept.calls().len(), 2);
    assert_ne!(kept.observations[0].id, kept.observations[1].id);

    let bare = r#"{"type":"assistant.message","data":{"model":"m","outputTokens":5}}"#;
    let kept = read(&format!("{bare}\n{bare}\n"));
    assert_ne!(
        kept.observations[0].id, kept.observations[1].id,
        "by position"
    );
}

#[test]
fn edge_016_and_017_sub_agents_nest_and_their_totals_repeat_calls() {
    let agent = |id: &str, kind: &str, call: &str| {
        let data = format!(r#"{{"toolCallId":"{call}","totalTokens":7000}}"#);
        event(id, "01T09:00:00.000Z", kind, &data)
    };
    let plain = |id| message(id, r#"{"model":"m","outputTokens":5}"#);
    let kept = read(
        &[
            agent("1", "subagent.started", "A"),
            agent("2", "subagent.started", "B"),
            plain("3"),
            agent("4", "subagent.completed", "B"),
            plain("5"),
            agent("6", "subagent.completed", "unknown"),
            plain("7"),
            agent("8", "subagent.failed", "A"),
            plain("9"),
        ]
        .concat(),
    );
    let initiators: Vec<_> = kept.calls().iter().map(|call| call.initiator).collect();
    let sub = Initiator::Subagent;
    assert_eq!(initiators, [sub, sub, sub, Initiator::Unknown]);
    // Not the 7,000 of `totalTokens`.
    assert_eq!(outputs(&kept), [Some(5); 4]);
}

#[test]
fn edge_018_a_sub_agents_model_is_its_own() {
    let kept = read(
        &[
            message("a", r#"{"model":"m1","outputTokens":5}"#),
            message(
                "b",
                r#"{"model":"m2","outputTokens":6,"parentToolCallId":"t"}"#,
            ),
            message("c", r#"{"outputTokens":7}"#),
        ]
        .concat(),
    );
    assert_eq!(models(&kept), [Some("m1"), Some("m2"), Some("m1")]);
    assert_eq!(kept.calls()[1].initiator, Initiator::Subagent);
    assert_eq!(kept.calls()[2].initiator, Initiator::Unknown);
}

#[test]
fn edge_020_auto_is_no_model_until_it_is_resolved() {
    let start = event(
        "a",
        "01T09:00:00.000Z",
        "session.start",
        r#"{"selectedModel":"auto"}"#,
    );
    let plain = message("b", r#"{"outputTokens":5}"#);
    let kept = read(&(start.clone() + &plain));
    assert_eq!((models(&kept), session(&kept).model), (vec![None], None));
    let resolved = event(
        "c",
        "01T09:00:01.000Z",
        "session.auto_mode_resolved",
        r#"{"chosenModel":"gpt-5.4"}"#,
    );
    let kept = read(&(start + &plain + &resolved + &message("d", r#"{"outputTokens":6}"#)));
    assert_eq!(models(&kept), [None, Some("gpt-5.4")]);
    assert_eq!(session(&kept).model.as_deref(), Some("gpt-5.4"));
}

#[test]
fn edge_022_tools_and_resumed_runs_are_no_calls() {
    let kept = read(&event(
        "a",
        "01T09:00:00.000Z",
        "tool.execution_complete",
        r#"{"model":"resumed","toolTelemetry":{"metrics":{"inputTokens":5}}}"#,
    ));
    assert!(kept.observations.is_empty());
}

#[test]
fn chunks_of_a_message_are_one_call() {
    let chunk = |id, index, tokens: &str| {
        let data = format!(
            r#"{{"model":"m","apiCallId":"r","chunkIndex":{index},"chunkCount":3{tokens}}}"#
        );
        message(id, &data)
    };
    let lines = chunk("a", 0, "")
        + &chunk("b", 1, r#","outputTokens":40"#)
        + &chunk("c", 2, "")
        + &shutdown("s", "01T11:00:00.000Z", [1, 100, 0, 0, 40]);
    let kept = read(&lines);
    let mut calls: Vec<_> = kept
        .observations
        .iter()
        .filter(|o| matches!(o.fact, Fact::Call(_)))
        .map(|o| o.id)
        .collect();
    calls.dedup();
    assert_eq!(calls.len(), 1);
    assert_eq!(outputs(&kept).last(), Some(&Some(40)));
}

#[test]
fn messages_that_no_model_wrote_are_no_calls() {
    let own = message(
        "a",
        r#"{"messageId":"1","content":"","toolRequests":[{"name":"read_agent"}]}"#,
    );
    let kept = read(&own);
    assert!(kept.observations.is_empty());
    assert_eq!(kept.skipped, ["no_answer"]);
}

#[test]
fn edge_258_a_resume_with_another_model() {
    let lines = [
        event(
            "a",
            "01T09:00:00.000Z",
            "session.start",
            r#"{"selectedModel":"m1"}"#,
        ),
        message("b", r#"{"outputTokens":5}"#),
        resume("c", "02T09:00:00.000Z", r#"{"selectedModel":"m1"}"#),
        event(
            "d",
            "02T09:00:01.000Z",
            "session.model_change",
            r#"{"newModel":"m2","previousModel":"m1","source":"startup"}"#,
        ),
        message("e", r#"{"outputTokens":5}"#),
    ]
    .concat();
    assert_eq!(models(&read(&lines)), [Some("m1"), Some("m2")]);
}

#[test]
fn tool_requests_are_stated_where_they_are_wanted() {
    let lines = message(
        "a",
        r#"{"model":"m1","outputTokens":5,"toolRequests":[{"toolCallId":"t1","name":"bash"},{"toolCallId":"t2","name":"acme_deploy"}]}"#,
    ) + &message(
        "b",
        r#"{"outputTokens":6,"toolRequests":[{"toolCallId":"t1","name":"view"}]}"#,
    );
    let kept = Session::new(&lines).pass_with(true);
    let tools: Vec<_> = kept
        .observations
        .iter()
        .filter_map(|observation| match &observation.fact {
            Fact::Tool(fact) => Some((fact.tool.as_str(), fact.model.as_deref())),
            _ => None,
        })
        .collect();
    let m1 = Some("m1");
    assert_eq!(tools, [("bash", m1), ("other", m1), ("view", m1)]);
    let unwanted = read(&lines);
    assert_eq!(unwanted.observations.len(), kept.observations.len() - 3);
}
