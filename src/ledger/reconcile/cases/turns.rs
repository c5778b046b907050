use super::*;

fn span(id: &str, time: Timestamp, tokens: Tokens) -> Observation {
    vscode_call(Evidence::Span, id, time, tokens)
}

fn request(id: &str, tokens: Tokens) -> TurnFact {
    TurnFact {
        lower_bound: true,
        ..turn(
            Evidence::JournalRequest,
            id,
            seconds(10),
            seconds(20),
            tokens,
        )
    }
}

#[test]
fn edge_108_a_request_alone_is_a_lower_bound() {
    let resolution = reconcile(&[vscode_turn("t", request("a", tokens(32_543, 0, 0, 490)))]);
    assert_eq!(resolution.sums(), sums(1, [32_543, 0, 0, 490]));
    assert!(resolution.calls[0].partial);
    assert_eq!(resolution.calls[0].initiator, Initiator::User);
}

#[test]
fn edge_117_copies_of_a_request_are_one() {
    let early = TurnFact {
        end: None,
        ..request("a", output(40))
    };
    let late = request("a", output(90));
    let flat = TurnFact {
        evidence: Evidence::FlatRequest,
        ..request("a", output(90))
    };
    let stated = [
        vscode_turn("1", early),
        vscode_turn("2", late),
        vscode_turn("3", flat),
    ];
    assert_eq!(total(&stated), sums(1, [0, 0, 0, 90]));
}

#[test]
fn edge_119_model_totals_are_a_call_for_each_model() {
    let of = |input, read, output| {
        Tokens::default()
            .with(TokenType::Input, Some(input))
            .with(TokenType::CacheRead, Some(read))
            .with(TokenType::Output, Some(output))
    };
    let exact = TurnFact {
        per_model: vec![
            ("gpt-5.4".to_owned(), of(2_000, 7_000, 120)),
            ("gpt-5-mini".to_owned(), of(800, 0, 30)),
        ],
        credits: credits(2),
        lower_bound: false,
        ..request("a", Tokens::default())
    };
    let resolution = reconcile(&[
        vscode_turn("old", request("a", output(150))),
        vscode_turn("new", exact),
    ]);
    assert_eq!(resolution.sums(), sums(2, [2_800, 7_000, 0, 150]));
    assert_eq!(resolution.credits(), 2 * Credits::NANO);
    assert_eq!(resolution.calls.len(), 2);
    for call in &resolution.calls {
        assert_eq!(call.tokens.get(TokenType::CacheWrite), None);
    }
}

#[test]
fn edge_120_135_credits_of_the_turn_fill_in_what_its_calls_lack() {
    let charged = TurnFact {
        credits: credits(16),
        ..request("a", output(150))
    };
    let alone = reconcile(&[vscode_turn("t", charged.clone())]);
    assert_eq!(alone.credits(), 16 * Credits::NANO);

    let mut known = call(Evidence::Span, seconds(12), tokens(100, 0, 0, 10));
    known.credits = credits(6);
    let mut stated = vec![
        vscode_turn("t", charged),
        observed("s1", Surface::VsCode, Fact::Call(known.clone())),
        span("s2", seconds(13), tokens(300, 0, 0, 20)),
    ];
    let resolution = reconcile(&stated);
    assert_eq!(resolution.sums(), sums(2, [400, 0, 0, 30]));
    assert_eq!(resolution.credits(), 16 * Credits::NANO);

    known.credits = credits(7);
    stated[2] = observed("s2", Surface::VsCode, Fact::Call(known));
    assert_eq!(reconcile(&stated).credits(), 13 * Credits::NANO);
}

#[test]
fn edge_143_a_transcript_counts_where_the_journal_has_no_figures() {
    let mut text = call(Evidence::TranscriptMessage, seconds(15), output(10));
    text.estimated = true;
    text.model = None;
    let text = |id: &str, time| {
        let fact = CallFact {
            time: Some(time),
            ..text.clone()
        };
        observed(id, Surface::VsCode, Fact::Call(fact))
    };
    let inside = [text("m1", seconds(15)), text("m2", seconds(16))];
    let with_figures = vscode_turn("t", request("a", output(150)));
    let both = [inside.as_slice(), &[with_figures]].concat();
    assert_eq!(total(&both), sums(1, [0, 0, 0, 150]));
    let without = vscode_turn("t", request("a", Tokens::default()));
    let resolution = reconcile(&[inside.as_slice(), std::slice::from_ref(&without)].concat());
    assert_eq!(resolution.sums(), sums(2, [0, 0, 0, 20]));
    for call in &resolution.calls {
        assert!(call.estimated && call.partial);
        assert_eq!(call.model.as_deref(), Some(MODEL));
    }
    let elsewhere = [text("m3", seconds(400)), without];
    assert_eq!(total(&elsewhere), sums(2, [0, 0, 0, 10]));
}

