//! What a counter shows, and when.

use super::*;
use crate::ledger::Window;
use crate::usage::{Histogram, TotalFact};

#[test]
fn edge_221_history_is_published_at_once_and_what_comes_later_after_a_zero() {
    let mut book = Book::on_disk();
    let first = book.pass([project("s", "old"), call("s", "1")]);
    let value = first.series[0].values[&INPUT];
    assert_eq!((value.amount, value.baseline), (100, 100));
    assert_eq!(value.born, start().slot().start());
    book.later(MINUTE);
    let zero = book.pass([project("t", "new"), call("t", "2")]);
    assert_eq!(of_project(&zero, "new", INPUT), Some(0));
    assert_eq!(of_project(&zero, "old", INPUT), Some(100));
    assert!(zero.held_series > 0);
    book.later(SECOND);
    assert_eq!(
        of_project(&book.publish(), "new", INPUT),
        Some(0),
        "nobody saw it"
    );
    book.publish().mark_seen();
    let shown = book.publish();
    assert_eq!(of_project(&shown, "new", INPUT), Some(100));
    assert_eq!(shown.held_series, 0);
    let new = shown.series.iter().find(|series| {
        series
            .labels
            .project
            .as_ref()
            .is_some_and(|project| project.as_str() == "new")
    });
    let value = new.unwrap().values[&INPUT];
    assert_eq!(value.baseline, 0);
    assert_eq!(value.born, Timestamp(start().0 + MINUTE));
}

#[test]
fn a_zero_is_held_for_a_bounded_time_across_restarts() {
    let mut book = Book::on_disk();
    book.pass([]);
    book.pass([call("s", "1")]);
    book.later(60 * SECOND);
    book = book.restart();
    assert_eq!(sum(&book.publish(), INPUT), 0);
    book.later(60 * SECOND);
    assert_eq!(sum(&book.publish(), INPUT), 100);
}

#[test]
fn a_process_of_one_pass_remembers_that_its_zero_was_seen() {
    let mut book = Book::on_disk();
    book.pass([]);
    book.pass([call("s", "1")]).mark_seen();
    book.ledger.remember_seen();
    book = book.restart();
    assert_eq!(sum(&book.publish(), INPUT), 100);
}

#[test]
fn a_clock_that_is_set_back_holds_nothing_for_ever() {
    let mut book = Book::in_memory();
    book.pass([]);
    book.pass([call("s", "1")]);
    book.later(-400 * DAY);
    assert_eq!(sum(&book.publish(), INPUT), 0);
    book.later(120 * SECOND);
    assert_eq!(sum(&book.publish(), INPUT), 100);
}

#[test]
fn a_new_label_of_a_known_series_begins_at_zero_too() {
    let mut book = Book::in_memory();
    book.seen_pass([call("s", "1")]);
    let agent = call_with("s", "2", |call| call.initiator = Initiator::Agent);
    let snapshot = book.seen_pass([agent]);
    assert_eq!(sum(&snapshot, Measure::Calls(Initiator::Agent)), 0);
    assert_eq!(sum(&snapshot, INPUT), 200);
    assert_eq!(sum(&book.publish(), Measure::Calls(Initiator::Agent)), 1);
}

#[test]
fn the_samples_of_a_histogram_are_released_together() {
    let mut book = Book::in_memory();
    book.pass([]);
    let timed = |id, millis| call_with("s", id, |call| call.duration_ms = Some(millis));
    book.seen_pass([timed("1", 900)]);
    let sum_of = Measure::HistogramSum(Histogram::Duration);
    let bucket = |millis| Measure::Bucket(Histogram::Duration, Histogram::bucket(millis));
    // A second bucket appears with the snapshot that releases the first.
    let shown = book.pass([timed("2", 40_000)]);
    assert_eq!(sum(&shown, sum_of), 40_900);
    assert_eq!(sum(&shown, bucket(900)), 1);
    assert_eq!(sum(&shown, bucket(40_000)), 1);
}

#[test]
fn edge_219_better_evidence_with_lower_figures_never_lowers_a_counter() {
    let mut book = Book::in_memory();
    book.pass([call_with("s", "1", |call| output(call, 90))]);
    let row = Observation {
        id: Key::of("row", &["1"]),
        ..call_with("s", "1", |call| {
            call.evidence = Evidence::StoreRow;
            output(call, 40);
        })
    };
    let snapshot = book.pass([row]);
    assert_eq!(sum(&snapshot, OUTPUT), 90);
    assert_eq!(truth(&book.ledger, OUTPUT), 40);
    let more = call_with("s", "2", |call| output(call, 70));
    assert_eq!(sum(&book.pass([more]), OUTPUT), 110);
}

#[test]
fn edge_220_a_corrected_project_moves_only_what_is_unpublished() {
    let mut book = Book::in_memory();
    book.seen_pass([project("s", "wrong"), call("s", "1")]);
    book.seen_pass([project("s", "right"), call("s", "2")]);
    let snapshot = book.publish();
    assert_eq!(of_project(&snapshot, "wrong", INPUT), Some(100));
    assert_eq!(of_project(&snapshot, "right", INPUT), Some(100));
    assert_eq!(calls(&snapshot), 2);
}

