use super::*;

fn leg_of(
    id: &str,
    from: Option<Timestamp>,
    to: Timestamp,
    calls: u64,
    tokens: Tokens,
) -> Observation {
    cli(id, Fact::Leg(leg(from, to, calls, tokens)))
}

/// A leg in which a compaction succeeded.
fn compacted_leg(at: Timestamp, to: Timestamp, calls: u64, tokens: Tokens) -> Observation {
    let leg = LegFact {
        compacted: Some(at),
        ..leg(None, to, calls, tokens)
    };
    cli("leg", Fact::Leg(leg))
}

#[test]
fn edge_023_leg_and_its_one_message_are_one_call() {
    let stated = [
        leg_of(
            "leg",
            None,
            seconds(60),
            1,
            tokens(4, 35_495, 35_783, 345).with_reasoning(Some(31)),
        ),
        message("m", seconds(50), output(345)),
    ];
    let resolution = reconcile(&stated);
    assert_eq!(resolution.sums(), sums(1, [4, 35_495, 35_783, 345]));
    let [call] = resolution.calls.as_slice() else {
        panic!("not one call: {resolution:?}");
    };
    assert_eq!(call.tokens.reasoning(), Some(31));
    assert_eq!(call.time, Some(seconds(50)));
    assert!(!call.partial);
}

#[test]
fn edge_024_messages_without_leg_are_partial_calls() {
    let resolution = reconcile(&[message("m", seconds(1), output(150))]);
    assert_eq!(resolution.sums(), sums(1, [0, 0, 0, 150]));
    assert!(resolution.calls[0].partial);
    assert_eq!(resolution.calls[0].tokens.get(TokenType::Input), None);
}

#[test]
fn edge_006_the_leg_names_the_model_of_its_calls() {
    let mut nameless = call(Evidence::Message, seconds(1), output(10));
    nameless.model = None;
    let stated = [
        cli("m1", Fact::Call(nameless)),
        message("m2", seconds(2), output(20)),
        leg_of("leg", None, seconds(3), 2, tokens(100, 0, 0, 30)),
    ];
    let resolution = reconcile(&stated);
    assert_eq!(resolution.sums(), sums(2, [100, 0, 0, 30]));
    assert!(
        resolution
            .calls
            .iter()
            .all(|call| call.model.as_deref() == Some(MODEL))
    );
}

#[test]
fn edge_009_a_leg_gives_the_tokens_of_messages_that_tell_none() {
    let stated = [
        message("m1", seconds(1), Tokens::default()),
        message("m2", seconds(2), Tokens::default()),
        leg_of("leg", None, seconds(3), 2, tokens(100, 50, 0, 30)),
    ];
    let resolution = reconcile(&stated);
    assert_eq!(resolution.sums(), sums(2, [100, 50, 0, 30]));
    assert!(resolution.calls.iter().all(|call| !call.partial));
    let alone = reconcile(&stated[..1]);
    assert_eq!(alone.sums(), sums(1, [0; 4]));
    assert!(alone.calls[0].partial);
}

#[test]
fn edge_036_leg_alone_counts_all_its_calls() {
    let resolution = reconcile(&[leg_of("leg", None, seconds(9), 7, tokens(10, 20, 30, 40))]);
    assert_eq!(resolution.sums(), sums(7, [10, 20, 30, 40]));
    assert_eq!(resolution.calls[0].time, Some(seconds(9)));
}