#[test]
fn edge_145_rounds_replace_the_request() {
    let stated = [
        vscode_turn("t", request("a", tokens(18_508, 0, 0, 138))),
        span("r1", seconds(11), tokens(100, 0, 0, 90)),
        span("r2", seconds(12), tokens(200, 0, 0, 37)),
        span("r3", seconds(19), tokens(300, 0, 0, 11)),
    ];
    let resolution = reconcile(&stated);
    assert_eq!(resolution.sums(), sums(3, [600, 0, 0, 138]));
    assert_eq!(resolution.duplicates, 1);
}

#[test]
fn edge_105_163_better_calls_replace_only_their_own_request() {
    let other = TurnFact {
        start: Some(seconds(100)),
        end: Some(seconds(110)),
        ..request("b", output(70))
    };
    let mut stated = vec![
        vscode_turn("a", request("a", output(150))),
        vscode_turn("b", other),
    ];
    assert_eq!(total(&stated), sums(2, [0, 0, 0, 220]));
    stated.push(span("s", seconds(12), tokens(500, 0, 0, 160)));
    assert_eq!(total(&stated), sums(2, [500, 0, 0, 230]));
}

#[test]
fn a_request_without_end_lasts_until_the_next_one() {
    let open = TurnFact {
        end: None,
        ..request("a", output(150))
    };
    let next = TurnFact {
        start: Some(seconds(500)),
        end: None,
        ..request("b", output(70))
    };
    let stated = [
        vscode_turn("a", open),
        vscode_turn("b", next),
        span("s", seconds(499), tokens(500, 0, 0, 160)),
    ];
    assert_eq!(total(&stated), sums(2, [500, 0, 0, 230]));
}

#[test]
fn transcript_usage_and_span_of_one_call_are_one() {
    let stated = [
        vscode_call(
            Evidence::TranscriptUsage,
            "u",
            seconds(12),
            tokens(700, 4_000, 300, 80),
        ),
        span("s", seconds(11), tokens(700, 4_000, 300, 80)),
        vscode_call(
            Evidence::TranscriptUsage,
            "u2",
            seconds(30),
            tokens(7, 4, 3, 8),
        ),
    ];
    assert_eq!(total(&stated), sums(2, [707, 4_004, 303, 88]));
}

#[test]
fn log_records_replace_the_request_and_are_replaced_by_spans() {
    let whole_prompt = |prompt, output| {
        Tokens::default()
            .with(TokenType::Input, Some(prompt))
            .with(TokenType::Output, Some(output))
    };
    let record = |id: &str, response: &str, time, tokens| {
        let fact = CallFact {
            keys: vec![Key::response(response)],
            ..call(Evidence::LogRecord, time, tokens)
        };
        observed(id, Surface::VsCode, Fact::Call(fact))
    };
    let mut stated = vec![
        vscode_turn("t", request("a", tokens(18_508, 0, 0, 101))),
        record("l1", "resp-1", seconds(12), whole_prompt(18_453, 90)),
        record("l2", "resp-2", seconds(13), whole_prompt(16_995, 11)),
    ];
    assert_eq!(total(&stated), sums(2, [35_448, 0, 0, 101]));
    let span = CallFact {
        keys: vec![Key::response("resp-1")],
        ..call(Evidence::Span, seconds(11), tokens(277, 18_176, 0, 90))
    };
    stated.push(observed("s1", Surface::VsCode, Fact::Call(span)));
    let usage = tokens(16_995, 0, 0, 11);
    stated.push(vscode_call(
        Evidence::TranscriptUsage,
        "u2",
        seconds(13),
        usage,
    ));
    assert_eq!(total(&stated), sums(2, [17_272, 18_176, 0, 101]));
}

#[test]
fn a_transcript_beside_spans_but_without_journal_counts_once() {
    let mut text = call(Evidence::TranscriptMessage, seconds(12), output(10));
    text.estimated = true;
    text.model = None;
    let stated = [
        observed("m", Surface::VsCode, Fact::Call(text)),
        span("s", seconds(11), tokens(700, 0, 0, 80)),
    ];
    let resolution = reconcile(&stated);
    assert_eq!(resolution.sums(), sums(1, [700, 0, 0, 80]));
    assert!(!resolution.calls[0].estimated);
}