#[test]
fn a_report_says_what_the_statements_say_wherever_it_was_published() {
    let right = |amount| BTreeMap::from([("right".to_owned(), amount)]);
    let old = |id: &str| {
        call_with("s", id, |call| {
            call.time = Some(Timestamp(start().0 - 100 * DAY))
        })
    };
    let mut book = Book::on_disk();
    book.pass([project("s", "wrong"), old("1"), call("now", "now")]);
    let snapshot = book.pass([project("s", "right"), project("now", "right"), old("2")]);
    assert_eq!(of_project(&snapshot, "wrong", INPUT), Some(100));
    assert_eq!(told(&book), right(300));
    book = book.restart();
    assert_eq!(told(&book), right(300));
    // Nor is it forgotten when the statements are.
    book.later(2 * DAY);
    book.publish();
    let snapshot = book.pass([project("s", "right"), call("s", "3")]);
    assert_eq!(of_project(&snapshot, "wrong", INPUT), Some(100));
    assert_eq!(told(&book), right(400));
    book = book.restart();
    assert_eq!(told(&book), right(400));
}

#[test]
fn what_was_shown_too_much_is_caught_up_with_whatever_comes_next() {
    let said = |id: &str, count| call_with("s", id, |call| output(call, count));
    let mut book = Book::on_disk();
    book.seen_pass([project("s", "wrong"), said("1", 50), said("2", 50)]);
    book.seen_pass([project("s", "right"), said("2", 10)]);
    book = book.restart();
    book.seen_pass([said("3", 30)]);
    let snapshot = book.publish();
    assert_eq!(truth(&book.ledger, OUTPUT), 90);
    assert_eq!(sum(&snapshot, OUTPUT), 100);
    book.seen_pass([said("4", 30)]);
    let snapshot = book.publish();
    assert_eq!(sum(&snapshot, OUTPUT), 120);
    assert_eq!(of_project(&snapshot, "right", OUTPUT), Some(20));
}

#[test]
fn a_report_knows_a_project_under_which_nothing_is_counted() {
    let mut book = Book::on_disk();
    book.pass([project("s", "wrong"), call("s", "1")]);
    let snapshot = book.pass([project("s", "right")]);
    assert_eq!(of_project(&snapshot, "right", INPUT), None);
    book = book.restart();
    assert_eq!(told(&book), BTreeMap::from([("right".to_owned(), 100)]));
    let today = |snapshot: &Snapshot| -> Vec<String> {
        let windows = snapshot.windows.iter();
        let today = windows.filter(|total| total.window == Window::Today);
        today
            .map(|total| total.labels.project.clone().unwrap().to_string())
            .collect()
    };
    assert_eq!(today(&book.publish()), ["right"]);
    // Nor is its place taken by what comes next.
    let snapshot = book.pass([project("t", "third"), call("t", "2")]);
    assert_eq!(of_project(&snapshot, "right", INPUT), None);
    let all = [("right".to_owned(), 100), ("third".to_owned(), 100)];
    assert_eq!(told(&book), BTreeMap::from(all.clone()));
    book = book.restart();
    assert_eq!(told(&book), BTreeMap::from(all));
}

#[test]
fn what_waits_at_zero_is_not_published_and_moves_whole() {
    let mut book = Book::in_memory();
    book.pass([]);
    book.pass([project("s", "wrong"), call("s", "1")]);
    book.seen_pass([project("s", "right")]);
    let snapshot = book.publish();
    assert_eq!(of_project(&snapshot, "wrong", INPUT), Some(0));
    assert_eq!(of_project(&snapshot, "right", INPUT), Some(100));
}

#[test]
fn a_scope_that_changes_twice_in_a_pass_keeps_what_was_published_before() {
    let mut book = Book::on_disk();
    book.pass([project("s", "wrong"), call("s", "1")]);
    book.say("a", [project("s", "right"), call("s", "2")]);
    book.ledger.commit().unwrap();
    book = book.restart();
    book.say("b", [call("s", "3")]);
    book.publish().mark_seen();
    let snapshot = book.publish();
    assert_eq!(of_project(&snapshot, "wrong", INPUT), Some(100));
    assert_eq!(of_project(&snapshot, "right", INPUT), Some(200));
}

#[test]
fn a_list_price_that_turns_out_to_be_reported_is_not_paid_twice() {
    let mut book = Book::in_memory();
    let snapshot = book.pass([call("s", "1")]);
    let listed = sum(&snapshot, Measure::CostListPrice);
    assert!(listed > 0);
    let nano = (listed / 10) as u64 + 5;
    book.seen_pass([call_with("s", "1", |call| credits(call, nano))]);
    let snapshot = book.publish();
    assert_eq!(sum(&snapshot, Measure::CostListPrice), listed);
    assert_eq!(
        sum(&snapshot, Measure::CostReported),
        u128::from(nano) * 10 - listed
    );
    assert_eq!(sum(&snapshot, Measure::Credits), u128::from(nano));
}

