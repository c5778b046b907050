//! What outlives the process, and what happens when it can't.

use super::super::SourceId;
use super::*;

fn ledger_file(book: &Book) -> PathBuf {
    book.state_dir().join("ledger.db")
}

/// Writes into the closed ledger of `book` as another program would.
fn tamper(book: Book, change: impl FnOnce(&Path)) -> Result<Book, LedgerError> {
    let file = ledger_file(&book);
    let stopped = book.stop();
    change(&file);
    stopped.start()
}

fn kept_aside(book: &Book) -> usize {
    std::fs::read_dir(book.state_dir())
        .unwrap()
        .filter(|entry| {
            let name = entry.as_ref().unwrap().file_name();
            name.to_string_lossy()
                .starts_with("ledger.db.damaged-20261118T")
        })
        .count()
}

#[test]
fn edge_218_a_restart_changes_nothing() {
    let mut book = Book::on_disk();
    let before = book.pass([project("s", "shop"), call("s", "1"), call("t", "2")]);
    book = book.restart();
    let after = book.publish();
    assert_eq!(published(&after), published(&before));
    assert_eq!(after.epoch, before.epoch);
    assert_eq!(after.windows.len(), before.windows.len());
    let source = SourceId::of(StoreKind::CliEvents, Path::new("a"));
    assert_eq!(book.ledger.stamp(source), b"stamp");
    assert_eq!(book.ledger.cursor(source), Cursor(b"end".to_vec()));
    let again = book.pass([project("s", "shop"), call("s", "1"), call("t", "2")]);
    assert_eq!(published(&again), published(&before));
}

#[test]
fn edge_215_what_the_stores_forget_stays_counted() {
    let mut book = Book::on_disk();
    book.pass([call("s", "1"), call("s", "2")]);
    book = book.restart();
    let snapshot = book.pass([]);
    assert_eq!(calls(&snapshot), 2);
    let snapshot = book.pass([call("s", "3")]);
    assert_eq!(calls(&snapshot), 3);
}

#[test]
fn edge_216_a_source_that_is_read_anew_counts_nothing_twice() {
    let mut book = Book::on_disk();
    book.pass([call("s", "1"), call("s", "2")]);
    book = book.restart();
    book.say("elsewhere", [call("s", "2"), call("s", "1")]);
    assert_eq!(calls(&book.publish()), 2);
}

#[test]
fn what_was_not_committed_is_read_again() {
    let mut book = Book::on_disk();
    book.pass([call("s", "1")]);
    book.say("b", [call("s", "2")]);
    book = book.restart();
    assert!(
        book.ledger
            .stamp(SourceId::of(StoreKind::CliEvents, Path::new("b")))
            .is_empty()
    );
    book.say("b", [call("s", "2")]);
    assert_eq!(calls(&book.publish()), 2);
}

#[test]
fn a_long_source_is_committed_in_parts() {
    let mut book = Book::on_disk();
    let mut intake = book
        .ledger
        .intake(StoreKind::CliEvents, Path::new("a"), None);
    intake.observe(call("s", "1"));
    intake.checkpoint(Cursor(b"middle".to_vec()));
    intake.observe(call("s", "2"));
    book.ledger.commit().unwrap();
    book = book.restart();
    let source = SourceId::of(StoreKind::CliEvents, Path::new("a"));
    assert_eq!(book.ledger.cursor(source), Cursor(b"middle".to_vec()));
    assert!(book.ledger.stamp(source).is_empty());
    assert_eq!(calls(&book.pass([call("s", "2")])), 2);
}

#[test]
fn a_second_exporter_is_told_who_was_first() {
    let book = Book::on_disk();
    let second = Ledger::open(Some(&book.state_dir()), settings(&book.config), start());
    let error = second.unwrap_err().to_string();
    assert!(
        error.contains(&format!("process {}", std::process::id())),
        "{error}"
    );
}

#[test]
fn a_damaged_ledger_is_kept_aside_and_rebuilt() {
    let mut book = Book::on_disk();
    book.pass([call("s", "1")]);
    book.later(DAY / 4);
    let now = book.now;
    book = tamper(book, |file| {
        std::fs::write(file, "no database, but long enough to be one".repeat(200)).unwrap()
    })
    .unwrap();
    assert_eq!(kept_aside(&book), 1);
    assert_eq!(book.ledger.epoch(), now);
    let snapshot = book.pass([call("s", "1")]);
    assert_eq!(calls(&snapshot), 1);
    assert_eq!(snapshot.held_series, 0);
}

#[test]
fn damage_that_shows_later_is_met_at_the_next_pass() {
    for damage in [
        "UPDATE facts SET facts = x'ffff'",
        "UPDATE facts SET touched = 'then'",
        "UPDATE scopes SET name = CAST(x'ff' AS TEXT)",
        "UPDATE scopes SET name = x'73'",
        "UPDATE scopes SET surface = 1 << 40",
    ] {
        let mut book = Book::on_disk();
        book.pass([call("s", "1")]);
        book = tamper(book, |file| {
            let connection = rusqlite::Connection::open(file).unwrap();
            connection.execute(damage, []).unwrap();
        })
        .unwrap();
        book.say("a", [call("s", "2")]);
        let committed = book.ledger.commit();
        assert!(
            matches!(committed, Err(LedgerError::Damaged { .. })),
            "{damage}: {committed:?}"
        );
        book.publish();
        assert_eq!(kept_aside(&book), 1, "{damage}");
        assert_eq!(calls(&book.pass([call("s", "1"), call("s", "2")])), 2);
        book = book.restart();
        assert_eq!(calls(&book.publish()), 2, "{damage}");
    }
}

