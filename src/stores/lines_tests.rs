use std::fs;
use std::io::Write as _;

use proptest::prelude::*;

use super::*;
use crate::usage::Observation;

#[derive(Default)]
struct Counts {
    skipped: u64,
    broken: u64,
    bytes: u64,
}

impl Sink for Counts {
    fn observe(&mut self, _: Observation) {}
    fn checkpoint(&mut self, _: Cursor) {}
    fn parse_error(&mut self, _: &'static str) {
        self.broken += 1;
    }
    fn skipped(&mut self, _: &'static str) {
        self.skipped += 1;
    }
    fn bytes_read(&mut self, bytes: u64) {
        self.bytes += bytes;
    }
}

/// Reads what is new; the state is the number of lines seen since the file's beginning.
fn pass(path: &Path, cursor: &mut Cursor, limit: usize) -> (Vec<String>, Counts) {
    let root = path.parent().unwrap();
    let (lines, mut seen) = Lines::open::<u64>(root, path, cursor, 1).unwrap();
    let mut lines = lines.with_longest_line(limit, |beginning| beginning.starts_with(b"{"));
    let (mut found, mut counts) = (Vec::new(), Counts::default());
    while let Some(line) = lines.next(&mut counts).unwrap() {
        found.push(String::from_utf8_lossy(line.bytes).into_owned());
        seen += 1;
    }
    *cursor = lines.cursor(&seen);
    (found, counts)
}

fn append(path: &Path, text: &str) {
    let mut file = fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

#[test]
fn an_append_costs_what_was_appended() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f");
    append(&path, &"0123456789\n".repeat(50_000));
    let mut cursor = Cursor::default();
    assert_eq!(pass(&path, &mut cursor, LONGEST_LINE).0.len(), 50_000);
    append(&path, "more\n");
    let (found, counts) = pass(&path, &mut cursor, LONGEST_LINE);
    assert_eq!(found, ["more"]);
    assert_eq!(counts.bytes, 5);
}

#[test]
fn edge_015_a_half_written_line_waits() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f");
    let mut cursor = Cursor::default();
    append(&path, "one\ntw");
    assert_eq!(pass(&path, &mut cursor, LONGEST_LINE).0, ["one"]);
    assert_eq!(pass(&path, &mut cursor, LONGEST_LINE).0, [""; 0]);
    append(&path, "o\r\n");
    assert_eq!(pass(&path, &mut cursor, LONGEST_LINE).0, ["two"]);
}

#[test]
fn edge_216_a_shorter_replaced_or_rewritten_file_is_read_anew() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f");
    let mut cursor = Cursor::default();
    fs::write(&path, "aaaa\nbbbb\n").unwrap();
    pass(&path, &mut cursor, LONGEST_LINE);
    for (contents, want) in [
        ("aaaa\n", vec!["aaaa"]),
        ("aaaa\nbbbb\ncccc\n", vec!["bbbb", "cccc"]),
        ("aaaa\nXXXX\ncccc\n", vec!["aaaa", "XXXX", "cccc"]),
        ("Yaaa\nXXXX\ncccc\n", vec!["Yaaa", "XXXX", "cccc"]),
    ] {
        fs::write(&path, contents).unwrap();
        assert_eq!(pass(&path, &mut cursor, LONGEST_LINE).0, want);
    }
    // Another file of the same contents, put in its place while the old one still exists.
    let other = dir.path().join("g");
    fs::write(&other, "Yaaa\nXXXX\ncccc\ndddd\n").unwrap();
    fs::rename(&other, &path).unwrap();
    assert_eq!(pass(&path, &mut cursor, LONGEST_LINE).0.len(), 4);
}

#[test]
fn a_cursor_of_another_version_is_ignored() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f");
    append(&path, "one\n");
    let mut cursor = Cursor::default();
    pass(&path, &mut cursor, LONGEST_LINE);
    let (lines, seen) = Lines::open::<u64>(dir.path(), &path, &cursor, 2).unwrap();
    assert_eq!(lines.began(), 0);
    assert_eq!(seen, 0);
    drop(lines);
    let (lines, seen) = Lines::open::<u64>(dir.path(), &path, &cursor, 1).unwrap();
    assert_eq!(lines.began(), 4);
    assert_eq!(seen, 1);
}

#[test]
fn edge_129_a_line_above_the_limit_is_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f");
    let limit = 300_000;
    append(&path, "before\n");
    append(&path, &"x".repeat(2_000_000));
    let mut cursor = Cursor::default();
    let (found, counts) = pass(&path, &mut cursor, limit);
    assert_eq!((found, counts.skipped), (vec!["before".to_owned()], 0));
    append(&path, "\nafter\n");
    let (found, counts) = pass(&path, &mut cursor, limit);
    assert_eq!((found, counts.skipped), (vec!["after".to_owned()], 0));
    assert_eq!(counts.broken, 1, "a call may be lost");
    append(&path, &format!("{{{}\n", "x".repeat(2_000_000)));
    let (found, counts) = pass(&path, &mut cursor, limit);
    assert_eq!((found, counts.skipped, counts.broken), (vec![], 1, 0));
    assert_eq!(pass(&path, &mut cursor, limit).0, [""; 0]);
}

#[test]
fn the_buffer_shrinks_after_a_long_line() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f");
    append(&path, &("y".repeat(3_000_000) + "\n"));
    append(&path, &"0123456789\n".repeat(700_000));
    let cursor = Cursor::default();
    let (mut lines, _) = Lines::open::<u64>(dir.path(), &path, &cursor, 1).unwrap();
    let mut sink = Counts::default();
    assert_eq!(
        lines.next(&mut sink).unwrap().unwrap().bytes.len(),
        3_000_000
    );
    while lines.next(&mut sink).unwrap().is_some() {}
    assert_eq!(lines.buffer.len(), BUFFER);
}

#[test]
fn edge_229_empty_blank_and_bom_files() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f");
    for (contents, want) in [
        ("", vec![]),
        ("\u{feff}", vec![]),
        ("\u{feff}\n", vec![""]),
        ("\u{feff}a\n\u{feff}b\n", vec!["a", "\u{feff}b"]),
        ("\n\n", vec!["", ""]),
    ] {
        fs::write(&path, contents).unwrap();
        assert_eq!(pass(&path, &mut Cursor::default(), LONGEST_LINE).0, want);
    }
}

#[test]
fn edge_207_what_cannot_be_opened_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let error = Lines::open::<u64>(dir.path(), dir.path(), &Cursor::default(), 1).err();
    assert!(error.unwrap().to_string().contains("not a regular file"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// However the writes are cut, the passes together give the file's lines, each once.
    #[test]
    fn any_cut_gives_the_same_lines(
        lines in prop::collection::vec("[a-z]{0,12}", 0..30),
        cuts in prop::collection::vec(0usize..400, 0..8),
    ) {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        let (mut cursor, mut found, mut written) = (Cursor::default(), Vec::new(), 0);
        let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
        cuts.push(text.len());
        cuts.sort_unstable();
        for cut in cuts {
            append(&path, &text[written..cut]);
            written = cut;
            found.extend(pass(&path, &mut cursor, LONGEST_LINE).0);
        }
        prop_assert_eq!(found, lines);
    }
}
