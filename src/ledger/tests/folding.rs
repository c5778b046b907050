//! Statements older than 90 days fold into their series.

use super::*;

fn old(id: &str, days: i64) -> Observation {
    let time = Timestamp(start().0 - days * DAY);
    call_with(&format!("{days} days"), id, |call| call.time = Some(time))
}

/// Statements that are still kept.
fn statements(book: &Book) -> usize {
    let mut ids = Vec::new();
    book.ledger
        .state
        .cells_since(crate::usage::Slot(0), &mut |of| ids.push(of.scope))
        .unwrap();
    ids.into_iter()
        .map(|id| {
            book.ledger
                .state
                .scope(id)
                .unwrap()
                .unwrap()
                .statements
                .len()
        })
        .sum()
}

#[test]
fn edge_217_rows_older_than_90_days_fold_and_totals_stay() {
    for mut book in [Book::in_memory(), Book::on_disk()] {
        let before = book.pass([old("1", 89), old("2", 91), call("now", "3")]);
        assert_eq!(
            statements(&book),
            3,
            "another store may still speak of them"
        );
        book.later(2 * DAY - MINUTE);
        let after = book.publish();
        assert_eq!(statements(&book), 2);
        assert_eq!(published(&after), published(&before));
        assert_eq!(calls(&book.pass([old("1", 89), old("2", 91)])), 3);
        assert_eq!(statements(&book), 2);
        assert_eq!(truth(&book.ledger, INPUT), 300);
    }
}

#[test]
fn a_folded_session_that_wakes_up_goes_on_counting() {
    let mut book = Book::on_disk();
    book.pass([old("1", 100), call("now", "2")]);
    book.later(2 * DAY);
    book.publish();
    book = book.restart();
    let awake = call_with("100 days", "3", |call| output(call, 30));
    let late = call_with("100 days", "4", |call| {
        call.time = Some(Timestamp(start().0 - 101 * DAY));
    });
    let snapshot = book.pass([old("1", 100), awake.clone(), late]);
    assert_eq!(calls(&snapshot), 3);
    assert_eq!(sum(&snapshot, OUTPUT), 50);
    assert_eq!(sum(&snapshot, Measure::Sessions), 2);
    let snapshot = book.pass([old("1", 100), awake]);
    assert_eq!(calls(&snapshot), 3);
}

#[test]
fn a_clock_that_jumps_ahead_folds_nothing() {
    let mut book = Book::in_memory();
    book.pass([call("s", "1")]);
    book.later(1_000 * DAY);
    book.publish();
    assert_eq!(statements(&book), 1);
}

#[test]
fn a_call_stamped_in_the_far_future_makes_nothing_old() {
    let mut book = Book::in_memory();
    let future = at("2099-01-01");
    book.pass([
        call("s", "1"),
        call_with("t", "2", |call| call.time = Some(future)),
    ]);
    book.later(2 * DAY);
    book.publish();
    assert_eq!(statements(&book), 2);
}

#[test]
fn edge_062_a_store_whose_rows_are_all_old_gives_the_same_in_every_pass() {
    let rows = || ["1", "2", "3"].map(|id| old(id, 91));
    let mut book = Book::on_disk();
    let first = published(&book.pass(rows()));
    for hours in [1, 25, 49] {
        book.later(hours * 60 * MINUTE);
        assert_eq!(published(&book.pass(rows())), first);
    }
    book = book.restart();
    assert_eq!(published(&book.pass(rows())), first);
    assert_eq!(truth(&book.ledger, INPUT), 300);
}