#[test]
fn edge_044_compaction_reset_with_and_without_rows() {
    let rows = [
        row("a", seconds(1), tokens(10, 0, 0, 1)),
        row("b", seconds(2), tokens(20, 0, 0, 2)),
        compaction(Evidence::StoreRow, "x", seconds(3), tokens(30, 0, 0, 3)),
        row("c", seconds(4), tokens(40, 0, 0, 4)),
        compacted_leg(seconds(3), seconds(5), 1, tokens(40, 0, 0, 4)),
    ];
    assert_eq!(total(&rows), sums(4, [100, 0, 0, 10]));
    let messages = [
        message("ma", seconds(1), output(1)),
        message("mb", seconds(2), output(2)),
        compaction(Evidence::UsageRecord, "x", seconds(3), tokens(30, 0, 0, 3)),
        message("mc", seconds(4), output(4)),
        compacted_leg(seconds(3), seconds(5), 1, tokens(40, 0, 0, 4)),
    ];
    let resolution = reconcile(&messages);
    assert_eq!(resolution.sums(), sums(4, [70, 0, 0, 10]));
    assert_eq!(
        resolution.calls.iter().filter(|call| call.partial).count(),
        2
    );
}

#[test]
fn edge_067_068_rows_leave_nothing_of_the_leg_but_output() {
    let without_output = |input, read, write| {
        Tokens::default()
            .with(TokenType::Input, Some(input))
            .with(TokenType::CacheRead, Some(read))
            .with(TokenType::CacheWrite, Some(write))
    };
    let mut stated = vec![
        leg_of("leg", None, seconds(9), 2, tokens(600, 17_000, 2_400, 25)),
        row("r1", seconds(1), without_output(500, 10_000, 1_500)),
        row("r2", seconds(2), without_output(100, 7_000, 900)),
    ];
    assert_eq!(total(&stated), sums(2, [600, 17_000, 2_400, 25]));
    stated.push(row("r3", seconds(20), without_output(100, 4_600, 300)));
    assert_eq!(total(&stated), sums(3, [700, 21_600, 2_700, 25]));
}

#[test]
fn edge_069_rows_that_arrive_one_by_one_keep_the_sum() {
    let mut stated = vec![leg_of("leg", None, seconds(9), 3, tokens(600, 60, 6, 30))];
    for at in 1..=3 {
        assert_eq!(total(&stated), sums(3, [600, 60, 6, 30]));
        let id = format!("r{at}");
        stated.push(row(&id, seconds(at), tokens(200, 20, 2, 10)));
    }
    assert_eq!(total(&stated), sums(3, [600, 60, 6, 30]));
}

#[test]
fn edge_071_message_then_row_then_leg() {
    let mut stated = vec![message("m", seconds(1), output(40))];
    assert_eq!(total(&stated).calls, 1);
    stated.push(row("r", at(1_005), tokens(100, 10, 1, 40)));
    stated.push(leg_of("leg", None, seconds(2), 1, tokens(100, 10, 1, 40)));
    assert_eq!(total(&stated), sums(1, [100, 10, 1, 40]));
}

#[test]
fn edge_049_072_a_row_of_zeros_is_no_call_and_hides_no_leg() {
    let zeros = row("r", seconds(1), tokens(0, 0, 0, 0));
    assert_eq!(total(std::slice::from_ref(&zeros)), sums(0, [0; 4]));
    let leg = leg_of("leg", None, seconds(2), 1, tokens(100, 10, 1, 40));
    assert_eq!(total(&[zeros, leg]), sums(1, [100, 10, 1, 40]));
}

#[test]
fn edge_074_a_leg_of_two_with_one_row_and_a_crash_after_it() {
    let stated = [
        leg_of("leg", None, seconds(9), 2, tokens(200, 10_000, 0, 0)),
        row("r1", seconds(1), tokens(100, 5_000, 0, 0)),
        row("crash", seconds(20), input(300)),
    ];
    assert_eq!(total(&stated), sums(3, [500, 10_000, 0, 0]));
}

