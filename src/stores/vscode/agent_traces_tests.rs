use std::fs;

use rusqlite::Connection;

use super::*;
use crate::stores::testing::classes;
use crate::stores::vscode::testing::Seen;
use crate::usage::{CallFact, Credits, Timestamp};

const FILE: &str = ".config/Code/User/globalStorage/github.copilot-chat/agent-traces.db";
const SCHEMA: &str = "CREATE TABLE spans (span_id TEXT PRIMARY KEY, trace_id TEXT, parent_span_id TEXT,
    name TEXT, start_time_ms INTEGER, end_time_ms INTEGER, status_code INTEGER, operation_name TEXT,
    provider_name TEXT, agent_name TEXT, conversation_id TEXT, request_model TEXT, response_model TEXT,
    input_tokens INTEGER, output_tokens INTEGER, cached_tokens INTEGER, reasoning_tokens INTEGER,
    chat_session_id TEXT, turn_index INTEGER, ttft_ms REAL);
    CREATE TABLE span_attributes (span_id TEXT, key TEXT, value TEXT, PRIMARY KEY (span_id, key));";

struct Traces {
    dir: tempfile::TempDir,
    database: Connection,
}

impl Traces {
    fn new(rows: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let database = Connection::open(path).unwrap();
        database.execute_batch(SCHEMA).unwrap();
        let traces = Self { dir, database };
        traces.run(rows);
        traces
    }

    fn run(&self, sql: &str) {
        self.database.execute_batch(sql).unwrap();
    }

    fn home(&self) -> Home {
        Home {
            dir: self.dir.path().to_owned(),
            ..Home::default()
        }
    }

    fn read(&self, seen: &mut Seen, cursor: &Cursor) -> Cursor {
        let found = AgentTraces.discover(&self.home());
        assert_eq!(found.sources.len(), 1);
        seen.read(&AgentTraces, &self.home(), &found.sources[0], cursor)
            .unwrap()
    }
}

/// A chat span of session `s`, with further columns and values.
fn chat(span: &str, columns: &str, values: &str) -> String {
    format!(
        "INSERT OR REPLACE INTO spans (span_id, trace_id, operation_name, provider_name, response_model,
         start_time_ms, end_time_ms, {columns}) VALUES ('{span}', 't1', 'chat', 'github', 'gpt-5.4',
         1790000000100.5, 1790000002000, {values});"
    )
}

fn attribute(span: &str, key: &str, value: &str) -> String {
    format!("INSERT INTO span_attributes VALUES ('{span}', '{key}', '{value}');")
}

fn read(rows: &str) -> Seen {
    let mut seen = Seen::default();
    Traces::new(rows).read(&mut seen, &Cursor::default());
    seen
}

fn calls(seen: &Seen) -> Vec<CallFact> {
    let call = |fact| match fact {
        Fact::Call(call) => Some(call),
        _ => None,
    };
    seen.facts().into_iter().filter_map(call).collect()
}

fn tokens(columns: &str, values: &str) -> [Option<u64>; 4] {
    let seen = read(&chat("b", columns, values));
    let [call] = calls(&seen).try_into().unwrap();
    classes(&call.tokens)
}

fn projects(seen: &Seen) -> Vec<(String, String)> {
    let project = |one: &Observation| match &one.fact {
        Fact::Session(fact) => Some((
            one.scope.clone(),
            fact.project.as_ref()?.project.to_string(),
        )),
        _ => None,
    };
    seen.observations().iter().filter_map(project).collect()
}

#[test]
fn edge_148_the_example_of_the_format_page() {
    let rows = chat(
        "b1",
        "input_tokens, output_tokens, cached_tokens",
        "7000, 90, 6400",
    ) + &attribute("b1", "gen_ai.response.id", "resp-3")
        + &attribute("b1", "copilot_chat.chat_session_id", "s-9")
        + &attribute("b1", "copilot_chat.copilot_usage_nano_aiu", "167000000");
    let seen = read(&rows);
    let [call] = calls(&seen).try_into().unwrap();
    assert_eq!(
        classes(&call.tokens),
        [Some(600), Some(6400), Some(0), Some(90)]
    );
    assert!(call.keys.contains(&Key::response("resp-3")));
    assert_eq!(call.credits, Some(Credits(167_000_000)));
    assert_eq!(call.provider, None);
    assert_eq!(seen.observations()[0].scope, "s-9");
}

#[test]
fn edge_149_and_150_impossible_sums_and_cache_only_spans_are_kept() {
    let write = attribute("b", "gen_ai.usage.cache_creation.input_tokens", "500");
    let rows = chat(
        "b",
        "input_tokens, output_tokens, cached_tokens",
        "1000, 200, 50000",
    ) + &write;
    let seen = read(&rows);
    let [call] = calls(&seen).try_into().unwrap();
    assert_eq!(
        classes(&call.tokens),
        [Some(1000), Some(50_000), Some(500), Some(200)]
    );
    assert_eq!(seen.errors, ["cache_above_input"]);
    let cache_only = tokens("input_tokens, output_tokens, cached_tokens", "0, 0, 900");
    assert_eq!(cache_only, [Some(0), Some(900), Some(0), Some(0)]);
}