#[test]
fn edge_241_both_bases_are_visible_and_each_call_is_on_one() {
    let mut book = Book::in_memory();
    let listed = sum(&book.pass([call("s", "1")]), Measure::CostListPrice);
    let mut book = Book::in_memory();
    let reported = call_with("s", "2", |call| {
        credits(call, 5);
        output(call, 11);
    });
    let snapshot = book.pass([call("s", "1"), reported]);
    assert_eq!(sum(&snapshot, Measure::CostListPrice), listed);
    assert_eq!(sum(&snapshot, Measure::CostReported), 50);
    let today = snapshot
        .windows
        .iter()
        .find(|total| total.window == Window::Today);
    assert_eq!(today.unwrap().cost.unwrap().0, listed + 50);
}

/// The session's running total of credits.
fn total(session: &str, nano: u64) -> Observation {
    Observation {
        scope: session.to_owned(),
        id: Key::of("total", &[session, &nano.to_string()]),
        surface: Surface::Cli,
        fact: Fact::Total(TotalFact {
            time: Some(Timestamp(start().0 + MINUTE)),
            model: None,
            tokens: Tokens::default(),
            credits: Some(Credits(nano)),
        }),
    }
}

#[test]
fn edge_231_credits_of_no_known_model_move_only_while_unpublished() {
    let explained = || call_with("s", "1", |call| credits(call, 70));
    let mut book = Book::in_memory();
    book.say("a", [total("s", 100)]);
    let snapshot = book.pass([explained()]);
    assert_eq!(snapshot.unattributed_credits, Credits(30));
    assert_eq!(sum(&snapshot, Measure::Credits), 70);
    let mut book = Book::in_memory();
    assert_eq!(
        book.pass([total("s", 100)]).unattributed_credits,
        Credits(100)
    );
    book.seen_pass([explained()]);
    let snapshot = book.publish();
    assert_eq!(snapshot.unattributed_credits, Credits(100));
    assert_eq!(
        sum(&snapshot, Measure::Credits),
        0,
        "they are all shown already"
    );
}

#[test]
fn a_price_update_leaves_published_calls_alone() {
    let mut book = Book::on_disk();
    let before = sum(&book.pass([call("s", "1")]), Measure::CostListPrice);
    book.config.prices = vec![crate::config::PriceOverride {
        model: "gpt-5.4".to_owned(),
        input: 1_000.0,
        output: 1_000.0,
        cache_read: None,
        cache_write: None,
        valid_from: None,
    }];
    book = book.restart();
    assert_eq!(
        sum(&book.pass([call("s", "1")]), Measure::CostListPrice),
        before
    );
    // The session goes on, at the new price: 120 tokens at 0.001 USD.
    let more = call_with("s", "2", |call| output(call, 20));
    let after = sum(&book.pass([more]), Measure::CostListPrice);
    assert_eq!(after - before, 120_000_000_000);
}

#[test]
fn edge_228_a_snapshot_stays_as_it_is() {
    let mut book = Book::in_memory();
    let first = book.pass([call("s", "1")]);
    book.say("a", [call("s", "2")]);
    assert_eq!(calls(&first), 1);
    book.publish();
    assert_eq!(calls(&first), 1);
}

#[test]
fn totals_are_ready_after_the_first_whole_pass() {
    let mut book = Book::on_disk();
    book.say("a", [call("s", "1")]);
    book.ledger.commit().unwrap();
    // The process dies in its first pass: what it found is history all the same.
    book = book.restart();
    let snapshot = book.pass([call("s", "2")]);
    assert!(snapshot.ready);
    assert_eq!(sum(&snapshot, INPUT), 200);
    assert_eq!(snapshot.held_series, 0);
}

#[test]
fn a_new_counter_waits_until_all_who_come_back_have_seen_its_0() {
    let (quick, slow) = (Reader::default(), Reader::default());
    let mut book = Book::in_memory();
    let first = book.pass([call("s", "1")]);
    first.mark_seen_by(&quick);
    first.mark_seen_by(&slow);
    let new = || {
        [call_with("t", "2", |call| {
            call.model = Some("gpt-4.1".to_owned())
        })]
    };
    book.pass(new()).mark_seen_by(&quick);
    let second = book.publish();
    assert_eq!(calls(&second), 1, "the slow one hasn't seen the 0");
    second.mark_seen_by(&quick);
    // Somebody looks by hand, and doesn't come back.
    second.mark_seen();
    let third = book.publish();
    assert_eq!(calls(&third), 1);
    third.mark_seen_by(&slow);
    assert_eq!(calls(&book.publish()), 2);
    // A reader that stays and never asks again holds nothing up for ever.
    book.pass([call_with("u", "3", |call| {
        call.model = Some("gpt-4o".to_owned())
    })]);
    book.later(3 * MINUTE);
    assert_eq!(calls(&book.publish()), 3);
    drop(slow);
}
