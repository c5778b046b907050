//! The numbers in the names are those of the collected edge cases.

use std::fs;
use std::path::PathBuf;

use rusqlite::Connection;

use super::*;
use crate::stores::testing::{Kept, classes};
use crate::usage::ProjectRank;

/// Schema version 8.
const SCHEMA: &str = "CREATE TABLE sessions(id TEXT PRIMARY KEY, cwd TEXT, repository TEXT, host_type TEXT,
        branch TEXT, summary TEXT, created_at TEXT, updated_at TEXT);
    CREATE TABLE assistant_usage_events(id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT,
        turn_index INTEGER, agent_id TEXT, parent_tool_call_id TEXT, model TEXT, copilot_usage_model TEXT,
        input_tokens INTEGER, output_tokens INTEGER, cache_read_tokens INTEGER, cache_write_tokens INTEGER,
        reasoning_tokens INTEGER, total_nano_aiu INTEGER, request_multiplier REAL, duration_ms INTEGER,
        time_to_first_token_ms INTEGER, initiator TEXT, finish_reason TEXT, token_details_json TEXT,
        created_at TEXT);";

struct Store {
    dir: tempfile::TempDir,
    writer: Option<Connection>,
    cursor: Cursor,
}

impl Store {
    fn empty() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join(".copilot")).unwrap();
        Self {
            dir,
            writer: None,
            cursor: Cursor::default(),
        }
    }

    fn new(schema: &str) -> Self {
        let mut store = Self::empty();
        store.create(schema);
        store
    }

    fn create(&mut self, schema: &str) {
        let writer = Connection::open(self.path()).unwrap();
        writer
            .execute_batch("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;")
            .unwrap();
        writer.execute_batch(schema).unwrap();
        self.writer = Some(writer);
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join(".copilot/session-store.db")
    }

    fn sql(&self, sql: &str) {
        let writer = self.writer.as_ref().unwrap();
        writer.execute_batch(sql).unwrap();
    }

    /// Inserts a row: gross input, cache read, cache write, output.
    fn row(&self, at: &str, [input, read, write, output]: [u64; 4], more: &[(&str, &str)]) {
        let names: String = more.iter().map(|(name, _)| format!(", {name}")).collect();
        let values: String = more.iter().map(|(_, value)| format!(", {value}")).collect();
        self.sql(&format!(
            "INSERT INTO assistant_usage_events(session_id, model, created_at, input_tokens,
                cache_read_tokens, cache_write_tokens, output_tokens{names})
             VALUES('s1', 'gpt-5.4', '{at}', {input}, {read}, {write}, {output}{values})"
        ));
    }

    fn try_pass(&mut self) -> (Kept, Option<StoreError>) {
        let home = Home {
            dir: self.dir.path().to_owned(),
            ..Home::default()
        };
        let mut kept = Kept::default();
        for source in SessionStore.discover(&home).sources {
            match SessionStore.read(&home, &source, &self.cursor, &mut kept) {
                Ok(cursor) => self.cursor = cursor,
                Err(error) => return (kept, Some(error)),
            }
        }
        (kept, None)
    }

    fn pass(&mut self) -> Kept {
        let (kept, error) = self.try_pass();
        assert!(error.is_none(), "{error:?}");
        kept
    }
}

fn tokens(kept: &Kept) -> Vec<[u64; 4]> {
    let calls = kept.calls().into_iter();
    calls
        .map(|call| classes(&call.tokens).map(|n| n.unwrap_or(u64::MAX)))
        .collect()
}

const NOON: &str = "2026-08-10T12:00:00.000Z";

