//! A ledger that another exporter keeps.

use super::*;

fn view(book: &Book) -> Ledger {
    Ledger::view(&book.state_dir(), settings(&book.config), book.now).unwrap()
}

fn calls(ledger: &Ledger) -> u64 {
    let mut calls = 0;
    let count = |amount: crate::ledger::Amount<'_>| {
        if amount.measure == Measure::Calls(Initiator::User) {
            calls += amount.amount;
        }
    };
    ledger.amounts(count).unwrap();
    calls
}

#[test]
fn what_is_seen_is_of_one_moment_and_more_can_be_counted_on_top() {
    let mut book = Book::on_disk();
    book.pass([call("s", "1"), call("t", "2")]);
    let mut view = view(&book);
    assert_eq!(
        view.stamp(crate::ledger::SourceId::of(
            StoreKind::CliEvents,
            Path::new("a")
        )),
        b"stamp"
    );
    // The keeper goes on, unseen.
    book.pass([call("s", "3")]);
    assert_eq!(calls(&view), 2);
    let mut intake = view.intake(StoreKind::CliEvents, Path::new("b"), None);
    intake.observe(call("s", "1"));
    intake.observe(call("s", "4"));
    intake.finish(Cursor::default(), b"other".to_vec());
    let seen = view.finish_pass(book.now, ScanStatus::default(), BTreeMap::new());
    assert_eq!(seen.epoch, book.ledger.epoch());
    assert_eq!(calls(&view), 3);
    drop(view);
    assert_eq!(calls(&book.ledger), 3);
    book = book.restart();
    assert_eq!(calls(&book.ledger), 3);
    let source = crate::ledger::SourceId::of(StoreKind::CliEvents, Path::new("b"));
    assert!(book.ledger.stamp(source).is_empty());
}

#[test]
fn a_folder_without_a_ledger_is_an_error_and_stays_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let error = Ledger::view(dir.path(), settings(&config()), start()).unwrap_err();
    assert!(matches!(error, LedgerError::Unreadable { .. }), "{error}");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_damaged_ledger_is_left_to_its_keeper() {
    let book = Book::on_disk();
    let file = book.state_dir().join("ledger.db");
    drop(book.ledger);
    std::fs::write(&file, b"not a database, by no means").unwrap();
    let error = Ledger::view(file.parent().unwrap(), settings(&config()), start()).unwrap_err();
    assert!(matches!(error, LedgerError::Unreadable { .. }), "{error}");
    assert_eq!(
        std::fs::read(&file).unwrap(),
        b"not a database, by no means"
    );
}
