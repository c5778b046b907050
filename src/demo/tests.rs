use std::collections::BTreeSet;
use std::fs;

use super::*;
use crate::config::Config;
use crate::ledger::{Ledger, Settings};
use crate::scan::Scanner;

/// Tuesday, 1 December 2026, 15:00 UTC.
const NOW: Timestamp = Timestamp(1_796_137_200_000);
const HOUR: i64 = 3_600_000;

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[test]
fn every_line_is_whole_and_no_call_lies_in_the_future() {
    let folder = tempfile::tempdir().unwrap();
    Team::settle(folder.path(), NOW, 3).unwrap();
    let mut latest = 0;
    for file in files(folder.path()) {
        for line in fs::read_to_string(&file).unwrap().lines() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            let time = line["ts"].as_i64().or_else(|| {
                let text = line["timestamp"].as_str()?;
                Some(Timestamp::parse_iso(text)?.0)
            });
            latest = latest.max(time.unwrap_or(0));
        }
    }
    assert!(latest <= NOW.0 && NOW.0 - latest < HOUR, "{latest}");
}

#[test]
fn what_was_written_in_steps_is_what_is_written_at_once() {
    let (slowly, at_once) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut team = Team::settle(slowly.path(), Timestamp(NOW.0 - 6 * HOUR), 2).unwrap();
    let mut calls = 0;
    for hour in (0..6).rev() {
        calls += team.catch_up(Timestamp(NOW.0 - hour * HOUR)).unwrap();
    }
    assert!(calls > 50, "{calls}");
    Team::settle(at_once.path(), NOW, 2).unwrap();
    let read = |folder: &Path| -> Vec<(PathBuf, BTreeSet<String>)> {
        files(folder)
            .into_iter()
            .map(|file| {
                // Paths of the homes are in the files: they differ.
                let text = fs::read_to_string(&file).unwrap();
                let text = text.replace(folder.to_str().unwrap(), "");
                let lines = text.lines().map(str::to_owned).collect();
                (file.strip_prefix(folder).unwrap().to_owned(), lines)
            })
            .collect()
    };
    assert_eq!(read(slowly.path()), read(at_once.path()));
}

#[test]
fn work_is_written_when_it_is_done() {
    let folder = tempfile::tempdir().unwrap();
    // Hours in which those far east of UTC have begun their next day.
    let midnight = (NOW.0.div_euclid(DAY) + 1) * DAY;
    let mut team = Team::settle(folder.path(), Timestamp(midnight - HOUR), 1).unwrap();
    let before = team.catch_up(Timestamp(midnight - 1)).unwrap();
    let at_midnight = team.catch_up(Timestamp(midnight + 1_000)).unwrap();
    assert!(before > 10 && at_midnight < 5, "{before}, {at_midnight}");
}

#[test]
fn the_exporter_understands_every_record() {
    let folder = tempfile::tempdir().unwrap();
    let team = Team::settle(folder.path(), NOW, 2).unwrap();
    let config = Config {
        homes: vec![team.homes()],
        ..Config::default()
    };
    let ledger = Ledger::open(None, Settings::new(&config).unwrap(), NOW).unwrap();
    let mut scanner = Scanner::new(&config, ledger);
    let snapshot = scanner.pass(&mut |_| {});
    for (store, status) in &snapshot.stores {
        assert!(status.parse_errors.is_empty(), "{store:?}: {status:?}");
    }
    assert!(snapshot.series.len() > 20);
}

#[test]
fn somebody_works_at_every_hour_of_a_weekday_and_few_do_on_sunday() {
    let prices = Catalogue::default();
    let calls_of = |day: i64| -> Vec<Step> {
        let days = [day - 1, day];
        let steps = days.into_iter().flat_map(|day| {
            TEAM.iter()
                .flat_map(move |person| work::day(person, day, &Catalogue::default()))
        });
        steps
            .filter(|step| step.time.0.div_euclid(DAY) == day)
            .collect()
    };
    let wednesday = NOW.0.div_euclid(DAY) + 1;
    let hours: BTreeSet<i64> = calls_of(wednesday)
        .iter()
        .map(|step| step.time.0.rem_euclid(DAY) / HOUR)
        .collect();
    assert_eq!(hours.len(), 24, "{hours:?}");
    assert!(calls_of(wednesday).len() > 3 * calls_of(wednesday + 4).len());
    assert!(!work::runaway(&TEAM[0], NOW, &prices).is_empty());
}
