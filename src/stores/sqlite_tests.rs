use super::*;

/// A WAL database with a row in the main file and one more in the `-wal`; the writer stays open.
fn with_wal(path: &Path) -> Connection {
    let writer = Connection::open(path).unwrap();
    writer
        .execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;
             CREATE TABLE t(A INTEGER, b TEXT); INSERT INTO t VALUES (1, 'x');
             PRAGMA wal_checkpoint(TRUNCATE); INSERT INTO t VALUES (2, 'y');",
        )
        .unwrap();
    writer
}

fn rows(database: &Database) -> i64 {
    database
        .query_row("SELECT count(*) FROM t", [], |row| row.get(0))
        .unwrap()
}

fn contents(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| !entry.file_name().to_string_lossy().ends_with("-shm"))
        .map(|e| {
            (
                e.file_name().into_string().unwrap(),
                fs::read(e.path()).unwrap(),
            )
        })
        .collect();
    files.sort();
    files
}

fn reason(path: &Path) -> Reason {
    Database::open(path.parent().unwrap(), path)
        .unwrap_err()
        .reason
}

#[test]
fn edge_056_rows_in_the_wal_only_are_seen_and_nothing_is_checkpointed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s p%?ä.db");
    let writer = with_wal(&path);
    assert_eq!(way(&path, true), Way::Shared);
    assert_eq!(way(&path, false), Way::Copy, "another account's");
    let before = contents(dir.path());
    let database = Database::open(dir.path(), &path).unwrap();
    assert_eq!(rows(&database), 2);
    drop(database);
    assert_eq!(contents(dir.path()), before);
    writer.execute("INSERT INTO t VALUES (3, 'z')", []).unwrap();
    assert_eq!(rows(&Database::open(dir.path(), &path).unwrap()), 3);
}

#[test]
fn edge_057_a_wal_without_shm_is_read_through_a_copy() {
    let dir = tempfile::tempdir().unwrap();
    let live = dir.path().join("live");
    let left = dir.path().join("left");
    fs::create_dir(&live).unwrap();
    fs::create_dir(&left).unwrap();
    let _writer = with_wal(&live.join("s.db"));
    for name in ["s.db", "s.db-wal"] {
        fs::copy(live.join(name), left.join(name)).unwrap();
    }
    let path = left.join("s.db");
    assert_eq!(way(&path, true), Way::Copy);
    let database = Database::open(dir.path(), &path).unwrap();
    assert_eq!(rows(&database), 2);
    assert_eq!(
        fs::read_dir(&left).unwrap().count(),
        2,
        "nothing is left behind"
    );
    let copy = database._copy.as_ref().unwrap().path().to_owned();
    drop(database);
    assert!(!copy.exists());
}

/// `left.db` and its journal, as a writer leaves them that dies when half of its transaction is written: it had
/// 50 rows before, the highest of them 49.
fn half_done(dir: &Path) -> PathBuf {
    let live = dir.join("live.db");
    let mut writer = Connection::open(&live).unwrap();
    writer
        .execute_batch(
            "PRAGMA journal_mode = DELETE; PRAGMA cache_size = 1; PRAGMA page_size = 512;
             CREATE TABLE t(a INTEGER, b TEXT);",
        )
        .unwrap();
    let insert = |connection: &Connection, n: i64| {
        let text = "long enough for a few pages of their own ".repeat(20);
        connection
            .execute("INSERT INTO t VALUES (?1, ?2)", (n, text))
            .unwrap();
    };
    (0..50).for_each(|n| insert(&writer, n));
    // The small cache makes the transaction write pages into the main file before it ends.
    let transaction = writer.transaction().unwrap();
    transaction
        .execute("UPDATE t SET a = a + 1000", [])
        .unwrap();
    (50..100).for_each(|n| insert(&transaction, n));
    let left = dir.join("left.db");
    for suffix in ["", "-journal"] {
        fs::copy(beside(&live, suffix), beside(&left, suffix)).unwrap();
    }
    left
}

#[test]
fn what_a_dead_writer_left_half_done_is_not_read() {
    let dir = tempfile::tempdir().unwrap();
    let left = half_done(dir.path());
    let before = contents(dir.path());
    let database = Database::open(dir.path(), &left).unwrap();
    assert_eq!(rows(&database), 50);
    let highest: i64 = database
        .query_row("SELECT max(a) FROM t", [], |row| row.get(0))
        .unwrap();
    assert_eq!(highest, 49);
    assert_eq!(
        contents(dir.path()),
        before,
        "the files are left as they are"
    );
}