#[test]
fn edge_075_079_each_leg_has_its_own_day() {
    let day = 86_400;
    let stated = [
        leg_of("day 1", None, seconds(10), 1, input(500)),
        leg_of("day 2", Some(seconds(10)), seconds(day), 2, input(300)),
        row("r", seconds(day - 5), input(100)),
    ];
    let resolution = reconcile(&stated);
    let (first, second): (Vec<_>, Vec<_>) = resolution
        .calls
        .iter()
        .partition(|call| call.time <= Some(seconds(10)));
    assert_eq!(Sums::of(first), sums(1, [500, 0, 0, 0]));
    assert_eq!(Sums::of(second), sums(2, [300, 0, 0, 0]));

    let overnight = [
        row("r", seconds(1), input(100)),
        leg_of("leg", None, seconds(day), 1, input(100)),
    ];
    let times: Vec<_> = reconcile(&overnight)
        .calls
        .iter()
        .map(|call| call.time)
        .collect();
    assert_eq!(times, [Some(seconds(1))]);
}

#[test]
fn edge_076_two_legs_at_one_moment() {
    let stated = [
        leg_of("one", None, seconds(9), 1, input(100)),
        leg_of("other", Some(seconds(9)), seconds(9), 1, input(200)),
        row("r", seconds(9), input(200)),
    ];
    assert_eq!(total(&stated), sums(2, [300, 0, 0, 0]));
}

#[test]
fn edge_077_078_a_row_that_cannot_be_placed_is_not_taken_off() {
    let placed = [
        leg_of("leg", None, seconds(9), 2, input(500)),
        row("r", seconds(5), input(100)),
    ];
    assert_eq!(total(&placed), sums(2, [500, 0, 0, 0]));
    let mut nowhere = call(Evidence::StoreRow, seconds(0), input(100));
    nowhere.time = None;
    let stated = [placed[0].clone(), cli("r", Fact::Call(nowhere))];
    assert_eq!(total(&stated), sums(3, [600, 0, 0, 0]));
}

#[test]
fn edge_080_081_a_leg_after_a_reset() {
    let mut stated = vec![
        row("r", seconds(5), input(100)),
        compacted_leg(seconds(10), seconds(20), 1, input(200)),
    ];
    assert_eq!(total(&stated), sums(2, [300, 0, 0, 0]));
    stated.push(row("after", seconds(15), input(200)));
    assert_eq!(total(&stated), sums(2, [300, 0, 0, 0]));
}

#[test]
fn edge_082_a_failed_compaction_resets_nothing() {
    let stated = [
        row("r", seconds(5), input(100)),
        leg_of("leg", None, seconds(20), 1, input(200)),
    ];
    let resolution = reconcile(&stated);
    assert_eq!(resolution.sums().input, 200);
    assert_eq!(resolution.sums().calls, 1);
}

#[test]
fn edge_083_084_a_compaction_is_never_inside_a_leg() {
    let row_at_5 = row("r", seconds(5), input(100));
    let labelled = compaction(Evidence::StoreRow, "x", seconds(9), input(50));
    let unlabelled = row("x", seconds(9), input(50));
    let event = compaction(Evidence::UsageRecord, "event", seconds(10), input(50));
    let reset = compacted_leg(seconds(10), seconds(20), 1, input(250));
    for compaction_row in [&labelled, &unlabelled] {
        let stated = [
            row_at_5.clone(),
            compaction_row.clone(),
            event.clone(),
            reset.clone(),
        ];
        assert_eq!(total(&stated), sums(3, [400, 0, 0, 0]));
    }
    let kept = compacted_leg(seconds(10), seconds(20), 2, input(300));
    assert_eq!(
        total(&[row_at_5, labelled, event, kept]),
        sums(3, [350, 0, 0, 0])
    );
}

