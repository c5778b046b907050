//! Windows, budgets and what else a snapshot tells of the present.

use super::*;
use crate::config::{Budget, BudgetWindow};
use crate::ledger::Window;

fn at_time(id: &str, time: &str) -> Observation {
    call_with(id, id, |call| call.time = Some(at(time)))
}

fn calls_in(snapshot: &Snapshot, window: Window) -> u128 {
    snapshot
        .windows
        .iter()
        .filter(|total| total.window == window)
        .map(|total| total.calls)
        .sum()
}

#[test]
fn windows_are_by_the_time_of_the_call() {
    let mut book = Book::on_disk();
    book.pass([
        at_time("today", "2026-11-18T00:00:00Z"),
        at_time("monday", "2026-11-16T00:00:00Z"),
        at_time("sunday", "2026-11-15T23:59:59Z"),
        at_time("october", "2026-10-31T23:59:59Z"),
    ]);
    book = book.restart();
    let snapshot = book.publish();
    assert_eq!(calls_in(&snapshot, Window::Today), 1);
    assert_eq!(calls_in(&snapshot, Window::Week), 2);
    assert_eq!(calls_in(&snapshot, Window::Month), 3);
    assert_eq!(snapshot.days.len(), 30);
    assert_eq!(snapshot.days.iter().map(|day| day.calls).sum::<u128>(), 4);
    book.later(DAY / 2);
    assert_eq!(calls_in(&book.publish(), Window::Today), 0);
}

#[test]
fn edge_096_an_aggregate_inside_a_window_hides_no_call_of_it() {
    let row = |id: &str, time: &str| {
        call_with("s", id, |call| {
            call.evidence = Evidence::StoreRow;
            call.keys.clear();
            call.time = Some(at(time));
        })
    };
    // A run from yesterday to noon that knows one call more than the rows do.
    let leg = LegFact {
        from: None,
        resumed: None,
        to: at("2026-11-18T11:00:00Z"),
        compacted: None,
        model: Some("gpt-5.4".to_owned()),
        provider: None,
        calls: 4,
        tokens: Tokens::default()
            .with(TokenType::Input, Some(450))
            .with(TokenType::CacheRead, Some(0))
            .with(TokenType::CacheWrite, Some(0))
            .with(TokenType::Output, Some(45)),
        credits: None,
        premium: None,
    };
    let leg = Observation {
        fact: Fact::Leg(leg),
        ..row("leg", "2026-11-18T11:00:00Z")
    };
    let mut book = Book::in_memory();
    let snapshot = book.pass([
        row("1", "2026-11-17T09:00:00Z"),
        row("2", "2026-11-18T09:00:00Z"),
        row("3", "2026-11-18T10:00:00Z"),
        leg,
    ]);
    assert_eq!(calls_in(&snapshot, Window::Today), 3);
    assert_eq!(calls_in(&snapshot, Window::Week), 4);
    let today = snapshot
        .windows
        .iter()
        .find(|of| of.window == Window::Today);
    assert_eq!(today.unwrap().tokens[&TokenType::Input], 350);
    assert_eq!(sum(&snapshot, INPUT), 450);
}

#[test]
fn a_clock_that_is_set_back_finds_its_windows_again() {
    let mut book = Book::in_memory();
    book.pass([call("s", "1")]);
    book.later(200 * DAY);
    assert_eq!(calls_in(&book.publish(), Window::Month), 0);
    book.later(-200 * DAY);
    assert_eq!(calls_in(&book.publish(), Window::Today), 1);
}

#[test]
fn windows_follow_corrections_down() {
    let mut book = Book::in_memory();
    book.pass([call_with("s", "1", |call| output(call, 90))]);
    let snapshot = book.pass([call_with("s", "1", |call| output(call, 40))]);
    let today = snapshot
        .windows
        .iter()
        .find(|total| total.window == Window::Today);
    assert_eq!(today.unwrap().tokens[&TokenType::Output], 40);
}

#[test]
fn budgets_sum_what_they_cover() {
    let budget = |name: &str, project: Option<&str>| Budget {
        name: name.to_owned(),
        usd: Some(1.0),
        credits: None,
        window: BudgetWindow::Month,
        time_zone: None,
        provider: None,
        model: None,
        project: project.map(str::to_owned),
        surface: None,
    };
    let config = Config {
        budgets: vec![budget("all", None), budget("shop", Some("shop"))],
        privacy: crate::config::PrivacyConfig {
            project: crate::config::ProjectLabel::Hash,
        },
        ..config()
    };
    let mut book = Book::with(None, config);
    let cost = |nano: u64| move |call: &mut CallFact| credits(call, nano);
    let snapshot = book.pass([
        project("s", "shop"),
        call_with("s", "1", cost(1_000)),
        project("t", "web"),
        call_with("t", "2", cost(500)),
        call_with("u", "3", |call| {
            credits(call, 7);
            call.time = Some(at("2026-10-31T12:00:00Z"));
        }),
    ]);
    let used: Vec<u128> = snapshot
        .budgets
        .iter()
        .map(|budget| budget.used.0)
        .collect();
    assert_eq!(used, [15_000, 10_000]);
    assert!(snapshot.budgets[0].forecast.is_some());
}

#[test]
fn sessions_are_active_for_a_while_after_a_call() {
    let mut book = Book::on_disk();
    let snapshot = book.pass([call("s", "1"), call("t", "2")]);
    assert_eq!(snapshot.active_sessions[&Surface::Cli], 2);
    book.later(5 * MINUTE);
    book = book.restart();
    assert_eq!(book.publish().active_sessions[&Surface::Cli], 2);
    book.later(20 * MINUTE);
    assert_eq!(book.publish().active_sessions.get(&Surface::Cli), None);
}

#[test]
fn models_show_their_vendor_and_price() {
    let mut book = Book::in_memory();
    let snapshot = book.pass([
        call("s", "1"),
        call_with("s", "2", |call| call.model = Some("mine".to_owned())),
    ]);
    let [known, own] = &snapshot.models[..] else {
        panic!("{:?}", snapshot.models);
    };
    assert_eq!(
        (known.model.as_str(), known.vendor.as_deref()),
        ("gpt-5.4", Some("openai"))
    );
    assert!(known.usd_per_million[&TokenType::Output] > 0.0);
    assert_eq!((own.model.as_str(), own.vendor.as_deref()), ("mine", None));
    assert!(own.usd_per_million.is_empty());
}
