//! One call counts once, whoever tells of it, in whatever order and how often.

use super::*;

#[test]
fn edge_011_the_same_statements_twice_count_once() {
    let mut book = Book::in_memory();
    book.pass([call("s", "1"), call("s", "2")]);
    let snapshot = book.pass([call("s", "1"), call("s", "2")]);
    assert_eq!(calls(&snapshot), 2);
    assert_eq!(sum(&snapshot, INPUT), 200);
    assert_eq!(sum(&snapshot, Measure::Sessions), 1);
}

#[test]
fn edge_214_a_copied_session_counts_once() {
    let mut book = Book::in_memory();
    book.say("home/one", [call("s", "1"), call("s", "2")]);
    book.say("home/two", [call("s", "1"), call("s", "2")]);
    assert_eq!(calls(&book.publish()), 2);
}

#[test]
fn a_fork_adds_only_what_is_its_own() {
    let mut book = Book::in_memory();
    book.say("original", [call("s", "1"), call("s", "2")]);
    let copied = |id| Observation {
        scope: "fork".to_owned(),
        ..call("s", id)
    };
    book.say("fork", [copied("1"), copied("2"), call("fork", "3")]);
    let snapshot = book.publish();
    assert_eq!(calls(&snapshot), 3);
    assert_eq!(sum(&snapshot, Measure::Sessions), 2);
}

#[test]
fn sessions_with_the_same_response_id_stay_apart() {
    let mut book = Book::in_memory();
    let same = |session: &str, id: &str| {
        call_with(session, id, |call| {
            call.keys = vec![Key::response("chatcmpl-0")]
        })
    };
    let snapshot = book.pass([same("s", "1"), same("t", "2")]);
    assert_eq!(calls(&snapshot), 2);
    assert_eq!(sum(&snapshot, Measure::Sessions), 2);
}

#[test]
fn a_statement_of_no_session_joins_its_call_whichever_is_first() {
    let orders: [fn(&mut Book); 4] = [
        |book| {
            book.say_by(StoreKind::CliOtel, "otel", [lone_span("1")]);
            book.say("events", [call("s", "1")]);
        },
        |book| {
            book.say("events", [call("s", "1")]);
            book.say_by(StoreKind::CliOtel, "otel", [lone_span("1")]);
        },
        |book| {
            book.say_by(StoreKind::CliOtel, "otel", [lone_span("1")]);
            book.publish();
            book.say("events", [call("s", "1")]);
        },
        |book| {
            book.say_by(StoreKind::CliOtel, "otel", [lone_span("1")]);
            book.ledger.commit().unwrap();
            book.say("events", [call("s", "1")]);
            book.say_by(StoreKind::CliOtel, "otel", [lone_span("1")]);
        },
    ];
    for (number, order) in orders.into_iter().enumerate() {
        let mut book = Book::on_disk();
        order(&mut book);
        book.publish();
        book.later(5 * MINUTE);
        book.publish();
        book = book.restart();
        let snapshot = book.pass([call("s", "1")]);
        assert_eq!(calls(&snapshot), 1, "order {number}");
        assert_eq!(sum(&snapshot, INPUT), 100, "order {number}");
        assert_eq!(truth(&book.ledger, INPUT), 100, "order {number}");
        assert_eq!(sum(&snapshot, Measure::Sessions), 1, "order {number}");
    }
}

#[test]
fn edge_230_two_readers_of_one_call() {
    let mut book = Book::in_memory();
    book.say("events", [call("s", "1")]);
    let span = Observation {
        id: Key::span("trace", "1"),
        ..call_with("s", "1", |call| call.evidence = Evidence::Span)
    };
    book.say_by(StoreKind::CliOtel, "otel", [span]);
    let snapshot = book.publish();
    assert_eq!(calls(&snapshot), 1);
    assert_eq!(snapshot.duplicate_observations[&StoreKind::CliOtel], 1);
}

#[test]
fn edge_222_a_new_reader_version_states_the_same_calls() {
    let mut book = Book::on_disk();
    book.pass([call("s", "1"), call("s", "2")]);
    book = book.restart();
    let better = |id| call_with("s", id, |call| call.duration_ms = Some(900));
    let snapshot = book.pass([better("1"), better("2")]);
    assert_eq!(calls(&snapshot), 2);
    assert_eq!(sum(&snapshot, OUTPUT), 20);
}

#[test]
fn edge_227_the_order_of_sources_changes_nothing() {
    let full = [call("s", "1"), call_with("s", "2", |call| output(call, 90))];
    let stale = [call_with("s", "2", |call| output(call, 40))];
    let totals = |order: [(&str, &[Observation]); 2]| {
        let mut book = Book::in_memory();
        for (source, statements) in order {
            book.say(source, statements.iter().cloned());
        }
        published(&book.publish())
    };
    let one = totals([("a", &full), ("b", &stale)]);
    assert_eq!(one, totals([("b", &stale), ("a", &full)]));
    assert!(
        one.iter()
            .any(|&(_, measure, amount)| measure == OUTPUT && amount == 100)
    );
}

#[test]
fn a_source_may_take_back_what_it_said() {
    let mut book = Book::in_memory();
    book.pass([call_with("s", "1", |call| output(call, 90))]);
    book.pass([call_with("s", "1", |call| output(call, 40))]);
    assert_eq!(truth(&book.ledger, OUTPUT), 40);
}