#[test]
fn edge_045_and_046_rows_are_calls_with_gross_input() {
    let mut store = Store::new(SCHEMA);
    store.row(NOON, [24_680, 0, 24_678, 81], &[]);
    store.row("2026-08-10T12:00:01.000Z", [24_793, 24_678, 113, 19], &[]);
    store.row(
        "2026-08-10T12:00:02.000Z",
        [43_792, 42_698, 904, 50],
        &[("reasoning_tokens", "40")],
    );
    let kept = store.pass();
    assert_eq!(
        tokens(&kept),
        [
            [2, 0, 24_678, 81],
            [2, 24_678, 113, 19],
            [190, 42_698, 904, 50]
        ]
    );
    let call = kept.calls()[2];
    assert_eq!(call.tokens.reasoning(), Some(40));
    assert_eq!(call.evidence, Evidence::StoreRow);
    assert_eq!(kept.observations[0].scope, "s1");
}

#[test]
fn edge_047_charge_and_multiplier() {
    let mut store = Store::new(SCHEMA);
    let billed = |initiator| {
        [
            ("total_nano_aiu", "24594000000"),
            ("request_multiplier", "15"),
            ("initiator", initiator),
        ]
    };
    store.row(NOON, [10, 0, 0, 1], &billed("'user'"));
    store.row(NOON, [11, 0, 0, 1], &billed("'agent'"));
    let kept = store.pass();
    let call = kept.calls()[0];
    assert_eq!(call.credits, Some(Credits(24_594_000_000)));
    assert_eq!(call.premium, PremiumRequests::from_multiplier(15.0));
    let initiators: Vec<_> = kept.calls().iter().map(|call| call.initiator).collect();
    assert_eq!(initiators, [Initiator::User, Initiator::Agent]);
}

#[test]
fn edge_048_a_schema_without_the_newer_columns() {
    let mut store = Store::new(
        "CREATE TABLE assistant_usage_events(id INTEGER PRIMARY KEY, session_id TEXT, input_tokens INTEGER,
         output_tokens INTEGER, cache_read_tokens INTEGER, model TEXT, later_column BLOB);
         INSERT INTO assistant_usage_events VALUES(1, 's1', 100, 9, 60, 'm', NULL);",
    );
    let kept = store.pass();
    assert_eq!(
        classes(&kept.calls()[0].tokens),
        [Some(40), Some(60), None, Some(9)]
    );
    assert_eq!(kept.calls()[0].time, None);
}

#[test]
fn edge_049_only_output_is_a_call_and_all_zero_is_none() {
    let mut store = Store::new(SCHEMA);
    store.row(NOON, [0, 0, 0, 7], &[]);
    store.row(NOON, [0, 0, 0, 0], &[("reasoning_tokens", "0")]);
    store.sql("INSERT INTO assistant_usage_events(session_id, model) VALUES('s1', 'm')");
    let kept = store.pass();
    assert_eq!(kept.calls().len(), 2);
    assert_eq!(
        classes(&kept.calls()[1].tokens),
        [None; 4],
        "NULL is unknown"
    );
    assert_eq!(kept.skipped, ["no_tokens"]);
}

#[test]
fn edge_050_times_of_all_spellings() {
    let mut store = Store::new(SCHEMA);
    store.sql("INSERT INTO sessions(id, created_at) VALUES('s1', '2026-08-01T00:00:00.000Z')");
    let spellings = [
        "garbage",
        "2026-08-07 17:56:38",
        "2026-08-07 23:59:59.756",
        "2026-08-07T19:56:38+02:00",
        "2026-01-03",
        "",
    ];
    for (n, at) in spellings.iter().enumerate() {
        store.row(at, [n as u64 + 1, 0, 0, 1], &[]);
    }
    let kept = store.pass();
    let times: Vec<_> = kept.calls().iter().map(|call| call.time.unwrap()).collect();
    let want = [
        "2026-08-01T00:00:00Z",
        "2026-08-07T17:56:38Z",
        "2026-08-07T23:59:59.756Z",
        "2026-08-07T17:56:38Z",
        "2026-01-03T00:00:00Z",
        "2026-01-03T00:00:00Z",
    ]
    .map(|text| Timestamp::parse_iso(text).unwrap());
    assert_eq!(times, want);
}