#[test]
fn a_journal_that_names_another_file_is_not_undone() {
    let dir = tempfile::tempdir().unwrap();
    let left = half_done(dir.path());
    let name = b"/somewhere/else-mjFFFFFF9FF";
    let sum: u32 = name.iter().map(|&byte| u32::from(byte)).sum();
    let mut journal = fs::read(beside(&left, "-journal")).unwrap();
    journal.extend([0; 4]);
    journal.extend(name);
    journal.extend((name.len() as u32).to_be_bytes());
    journal.extend(sum.to_be_bytes());
    journal.extend([0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]);
    fs::write(beside(&left, "-journal"), journal).unwrap();
    assert!(matches!(reason(&left), Reason::Unsupported(_)));
}

#[test]
fn without_a_wal_the_file_is_read_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.db");
    drop(with_wal(&path));
    assert_eq!(way(&path, true), Way::Immutable);
    assert_eq!(rows(&Database::open(dir.path(), &path).unwrap()), 2);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn edge_053_no_database_locked_and_missing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.db");
    fs::write(
        &path,
        "no database, but long enough to have a header ".repeat(40),
    )
    .unwrap();
    assert!(matches!(reason(&path), Reason::Corrupt(_)));
    assert!(matches!(reason(&dir.path().join("no.db")), Reason::Io(_)));

    let locked = dir.path().join("locked.db");
    let writer = Connection::open(&locked).unwrap();
    writer
        .execute_batch(
            "PRAGMA journal_mode = DELETE; CREATE TABLE t(a); BEGIN EXCLUSIVE; INSERT INTO t VALUES (1);
             PRAGMA cache_spill = 1;",
        )
        .unwrap();
    fs::write(beside(&locked, "-journal"), "x").unwrap();
    assert!(matches!(reason(&locked), Reason::Busy));
}

#[test]
fn a_truncated_database_is_corrupt() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.db");
    let writer = with_wal(&path);
    for n in 0..2_000 {
        writer
            .execute(
                "INSERT INTO t VALUES (?1, 'some text to fill pages with')",
                [n],
            )
            .unwrap();
    }
    drop(writer);
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() / 2 / 4096 * 4096]).unwrap();
    let database = Database::open(dir.path(), &path);
    let error = database.and_then(|d| {
        d.query_row("SELECT sum(a) FROM t", [], |row| row.get::<_, i64>(0))
            .map_err(|error| d.error(error))
    });
    assert!(matches!(error.unwrap_err().reason, Reason::Corrupt(_)));
}

#[test]
fn nothing_can_be_written_and_views_are_no_tables() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.db");
    let writer = with_wal(&path);
    writer
        .execute_batch("CREATE VIEW v AS SELECT a FROM t")
        .unwrap();
    let database = Database::open(dir.path(), &path).unwrap();
    assert!(
        database
            .execute("INSERT INTO t VALUES (9, '')", [])
            .is_err()
    );
    let columns = database.columns("t").unwrap();
    assert_eq!(columns.into_iter().collect::<Vec<_>>(), ["a", "b"]);
    assert!(database.columns("v").unwrap().is_empty());
    let view = database.query_row("SELECT * FROM v", [], |_| Ok(()));
    assert!(view.is_err());
}

#[test]
fn errors_name_the_file_but_quote_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.db");
    let _writer = with_wal(&path);
    let database = Database::open(dir.path(), &path).unwrap();
    let error = database.prepare("SELECT secret_word FROM t").unwrap_err();
    let text = database.error(error).to_string();
    assert!(
        text.contains("s.db") && !text.contains("secret_word"),
        "{text}"
    );
}

#[test]
fn edge_066_values_are_read_leniently() {
    assert_eq!(count(ValueRef::Real(12.75)), Some(12));
    assert_eq!(count(ValueRef::Integer(-3)), None);
    assert_eq!(count(ValueRef::Text(b"12")), None);
    assert_eq!(number(ValueRef::Real(f64::NAN)), None);
    assert_eq!(text(ValueRef::Integer(41)).as_deref(), Some("41"));
    assert_eq!(text(ValueRef::Text(b"")), None);
}
