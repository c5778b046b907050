use super::*;

#[test]
fn edge_008_an_explicit_zero_is_no_call() {
    let mut stated = vec![message("m1", seconds(1), output(0))];
    assert_eq!(total(&stated), sums(0, [0; 4]));
    stated.push(message("m2", seconds(2), output(42)));
    assert_eq!(total(&stated), sums(1, [0, 0, 0, 42]));
}

#[test]
fn edge_013_two_messages_without_any_key_are_two_calls() {
    let stated = [
        message("m1", seconds(1), output(10)),
        message("m2", seconds(1), output(10)),
    ];
    assert_eq!(total(&stated), sums(2, [0, 0, 0, 20]));
}

#[test]
fn edge_043_a_provider_that_reports_no_usage() {
    let unknown = record("u", "resp-1", seconds(1), Tokens::default());
    let zeros = row("r", at(1_001), tokens(0, 0, 0, 0));
    for stated in [vec![unknown.clone()], vec![unknown, zeros]] {
        let resolution = reconcile(&stated);
        assert_eq!(resolution.sums(), sums(1, [0; 4]));
        assert_eq!(resolution.calls[0].tokens, Tokens::default());
        assert!(resolution.calls[0].partial);
    }
}

#[test]
fn edge_060_065_rows_are_calls_of_their_own() {
    let stated = [
        row("r1", seconds(1), tokens(1, 2, 3, 4)),
        row("r2", at(2_500), tokens(1, 2, 3, 4)),
    ];
    assert_eq!(total(&stated), sums(2, [2, 4, 6, 8]));
}

#[test]
fn edge_070_a_message_joins_the_nearest_row_of_its_model() {
    let the_row = row("r", seconds(1), tokens(100, 10, 1, 40));
    for tokens_of_message in [output(40), output(0), Tokens::default()] {
        let stated = [message("m", seconds(0), tokens_of_message), the_row.clone()];
        assert_eq!(total(&stated), sums(1, [100, 10, 1, 40]));
    }
    let far = [message("m", seconds(301), output(7)), the_row.clone()];
    assert_eq!(total(&far), sums(2, [100, 10, 1, 47]));
    let mut other = call(Evidence::Message, seconds(0), output(7));
    other.model = Some("claude-haiku-4.5".to_owned());
    assert_eq!(total(&[cli("m", Fact::Call(other)), the_row]).calls, 2);
}

#[test]
fn edge_085_a_compaction_is_counted_once() {
    let event = compaction(
        Evidence::UsageRecord,
        "e1",
        seconds(10),
        tokens(6_272, 266_933, 0, 3_085),
    );
    let its_row = compaction(
        Evidence::StoreRow,
        "r1",
        seconds(10),
        tokens(6_272, 266_933, 0, 3_085),
    );
    let one = sums(1, [6_272, 266_933, 0, 3_085]);
    for stated in [
        vec![event.clone()],
        vec![its_row.clone()],
        vec![event.clone(), its_row],
    ] {
        let resolution = reconcile(&stated);
        assert_eq!(resolution.sums(), one);
        assert_eq!(resolution.calls[0].initiator, Initiator::Compaction);
    }
    let second = compaction(
        Evidence::UsageRecord,
        "e2",
        seconds(90),
        tokens(6_272, 266_933, 0, 3_085),
    );
    assert_eq!(total(&[event, second]).calls, 2);
}

#[test]
fn edge_086_a_message_does_not_join_a_compaction() {
    let stated = [
        message("m", seconds(10), output(7)),
        row("r", seconds(11), tokens(1, 0, 0, 7)),
        compaction(Evidence::StoreRow, "x", seconds(13), tokens(2, 0, 0, 7)),
    ];
    assert_eq!(total(&stated), sums(2, [3, 0, 0, 14]));
    let nearer = [
        message("m", seconds(12), output(7)),
        stated[1].clone(),
        stated[2].clone(),
    ];
    assert_eq!(total(&nearer), sums(2, [3, 0, 0, 14]));
}

#[test]
fn edge_089_one_response_id_is_one_call() {
    let stated = [
        record("u", "resp-1", at(2_000), tokens(10, 1, 0, 5)),
        keyed(
            Evidence::Message,
            "m",
            "resp-1",
            at(2_010),
            Tokens::default(),
        ),
        keyed(Evidence::Span, "o", "resp-1", at(0), tokens(10, 1, 0, 5)),
    ];
    let resolution = reconcile(&stated);
    assert_eq!(resolution.sums(), sums(1, [10, 1, 0, 5]));
    assert_eq!(resolution.duplicates, 2);
}