#[test]
fn edge_051_and_052_no_model_and_no_session() {
    let mut store = Store::new(SCHEMA);
    store.sql(
        "INSERT INTO assistant_usage_events(session_id, model, input_tokens) VALUES('s1', '', 5);
         INSERT INTO assistant_usage_events(session_id, model, input_tokens) VALUES(NULL, 'm', 5);
         INSERT INTO assistant_usage_events(session_id, model, input_tokens) VALUES('s1', 'auto', 6);",
    );
    let kept = store.pass();
    let models: Vec<_> = kept.calls().iter().map(|call| &call.model).collect();
    assert_eq!(models, [&None, &None]);
    assert_eq!(kept.skipped, ["no_session"]);
}

#[test]
fn edge_053_no_database_at_all_is_an_error_that_passes() {
    let mut store = Store::empty();
    fs::write(
        store.path(),
        "not a database, whatever its name says ".repeat(50),
    )
    .unwrap();
    let (kept, error) = store.try_pass();
    assert!(kept.observations.is_empty());
    assert!(matches!(error.unwrap().reason, Reason::Corrupt(_)));
    fs::remove_file(store.path()).unwrap();
    store.create(SCHEMA);
    store.row(NOON, [10, 0, 0, 1], &[]);
    assert_eq!(store.pass().calls().len(), 1);
}

#[test]
fn edge_054_a_store_of_an_older_client_holds_no_calls() {
    let mut store = Store::new("CREATE TABLE sessions(id TEXT)");
    let (kept, error) = store.try_pass();
    assert!(kept.observations.is_empty() && error.is_none());
    // Once the client is newer, its rows are read.
    store.sql(SCHEMA.split_once(';').unwrap().1);
    store.row(NOON, [10, 0, 0, 1], &[]);
    assert_eq!(store.pass().calls().len(), 1);
}

#[test]
fn a_session_that_is_named_later_is_stated_again() {
    let named = |kept: &Kept| -> Vec<String> {
        let project = |told: &Observation| match &told.fact {
            Fact::Session(about) => about.project.as_ref().map(|hint| hint.project.to_string()),
            _ => None,
        };
        kept.observations.iter().filter_map(project).collect()
    };
    let mut store = Store::new(SCHEMA);
    store.row(NOON, [10, 0, 0, 1], &[]);
    assert!(named(&store.pass()).is_empty());
    store.sql("INSERT INTO sessions(id, cwd, updated_at) VALUES('s1', '/srv/shop', '2026-08-07T12:00:00Z')");
    assert_eq!(named(&store.pass()), ["shop"]);
    store.sql("UPDATE sessions SET repository = 'acme/web', updated_at = '2026-08-07T12:01:00Z'");
    assert_eq!(named(&store.pass()), ["web"]);
    // Nothing is said of sessions without calls.
    store.sql("INSERT INTO sessions(id, cwd, updated_at) VALUES('other', '/srv/x', '2026-08-07T12:02:00Z')");
    assert!(named(&store.pass()).iter().all(|name| name == "web"));
}

#[test]
fn edge_055_a_column_that_went_away_is_an_error() {
    let mut store = Store::new(SCHEMA);
    store.row(NOON, [10, 0, 0, 1], &[]);
    store.pass();
    store.sql("ALTER TABLE assistant_usage_events DROP COLUMN input_tokens");
    let (_, error) = store.try_pass();
    let text = error.unwrap().to_string();
    assert!(text.contains("input_tokens"), "{text}");
}

#[test]
fn edge_056_and_057_rows_in_the_wal_are_seen_at_the_next_pass() {
    let mut store = Store::new(SCHEMA);
    assert_eq!(fs::metadata(store.path()).unwrap().len(), 4_096);
    store.row(NOON, [10, 0, 0, 1], &[]);
    assert_eq!(store.pass().calls().len(), 1);
    store.row("2026-08-10T12:00:01.000Z", [20, 0, 0, 2], &[]);
    assert_eq!(tokens(&store.pass()), [[20, 0, 0, 2]]);
    assert_eq!(
        fs::metadata(store.path()).unwrap().len(),
        4_096,
        "no checkpoint"
    );
    assert!(store.pass().observations.is_empty());
}