#[test]
fn edge_087_running_totals_with_rows_and_a_reset() {
    let legs = [
        leg_of("l1", None, seconds(10), 1, input(100)),
        leg_of("l2", Some(seconds(10)), seconds(20), 1, input(300)),
        leg_of("l3", Some(seconds(20)), seconds(30), 1, input(500)),
    ];
    let rows = [
        row("r1", seconds(5), input(100)),
        row("r2", seconds(15), input(300)),
        row("r3", seconds(25), input(500)),
    ];
    assert_eq!(
        total(&[legs.as_slice(), &rows].concat()),
        sums(3, [900, 0, 0, 0])
    );
    let one = row("r", seconds(25), input(50));
    assert_eq!(total(&[legs.as_slice(), &[one]].concat()).input, 900);
    let fallen = [
        leg_of("l1", None, seconds(10), 1, input(900)),
        leg_of("l2", Some(seconds(10)), seconds(20), 1, input(200)),
        row("r", seconds(15), input(10)),
    ];
    assert_eq!(total(&fallen).input, 1_100);
}

#[test]
fn edge_091_a_killed_run_that_no_shutdown_contains() {
    let mut resumed = leg(None, seconds(30), 1, tokens(50, 5, 0, 5));
    resumed.resumed = Some(seconds(20));
    let resumed = cli("leg", Fact::Leg(resumed));
    let rows = [
        row("k1", seconds(1), tokens(10, 1, 0, 1)),
        row("k2", seconds(2), tokens(20, 2, 0, 2)),
        row("r", seconds(25), tokens(50, 5, 0, 5)),
    ];
    let with_rows = [rows.as_slice(), std::slice::from_ref(&resumed)].concat();
    assert_eq!(total(&with_rows), sums(3, [80, 8, 0, 8]));
    // Only messages: the killed calls stay partial, the leg completes its own.
    let messages = [
        message("k1", seconds(1), output(1)),
        message("k2", seconds(2), output(2)),
        message("m", seconds(25), output(5)),
        resumed,
    ];
    let resolution = reconcile(&messages);
    assert_eq!(resolution.sums(), sums(3, [50, 5, 0, 8]));
    let whole: Vec<_> = resolution
        .calls
        .iter()
        .filter(|call| !call.partial)
        .collect();
    assert_eq!(Sums::of(whole), sums(1, [50, 5, 0, 5]));
}

#[test]
fn edge_092_records_say_it_all_before_and_after_a_resume() {
    let mut stated = vec![
        record("u1", "resp-1", seconds(1), tokens(10, 1, 0, 1)),
        record("u2", "resp-2", seconds(2), tokens(20, 2, 0, 2)),
    ];
    assert_eq!(total(&stated), sums(2, [30, 3, 0, 3]));
    let mut rebuilt = leg(None, seconds(30), 3, tokens(80, 8, 0, 8));
    rebuilt.resumed = Some(seconds(20));
    stated.push(record("u3", "resp-3", seconds(25), tokens(50, 5, 0, 5)));
    stated.push(cli("leg", Fact::Leg(rebuilt)));
    assert_eq!(total(&stated), sums(3, [80, 8, 0, 8]));
}

#[test]
fn edge_093_legs_before_the_first_row_count() {
    let stated = [
        leg_of("old", None, seconds(10), 4, tokens(40, 4, 0, 4)),
        leg_of("new", Some(seconds(10)), seconds(20), 1, tokens(7, 1, 0, 1)),
        row("r", seconds(15), tokens(7, 1, 0, 1)),
    ];
    assert_eq!(total(&stated), sums(5, [47, 5, 0, 5]));
}

#[test]
fn sub_agents_messages_under_the_main_models_name_go_to_their_leg() {
    let mut sub_agent = call(Evidence::Message, seconds(2), output(7));
    sub_agent.initiator = Initiator::Subagent;
    let mut mini = leg(None, seconds(9), 1, tokens(30, 0, 0, 7));
    mini.model = Some("gpt-5-mini".to_owned());
    let stated = [
        message("m", seconds(1), output(5)),
        cli("sub", Fact::Call(sub_agent)),
        leg_of("main", None, seconds(9), 1, tokens(20, 0, 0, 5)),
        cli("mini", Fact::Leg(mini)),
    ];
    let resolution = reconcile(&stated);
    assert_eq!(resolution.sums(), sums(2, [50, 0, 0, 12]));
    let minis: Vec<_> = resolution
        .calls
        .iter()
        .filter(|call| call.model.as_deref() == Some("gpt-5-mini"))
        .collect();
    assert_eq!(Sums::of(minis), sums(1, [30, 0, 0, 7]));
}

