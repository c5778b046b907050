//! Bounded series, and projects as privacy has them.

use super::*;
use crate::config::{PrivacyConfig, ProjectLabel};
use crate::usage::Provider;

fn limited(max_projects: usize) -> Config {
    Config {
        max_projects,
        ..config()
    }
}

fn projects(snapshot: &Snapshot) -> Vec<String> {
    let mut names: Vec<String> = snapshot
        .series
        .iter()
        .map(|series| {
            series
                .labels
                .project
                .as_ref()
                .map_or("–", Project::as_str)
                .to_owned()
        })
        .collect();
    names.sort();
    names
}

fn in_project(name: &str) -> [Observation; 2] {
    [project(name, name), call(name, name)]
}

#[test]
fn edge_211_projects_beyond_the_limit_are_counted_together_for_ever() {
    let dir = tempfile::tempdir().unwrap();
    let mut book = Book::with(Some(dir), limited(2));
    let all = ["a", "b", "c", "d"].into_iter().flat_map(in_project);
    let snapshot = book.pass(all);
    assert_eq!(projects(&snapshot), ["__other__", "a", "b"]);
    assert_eq!(snapshot.overflowed_projects, 2);
    assert_eq!(of_project(&snapshot, "__other__", INPUT), Some(200));
    book.config.max_projects = 10;
    book = book.restart();
    book.seen_pass([call("c", "more")].into_iter().chain(in_project("e")));
    let snapshot = book.publish();
    assert_eq!(projects(&snapshot), ["__other__", "a", "b", "e"]);
    assert_eq!(of_project(&snapshot, "__other__", INPUT), Some(300));
    assert_eq!(snapshot.overflowed_projects, 2);
}

#[test]
fn a_project_called_like_the_rest_is_told_from_it() {
    let mut book = Book::with(None, limited(1));
    let snapshot = book.pass(in_project("__other__").into_iter().chain(in_project("b")));
    assert_eq!(projects(&snapshot), ["__other__", "__other__ (project)"]);
}

#[test]
fn unlimited_model_names_make_no_unlimited_series() {
    let mut book = Book::in_memory();
    let minted = (0..400).map(|n| {
        let name = n.to_string();
        call_with("s", &name.clone(), |call| {
            call.model = Some(format!("mine-{name}"))
        })
    });
    let snapshot = book.pass(minted);
    assert!(snapshot.series.len() <= 251, "{}", snapshot.series.len());
    assert_eq!(calls(&snapshot), 400);
    let other = snapshot
        .series
        .iter()
        .find(|series| series.labels.model == "__other__");
    assert!(other.is_some());
}

#[test]
fn a_provider_called_copilot_is_not_copilot() {
    let mut book = Book::in_memory();
    let snapshot = book.pass([
        call_with("s", "1", |call| {
            call.provider = Some(Provider::own("copilot"))
        }),
        call("t", "2"),
    ]);
    let providers: Vec<&str> = snapshot
        .series
        .iter()
        .map(|series| series.labels.provider.as_str())
        .collect();
    assert_eq!(providers, ["copilot", "byok"]);
}

fn private(mode: ProjectLabel) -> Config {
    Config {
        privacy: PrivacyConfig { project: mode },
        ..config()
    }
}

#[test]
fn hashed_projects_are_stable_keyed_and_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let mut book = Book::with(Some(dir), private(ProjectLabel::Hash));
    let shown = projects(&book.pass(in_project("a").into_iter().chain(in_project("b"))));
    assert_eq!(shown.len(), 2);
    assert!(
        shown
            .iter()
            .all(|name| name.len() == 12 && name.chars().all(|c| c.is_ascii_hexdigit()))
    );
    book = book.restart();
    assert_eq!(projects(&book.publish()), shown);
    let mut other = Book::with(None, private(ProjectLabel::Hash));
    assert_ne!(
        projects(&other.pass(in_project("a").into_iter().chain(in_project("b")))),
        shown
    );
    let mut unknown = Book::with(None, private(ProjectLabel::Hash));
    assert_eq!(projects(&unknown.pass([call("s", "1")])), ["unknown"]);
}

#[test]
fn without_projects_their_series_are_one() {
    let mut book = Book::with(None, private(ProjectLabel::Off));
    let snapshot = book.pass(in_project("a").into_iter().chain(in_project("b")));
    assert_eq!(snapshot.series.len(), 1);
    assert_eq!(snapshot.series[0].labels.project, None);
    assert_eq!(sum(&snapshot, INPUT), 200);
    let total: u128 = snapshot.windows.iter().map(|window| window.calls).sum();
    assert_eq!((total, snapshot.windows.len()), (6, 3));
}

#[test]
fn homes_have_their_users() {
    let mut book = Book::in_memory();
    for user in ["ann", "bob"] {
        let mut intake = book
            .ledger
            .intake(StoreKind::CliEvents, Path::new(user), Some(user));
        intake.observe(call(user, user));
        intake.finish(Cursor::default(), Vec::new());
    }
    let snapshot = book.publish();
    let users: Vec<_> = snapshot
        .series
        .iter()
        .map(|series| series.labels.user.as_deref().unwrap())
        .collect();
    assert_eq!(users, ["ann", "bob"]);
}