#[test]
fn edge_090_two_rows_and_two_records_of_equal_calls_are_two_calls() {
    let stated = [
        record("u1", "resp-1", at(1_000), tokens(10, 1, 0, 5)),
        record("u2", "resp-2", at(1_001), tokens(10, 1, 0, 5)),
        row("r1", at(1_001), tokens(10, 1, 0, 5)),
        row("r2", at(1_002), tokens(10, 1, 0, 5)),
    ];
    assert_eq!(total(&stated[..2]), sums(2, [20, 2, 0, 10]));
    assert_eq!(total(&stated), sums(2, [20, 2, 0, 10]));
    assert_eq!(
        total(&[stated[0].clone(), stated[2].clone()]),
        sums(1, [10, 1, 0, 5])
    );
}

#[test]
fn a_row_whose_time_has_whole_seconds_only_joins_its_record() {
    let stated = [
        record("u", "resp-1", at(1_959), tokens(10, 1, 0, 5)),
        row("r", at(1_000), tokens(10, 1, 0, 5)),
    ];
    assert_eq!(total(&stated), sums(1, [10, 1, 0, 5]));
}

#[test]
fn a_response_id_that_a_provider_repeats_stands_for_several_calls() {
    let accounted = |id: &str, sequence, time, tokens| {
        let mut fact = call(Evidence::UsageRecord, time, tokens);
        fact.keys = vec![Key::response("chatcmpl-1"), Key::accounting("s", sequence)];
        cli(id, Fact::Call(fact))
    };
    let reply =
        |id: &str, time| keyed(Evidence::Message, id, "chatcmpl-1", time, Tokens::default());
    let stated = [
        accounted("u1", 1, at(1_000), tokens(10, 0, 0, 5)),
        reply("m1", at(1_008)),
        accounted("u2", 2, at(9_000), tokens(10, 0, 0, 5)),
        reply("m2", at(9_008)),
        accounted("u3", 3, at(9_100), tokens(11, 0, 0, 5)),
        reply("m3", at(9_108)),
    ];
    assert_eq!(total(&stated), sums(3, [31, 0, 0, 15]));
}

#[test]
fn a_span_and_a_message_without_common_key_are_one_call() {
    let mut span = call(Evidence::Span, at(30_000), tokens(10, 1, 0, 5));
    span.duration_ms = Some(30_000);
    span.keys = vec![Key::response("resp-1")];
    let stated = [
        cli("o", Fact::Call(span)),
        message("m", at(30_010), output(5)),
    ];
    assert_eq!(total(&stated), sums(1, [10, 1, 0, 5]));
}

#[test]
fn a_span_and_a_row_are_joined_by_their_figures() {
    let mut span = call(Evidence::Span, at(2_000), tokens(10, 1, 0, 5));
    span.duration_ms = Some(2_000);
    span.model = Some("gpt-5.4-2026-03-05".to_owned());
    let stated = [
        cli("o", Fact::Call(span)),
        row("r", at(2_003), tokens(10, 1, 0, 5)),
        row("other", at(2_500), tokens(99, 1, 0, 5)),
    ];
    assert_eq!(total(&stated), sums(2, [109, 2, 0, 10]));
}

#[test]
fn messages_of_the_clients_own_making_are_no_calls() {
    let stated = [
        keyed(Evidence::Message, "m", "resp-1", at(0), Tokens::default()),
        message("made", at(50), Tokens::default()),
    ];
    assert_eq!(total(&stated).calls, 1);
}

#[test]
fn edge_097_a_session_of_forty_rows_is_forty_calls() {
    let rows: Vec<Observation> = (0..40)
        .map(|at| row(&format!("r{at}"), seconds(at), tokens(1, 2, 3, 4)))
        .collect();
    assert_eq!(total(&rows), sums(40, [40, 80, 120, 160]));
}

#[test]
fn edge_098_premium_requests_are_those_of_prompts() {
    let mut stated = Vec::new();
    for round in 0..26 {
        let mut fact = call(Evidence::StoreRow, seconds(round), input(10));
        fact.initiator = if round == 0 {
            Initiator::User
        } else {
            Initiator::Agent
        };
        fact.premium = PremiumRequests::from_multiplier(0.33);
        stated.push(cli(&format!("r{round}"), Fact::Call(fact)));
    }
    let resolution = reconcile(&stated);
    let premium: u64 = resolution
        .calls
        .iter()
        .filter_map(|call| call.premium)
        .map(|p| p.0)
        .sum();
    assert_eq!(premium, 330_000);
    assert_eq!(resolution.sums().calls, 26);
}