#[test]
fn edge_134_a_mirror_of_a_cli_session_adds_nothing() {
    let stated = [
        vscode_turn(
            "t",
            TurnFact {
                credits: credits(3),
                ..request("a", output(150))
            },
        ),
        record("u", "resp-1", seconds(400), tokens(10, 1, 0, 5)),
    ];
    let resolution = reconcile(&stated);
    assert_eq!(resolution.sums(), sums(1, [10, 1, 0, 5]));
    assert_eq!(resolution.credits(), 0);
    assert_eq!(total(&stated[..1]), sums(1, [0, 0, 0, 150]));
}

fn nitrite(id: &str, turn_id: &str, start: i64, calls: u32, output_tokens: u64) -> Observation {
    let fact = TurnFact {
        evidence: Evidence::Nitrite,
        end: None,
        estimated: true,
        calls,
        ..turn(
            Evidence::Nitrite,
            turn_id,
            seconds(start),
            seconds(start),
            output(output_tokens),
        )
    };
    observed(id, Surface::JetBrains, Fact::Turn(fact))
}

fn partition(id: &str, time: i64, output_tokens: u64) -> Observation {
    let fact = CallFact {
        estimated: true,
        model: None,
        ..call(Evidence::Partition, seconds(time), output(output_tokens))
    };
    observed(id, Surface::JetBrains, Fact::Call(fact))
}

#[test]
fn edge_168_a_turn_of_three_rounds_is_three_calls() {
    let resolution = reconcile(&[nitrite("t", "a", 10, 3, 3)]);
    assert_eq!(resolution.sums(), sums(3, [0, 0, 0, 3]));
    assert!(resolution.calls[0].estimated);
}

#[test]
fn edge_172_176_one_turn_in_two_revisions_or_kinds() {
    let stated = [
        nitrite("chat", "a", 10, 1, 5),
        nitrite("agent", "a", 10, 1, 9),
    ];
    assert_eq!(total(&stated), sums(1, [0, 0, 0, 9]));
}

#[test]
fn edge_193_credits_of_a_turn_stand_beside_its_estimate() {
    let Observation {
        fact: Fact::Turn(mut fact),
        ..
    } = nitrite("t", "a", 10, 2, 40)
    else {
        unreachable!();
    };
    fact.credits = credits(2);
    let resolution = reconcile(&[observed("t", Surface::JetBrains, Fact::Turn(fact))]);
    assert_eq!(resolution.sums(), sums(2, [0, 0, 0, 40]));
    assert_eq!(resolution.credits(), 2 * Credits::NANO);
    assert!(resolution.calls[0].estimated);
}

#[test]
fn edge_194_the_database_counts_before_the_partition_file() {
    let stated = [
        partition("p1", 12, 7),
        partition("p2", 400, 8),
        nitrite("t1", "a", 10, 1, 9),
        nitrite("t2", "b", 390, 1, 11),
    ];
    assert_eq!(total(&stated), sums(2, [0, 0, 0, 20]));
    assert_eq!(total(&stated[..2]), sums(2, [0, 0, 0, 15]));
    // Long after the database's last turn, nobody else tells.
    let later = [stated[2].clone(), partition("p3", 9_000, 5)];
    assert_eq!(total(&later), sums(2, [0, 0, 0, 14]));
}

#[test]
fn edge_195_a_conversation_that_the_cli_knows_counts_there() {
    let stated = [
        nitrite("t", "a", 10, 1, 9),
        partition("p", 12, 7),
        row("r", seconds(900), tokens(10, 1, 0, 5)),
    ];
    assert_eq!(total(&stated), sums(1, [10, 1, 0, 5]));
}

#[test]
fn salvage_adds_nothing_to_what_was_read() {
    let mut salvaged = call(Evidence::Salvage, seconds(0), output(9));
    salvaged.time = None;
    salvaged.estimated = true;
    let salvaged = observed("x", Surface::JetBrains, Fact::Call(salvaged));
    assert_eq!(
        total(std::slice::from_ref(&salvaged)),
        sums(1, [0, 0, 0, 9])
    );
    let stated = [salvaged, nitrite("t", "a", 10, 1, 9)];
    assert_eq!(total(&stated), sums(1, [0, 0, 0, 9]));
}