#[test]
fn a_prompt_that_two_stores_split_differently_leaves_no_remainder() {
    let stated = [
        row("r", seconds(1), tokens(100, 4_000, 1_100, 80)),
        leg_of("leg", None, seconds(2), 1, tokens(1_200, 4_000, 0, 80)),
    ];
    assert_eq!(total(&stated), sums(1, [100, 4_000, 1_100, 80]));
}

#[test]
fn a_legs_credits_are_shared_by_the_calls_that_lack_them() {
    let mut fact = leg(None, seconds(9), 3, tokens(300, 0, 0, 30));
    fact.credits = credits(10);
    let mut known = call(Evidence::StoreRow, seconds(1), tokens(100, 0, 0, 10));
    known.credits = credits(4);
    let stated = [
        cli("leg", Fact::Leg(fact)),
        cli("r", Fact::Call(known)),
        message("m", seconds(2), output(10)),
    ];
    let resolution = reconcile(&stated);
    assert_eq!(resolution.sums(), sums(3, [300, 0, 0, 30]));
    assert_eq!(resolution.credits(), 10 * Credits::NANO);
    assert!(
        resolution
            .calls
            .iter()
            .all(|call| call.credits > Some(Credits(0)))
    );
}

#[test]
fn credits_per_call_win_over_those_of_the_leg_even_when_higher() {
    let with_credits = |observation: &Observation, amount| {
        let mut observation = observation.clone();
        if let Fact::Call(call) = &mut observation.fact {
            call.credits = credits(amount);
        }
        observation
    };
    let call_row = with_credits(&row("r", seconds(1), input(100)), 5);
    let event = with_credits(
        &compaction(Evidence::UsageRecord, "x", seconds(2), input(50)),
        3,
    );
    for stated in [4, 5, 8, 20] {
        let mut fact = leg(None, seconds(9), 1, input(100));
        fact.credits = credits(stated);
        let all = [call_row.clone(), event.clone(), cli("leg", Fact::Leg(fact))];
        assert_eq!(reconcile(&all).credits(), 8 * Credits::NANO);
    }
}

#[test]
fn a_leg_tells_what_its_calls_leave_open() {
    let span = Tokens::default()
        .with(TokenType::Input, Some(100))
        .with(TokenType::CacheRead, Some(50))
        .with(TokenType::Output, Some(7));
    let span = keyed(Evidence::Span, "o", "resp-1", seconds(1), span);
    let alone = reconcile(std::slice::from_ref(&span));
    assert!(alone.calls[0].partial);
    let leg = leg_of("leg", None, seconds(2), 1, tokens(100, 50, 0, 7));
    let resolution = reconcile(&[span, leg]);
    assert_eq!(resolution.calls.len(), 1);
    assert_eq!(resolution.calls[0].tokens, tokens(100, 50, 0, 7));
    assert!(!resolution.calls[0].partial);
}

#[test]
fn calls_under_a_name_that_their_leg_does_not_know_are_still_its_calls() {
    let mut renamed = call(Evidence::StoreRow, seconds(1), tokens(100, 10, 1, 7));
    renamed.model = Some("gpt-5.4-preview".to_owned());
    let renamed = cli("r", Fact::Call(renamed));
    let same = leg_of("leg", None, seconds(2), 1, tokens(100, 10, 1, 7));
    assert_eq!(total(&[renamed.clone(), same]), sums(1, [100, 10, 1, 7]));
    let other = leg_of("leg", None, seconds(2), 1, tokens(200, 20, 2, 8));
    assert_eq!(total(&[renamed, other]), sums(2, [300, 30, 3, 15]));
}
