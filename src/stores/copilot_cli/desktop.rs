//! The desktop app's `data.db`: lifetime totals of a session, for sessions that nothing better covers.

use rusqlite::types::ValueRef;

use super::figures::{Counts, Details};
use super::root;
use crate::stores::otel::is_model;
use crate::stores::sqlite::{self, Database};
use crate::stores::{Cursor, Discovery, Home, Reader, Sink, Source, StoreError, StoreKind};
use crate::usage::{
    Credits, Fact, Key, Observation, SessionFact, Surface, Timestamp, Tokens, TotalFact,
};

/// The reader of the store `desktop`.
#[derive(Debug)]
pub(in crate::stores) struct Desktop;

impl Reader for Desktop {
    fn kind(&self) -> StoreKind {
        StoreKind::Desktop
    }

    fn discover(&self, home: &Home) -> Discovery {
        let path = root(home).join("data.db");
        let mut discovery = Discovery::default();
        if path.symlink_metadata().is_ok() {
            discovery.sources.push(sqlite::source(&path));
        }
        discovery.looked_at.push(path);
        discovery
    }

    /// Reads all sessions: they are few, and each reading that differs is a statement of its own.
    fn read(
        &self,
        home: &Home,
        source: &Source,
        cursor: &Cursor,
        sink: &mut dyn Sink,
    ) -> Result<Cursor, StoreError> {
        let database = Database::open(&root(home), &source.path)?;
        let columns = database.columns("sessions")?;
        if !columns.contains("id") || !columns.contains("total_input_tokens") {
            return Ok(cursor.clone());
        }
        let select = sqlite::select(
            &columns,
            &[
                "id",
                "session_type",
                "model",
                "created_at",
                "updated_at",
                "total_input_tokens",
                "total_output_tokens",
                "total_cached_tokens",
                "total_reasoning_tokens",
                "total_nano_aiu",
            ],
        );
        let mut read = || -> rusqlite::Result<()> {
            let mut statement = database.prepare(&format!("SELECT {select} FROM sessions"))?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                read_row(row, sink)?;
            }
            Ok(())
        };
        read().map_err(|error| database.error(error))?;
        Ok(cursor.clone())
    }
}

fn read_row(row: &rusqlite::Row<'_>, sink: &mut dyn Sink) -> rusqlite::Result<()> {
    let text = |at: usize| row.get_ref(at).map(sqlite::text);
    let count = |at: usize| row.get_ref(at).map(sqlite::count);
    if sqlite::has_too_long(row) {
        sink.parse_error("value_too_long");
    }
    let Some(session) = text(0)? else {
        sink.skipped("no_session");
        return Ok(());
    };
    // Sessions of other clients, which keep stores of their own.
    if matches!(text(1)?.as_deref(), Some("copilot-cli" | "vscode")) {
        return Ok(());
    }
    let counts = Counts {
        input: count(5)?,
        cache_read: count(7)?,
        cache_write: None,
        output: count(6)?,
        reasoning: count(8)?,
    };
    let (tokens, oddity) = counts.tokens(&Details::default());
    if let Some(oddity) = oddity {
        sink.parse_error(oddity.reason());
    }
    // A 0 beside tokens is a charge that the app doesn't know.
    let credits = count(9)?.filter(|&nano| nano > 0).map(Credits);
    let mut observe = |id, fact| {
        sink.observe(Observation {
            scope: session.clone().into_owned(),
            id,
            surface: Surface::Desktop,
            fact,
        });
    };
    let about = SessionFact {
        started: time(row.get_ref(3)?),
        surface: Some(Surface::Desktop),
        ..SessionFact::default()
    };
    let id = Key::of("desktop session", &[&session]);
    observe(id, Fact::Session(about));
    if tokens == Tokens::default() || counts.is_zero() {
        return Ok(());
    }
    let id = Key::of(
        "desktop total",
        &[&session, &format!("{counts:?} {credits:?}")],
    );
    let total = TotalFact {
        time: time(row.get_ref(4)?),
        model: text(2)?
            .filter(|model| is_model(model))
            .map(|model| model.into_owned()),
        tokens,
        credits,
    };
    observe(id, Fact::Total(total));
    Ok(())
}