#[test]
fn edge_058_and_059_the_project_of_a_session() {
    let mut store = Store::new(SCHEMA);
    store.sql(
        "INSERT INTO sessions(id, cwd, repository, created_at)
         VALUES('s1', '/srv/shop-copy', 'acme/shop', '2026-08-10T11:00:00.000Z')",
    );
    store.row(NOON, [10, 0, 0, 1], &[]);
    let kept = store.pass();
    let Fact::Session(about) = &kept.observations[0].fact else {
        panic!("{kept:?}")
    };
    let project = about.project.as_ref().unwrap();
    assert_eq!(
        (project.rank, project.project.as_str()),
        (ProjectRank::Repository, "shop")
    );
    let mut unknown = Store::new(SCHEMA);
    unknown.row(NOON, [10, 0, 0, 1], &[]);
    assert_eq!(
        unknown.pass().observations.len(),
        1,
        "nothing is known of the session"
    );
}

#[test]
fn edge_060_and_065_near_equal_rows_are_two_calls() {
    let mut store = Store::new(SCHEMA);
    store.row(NOON, [10, 0, 0, 1], &[("turn_index", "1")]);
    store.row(
        NOON,
        [10, 0, 0, 1],
        &[("turn_index", "1"), ("agent_id", "'a'")],
    );
    store.row(
        "2026-08-10T12:00:01.500Z",
        [10, 0, 0, 1],
        &[("turn_index", "1")],
    );
    let kept = store.pass();
    let mut ids: Vec<_> = kept.observations.iter().map(|o| o.id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 3);
    assert_eq!(kept.calls()[1].initiator, Initiator::Subagent);
}

#[test]
fn edge_061_a_recreated_database() {
    let mut store = Store::new(SCHEMA);
    store.row(NOON, [10, 0, 0, 1], &[]);
    let first = store.pass().observations[0].id;
    let recreate = |store: &mut Store| {
        store.writer = None;
        fs::remove_file(store.path()).unwrap();
        store.create(SCHEMA);
    };
    recreate(&mut store);
    store.row("2026-08-11T12:00:00.000Z", [30, 0, 0, 3], &[]);
    let other = store.pass();
    assert_eq!(tokens(&other), [[30, 0, 0, 3]]);
    assert_ne!(other.observations[0].id, first);
    recreate(&mut store);
    store.row(NOON, [10, 0, 0, 1], &[]);
    assert_eq!(
        store.pass().observations[0].id,
        first,
        "the same row is the same call"
    );
}

#[test]
fn rows_that_were_made_anew_in_place_are_read_anew() {
    let mut store = Store::new(SCHEMA);
    store.row(NOON, [10, 0, 0, 1], &[]);
    store.row(NOON, [11, 0, 0, 1], &[]);
    store.pass();
    store.sql("DELETE FROM assistant_usage_events; DELETE FROM sqlite_sequence;");
    for n in 20..25 {
        store.row(NOON, [n, 0, 0, 1], &[]);
    }
    assert_eq!(store.pass().calls().len(), 5);
}

#[test]
fn edge_063_and_064_who_caused_a_call() {
    let mut store = Store::new(SCHEMA);
    store.row(NOON, [10, 0, 0, 1], &[("agent_id", "'toolu_1'")]);
    store.row(
        NOON,
        [273_205, 266_933, 0, 3_085],
        &[("initiator", "'compaction'")],
    );
    store.row(NOON, [12, 0, 0, 1], &[]);
    store.row(NOON, [13, 0, 0, 1], &[("initiator", "'sub-agent'")]);
    let kept = store.pass();
    let initiators: Vec<_> = kept.calls().iter().map(|call| call.initiator).collect();
    let want = [
        Initiator::Subagent,
        Initiator::Compaction,
        Initiator::Unknown,
        Initiator::Subagent,
    ];
    assert_eq!(initiators, want);
    assert_eq!(tokens(&kept)[1], [6_272, 266_933, 0, 3_085]);
}

