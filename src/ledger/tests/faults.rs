//! Whatever happens to the process and its disk, totals come out right and nothing shown ever falls.

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

#[test]
fn edge_218_a_commit_is_whole_or_nothing_wherever_it_is_cut_off() {
    let more = || (10..30).map(|n| call(&format!("s{}", n % 4), &n.to_string()));
    let mut operations = 1;
    let mut cut_off = 0;
    loop {
        let mut book = Book::on_disk();
        book.pass((0..10).map(|n| call("s0", &n.to_string())));
        book.say("b", more());
        book.ledger.state.interrupt_after(operations);
        let is_whole = book.ledger.commit().is_ok();
        book = book.restart();
        let committed = book.publish();
        let expected = if is_whole { 30 } else { 10 };
        assert_eq!(calls(&committed), expected, "after {operations} operations");
        book.say("b", more());
        assert_eq!(calls(&book.publish()), 30, "after {operations} operations");
        if is_whole {
            break;
        }
        cut_off += 1;
        operations += 3;
    }
    assert!(cut_off > 10, "{cut_off}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn damage_anywhere_in_the_file_is_survived(
        places in vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
        cut in proptest::option::of(any::<prop::sample::Index>()),
    ) {
        let all = || (0..40).map(|n| call(&format!("s{}", n % 4), &n.to_string()));
        let mut book = Book::on_disk();
        book.pass(all());
        let file = book.state_dir().join("ledger.db");
        let book = book.stop();
        let mut bytes = std::fs::read(&file).unwrap();
        for (place, byte) in places {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        std::fs::write(&file, bytes).unwrap();
        // A bit that says it is of a newer version is believed.
        let Ok(mut book) = book.start() else {
            return Ok(());
        };
        for _ in 0..3 {
            book.pass(all());
        }
        // Damage that only a new statement comes upon is found then; the next pass begins anew.
        book.say("a", [call("more", "1")]);
        if book.ledger.commit().is_err() {
            book.publish();
            book.say("a", [call("more", "2")]);
            let committed = book.ledger.commit();
            prop_assert!(committed.is_ok(), "{committed:?}");
        }
        prop_assert!(!book.publish().series.is_empty());
    }
}

/// What may happen.
#[derive(Debug, Clone)]
enum Event {
    /// A session (of 3) tells of one of its calls (of 4), with some output.
    Call {
        session: u8,
        id: u8,
        output: u64,
    },
    /// A span that names no session, and no figures, tells of a call.
    LoneSpan {
        session: u8,
        id: u8,
    },
    /// A session turns out to be of another project (of 3).
    Project {
        session: u8,
        project: u8,
    },
    Commit,
    Publish {
        seen: bool,
    },
    /// The process dies and is started again.
    Crash,
    Disk {
        full: bool,
    },
    Clock {
        seconds: i64,
    },
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        6 => (0u8..3, 0u8..4, 0u64..100)
            .prop_map(|(session, id, output)| Event::Call { session, id, output }),
        2 => (0u8..3, 0u8..4).prop_map(|(session, id)| Event::LoneSpan { session, id }),
        2 => (0u8..3, 0u8..3).prop_map(|(session, project)| Event::Project { session, project }),
        1 => Just(Event::Commit),
        4 => any::<bool>().prop_map(|seen| Event::Publish { seen }),
        2 => Just(Event::Crash),
        1 => any::<bool>().prop_map(|full| Event::Disk { full }),
        1 => (-200i64..400).prop_map(|seconds| Event::Clock { seconds }),
    ]
}

/// What the stores say at last, by what it is about.
#[derive(Debug, Default)]
struct Stores {
    outputs: BTreeMap<(u8, u8), u64>,
    spans: BTreeSet<(u8, u8)>,
    projects: BTreeMap<u8, u8>,
}