fn time(value: ValueRef<'_>) -> Option<Timestamp> {
    match value {
        ValueRef::Text(text) => Timestamp::parse_iso(&String::from_utf8_lossy(text)),
        value => sqlite::number(value).and_then(Timestamp::from_magnitude),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stores::testing::{Kept, classes};

    fn read(inserts: &str) -> Kept {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join(".copilot");
        std::fs::create_dir(&folder).unwrap();
        let writer = rusqlite::Connection::open(folder.join("data.db")).unwrap();
        writer
            .execute_batch(
                "CREATE TABLE sessions(id TEXT, session_type TEXT, model TEXT, updated_at TEXT,
                 total_input_tokens INTEGER, total_cached_tokens INTEGER, total_output_tokens INTEGER,
                 total_nano_aiu INTEGER, forked_from_session_id TEXT)",
            )
            .unwrap();
        writer.execute_batch(inserts).unwrap();
        drop(writer);
        let home = Home {
            dir: dir.path().to_owned(),
            ..Home::default()
        };
        let mut kept = Kept::default();
        for source in Desktop.discover(&home).sources {
            let cursor = Cursor::default();
            Desktop.read(&home, &source, &cursor, &mut kept).unwrap();
        }
        kept
    }

    fn totals(kept: &Kept) -> Vec<(&str, &TotalFact)> {
        let totals = kept
            .observations
            .iter()
            .map(|o| (o.scope.as_str(), &o.fact));
        totals
            .filter_map(|(scope, fact)| match fact {
                Fact::Total(total) => Some((scope, total)),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn edge_095_a_session_is_dated_by_its_update() {
        let kept = read(
            "INSERT INTO sessions VALUES('app-1','copilot-app','gpt-5.4','2026-07-12T08:00:00Z',
             5000,3500,210,0,NULL)",
        );
        let [(scope, total)] = totals(&kept)[..] else {
            panic!("{kept:?}")
        };
        assert_eq!(scope, "app-1");
        assert_eq!(
            classes(&total.tokens),
            [Some(1_500), Some(3_500), None, Some(210)]
        );
        assert_eq!(total.credits, None, "0 beside tokens is unknown");
        assert_eq!(total.time, Timestamp::parse_iso("2026-07-12T08:00:00Z"));
    }

    #[test]
    fn edge_094_sessions_of_other_clients_are_left_to_their_stores() {
        let kept = read(
            "INSERT INTO sessions VALUES('a','copilot-cli','m','2026-07-12',10,0,1,0,NULL);
             INSERT INTO sessions VALUES('b','vscode','m','2026-07-12',10,0,1,0,NULL);
             INSERT INTO sessions VALUES('c','copilot-app','m','2026-07-12',0,0,0,0,NULL);
             INSERT INTO sessions VALUES(NULL,'copilot-app','m','2026-07-12',5,0,0,0,NULL);",
        );
        assert!(totals(&kept).is_empty());
        assert_eq!(kept.skipped, ["no_session"]);
    }

    #[test]
    fn a_grown_total_is_a_statement_of_its_own() {
        let row =
            |n| format!("INSERT INTO sessions VALUES('a','x','m','2026-07-12',{n},0,1,0,NULL);");
        let [one, two] = [1_000, 1_600].map(|n| read(&row(n)));
        let id = |kept: &Kept| kept.observations.last().unwrap().id;
        assert_ne!(id(&one), id(&two));
        assert_eq!(id(&one), id(&read(&row(1_000))));
    }

    #[test]
    fn a_text_too_long_to_be_read_costs_itself_only() {
        let long = "CAST(zeroblob(20 << 20) AS TEXT)";
        let kept = read(&format!(
            "ALTER TABLE sessions ADD COLUMN notes TEXT;
             INSERT INTO sessions VALUES('a','x','m','2026-07-12',1,0,1,0,NULL,{long});
             INSERT INTO sessions VALUES('b','x',{long},'2026-07-12',2,0,1,0,NULL,NULL);
             INSERT INTO sessions VALUES({long},'x','m','2026-07-12',3,0,1,0,NULL,NULL);
             INSERT INTO sessions VALUES('d','x','m','2026-07-12',4,0,1,0,NULL,NULL);"
        ));
        let told = totals(&kept);
        let told: Vec<_> = told
            .iter()
            .map(|(scope, total)| (*scope, total.model.as_deref()))
            .collect();
        assert_eq!(told, [("a", Some("m")), ("b", None), ("d", Some("m"))]);
        assert_eq!(kept.parse_errors, ["value_too_long"; 2]);
    }
}