#[test]
fn edge_066_a_real_in_an_integer_column() {
    let mut store = Store::new(SCHEMA);
    store.row(NOON, [10, 0, 0, 1], &[("duration_ms", "12.75")]);
    assert_eq!(store.pass().calls()[0].duration_ms, Some(12));
}

#[test]
fn edge_242_and_247_details_and_unknown_charges() {
    let mut store = Store::new(SCHEMA);
    let details = r#"'[{"tokenType":"input","tokenCount":3857},{"tokenType":"cache_write","tokenCount":12539},{"tokenType":"output","tokenCount":9}]'"#;
    store.row(
        NOON,
        [16_396, 0, 0, 9],
        &[("token_details_json", details), ("total_nano_aiu", "0")],
    );
    store.row(NOON, [10, 0, 0, 1], &[("total_nano_aiu", "0")]);
    store.row(NOON, [11, 0, 0, 1], &[]);
    let kept = store.pass();
    assert_eq!(tokens(&kept)[0], [3_857, 0, 12_539, 9]);
    let credits: Vec<_> = kept.calls().iter().map(|call| call.credits).collect();
    assert_eq!(credits, [Some(Credits(0)), None, None]);
}

#[test]
fn edge_149_figures_that_were_split_already() {
    let mut store = Store::new(SCHEMA);
    store.row(NOON, [1_000, 50_000, 500, 200], &[]);
    let kept = store.pass();
    assert_eq!(tokens(&kept), [[1_000, 50_000, 500, 200]]);
    assert_eq!(kept.parse_errors, ["cache_above_input"]);
}

#[test]
fn a_view_in_place_of_the_table_is_not_read() {
    let mut store = Store::new(
        "CREATE TABLE t(x); CREATE VIEW assistant_usage_events AS
         SELECT 1 AS id, 's1' AS session_id, 5 AS input_tokens, 5 AS output_tokens FROM t;
         INSERT INTO t VALUES(1);",
    );
    assert!(store.pass().observations.is_empty());
}

#[test]
fn a_text_too_long_to_be_read_costs_itself_only() {
    let mut store = Store::new(SCHEMA);
    let long = "CAST(zeroblob(20 << 20) AS TEXT)";
    store.sql(&format!(
        "INSERT INTO sessions(id, cwd, summary) VALUES('s1', '/w/shop', {long}), ('other', {long}, '')"
    ));
    for (n, column) in [
        "finish_reason",
        "token_details_json",
        "model",
        "initiator",
        "session_id",
    ]
    .into_iter()
    .enumerate()
    {
        let (names, values) = match column {
            "model" | "session_id" => ("", String::new()),
            _ => (column, long.to_owned()),
        };
        let more = [(names, &*values)];
        let more = if names.is_empty() { &[][..] } else { &more[..] };
        let at = format!("2026-08-0{}T10:00:00Z", n + 1);
        store.row(&at, [100, 0, 0, n as u64 + 1], more);
        if names.is_empty() {
            store.sql(&format!(
                "UPDATE assistant_usage_events SET {column} = {long} WHERE created_at = '{at}'"
            ));
        }
    }
    store.row("2026-08-09T10:00:00Z", [100, 0, 0, 9], &[]);
    let kept = store.pass();
    let outputs: Vec<_> = kept
        .calls()
        .iter()
        .map(|call| classes(&call.tokens)[3])
        .collect();
    assert_eq!(outputs, [1, 2, 3, 4, 9].map(Some));
    assert_eq!(kept.parse_errors, ["value_too_long"; 4]);
    assert_eq!(kept.skipped, ["no_session"]);
    assert_eq!(kept.calls()[2].model, None);
    let project = kept.observations.iter().find_map(|one| match &one.fact {
        Fact::Session(about) => about.project.clone(),
        _ => None,
    });
    assert_eq!(
        project.map(|hint| hint.project.to_string()).as_deref(),
        Some("shop")
    );
    store.row("2026-08-10T10:00:00Z", [100, 0, 0, 10], &[]);
    assert_eq!(store.pass().calls().len(), 1, "it goes on behind them");
}