#[test]
fn edge_232_unknown_tokens_are_no_zero() {
    let mut book = Book::in_memory();
    let unknown = call_with("s", "1", |call| call.tokens = Tokens::default());
    let snapshot = book.pass([unknown]);
    let values = &snapshot.series[0].values;
    assert_eq!(values[&Measure::Calls(Initiator::User)].amount, 1);
    assert_eq!(values[&Measure::PartialCalls].amount, 1);
    assert_eq!(values[&Measure::UnpricedCalls].amount, 1);
    assert_eq!(values.get(&INPUT), None);
    assert_eq!(values.get(&Measure::CostListPrice), None);
}

#[test]
fn edge_226_calls_of_the_future_and_of_no_time_count() {
    let mut book = Book::in_memory();
    let future = Timestamp(start().0 + 300 * DAY);
    let snapshot = book.pass([
        call_with("s", "1", |call| call.time = Some(future)),
        call_with("s", "2", |call| call.time = None),
    ]);
    assert_eq!(calls(&snapshot), 2);
    let today: u128 = snapshot.windows.iter().map(|total| total.calls).sum();
    assert_eq!(today, 3, "the undated call, in each of three windows");
    assert!(snapshot.last_call.values().all(|&time| time == start()));
}

#[test]
fn edge_223_a_store_that_is_busy_keeps_its_totals_and_is_read_on_later() {
    let mut book = Book::in_memory();
    book.pass([call("s", "1")]);
    let mut intake = book
        .ledger
        .intake(StoreKind::CliStore, Path::new("db"), None);
    intake.observe(call("s", "2"));
    // The reader fails here: what was observed stays, how far it came is forgotten.
    drop(intake);
    let source = crate::ledger::SourceId::of(StoreKind::CliStore, Path::new("db"));
    assert_eq!(calls(&book.publish()), 2);
    assert!(book.ledger.stamp(source).is_empty());
    book.say_by(StoreKind::CliStore, "db", [call("s", "2"), call("s", "3")]);
    assert_eq!(calls(&book.publish()), 3);
    assert_eq!(book.ledger.stamp(source), b"stamp");
}

#[test]
fn store_counters_are_durable() {
    let mut book = Book::on_disk();
    let mut intake = book
        .ledger
        .intake(StoreKind::CliEvents, Path::new("a"), None);
    intake.parse_error("json");
    intake.skipped("empty");
    intake.bytes_read(7);
    intake.finish(Cursor::default(), Vec::new());
    book.publish();
    book = book.restart();
    let snapshot = book.publish();
    let status = &snapshot.stores[&StoreKind::CliEvents];
    assert_eq!(status.parse_errors["json"], 1);
    assert_eq!(status.skipped["empty"], 1);
    assert_eq!(status.bytes_read, 7);
}

/// A message of `session` asks for a tool.
fn asks(session: &str, id: &str, tool: &str) -> Observation {
    Observation {
        id: Key::of("tool request", &[id]),
        fact: Fact::Tool(ToolFact {
            time: Some(start()),
            model: Some("gpt-5.4".to_owned()),
            tool: Tool::named(tool),
        }),
        ..call(session, id)
    }
}

#[test]
fn tool_calls_are_counted_once_beside_calls_and_begin_at_0() {
    let bash = Measure::ToolCalls(Tool::named("bash"));
    let mut book = Book::on_disk();
    let quiet = published(&book.seen_pass([call("s", "1")]));
    let asked = || {
        [
            asks("s", "a", "bash"),
            asks("s", "b", "bash"),
            asks("s", "c", "x"),
        ]
    };
    let snapshot = book.seen_pass(asked());
    assert_eq!(sum(&snapshot, bash), 0, "shown at 0 first");
    book = book.restart();
    book.seen_pass(asked());
    let snapshot = book.seen_pass([]);
    assert_eq!(sum(&snapshot, bash), 2);
    assert_eq!(sum(&snapshot, Measure::ToolCalls(Tool::OTHER)), 1);
    let mut others = published(&snapshot);
    others.retain(|(_, measure, _)| !matches!(measure, Measure::ToolCalls(_)));
    assert_eq!(others, quiet, "nothing else changes");
    // A fork repeats them, with the call by which it is known as one.
    book.seen_pass([call("fork", "1"), asks("fork", "a", "bash")]);
    assert_eq!(sum(&book.seen_pass([]), bash), 2);
}

/// A request of a chat session.
fn request(session: &str, file: &str, id: &str) -> Observation {
    let tokens = Tokens::default().with(TokenType::Output, Some(10));
    Observation {
        scope: session.to_owned(),
        id: Key::of("request", &[file, id]),
        surface: Surface::VsCode,
        fact: Fact::Turn(TurnFact {
            evidence: Evidence::JournalRequest,
            keys: vec![Key::request(id)],
            start: Some(start()),
            end: Some(start()),
            model: Some("gpt-5.4".to_owned()),
            provider: None,
            initiator: Initiator::User,
            per_model: Vec::new(),
            tokens,
            lower_bound: false,
            estimated: false,
            calls: 1,
            credits: None,
            premium: None,
            duration_ms: None,
            first_token_ms: None,
            project: None,
        }),
    }
}

#[test]
fn edge_117_a_request_is_one_whatever_session_a_copy_is_in() {
    for order in [["a", "b", "c"], ["c", "a", "b"]] {
        let mut book = Book::on_disk();
        let copies = order.map(|session| request(session, session, "r"));
        let own = request("b", "b", "only there");
        book.pass(copies.clone());
        book = book.restart();
        let snapshot = book.seen_pass([copies[1].clone(), own]);
        assert_eq!(calls(&snapshot), 2);
        assert_eq!(sum(&snapshot, OUTPUT), 20);
    }
}