#[test]
fn edge_151_times_are_reals_of_any_magnitude_or_unknown() {
    let time = |value: &str| {
        let rows = format!(
            "INSERT INTO spans (span_id, operation_name, start_time_ms, input_tokens) VALUES ('a', 'chat', {value}, 1);"
        );
        calls(&read(&rows))[0].time
    };
    for value in [
        "1790000000100.5",
        "1790000000.1",
        "1790000000100000",
        "1790000000100000000",
    ] {
        assert_eq!(time(value), Some(Timestamp(1_790_000_000_100)), "{value}");
    }
    for value in ["0", "-5", "NULL", "'soon'"] {
        assert_eq!(time(value), None, "{value}");
    }
}

#[test]
fn edge_152_the_operation_may_be_an_attribute() {
    let rows = "INSERT INTO spans (span_id, input_tokens) VALUES ('a', 5), ('b', 6), ('c', 7);"
        .to_owned()
        + &attribute("a", "gen_ai.operation.name", "chat")
        + &attribute("b", "gen_ai.operation.name", "invoke_agent");
    assert_eq!(calls(&read(&rows)).len(), 1);
}

#[test]
fn edge_153_and_154_sums_are_no_calls_and_background_calls_need_no_session() {
    let rows = "INSERT INTO spans (span_id, operation_name, input_tokens) VALUES
        ('i', 'invoke_agent', 900), ('x', 'execute_tool', NULL), ('e', 'embeddings', 5);"
        .to_owned()
        + &chat("b", "input_tokens", "298")
        + &chat("c", "input_tokens", "298");
    let seen = read(&rows);
    assert_eq!(calls(&seen).len(), 2);
    let scopes: Vec<_> = seen.observations().iter().map(|one| &one.scope).collect();
    assert_ne!(scopes[0], scopes[1]);
}

#[test]
fn edge_155_each_span_has_its_own_session_and_a_sub_agent_its_parents() {
    let session = "chat_session_id, input_tokens";
    let child = |span: &str, session: &str, parent: &str| {
        chat(
            span,
            "chat_session_id, input_tokens",
            &format!("'{session}', 1"),
        ) + &attribute(span, "copilot_chat.parent_chat_session_id", parent)
    };
    let rows = chat("a", session, "'s-1', 1")
        + &chat("b", session, "'s-2', 1")
        + &child("c", "call_5", "s-1")
        + &child("d", "call_7", "call_5");
    let seen = read(&rows);
    let scopes: Vec<_> = seen
        .observations()
        .iter()
        .map(|one| one.scope.as_str())
        .collect();
    assert_eq!(scopes, ["s-1", "s-2", "s-1", "s-1"]);
}

#[test]
fn edge_156_a_repository_on_a_later_span_is_that_of_the_session() {
    let traces = Traces::new(&chat("a", "conversation_id, input_tokens", "'c-1', 1"));
    let mut seen = Seen::default();
    let cursor = traces.read(&mut seen, &Cursor::default());
    assert_eq!(projects(&seen), []);
    traces.run(
        &("INSERT INTO spans (span_id, operation_name, conversation_id) VALUES ('i', 'invoke_agent', 'c-1');"
            .to_owned()
            + &attribute("i", "github.copilot.git.repository", "git@host:o/repo.git")),
    );
    let cursor = traces.read(&mut seen, &cursor);
    assert_eq!(projects(&seen), [("c-1".to_owned(), "repo".to_owned())]);
    let mut nothing = Seen::default();
    traces.read(&mut nothing, &cursor);
    assert_eq!(nothing.facts(), []);
}

#[test]
fn edge_157_a_background_call_has_the_repository_of_its_trace() {
    let rows = chat("a", "input_tokens", "1")
        + "INSERT INTO spans (span_id, trace_id, operation_name) VALUES ('i', 't1', 'invoke_agent');"
        + &attribute("i", "copilot_chat.repo.remote_url", "repo.git");
    let project = calls(&read(&rows))[0].project.clone();
    assert_eq!(project.unwrap().project.as_str(), "repo");
}

#[test]
fn edge_158_digits_are_text_where_text_is_meant() {
    let rows =
        "INSERT INTO spans (span_id, operation_name, response_model, chat_session_id, input_tokens)
        VALUES (77, 'chat', 4711, 42, 1);";
    let seen = read(rows);
    assert_eq!(calls(&seen)[0].model.as_deref(), Some("4711"));
    assert_eq!(seen.observations()[0].scope, "42");
}

#[test]
fn edge_159_text_in_a_column_of_numbers_is_unknown() {
    assert_eq!(
        tokens("input_tokens, output_tokens", "'many', 5")[3],
        Some(5)
    );
    assert_eq!(tokens("input_tokens", "'many'")[0], None);
}