#[test]
fn the_better_statement_tells_and_the_others_fill_in() {
    let mut the_row = call(Evidence::StoreRow, at(1_000), tokens(10, 1, 0, 5));
    the_row.model = Some("GPT-5.4".to_owned());
    let mut the_record = call(Evidence::UsageRecord, at(1_001), tokens(10, 1, 0, 5));
    the_record.keys = vec![Key::response("resp-1")];
    the_record.provider = Some(Provider::own("openai"));
    the_record.initiator = Initiator::Agent;
    the_record.first_token_ms = Some(7);
    let resolution = reconcile(&[
        cli("r", Fact::Call(the_row)),
        cli("u", Fact::Call(the_record)),
    ]);
    let [call] = resolution.calls.as_slice() else {
        panic!("not one call: {resolution:?}");
    };
    assert_eq!(call.provider, Provider::own("openai"));
    assert_eq!(call.initiator, Initiator::Agent);
    assert_eq!(call.first_token_ms, Some(7));
    assert_eq!(call.time, Some(at(1_000)));
    assert_eq!(call.model.as_deref(), Some("GPT-5.4"));
}

/// A sub-agent's calls as rows or messages (`evidence`), and the span that sums them up.
fn sub_agent_run(evidence: Evidence) -> Vec<Observation> {
    let of_sub_agent = |id: &str, time, tokens| {
        let fact = CallFact {
            initiator: Initiator::Subagent,
            ..call(evidence, time, tokens)
        };
        cli(id, Fact::Call(fact))
    };
    let known = |tokens: Tokens| match evidence {
        Evidence::Message => {
            Tokens::default().with(TokenType::Output, tokens.get(TokenType::Output))
        }
        _ => tokens,
    };
    let mut span = call(Evidence::Span, at(10_300), tokens(4_476, 4_352, 0, 36));
    span.duration_ms = Some(300);
    span.keys = vec![Key::response("resp-2")];
    vec![
        cli("span", Fact::Call(span)),
        of_sub_agent("1", at(10_100), known(tokens(4_400, 0, 0, 24))),
        of_sub_agent("2", at(10_299), known(tokens(76, 4_352, 0, 12))),
    ]
}

#[test]
fn a_span_that_sums_up_a_sub_agent_adds_nothing_to_its_rows() {
    let stated = sub_agent_run(Evidence::StoreRow);
    for some in [&stated[..], &stated[1..]] {
        assert_eq!(total(some), sums(2, [4_476, 4_352, 0, 36]));
    }
    // Rows arrive one by one.
    assert_eq!(total(&stated[..1]), sums(1, [4_476, 4_352, 0, 36]));
    assert_eq!(total(&stated[..2]), sums(1, [4_476, 4_352, 0, 36]));
}

#[test]
fn sub_agents_side_by_side() {
    let of_sub_agent = |evidence, id: &str, time, tokens, duration| {
        let fact = CallFact {
            initiator: Initiator::Subagent,
            duration_ms: Some(duration),
            ..call(evidence, at(time), tokens)
        };
        cli(id, Fact::Call(fact))
    };
    let prompt = |input, output| tokens(input, 0, 0, output);
    let stated = [
        of_sub_agent(Evidence::StoreRow, "1", 40, prompt(100, 10), 5),
        of_sub_agent(Evidence::StoreRow, "2", 50, prompt(200, 20), 5),
        of_sub_agent(Evidence::StoreRow, "3", 60, prompt(300, 30), 5),
        of_sub_agent(Evidence::Span, "a", 70, prompt(400, 40), 60),
        of_sub_agent(Evidence::Span, "b", 90, prompt(200, 20), 60),
    ];
    assert_eq!(total(&stated), sums(3, [600, 0, 0, 60]));
    assert_eq!(total(&stated[3..]), sums(2, [600, 0, 0, 60]));
}

#[test]
fn messages_tell_how_many_calls_a_sub_agents_span_sums_up() {
    let mut stated = sub_agent_run(Evidence::Message);
    let all = sums(2, [4_476, 4_352, 0, 36]);
    assert_eq!(total(&stated), all);
    assert_eq!(reconcile(&stated).calls.len(), 1);
    assert_eq!(reconcile(&stated).calls[0].initiator, Initiator::Subagent);
    // The last message may have the span's response id.
    if let Fact::Call(last) = &mut stated[2].fact {
        last.keys = vec![Key::response("resp-2")];
    }
    assert_eq!(total(&stated), all);
    assert_eq!(total(&stated[..2]).output, 36);
}

#[test]
fn a_message_whose_output_differs_is_another_call_unless_it_is_very_near() {
    // Of a run that was killed, and the first span of the next one.
    let stated = [
        message("killed", seconds(0), output(35)),
        keyed(
            Evidence::Span,
            "o",
            "resp-1",
            seconds(9),
            tokens(100, 10, 0, 5),
        ),
    ];
    assert_eq!(total(&stated), sums(2, [100, 10, 0, 40]));
    let without_output = Tokens::default().with(TokenType::Input, Some(100));
    let stated = [
        message("m", seconds(0), output(35)),
        row("r", seconds(60), without_output),
    ];
    assert_eq!(total(&stated), sums(1, [100, 0, 0, 35]));
}