#[test]
fn damage_that_only_shows_when_it_is_written_over_is_met_too() {
    let mut book = Book::on_disk();
    book.pass([call("s", "1")]);
    book = tamper(book, |file| {
        let connection = rusqlite::Connection::open(file).unwrap();
        let number = |sql| {
            connection
                .query_row(sql, [], |row| row.get::<_, u32>(0))
                .unwrap() as usize
        };
        let size = number("PRAGMA page_size");
        let page = number("SELECT rootpage FROM sqlite_schema WHERE name = 'foldable_facts'");
        drop(connection);
        // An index is written, and not read when the ledger is opened.
        let mut bytes = std::fs::read(file).unwrap();
        bytes[(page - 1) * size] = 0xff;
        std::fs::write(file, bytes).unwrap();
    })
    .unwrap();
    book.say("a", [call("t", "2")]);
    let committed = book.ledger.commit();
    assert!(
        matches!(committed, Err(LedgerError::Damaged { .. })),
        "{committed:?}"
    );
    book.publish();
    book.say("a", [call("s", "1"), call("t", "2")]);
    book.ledger.commit().unwrap();
    assert_eq!(calls(&book.publish()), 2);
    assert_eq!(kept_aside(&book), 1);
}

#[test]
fn another_programs_database_is_kept_aside() {
    let book = Book::on_disk();
    let book = tamper(book, |file| {
        std::fs::remove_file(file).unwrap();
        let connection = rusqlite::Connection::open(file).unwrap();
        connection.execute_batch("CREATE TABLE t (x)").unwrap();
    })
    .unwrap();
    assert_eq!(kept_aside(&book), 1);
}

#[test]
fn a_newer_ledger_is_refused_and_left_alone() {
    let mut book = Book::on_disk();
    book.pass([call("s", "1")]);
    let file = ledger_file(&book);
    let stopped = book.stop();
    let connection = rusqlite::Connection::open(&file).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    let before = std::fs::read(&file).unwrap();
    let dir = file.parent();
    let error = Ledger::open(dir, settings(&stopped.config), stopped.now).unwrap_err();
    assert!(
        matches!(error, LedgerError::Newer { found: 99, .. }),
        "{error}"
    );
    assert!(error.to_string().contains("newer version"), "{error}");
    assert_eq!(std::fs::read(&file).unwrap(), before);
}

#[test]
fn an_empty_file_is_a_new_ledger() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("state")).unwrap();
    std::fs::write(dir.path().join("state/ledger.db"), "").unwrap();
    let mut book = Book::with(Some(dir), config());
    book.pass([call("s", "1")]);
    assert_eq!(calls(&book.restart().publish()), 1);
}

#[cfg(unix)]
#[test]
fn the_ledger_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let mut book = Book::on_disk();
    book.pass([call("s", "1")]);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&book.state_dir()), 0o700);
    for entry in std::fs::read_dir(book.state_dir()).unwrap() {
        assert_eq!(mode(&entry.unwrap().path()), 0o600);
    }
}

#[test]
fn a_folder_that_cannot_be_made_leaves_the_ledger_in_memory() {
    let dir = tempfile::tempdir().unwrap();
    let obstacle = dir.path().join("state");
    std::fs::write(&obstacle, "a file").unwrap();
    let mut ledger = Ledger::open(Some(&obstacle), settings(&config()), start()).unwrap();
    let mut intake = ledger.intake(StoreKind::CliEvents, Path::new("a"), None);
    intake.observe(call("s", "1"));
    intake.finish(Cursor::default(), b"stamp".to_vec());
    assert!(matches!(
        ledger.commit(),
        Err(LedgerError::Unwritable { .. })
    ));
    let snapshot = ledger.finish_pass(start(), ScanStatus::default(), BTreeMap::new());
    assert_eq!(calls(&snapshot), 1);
}

/// SQLite's own limit on pages stands for a disk that is full.
#[test]
fn a_full_disk_loses_and_doubles_nothing() {
    let mut book = Book::on_disk();
    book.pass([call("s", "0")]);
    book.ledger.state.limit_pages(true);
    let many = |from: u32| (from..from + 2_000).map(|n| call("s", &n.to_string()));
    book.say("a", many(1));
    assert!(matches!(
        book.ledger.commit(),
        Err(LedgerError::Unwritable { .. })
    ));
    assert_eq!(calls(&book.publish()), 2_001);
    assert_eq!(calls(&book.pass(many(1))), 2_001);
    book.ledger.state.limit_pages(false);
    book.say("a", many(2_001));
    book.ledger.commit().unwrap();
    assert_eq!(calls(&book.publish()), 4_001);
    book = book.restart();
    assert_eq!(calls(&book.publish()), 4_001);
}

#[test]
fn a_full_disk_and_then_a_crash() {
    let mut book = Book::on_disk();
    book.pass([call("s", "0")]);
    book.ledger.state.limit_pages(true);
    let many = || (1..2_001).map(|n| call("s", &n.to_string()));
    book.pass(many());
    book = book.restart();
    let source = SourceId::of(StoreKind::CliEvents, Path::new("a"));
    assert_eq!(book.ledger.cursor(source), Cursor(b"end".to_vec()));
    assert_eq!(calls(&book.publish()), 1);
    assert_eq!(calls(&book.pass(many())), 2_001);
}

#[test]
fn a_pass_over_nothing_new_writes_nothing() {
    let mut book = Book::on_disk();
    book.pass([call("s", "1")]);
    let file = ledger_file(&book);
    let state = || {
        let wal = file.with_extension("db-wal");
        (std::fs::read(&file).unwrap(), std::fs::read(wal).unwrap())
    };
    let before = state();
    book.later(DAY);
    book.publish();
    assert!(state() == before);
}