#[test]
fn edge_160_pruned_and_replaced_rows_state_only_what_is_new() {
    let session = "chat_session_id, output_tokens";
    let traces = Traces::new(&(chat("a", session, "'s', 1") + &chat("b", session, "'s', 2")));
    let mut seen = Seen::default();
    let cursor = traces.read(&mut seen, &Cursor::default());
    traces.run("DELETE FROM spans WHERE span_id = 'a';");
    traces.run(&(chat("b", session, "'s', 2") + &chat("c", session, "'s', 3")));
    let mut second = Seen::default();
    let cursor = traces.read(&mut second, &cursor);
    assert_eq!(calls(&second).len(), 1);
    // The schema's second version rebuilds the table.
    traces.run(
        "ALTER TABLE spans RENAME TO old; CREATE TABLE spans AS SELECT * FROM old ORDER BY span_id DESC;
         DROP TABLE old; ALTER TABLE spans ADD COLUMN session_id TEXT;",
    );
    let mut third = Seen::default();
    traces.read(&mut third, &cursor);
    assert_eq!(third.facts(), []);
}

#[test]
fn edge_161_and_162_a_database_that_cannot_be_read_is_an_error_of_its_own() {
    let traces = Traces::new("DROP TABLE spans;");
    let mut seen = Seen::default();
    traces.read(&mut seen, &Cursor::default());
    assert_eq!(seen.skipped, ["no_spans_table"]);
    let path = traces.dir.path().join(FILE);
    drop(traces.database);
    fs::write(&path, "this is no database, however long it is read").unwrap();
    let home = Home {
        dir: traces.dir.path().to_owned(),
        ..Home::default()
    };
    let error = seen.read(
        &AgentTraces,
        &home,
        &sqlite::source(&path),
        &Cursor::default(),
    );
    assert!(error.is_err());
}

#[test]
fn edge_163_the_databases_of_all_roots_are_found() {
    let traces = Traces::new("");
    let copy = traces
        .dir
        .path()
        .join(FILE.replace("/Code/", "/Code - Insiders/"));
    fs::create_dir_all(copy.parent().unwrap()).unwrap();
    fs::copy(traces.dir.path().join(FILE), copy).unwrap();
    assert_eq!(AgentTraces.discover(&traces.home()).sources.len(), 2);
}

#[test]
fn a_model_on_this_machine_is_not_copilots() {
    let rows = chat("a", "input_tokens", "1")
        + &attribute("a", "server.address", "127.0.0.1")
        + &chat("b", "input_tokens", "1")
        + &attribute("b", "server.address", "api.example.com")
        + &chat("c", "input_tokens, chat_session_id", "1, 's'")
        + &attribute("c", "server.address", "localhost");
    let seen = read(&rows);
    let providers: Vec<_> = calls(&seen).into_iter().map(|call| call.provider).collect();
    assert_eq!(providers, [Some(Provider::own("local")), None, None]);
    let of_session = seen.facts().into_iter().find_map(|fact| match fact {
        Fact::Session(session) => Some(session.providers),
        _ => None,
    });
    assert_eq!(
        of_session,
        Some(vec![("gpt-5.4".to_owned(), Provider::own("local"))])
    );
}

#[test]
fn a_text_too_long_to_be_read_costs_itself_only() {
    let span = |id: &str| chat(id, "output_tokens", "5");
    let indexes =
        "CREATE INDEX o ON spans(operation_name); CREATE INDEX s ON spans(chat_session_id);";
    let attribute = "INSERT INTO span_attributes VALUES ('a',";
    for (change, calls_left, told) in [
        ("UPDATE spans SET name = LONG WHERE span_id = 'a'", 2, 0),
        (
            "UPDATE spans SET response_model = LONG WHERE span_id = 'a'",
            2,
            1,
        ),
        (
            "UPDATE spans SET chat_session_id = LONG WHERE span_id = 'a'",
            2,
            1,
        ),
        ("UPDATE spans SET span_id = LONG WHERE span_id = 'a'", 1, 1),
        (
            "UPDATE spans SET operation_name = LONG WHERE span_id = 'a'",
            1,
            0,
        ),
        (
            &format!(
                "UPDATE spans SET operation_name = NULL WHERE span_id = 'a';
                   {attribute} 'gen_ai.operation.name', LONG)"
            ),
            1,
            0,
        ),
        (&format!("{attribute} 'gen_ai.input.messages', LONG)"), 2, 0),
        (&format!("{attribute} 'gen_ai.request.model', LONG)"), 2, 1),
        (
            &format!("{attribute} 'github.copilot.git.repository', LONG)"),
            2,
            1,
        ),
        (
            &format!("{attribute} 'copilot_chat.parent_chat_session_id', LONG)"),
            2,
            1,
        ),
    ] {
        let change = change.replace("LONG", "CAST(zeroblob(20 << 20) AS TEXT)");
        let rows = span("a") + &span("b") + &change + ";";
        for rows in [rows.clone(), rows + indexes] {
            let seen = read(&rows);
            assert_eq!(calls(&seen).len(), calls_left, "{change}");
            assert_eq!(seen.errors, vec!["value_too_long"; told], "{change}");
        }
    }
}
