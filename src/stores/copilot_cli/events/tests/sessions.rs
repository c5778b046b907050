//! Files: what is found, read, cut, rewritten and gone.

use super::*;

#[test]
fn edge_011_the_same_file_twice_is_nothing_new() {
    let mut log = Session::new(&message("a", r#"{"model":"m","outputTokens":5}"#));
    assert_eq!(log.pass().calls().len(), 1);
    let again = log.pass();
    assert!(again.calls().is_empty());
    assert_eq!(again.bytes, 0);
    log.cursor = Cursor::default();
    let anew = log.pass();
    let first = read(&message("a", r#"{"model":"m","outputTokens":5}"#));
    assert_eq!(anew.observations[0].id, first.observations[0].id);
}

#[test]
fn edge_012_a_file_that_is_gone_gives_nothing_and_no_error() {
    let mut log = Session::new(&message("a", r#"{"model":"m","outputTokens":5}"#));
    let source = Source::file(log.path());
    log.pass();
    fs::remove_file(log.path()).unwrap();
    let home = Home {
        dir: log.dir.path().to_owned(),
        ..Home::default()
    };
    let mut kept = Kept::default();
    let cursor = Events.read(&home, &source, &log.cursor, &mut kept).unwrap();
    assert_eq!(cursor, log.cursor);
    assert!(kept.observations.is_empty());
}

#[test]
fn edge_014_broken_lines_are_skipped_and_counted() {
    let lines = format!(
        "null\n17\n\"x\"\n{{\"type\":\"assistant.message\",\n{}\n{}\n{}",
        r#"{"type":"session.shutdown"}"#,
        r#"{"type":"assistant.message","data":"text"}"#,
        message("a", r#"{"model":"m","outputTokens":5}"#)
    );
    let kept = read(&lines);
    assert_eq!(kept.calls().len(), 1);
    assert_eq!(kept.parse_errors.len(), 6);
}

#[test]
fn edge_229_empty_and_blank_files_and_marks_give_nothing() {
    for contents in ["", "\n\n  \n", "\u{feff}", "\u{feff}\n"] {
        let kept = read(contents);
        assert!(kept.observations.is_empty() && kept.parse_errors.is_empty());
    }
}

#[test]
fn edge_201_and_225_sessions_of_all_layouts_are_found() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join(".copilot");
    let state = root.join("session-state");
    for name in [
        "a/events.jsonl",
        "b/other.txt",
        ".locks/events.jsonl",
        "c.jsonl/x",
    ] {
        let path = state.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    fs::write(state.join("a.jsonl"), "").unwrap();
    fs::create_dir(root.join("history-session-state")).unwrap();
    fs::write(root.join("history-session-state/old.jsonl"), "").unwrap();
    fs::write(root.join("history-session-state/old.json"), "").unwrap();
    let home = Home {
        dir: dir.path().to_owned(),
        ..Home::default()
    };
    let discovery = Events.discover(&home);
    assert!(discovery.problems.is_empty());
    let found: Vec<_> = discovery
        .sources
        .iter()
        .map(|s| session_of(&s.path).unwrap())
        .collect();
    assert_eq!(found, ["a", "a", "old"]);
}

#[test]
fn edge_059_and_205_one_project_a_session() {
    let start = r#"{"sessionId":"s1","startTime":"2026-09-01T09:00:00.000Z","context":{"cwd":"/srv/shop-copy"}}"#;
    let mut log = Session::new(&event("a", "01T09:00:01.000Z", "session.start", start));
    let folder = session(&log.pass()).project.unwrap();
    assert_eq!(
        (folder.rank, folder.project.as_str()),
        (ProjectRank::Folder, "shop-copy")
    );

    let workspace = log.path().with_file_name("workspace.yaml");
    fs::write(
        workspace,
        "cwd: /srv/shop-copy\nrepository: acme/shop\nclient_name: github/cli\n",
    )
    .unwrap();
    let about = session(&log.pass());
    assert_eq!(about.project.unwrap().project.as_str(), "shop");
    assert_eq!(about.surface, Some(Surface::Cli));
    assert_eq!(about.started, Timestamp::parse_iso("2026-09-01T09:00:00Z"));
}

#[test]
fn edge_040_a_session_that_was_left_without_shutdown() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join(".copilot/session-state");
    let left = message("m", r#"{"model":"m","outputTokens":5}"#);
    let next = shutdown("s", "01T11:00:00.000Z", [1, 100, 0, 0, 5]);
    for (name, lines) in [("left", left), ("next", next)] {
        fs::create_dir_all(state.join(name)).unwrap();
        fs::write(state.join(name).join("events.jsonl"), lines).unwrap();
    }
    let home = Home {
        dir: dir.path().to_owned(),
        ..Home::default()
    };
    let mut kept = Kept::default();
    for source in Events.discover(&home).sources {
        Events
            .read(&home, &source, &Cursor::default(), &mut kept)
            .unwrap();
    }
    assert_eq!((kept.calls().len(), kept.legs().len()), (1, 1));
}

#[test]
fn edge_021_no_state_of_one_file_reaches_the_next() {
    let change = event(
        "a",
        "01T09:00:00.000Z",
        "session.model_change",
        r#"{"newModel":"m1"}"#,
    );
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join(".copilot/session-state");
    for (name, lines) in [("a", change), ("b", message("m", r#"{"outputTokens":5}"#))] {
        fs::create_dir_all(state.join(name)).unwrap();
        fs::write(state.join(name).join("events.jsonl"), lines).unwrap();
    }
    let home = Home {
        dir: dir.path().to_owned(),
        ..Home::default()
    };
    let mut kept = Kept::default();
    for source in Events.discover(&home).sources {
        Events
            .read(&home, &source, &Cursor::default(), &mut kept)
            .unwrap();
    }
    assert_eq!(models(&kept), [None]);
}

#[test]
fn edge_216_a_rewritten_file_gives_the_same_statements() {
    let lines = shutdown("a", "01T08:00:00.000Z", [1, 100, 0, 0, 1]);
    let mut log = Session::new(&(message("m", r#"{"model":"m","outputTokens":5}"#) + &lines));
    let first = log.pass();
    fs::write(log.path(), lines).unwrap();
    let second = log.pass();
    assert_eq!(second.legs().len(), 1);
    let ids = |kept: &Kept| kept.observations.iter().map(|o| o.id).collect::<Vec<_>>();
    assert!(ids(&second).iter().all(|id| ids(&first).contains(id)));
}

/// A file of several kinds of lines, cut at every byte: what was read before the cut and after it is what
/// is read at once.
#[test]
fn any_cut_gives_the_same_statements() {
    let text = [
        event(
            "a",
            "01T07:00:00.000Z",
            "session.start",
            r#"{"sessionId":"s1","selectedModel":"m1","context":{"cwd":"/srv/é"}}"#,
        ),
        message("b", r#"{"outputTokens":5,"content":"\u00e9…"}"#),
        shutdown("c", "01T08:00:00.000Z", [1, 100, 0, 0, 5]),
        resume("d", "02T08:00:00.000Z", r#"{"sessionLimits":null}"#),
        "not json\n".to_owned(),
        format!("{RECORD}\n"),
        message("e", r#"{"model":"m1","apiCallId":"resp-7"}"#),
        shutdown("f", "02T09:00:00.000Z", [2, 9_100, 8_000, 0, 65]),
    ]
    .concat()
    .into_bytes();
    let last = |kept: &[Kept]| {
        let mut statements = std::collections::BTreeMap::new();
        for observation in kept.iter().flat_map(|k| &k.observations) {
            statements.insert(observation.id, observation.clone());
        }
        let errors: usize = kept.iter().map(|k| k.parse_errors.len()).sum();
        (statements, errors)
    };
    let whole = last(&[Session::new(std::str::from_utf8(&text).unwrap()).pass()]);
    let mut log = Session::new("");
    for cut in 0..text.len() {
        log.cursor = Cursor::default();
        fs::write(log.path(), &text[..cut]).unwrap();
        let before = log.pass();
        fs::OpenOptions::new()
            .append(true)
            .open(log.path())
            .and_then(|mut file| std::io::Write::write_all(&mut file, &text[cut..]))
            .unwrap();
        let after = log.pass();
        assert_eq!(last(&[before, after]), whole, "cut at {cut}");
    }
}