impl Stores {
    fn statements(&self) -> Vec<Observation> {
        let calls = self.outputs.iter().map(|(&of, &output)| stated(of, output));
        let spans = self.spans.iter().map(|&of| span(of));
        let projects = self.projects.iter().map(|(&of, &name)| named(of, name));
        calls.chain(spans).chain(projects).collect()
    }

    fn calls(&self) -> usize {
        let told = self.outputs.keys().chain(&self.spans);
        told.collect::<BTreeSet<_>>().len()
    }
}

fn id_of((session, id): (u8, u8)) -> String {
    format!("{session}-{id}")
}

fn stated(of: (u8, u8), count: u64) -> Observation {
    call_with(&format!("s{}", of.0), &id_of(of), |call| {
        output(call, count)
    })
}

fn span(of: (u8, u8)) -> Observation {
    let mut span = lone_span(&id_of(of));
    if let Fact::Call(call) = &mut span.fact {
        call.tokens = Tokens::default();
    }
    span
}

fn named(session: u8, name: u8) -> Observation {
    project(&format!("s{session}"), &format!("project {name}"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn edge_218_totals_survive_anything(events in vec(event(), 1..40)) {
        let mut book = Book::on_disk();
        let mut stores = Stores::default();
        let mut shown: BTreeMap<(String, Measure), u128> = BTreeMap::new();
        // What a full disk kept from being stored is shown all the same, and forgotten in a crash.
        let mut disk_was_full = false;
        let mut publish = |book: &mut Book, forgiving: bool| -> Result<Arc<Snapshot>, TestCaseError> {
            let snapshot = book.publish();
            let now: BTreeMap<_, _> = published(&snapshot)
                .into_iter()
                .map(|(labels, measure, amount)| ((labels, measure), amount))
                .collect();
            if !forgiving {
                for (sample, before) in &shown {
                    prop_assert!(now.get(sample) >= Some(before), "{:?}: {} fell", sample, before);
                }
            }
            shown = now;
            Ok(snapshot)
        };
        for event in events {
            match event {
                Event::Call { session, id, output } => {
                    stores.outputs.insert((session, id), output);
                    book.say("a", [stated((session, id), output)]);
                }
                Event::LoneSpan { session, id } => {
                    stores.spans.insert((session, id));
                    book.say_by(StoreKind::CliOtel, "otel", [span((session, id))]);
                }
                Event::Project { session, project } => {
                    stores.projects.insert(session, project);
                    book.say("a", [named(session, project)]);
                }
                Event::Commit => {
                    let committed = book.ledger.commit();
                    prop_assert!(committed.is_ok() || disk_was_full);
                }
                Event::Publish { seen } => {
                    let snapshot = publish(&mut book, disk_was_full)?;
                    if seen {
                        snapshot.mark_seen();
                    }
                }
                Event::Crash => book = book.restart(),
                Event::Disk { full } => {
                    disk_was_full |= full;
                    book.ledger.state.limit_pages(full);
                }
                Event::Clock { seconds } => book.later(seconds * SECOND),
            }
        }
        // The stores are read to their end at last.
        book.ledger.state.limit_pages(false);
        for statement in stores.statements() {
            let kind = if statement.is_lone() { StoreKind::CliOtel } else { StoreKind::CliEvents };
            book.say_by(kind, if statement.is_lone() { "otel" } else { "a" }, [statement]);
        }
        publish(&mut book, disk_was_full)?.mark_seen();
        let last = publish(&mut book, false)?;
        let outputs: u128 = stores.outputs.values().map(|&output| u128::from(output)).sum();
        prop_assert_eq!(calls(&last), stores.calls() as u128);
        prop_assert_eq!(truth(&book.ledger, OUTPUT), outputs);
        prop_assert!(sum(&last, OUTPUT) >= outputs);
        // Whatever was published on the way: a report says the same as one that reads all anew.
        let mut fresh = Book::in_memory();
        for statement in stores.statements() {
            fresh.say_by(StoreKind::CliEvents, "a", [statement]);
        }
        fresh.publish();
        prop_assert_eq!(told(&book), told(&fresh));
    }
}
