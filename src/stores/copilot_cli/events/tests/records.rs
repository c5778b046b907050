//! Usage records, compactions, checkpoints and errors.

use super::*;

#[test]
fn edge_038_checkpoints_are_no_sum() {
    let checkpoint = |id, nano: u64| {
        let data = format!(r#"{{"totalNanoAiu":{nano}}}"#);
        event(id, "01T08:00:00.000Z", "session.usage_checkpoint", &data)
    };
    let kept = read(
        &[
            checkpoint("a", 100_000_000),
            checkpoint("b", 250_000_000),
            checkpoint("c", 400_000_000),
        ]
        .concat(),
    );
    let totals = credit_totals(&kept);
    assert_eq!(totals.last().unwrap().credits, Some(Credits(400_000_000)));
    let mut ids: Vec<_> = kept.observations.iter().map(|o| o.id).collect();
    ids.dedup();
    assert_eq!(ids.len(), 1, "each replaces the one before");
}

#[test]
fn edge_042_errors_are_failures_and_no_calls() {
    let error = |id, data| event(id, "01T08:00:00.000Z", "session.error", data);
    let kept = read(
        &[
            error(
                "a",
                r#"{"errorType":"query","statusCode":500,"message":"private"}"#,
            ),
            error("b", r#"{"errorType":"authentication","statusCode":401}"#),
            error("c", r#"{"errorType":"query"}"#),
            error("d", r#"{"errorType":"internal"}"#),
            event(
                "e",
                "01T09:00:00.000Z",
                "session.shutdown",
                r#"{"modelMetrics":{}}"#,
            ),
        ]
        .concat(),
    );
    let reasons: Vec<_> = kept
        .observations
        .iter()
        .map(|o| match &o.fact {
            Fact::Failure(failure) => failure.reason,
            other => panic!("{other:?}"),
        })
        .collect();
    let want = [
        FailureReason::Server,
        FailureReason::Auth,
        FailureReason::Other,
    ];
    assert_eq!(reasons, want);
}

#[test]
fn edge_043_a_record_without_usage_is_a_call_of_unknown_tokens() {
    let record = r#"{"type":"session.usage_record","id":"u","timestamp":"2026-11-02T10:00:03Z","data":{"usage":{"model":"m","cacheReadTokens":0,"cacheWriteTokens":0,"isByok":true,"cacheDetailsReported":false,"aiCreditsStatus":"unavailable"}}}"#;
    let kept = read(&format!("{record}\n"));
    assert_eq!(classes(&kept.calls()[0].tokens), [None; 4]);
}

#[test]
fn a_usage_record() {
    let kept = read(&format!("{RECORD}\n"));
    let [call] = kept.calls()[..] else {
        panic!("{kept:?}")
    };
    assert_eq!(
        classes(&call.tokens),
        [Some(1_000), Some(8_000), Some(0), Some(60)]
    );
    assert_eq!(call.tokens.reasoning(), Some(20));
    assert_eq!(call.credits, Some(Credits(540_000_000)));
    assert_eq!(call.provider, Some(Provider::Copilot));
    assert_eq!(call.initiator, Initiator::User);
    assert_eq!(
        (call.duration_ms, call.first_token_ms),
        (Some(812), Some(240))
    );
    let accounting = Key::accounting("5d1e0000-0000-4000-8000-000000000001", 1);
    assert_eq!(kept.observations[0].id, accounting);
    assert_eq!(call.keys, [Key::response("resp-7")]);
}

#[test]
fn edge_089_and_092_records_make_their_messages_and_legs_redundant() {
    let lines = format!("{RECORD}\n")
        + &event(
            "m",
            "01T10:00:04.000Z",
            "assistant.message",
            r#"{"model":"gpt-5.4","apiCallId":"resp-7"}"#,
        )
        + &shutdown("s", "01T11:00:00.000Z", [1, 9_000, 8_000, 0, 60]);
    let kept = read(&lines);
    assert_eq!(kept.calls().len(), 1);
    assert!(kept.legs().is_empty());
}

#[test]
fn edge_253_the_wire_name_is_the_model() {
    let record = RECORD.replace(
        r#""model":"gpt-5.4""#,
        r#""model":"gpt-5-mini","modelDisplayName":"gpt-5.4""#,
    );
    assert_eq!(models(&read(&format!("{record}\n"))), [Some("gpt-5-mini")]);
}

#[test]
fn own_providers_are_named() {
    let with = |fields: &str| {
        let record = RECORD.replace(r#""isByok":false"#, &format!(r#""isByok":true,{fields}"#));
        read(&format!("{record}\n")).calls()[0].provider.clone()
    };
    for (fields, want) in [
        (
            r#""modelProvider":"anthropic","providerType":"anthropic""#,
            "anthropic",
        ),
        (
            r#""modelProvider":"other","providerType":"openai""#,
            "openai",
        ),
        (r#""providerType":"azure""#, "azure"),
        (r#""modelProvider":null"#, "byok"),
    ] {
        assert_eq!(with(fields), Some(Provider::own(want)), "{fields}");
    }
}

#[test]
fn edge_085_a_compaction_is_a_call() {
    let compaction =
        |id, data: &str| event(id, "01T08:00:00.000Z", "session.compaction_complete", data);
    let used = r#""compactionTokensUsed":{"requestCount":1,"model":"m","inputTokens":18541,"outputTokens":71,"cacheReadTokens":18432,"cacheWriteTokens":0,"duration":16,"aiCreditsStatus":"complete","copilotUsage":{"totalNanoAiu":500}}"#;
    let kept = read(
        &[
            compaction("a", &format!(r#"{{"success":true,{used}}}"#)),
            compaction("b", &format!(r#"{{"success":false,{used}}}"#)),
            compaction("c", r#"{"success":true}"#),
        ]
        .concat(),
    );
    assert_eq!(kept.calls().len(), 2, "a failed one was billed, too");
    let call = kept.calls()[0];
    assert_eq!(call.initiator, Initiator::Compaction);
    assert_eq!(
        classes(&call.tokens),
        [Some(109), Some(18_432), Some(0), Some(71)]
    );
    assert_eq!(call.credits, Some(Credits(500)));
    assert_eq!(call.evidence, Evidence::UsageRecord);
    assert_eq!(call.time, Timestamp::parse_iso("2026-09-01T08:00:00Z"));
}

#[test]
fn compactions_of_old_clients_have_shorter_names_and_no_model() {
    let lines = event(
        "a",
        "01T07:00:00.000Z",
        "session.model_change",
        r#"{"newModel":"m1"}"#,
    ) + &event(
        "b",
        "01T08:00:00.000Z",
        "session.compaction_complete",
        r#"{"success":true,"compactionTokensUsed":{"input":1000,"output":50,"cachedInput":400}}"#,
    );
    let kept = read(&lines);
    assert_eq!(models(&kept), [Some("m1")]);
    assert_eq!(
        classes(&kept.calls()[0].tokens),
        [Some(600), Some(400), None, Some(50)]
    );
}

#[test]
fn edge_231_a_checkpoint_of_a_killed_run_bounds_the_credits() {
    let limits = r#"{"sessionLimits":null}"#;
    let total = |line: String, nano: u64, of_model: u64| {
        line.replace(
            r#"{"modelMetrics""#,
            &format!(r#"{{"totalNanoAiu":{nano},"modelMetrics""#),
        )
        .replace(
            r#""requests""#,
            &format!(r#""totalNanoAiu":{of_model},"requests""#),
        )
    };
    let checkpoint = event(
        "c",
        "01T09:00:00.000Z",
        "session.usage_checkpoint",
        r#"{"totalNanoAiu":700}"#,
    );
    let mut log = Session::new(
        &(total(
            shutdown("a", "01T08:00:00.000Z", [1, 100, 0, 0, 1]),
            400,
            400,
        ) + &resume("b", "01T08:30:00.000Z", limits)
            + &checkpoint),
    );
    let kept = log.pass();
    assert_eq!(credit_totals(&kept)[0].credits, Some(Credits(700)));

    let append = |log: &Session, line: &str| {
        let lines = fs::read_to_string(log.path()).unwrap() + line;
        fs::write(log.path(), lines).unwrap();
    };
    // The run was killed: its charge is in the total, and in no model's.
    let later = resume("d", "01T10:00:00.000Z", limits)
        + &total(
            shutdown("e", "01T11:00:00.000Z", [2, 200, 0, 0, 2]),
            900,
            600,
        );
    append(&log, &later);
    let kept = log.pass();
    assert_eq!(credit_totals(&kept)[0].credits, Some(Credits(900)));
    // Explained: taken back.
    let explained = resume("f", "02T10:00:00.000Z", limits)
        + &total(
            shutdown("g", "02T11:00:00.000Z", [3, 300, 0, 0, 3]),
            950,
            950,
        );
    append(&log, &explained);
    assert_eq!(credit_totals(&log.pass())[0].credits, None);
}

#[test]
fn a_forks_running_total_is_its_parents() {
    let start = event(
        "s",
        "01T07:00:00.000Z",
        "session.start",
        r#"{"sessionId":"parent"}"#,
    );
    let checkpoint = r#"{"totalNanoAiu":700}"#;
    let checkpoint = event(
        "c",
        "01T09:00:00.000Z",
        "session.usage_checkpoint",
        checkpoint,
    );
    assert!(credit_totals(&read(&(start + &checkpoint))).is_empty());
}

#[test]
fn edge_259_absent_reasoning_is_unknown() {
    let record = RECORD.replace(r#""reasoningTokens":20,"#, "");
    let kept = read(&format!("{record}\n"));
    let call = kept.calls()[0];
    assert_eq!(call.tokens.reasoning(), None);
    assert_eq!(classes(&call.tokens)[3], Some(60));
}

#[test]
fn edge_260_a_checkpoint_after_a_compaction_of_a_killed_run() {
    let compaction = r#"{"success":true,"compactionTokensUsed":{"model":"m","inputTokens":10,"outputTokens":1,"copilotUsage":{"totalNanoAiu":300}}}"#;
    let with_records = format!("{RECORD}\n")
        + &event(
            "c",
            "02T08:00:00.000Z",
            "session.compaction_complete",
            compaction,
        )
        + &event(
            "d",
            "02T08:00:01.000Z",
            "session.usage_checkpoint",
            r#"{"totalNanoAiu":540000300}"#,
        );
    let kept = read(&with_records);
    assert_eq!(kept.calls().len(), 2);
    assert!(credit_totals(&kept).is_empty(), "records tell every call");
}
