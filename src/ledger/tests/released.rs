//! Ledgers as released versions left them. A fixture is never changed: a new schema gets a new one, and all
//! of them have to come forward.

use super::*;

/// What lies in the fixtures: told by two sources, of which the second came later.
fn told() -> (Vec<Observation>, Vec<Observation>) {
    let old = Timestamp(start().0 - 100 * DAY);
    let first = vec![
        project("s", "shop"),
        call_with("s", "1", |call| output(call, 90)),
        call_with("s", "2", |call| credits(call, 1_500_000_000)),
        project("t", "web"),
        call_with("t", "3", |call| {
            call.time = Some(old);
            call.duration_ms = Some(2_500);
        }),
        project("u", "beyond the limit"),
        call("u", "4"),
    ];
    let later = vec![
        // Less than it said before, and a model that waits at 0.
        call_with("s", "1", |call| output(call, 40)),
        call_with("s", "5", |call| call.model = Some("gpt-5-mini".to_owned())),
    ];
    (first, later)
}

fn limited() -> Config {
    Config {
        max_projects: 2,
        ..config()
    }
}

fn check(mut book: Book) -> Book {
    book.later(DAY + 2 * MINUTE);
    assert_eq!(book.ledger.epoch(), start());
    let snapshot = book.publish();
    assert_eq!(calls(&snapshot), 4, "the fifth call waits");
    assert_eq!(sum(&snapshot, INPUT), 400);
    assert_eq!(sum(&snapshot, OUTPUT), 120, "as published");
    assert_eq!(truth(&book.ledger, OUTPUT), 80);
    assert_eq!(sum(&snapshot, Measure::Credits), 1_500_000_000);
    assert_eq!(of_project(&snapshot, "__other__", INPUT), Some(100));
    assert_eq!(snapshot.overflowed_projects, 1);
    let (first, later) = told();
    book.say("a", first);
    book.say("a", later);
    book.later(MINUTE);
    let snapshot = book.publish();
    assert_eq!(calls(&snapshot), 5);
    assert_eq!(sum(&snapshot, INPUT), 500);
    assert_eq!(
        sum(&snapshot, OUTPUT),
        120,
        "more than is true was shown of that session"
    );
    assert_eq!(sum(&snapshot, Measure::Sessions), 3);
    book
}

/// What only a ledger from schema 2 on can hold.
fn asked_for_a_tool() -> Observation {
    Observation {
        id: Key::of("tool request", &["6"]),
        fact: Fact::Tool(ToolFact {
            time: Some(start()),
            model: Some("gpt-5.4".to_owned()),
            tool: Tool::MCP,
        }),
        ..call("s", "6")
    }
}

fn check_with_tools(book: Book) {
    let mcp = Measure::ToolCalls(Tool::MCP);
    let mut book = check(book);
    assert_eq!(sum(&book.publish(), mcp), 1);
    assert_eq!(sum(&book.pass([asked_for_a_tool()]), mcp), 1);
    assert_eq!(truth(&book.ledger, mcp), 1);
}

fn from_dump(dump: &str) -> Book {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("state")).unwrap();
    let file = rusqlite::Connection::open(dir.path().join("state/ledger.db")).unwrap();
    file.execute_batch(dump).unwrap();
    drop(file);
    Book::with(Some(dir), limited())
}

#[test]
fn schema_1_comes_forward() {
    check(from_dump(include_str!(
        "../../../fixtures/ledger/schema-1.sql"
    )));
}

#[test]
fn schema_2_comes_forward() {
    check_with_tools(from_dump(include_str!(
        "../../../fixtures/ledger/schema-2.sql"
    )));
}

#[test]
fn schema_3_comes_forward() {
    check_with_tools(from_dump(include_str!(
        "../../../fixtures/ledger/schema-3.sql"
    )));
}

#[test]
fn the_present_schema_holds_the_same() {
    let mut book = Book::with(Some(tempfile::tempdir().unwrap()), limited());
    let (mut first, later) = told();
    first.push(asked_for_a_tool());
    book.pass(first);
    book.later(DAY + MINUTE);
    book.pass(later);
    book.now = start();
    check_with_tools(book.restart());
}
