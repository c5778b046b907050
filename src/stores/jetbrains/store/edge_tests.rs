//! The edge cases of JetBrains' databases, by number, from the documents to the calls that they amount to.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, SystemTime};

use serde_json::json;

use super::super::java_writer::{Java, document};
use super::super::mvstore::Format;
use super::super::mvstore::writer::Writer;
use super::super::plugin_writer::{
    Database, error, graph, home, map, markdown, put, record, round, session, turn,
};
use super::*;
use crate::ledger::reconcile::{Resolution, reconcile};
use crate::stores::jetbrains::Partitions;
use crate::stores::testing::Kept;
use crate::usage::{CallFact, Evidence};

const S1: &str = "11111111-aaaa-4bbb-8ccc-dddddddddddd";
const S2: &str = "22222222-aaaa-4bbb-8ccc-dddddddddddd";

fn id(n: u32) -> String {
    format!("{n:08x}-7777-4777-8777-777777777777")
}

/// Reads all databases below a home, and keeps the last statement of each identity, as the ledger does.
fn read_home(home: &Home) -> Vec<Observation> {
    let mut statements = BTreeMap::new();
    for source in JetBrains.discover(home).sources {
        let mut kept = Kept::default();
        let read = JetBrains.read(home, &source, &Cursor::default(), &mut kept);
        assert!(read.is_ok(), "{read:?}");
        statements.extend(kept.observations.into_iter().map(|o| (o.id, o)));
    }
    statements.into_values().collect()
}

fn read_one(database: &Database) -> Vec<Observation> {
    let dir = tempfile::tempdir().unwrap();
    let home = home(dir.path());
    database.put(&home, "iu/chat-agent-sessions/s1");
    read_home(&home)
}

/// What the statements of all scopes amount to.
fn resolved(observations: &[Observation]) -> Resolution {
    let mut scopes: BTreeMap<&str, Vec<Observation>> = BTreeMap::new();
    for observation in observations {
        let scope = scopes.entry(observation.scope.as_str()).or_default();
        scope.push(observation.clone());
    }
    let mut all = Resolution::default();
    for observations in scopes.into_values() {
        let one = reconcile(&observations);
        all.calls.extend(one.calls);
        all.failures.extend(one.failures);
    }
    all.calls
        .sort_by_key(|call| (call.time, call.model.clone()));
    all
}

/// (calls, output tokens), over all turns of one session with these contents.
fn counts(contents: &[String]) -> (u64, Option<u64>) {
    let numbered = contents.iter().zip(1..);
    let turns: Vec<Java> = numbered
        .map(|(contents, n)| turn(&id(n), S1, contents.clone(), &[]))
        .collect();
    let calls = resolved(&read_one(&Database::of(&[session(S1, &[])], &turns))).calls;
    let outputs = calls
        .iter()
        .filter_map(|call| call.tokens.get(TokenType::Output));
    let output = outputs.reduce(|a, b| a + b);
    (calls.iter().map(|call| call.count).sum(), output)
}

fn failures(contents: &[String]) -> usize {
    let numbered = contents.iter().zip(1..);
    let turns: Vec<Java> = numbered
        .map(|(contents, n)| turn(&id(n), S1, contents.clone(), &[]))
        .collect();
    resolved(&read_one(&Database::of(&[session(S1, &[])], &turns)))
        .failures
        .len()
}

fn ask(reply: &str) -> String {
    graph(&[record("References", &json!([])), markdown(reply)])
}

#[test]
fn edge_164_two_turns_in_ask_mode() {
    let opus = document([("modelName", "claude-opus-4.5".into())]);
    let response = document([
        ("contents", ask("the second reply").into()),
        ("modelInformation", opus),
    ]);
    let turns = [
        turn(&id(1), S1, ask("one"), &[]),
        turn(&id(2), S1, String::new(), &[("response", response)]),
    ];
    let sessions = [session(S1, &[("modelName", "gpt-4.1".into())])];
    let calls = resolved(&read_one(&Database::of(&sessions, &turns))).calls;
    let told: Vec<_> = calls
        .iter()
        .map(|call| (call.model.as_deref(), call.tokens.get(TokenType::Output)))
        .collect();
    assert_eq!(
        told,
        [
            (Some("claude-opus-4.5"), Some(4)),
            (Some("gpt-4.1"), Some(1))
        ]
    );
    for call in calls {
        assert_eq!((call.count, call.estimated, call.partial), (1, true, true));
        assert_eq!(call.tokens.get(TokenType::Input), None);
    }
}

#[test]
fn edge_165_the_length_is_that_of_the_true_text() {
    for (text, units) in [
        ("say \"hi\" \\ and \\\"bye\\\"", 22),
        ("café – déjà vu", 14),
        ("\u{1f680}\u{1f680}\u{1f680}", 6),
        ("line\nbreak\ttab\u{0}nul", 18),
        ("你好世界", 4),
        ("{\"type\":\"AgentRound\",\"data\":\"decoy\"}", 36),
    ] {
        assert_eq!(text.encode_utf16().count(), units);
        let want = (1, Some((units as u64).div_ceil(4)));
        assert_eq!(counts(&[ask(text)]), want, "{text}");
        assert_eq!(counts(&[graph(&[round(1, text, 1)])]), want, "{text}");
    }
}

#[test]
fn edge_166_a_token_is_four_units_rounded_up() {
    assert_eq!(counts(&[ask("hello world")]), (1, Some(3)));
    assert_eq!(counts(&[ask(&"x".repeat(28))]), (1, Some(7)));
    assert_eq!(counts(&[ask("")]), (0, None));
}

#[test]
fn edge_167_in_agent_mode_markdown_is_the_prompt() {
    let contents = graph(&[
        markdown("a long prompt, which is no output"),
        round(1, "done", 0),
    ]);
    assert_eq!(counts(&[contents]), (1, Some(1)));
}

#[test]
fn edge_168_every_round_is_a_call() {
    let contents = graph(&[round(1, "text", 0), round(2, "", 2), round(3, "text2", 0)]);
    assert_eq!(counts(&[contents]), (3, Some(3)));
}

#[test]
fn edge_169_a_round_without_a_reply() {
    let tools = graph(&[markdown("prompt"), round(1, "", 1)]);
    assert_eq!(counts(std::slice::from_ref(&tools)), (1, None));
    assert_eq!(failures(&[tools]), 0);
    let nothing = graph(&[markdown("prompt"), round(1, "", 0)]);
    assert_eq!(counts(std::slice::from_ref(&nothing)), (0, None));
    assert_eq!(failures(&[nothing]), 0);
    let failed = graph(&[markdown("prompt"), round(1, "", 0), error()]);
    assert_eq!(counts(std::slice::from_ref(&failed)), (0, None));
    assert_eq!(failures(&[failed]), 1);
}

#[test]
fn edge_170_an_error_with_a_reply_is_a_call() {
    let contents = graph(&[round(1, "done", 0), error()]);
    assert_eq!(counts(std::slice::from_ref(&contents)), (1, Some(1)));
    assert_eq!(failures(&[contents]), 0);
}

#[test]
fn edge_171_one_turn_twice_counts_once_and_one_text_in_two_conversations_twice() {
    let same = turn(&id(1), S1, ask("hello world"), &[]);
    let other = turn(&id(2), S2, ask("hello world"), &[]);
    let again = turn(&id(3), S1, ask("hello world"), &[]);
    let sessions = [session(S1, &[]), session(S2, &[])];
    let calls = |turns: &[Java]| {
        resolved(&read_one(&Database::of(&sessions, turns)))
            .calls
            .len()
    };
    assert_eq!(calls(&[same.clone(), same.clone()]), 1);
    assert_eq!(calls(&[same.clone(), other]), 2);
    assert_eq!(
        calls(&[same, again]),
        2,
        "two turns may have the same reply"
    );
}

#[test]
fn edge_171_without_ids_equal_replies_of_a_conversation_are_one_turn() {
    let nameless = |session: &str| turn("", session, ask("hello world"), &[]);
    let sessions = [session(S1, &[]), session(S2, &[])];
    let calls = |turns: &[Java]| {
        resolved(&read_one(&Database::of(&sessions, turns)))
            .calls
            .len()
    };
    assert_eq!(calls(&[nameless(S1), nameless(S1)]), 1);
    assert_eq!(calls(&[nameless(S1), nameless(S2)]), 2);
}

#[test]
fn edge_172_of_two_revisions_the_complete_one_counts() {
    let part = turn(&id(1), S1, graph(&[round(1, "hello wor", 0)]), &[]);
    let whole = graph(&[round(1, "hello world", 0), round(2, "bye", 0)]);
    let whole = turn(&id(1), S1, whole, &[]);
    for turns in [[part.clone(), whole.clone()], [whole, part]] {
        let calls = resolved(&read_one(&Database::of(&[session(S1, &[])], &turns))).calls;
        assert_eq!(calls.len(), 1);
        assert_eq!(calls[0].count, 2);
        assert_eq!(calls[0].tokens.get(TokenType::Output), Some(4));
    }
}

#[test]
fn edge_173_sidecar_records_are_no_call() {
    let kinds = [
        "Steps",
        "References",
        "PendingChanges",
        "AskQuestion",
        "Notification",
    ];
    let records: Vec<String> = kinds
        .iter()
        .map(|kind| record(kind, &json!({"text": "no output"})))
        .collect();
    let contents = graph(&records);
    assert_eq!(counts(std::slice::from_ref(&contents)), (0, None));
    assert_eq!(failures(&[contents]), 0);
}

#[test]
fn edge_174_and_175_rewriting_adds_only_what_is_new() {
    let dir = tempfile::tempdir().unwrap();
    let home = home(dir.path());
    let turns: Vec<Java> = (1..=5)
        .map(|n| turn(&id(n), S1, ask(&format!("reply {n}")), &[]))
        .collect();
    let sessions = [session(S1, &[])];
    let place = "iu/chat-agent-sessions/s1";
    Database::of(&sessions, &turns).put(&home, place);
    let before = read_home(&home);
    assert_eq!(before.len(), 6);

    let mut reversed = turns.clone();
    reversed.reverse();
    Database::of(&sessions, &reversed).put(&home, place);
    assert_eq!(read_home(&home), before);

    reversed.insert(0, turn(&id(9), S1, ask("new"), &[]));
    Database::of(&sessions, &reversed).put(&home, place);
    let after = read_home(&home);
    let new = after.iter().filter(|o| !before.contains(o)).count();
    assert_eq!((after.len(), new), (7, 1));
}

#[test]
fn edge_175_in_a_store_that_grows_only_new_leaves_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let home = home(dir.path());
    let sessions = [session(S1, &[])];
    let turns: Vec<Java> = (1..=9)
        .map(|n| turn(&id(n), S1, ask(&format!("reply {n}")), &[]))
        .collect();
    let mut writer = Writer::new(Format::V3);
    writer.per_leaf = 2;
    Database::of(&sessions, &turns[..8]).commit(&mut writer);
    let place = "iu/chat-agent-sessions/s1";
    put(&home, place, &writer.closed());
    let read = |cursor: &Cursor| {
        let source = JetBrains.discover(&home).sources.remove(0);
        let mut kept = Kept::default();
        let cursor = JetBrains.read(&home, &source, cursor, &mut kept).unwrap();
        (cursor, kept)
    };
    let (cursor, all) = read(&Cursor::default());
    assert_eq!(all.observations.len(), 9);
    let (_, none) = read(&cursor);
    assert_eq!(none.observations, []);
    // The test's writer writes all leaves anew; what is told again has the identities that it had.
    Database::of(&sessions, &turns).commit(&mut writer);
    put(&home, place, &writer.closed());
    let (_, more) = read(&cursor);
    let known: Vec<Key> = all.observations.iter().map(|o| o.id).collect();
    let new = more.observations.iter().filter(|o| !known.contains(&o.id));
    assert_eq!(new.count(), 1);
}

#[test]
fn edge_176_one_conversation_under_two_kinds_or_ides_counts_once() {
    let dir = tempfile::tempdir().unwrap();
    let home = home(dir.path());
    let whole = Database::of(
        &[session(S1, &[])],
        &[
            turn(&id(1), S1, ask("hello world"), &[]),
            turn(&id(2), S1, ask("two"), &[]),
        ],
    );
    let part = Database::of(&[session(S1, &[])], &[turn(&id(1), S1, ask("hello"), &[])]);
    part.put(&home, "iu/bg-agent-sessions/s1");
    whole.put(&home, "iu/chat-agent-sessions/s1");
    whole.put(&home, "ws/chat-agent-sessions/s9");
    let calls = resolved(&read_home(&home)).calls;
    let outputs: Vec<_> = calls
        .iter()
        .map(|c| c.tokens.get(TokenType::Output))
        .collect();
    assert_eq!(calls.len(), 2);
    assert_eq!(outputs.iter().flatten().sum::<u64>(), 3 + 1);
}

#[test]
fn edge_177_a_deleted_turn_was_paid_for_and_a_dead_page_is_not_found() {
    let deleted = [("deletedAt", Java::Long(1_780_000_090_000))];
    let sessions = [session(S1, &[])];
    let kept = turn(&id(1), S1, ask("hello world"), &deleted);
    let gone = turn(&id(2), S1, ask("never seen"), &[]);
    let mut writer = Writer::new(Format::V3);
    Database::of(&sessions, &[kept.clone(), gone]).commit(&mut writer);
    Database::of(&sessions, &[kept]).commit(&mut writer);
    let dir = tempfile::tempdir().unwrap();
    let home = home(dir.path());
    put(&home, "iu/chat-agent-sessions/s1", &writer.closed());
    let calls = resolved(&read_home(&home)).calls;
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].tokens.get(TokenType::Output), Some(3));
}

#[test]
fn edge_178_rounds_of_an_old_plugin() {
    let three = map(&[round(1, "one", 0), round(2, "", 1), round(3, "three", 0)]);
    assert_eq!(counts(&[three]), (3, Some(3)));
    let first = "the first answer, which is long enough to tell";
    let one = map(&[round(1, first, 0)]);
    let both = map(&[round(1, first, 0), round(2, "second", 0)]);
    let units = first.len() as u64 + 1 + 6;
    assert_eq!(counts(&[one, both]), (2, Some(units.div_ceil(4))));
}

#[test]
fn edge_178_a_session_that_is_one_document_is_a_turn() {
    let contents = map(&[markdown("prompt"), round(1, "one", 0), round(2, "two", 0)]);
    let old = session(S1, &[("contents", contents.into())]);
    let calls = resolved(&read_one(&Database::of(&[old], &[]))).calls;
    assert_eq!((calls.len(), calls[0].count), (1, 2));
    let inner = Java::List(vec![
        turn(&id(1), "", ask("one"), &[]),
        turn(&id(2), "", ask("two"), &[]),
    ]);
    let old = session(S1, &[("turns", inner)]);
    let observations = read_one(&Database::of(&[old], &[]));
    assert_eq!(resolved(&observations).calls.len(), 2);
    assert!(observations.iter().all(|o| o.scope == S1));
}

#[test]
fn edge_179_old_and_new_turns_in_one_file() {
    assert_eq!(
        counts(&[map(&[round(1, "old", 0)]), ask("new")]),
        (2, Some(2))
    );
}

#[test]
fn edge_180_a_file_without_a_page_tree_is_salvaged_once_and_others_are_unharmed() {
    let dir = tempfile::tempdir().unwrap();
    let home = home(dir.path());
    let database = Database::of(
        &[session(S1, &[("projectName", "shop".into())])],
        &[turn(&id(1), S1, ask("hello world"), &[])],
    );
    let mut broken = database.bytes();
    broken[..8192].fill(b'?');
    let path = put(&home, "iu/chat-agent-sessions/s1", &broken);
    let source = Source::file(&path);
    let mut kept = Kept::default();
    let read = JetBrains.read(&home, &source, &Cursor::default(), &mut kept);
    assert!(matches!(read.unwrap_err().reason, Reason::Salvaged(_)));
    let calls = resolved(&kept.observations).calls;
    assert_eq!((calls.len(), calls[0].estimated), (1, true));
    assert_eq!(calls[0].project.as_str(), "shop");
    assert!(kept.observations.iter().any(|o| matches!(
        &o.fact,
        Fact::Turn(turn) if turn.evidence == Evidence::Salvage
    )));

    // Once the store could be walked, its bytes are never searched.
    fs::write(&path, database.bytes()).unwrap();
    let mut kept = Kept::default();
    let cursor = JetBrains
        .read(&home, &source, &Cursor::default(), &mut kept)
        .unwrap();
    fs::write(&path, &broken).unwrap();
    let mut kept = Kept::default();
    let read = JetBrains.read(&home, &source, &cursor, &mut kept);
    assert!(matches!(read.unwrap_err().reason, Reason::Corrupt(_)));
    assert_eq!(kept.observations, []);

    fs::write(&path, b"").unwrap();
    let read = JetBrains.read(&home, &source, &Cursor::default(), &mut kept);
    assert!(matches!(read.unwrap_err().reason, Reason::Corrupt(_)));
}

#[test]
fn edge_183_titles_and_cases_of_ids_dont_matter() {
    for title in [
        "0123456789",
        "0123456789abc",
        &"t".repeat(65),
        &"t".repeat(200),
        "título – 標題",
    ] {
        let name = document([("value", title.into())]);
        let sessions = [session(&S1.to_uppercase(), &[("name", name)])];
        let turns = [turn(
            &id(1).to_uppercase(),
            &S1.to_uppercase(),
            ask("x"),
            &[],
        )];
        let observations = read_one(&Database::of(&sessions, &turns));
        assert!(observations.iter().all(|o| o.scope == S1), "{title}");
        assert_eq!(resolved(&observations).calls.len(), 1);
        assert!(
            !format!("{observations:?}").contains(title),
            "titles go nowhere"
        );
    }
}

/// The model of a turn with these fields in a session with those.
fn model(
    turn_fields: &[(&str, Java)],
    session_fields: &[(&str, Java)],
    contents: String,
) -> Option<String> {
    let turns = [turn(&id(1), S1, contents, turn_fields)];
    let sessions = [session(S1, session_fields)];
    let calls = resolved(&read_one(&Database::of(&sessions, &turns))).calls;
    calls[0].model.clone()
}

#[test]
fn edge_184_to_186_models_are_those_that_fields_name() {
    for name in ["claude-opus-4.6", "gpt-5.6-sol", "gpt-5.3"] {
        let fields = [("modelName", name.into())];
        assert_eq!(model(&fields, &[], ask("x")).as_deref(), Some(name));
        let session = [("modelName", name.into())];
        assert_eq!(model(&[], &session, ask("x")).as_deref(), Some(name));
        let other = [("modelName", "gpt-4.1".into())];
        assert_eq!(model(&fields, &other, ask("x")).as_deref(), Some(name));
    }
    let talk = ask("I am gpt-4.1, \"model\":\"gpt-4.1\", \"modelName\":\"gpt-4.1\"");
    assert_eq!(model(&[], &[], talk), None);
    assert_eq!(model(&[], &[("modelName", "auto".into())], ask("x")), None);
}

/// The project of a turn in a session with these fields.
fn project(fields: &[(&str, Java)], contents: String) -> String {
    let turns = [turn(&id(1), S1, contents, &[])];
    let calls = resolved(&read_one(&Database::of(&[session(S1, fields)], &turns))).calls;
    calls[0].project.as_str().to_owned()
}

#[test]
fn edge_187_the_first_usable_project_name() {
    let long = "x".repeat(200);
    let nested = |name: &str| document([("projectName", name.into())]);
    let fields = [
        ("projectName", "bad\u{1}name".into()),
        ("a", nested(&long)),
        ("b", nested("good")),
        ("c", nested("second")),
    ];
    assert_eq!(project(&fields, ask("x")), "good");
    for name in ["a \"quoted\" name", "café"] {
        assert_eq!(project(&[("projectName", name.into())], ask("x")), name);
    }
    assert_eq!(
        project(
            &[("name", document([("value", "a title".into())]))],
            ask("x")
        ),
        "unknown"
    );
}

#[test]
fn edge_188_a_sibling_store_knows_the_name() {
    let turns = [
        turn(&id(1), S1, ask("x"), &[]),
        turn(&id(2), S2, ask("y"), &[]),
    ];
    let unnamed = Database::of(&[session(S1, &[]), session(S2, &[])], &turns);
    let projects = |sibling: &Database, place: &str| {
        let dir = tempfile::tempdir().unwrap();
        let home = home(dir.path());
        unnamed.put(&home, "iu/chat-agent-sessions/s1");
        sibling.put(&home, place);
        let calls = resolved(&read_home(&home)).calls;
        let mut names: Vec<_> = calls
            .iter()
            .map(|c| c.project.as_str().to_owned())
            .collect();
        names.sort();
        names
    };
    let named = |id: &str, name: &str| session(id, &[("projectName", name.into())]);
    // By conversation, in any store.
    let by_conversation = Database::of(&[named(S1, "shop"), named("other", "web")], &[]);
    assert_eq!(
        projects(&by_conversation, "ws/chat-sessions/s9"),
        ["shop", "unknown"]
    );
    // By store id, if all its sessions agree.
    let agreeing = Database::of(&[named("other", "shop"), named("another", "shop")], &[]);
    assert_eq!(
        projects(&agreeing, "iu/chat-edit-sessions/s1"),
        ["shop", "shop"]
    );
    assert_eq!(
        projects(&agreeing, "iu/chat-edit-sessions/s2"),
        ["unknown", "unknown"]
    );
    let differing = Database::of(&[named("other", "shop"), named("another", "web")], &[]);
    assert_eq!(
        projects(&differing, "iu/chat-edit-sessions/s1"),
        ["unknown", "unknown"]
    );
}

#[test]
fn edge_189_a_name_wins_over_the_git_root_above_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let repo = dir.path().join("my repo");
    fs::create_dir_all(repo.join(".git")).unwrap();
    fs::create_dir_all(repo.join("src/deep")).unwrap();
    let uri = |path: &str| format!("file://{}/{path}", dir.path().display());
    let files = |path: &str| graph(&[record("References", &json!([uri(path)])), markdown("x")]);
    assert_eq!(project(&[], files("my%20repo/src/deep/a.rs")), "my repo");
    assert_eq!(project(&[], files("elsewhere/a.rs")), "unknown");
    let named = [("projectName", "shop".into())];
    assert_eq!(project(&named, files("my%20repo/src/deep/a.rs")), "shop");
}

#[test]
fn edge_190_two_projects_in_one_file() {
    let sessions = [
        session(S1, &[("projectName", "shop".into())]),
        session(S2, &[("projectName", "web".into())]),
    ];
    let turns = [
        turn(&id(1), S1, ask("x"), &[]),
        turn(&id(2), S2, ask("long reply"), &[]),
    ];
    let calls = resolved(&read_one(&Database::of(&sessions, &turns))).calls;
    let mut told: Vec<_> = calls
        .iter()
        .map(|c| (c.project.as_str(), c.tokens.get(TokenType::Output)))
        .collect();
    told.sort();
    assert_eq!(told, [("shop", Some(1)), ("web", Some(3))]);
}

#[test]
fn edge_191_and_192_times_are_the_turns_own_or_the_first_sights() {
    let undated = turn(&id(1), S1, ask("x"), &[("createdAt", Java::Null)]);
    let dated = turn(
        &id(2),
        S1,
        ask("y"),
        &[("createdAt", Java::Long(1_780_000_000_123))],
    );
    let response = document([
        ("contents", ask("z").into()),
        ("createdAt", Java::Long(1_780_000_000_456)),
    ]);
    let answered = [("createdAt", Java::Null), ("response", response)];
    let answered = turn(&id(3), S1, String::new(), &answered);
    let turns = [undated, dated, answered];
    let dir = tempfile::tempdir().unwrap();
    let home = home(dir.path());
    let database = |more: usize| {
        let fields = [("modelName", format!("model-{more}").into())];
        Database::of(&[session(S1, &fields)], &turns)
    };
    let first = SystemTime::UNIX_EPOCH + Duration::from_secs(1_785_000_000);
    let read = |n: u64, cursor: &Cursor| {
        let path = database(n as usize).put(&home, "iu/chat-agent-sessions/s1");
        let file = fs::File::options().append(true).open(&path).unwrap();
        file.set_modified(first + Duration::from_secs(n * 3600))
            .unwrap();
        let mut kept = Kept::default();
        let source = Source::file(path);
        let cursor = JetBrains.read(&home, &source, cursor, &mut kept).unwrap();
        let mut times: Vec<i64> = kept
            .observations
            .iter()
            .filter_map(|o| match &o.fact {
                Fact::Turn(turn) => turn.start.map(|time| time.0),
                _ => None,
            })
            .collect();
        times.sort_unstable();
        (cursor, times)
    };
    let want = [1_780_000_000_123, 1_780_000_000_456, 1_785_000_000_000];
    let (cursor, times) = read(0, &Cursor::default());
    assert_eq!(times, want);
    let (_, times) = read(1, &cursor);
    assert_eq!(times, want, "read anew, and nothing moved");
}

#[test]
fn edge_193_credits_of_a_turn() {
    let credits = json!([
        {"messageId": id(1), "credits": 1.0},
        {"messageId": id(1), "credits": 1.5},
        {"messageId": "of nobody", "credits": 9},
        {"messageId": id(2), "credits": "many"},
        17,
    ]);
    let sessions = [session(
        S1,
        &[("turnCreditsJson", credits.to_string().into())],
    )];
    let turns = [
        turn(&id(1), S1, ask("hello world"), &[]),
        turn(&id(2), S1, ask("x"), &[]),
    ];
    let calls = resolved(&read_one(&Database::of(&sessions, &turns))).calls;
    let told: Vec<_> = calls
        .iter()
        .map(|c| (c.credits, c.tokens.get(TokenType::Output), c.estimated))
        .collect();
    assert!(
        told.contains(&(Credits::from_credits(1.5), Some(3), true)),
        "{told:?}"
    );
    assert!(told.contains(&(None, Some(1), true)), "{told:?}");
}

#[test]
fn edge_193_credits_that_come_later_are_told_of_old_turns() {
    let dir = tempfile::tempdir().unwrap();
    let home = home(dir.path());
    let turns = [turn(&id(1), S1, ask("hello world"), &[])];
    let read = |credits: serde_json::Value, cursor: &Cursor| {
        let sessions = [session(
            S1,
            &[("turnCreditsJson", credits.to_string().into())],
        )];
        let path = Database::of(&sessions, &turns).put(&home, "iu/chat-agent-sessions/s1");
        let mut kept = Kept::default();
        let cursor = JetBrains
            .read(&home, &Source::file(path), cursor, &mut kept)
            .unwrap();
        let credits = kept.observations.iter().find_map(|o| match &o.fact {
            Fact::Turn(turn) => Some(turn.credits),
            _ => None,
        });
        (cursor, credits)
    };
    let (cursor, credits) = read(json!([]), &Cursor::default());
    assert_eq!(credits, Some(None));
    let (_, credits) = read(json!([{"messageId": id(1), "credits": 2}]), &cursor);
    assert_eq!(credits, Some(Credits::from_credits(2.0)));
}

#[test]
fn edge_194_a_partition_of_the_same_conversation_adds_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let home = home(dir.path());
    let line = r#"{"type":"assistant.message","timestamp":"2026-05-28T20:27:45Z","data":{"content":"hello world","messageId":"m1","iterationNumber":1}}"#;
    let folder = home.dir.join(".copilot/jb").join(S1);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("partition-1.jsonl"), format!("{line}\n")).unwrap();
    let mut kept = Kept::default();
    let source = Partitions.discover(&home).sources.remove(0);
    Partitions
        .read(&home, &source, &Cursor::default(), &mut kept)
        .unwrap();
    assert_eq!(
        resolved(&kept.observations).calls.len(),
        1,
        "alone it counts"
    );
    let turns = [turn(&id(1), S1, ask("hello world"), &[])];
    Database::of(&[session(S1, &[])], &turns).put(&home, "iu/chat-agent-sessions/s1");
    kept.observations.extend(read_home(&home));
    let calls = resolved(&kept.observations).calls;
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].tokens.get(TokenType::Output), Some(3));
}

#[test]
fn edge_195_a_conversation_that_the_cli_knows_counts_there() {
    let fields = [("conversationId", S2.into())];
    let turns = [turn(&id(1), S1, ask("hello world"), &[])];
    let mut observations = read_one(&Database::of(&[session(S1, &fields)], &turns));
    assert!(observations.iter().all(|o| o.scope == S2));
    let row = CallFact {
        evidence: Evidence::StoreRow,
        keys: Vec::new(),
        time: Some(Timestamp(1_780_000_061_000)),
        model: Some("gpt-4.1".to_owned()),
        provider: None,
        initiator: Initiator::User,
        tokens: Tokens::default()
            .with(TokenType::Input, Some(90))
            .with(TokenType::Output, Some(5)),
        estimated: false,
        credits: None,
        premium: None,
        duration_ms: None,
        first_token_ms: None,
        project: None,
    };
    observations.push(Observation {
        scope: S2.to_owned(),
        id: Key::of("test", &["row"]),
        surface: Surface::Cli,
        fact: Fact::Call(row),
    });
    let calls = resolved(&observations).calls;
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].tokens.get(TokenType::Output), Some(5));
}

#[test]
fn edge_197_a_database_that_its_ide_locks_is_tried_again() {
    let locked = |code| io_reason(io::Error::from_raw_os_error(code), true);
    assert!(matches!(locked(32), Reason::Busy) && matches!(locked(33), Reason::Busy));
    assert!(matches!(locked(5), Reason::Io(_)));
    let elsewhere = io_reason(io::Error::from_raw_os_error(32), false);
    assert!(matches!(elsewhere, Reason::Io(_)));
}

#[test]
fn edge_199_behind_an_unknown_class_reading_goes_on() {
    let odd = turn(&id(1), S1, ask("lost"), &[("extra", Java::Unknown)]);
    let turns = [odd, turn(&id(2), S1, ask("kept"), &[])];
    let dir = tempfile::tempdir().unwrap();
    let home = home(dir.path());
    let path = Database::of(&[session(S1, &[])], &turns).put(&home, "iu/chat-agent-sessions/s1");
    let mut kept = Kept::default();
    let read = JetBrains.read(&home, &Source::file(path), &Cursor::default(), &mut kept);
    assert!(read.is_ok());
    assert_eq!(kept.parse_errors, ["document"]);
    assert_eq!(resolved(&kept.observations).calls.len(), 1);
}

#[test]
fn edge_200_two_errored_copies_are_one_failure() {
    let failed = turn(&id(1), S1, graph(&[round(1, "", 1), error()]), &[]);
    let dir = tempfile::tempdir().unwrap();
    let home = home(dir.path());
    let twice = Database::of(&[session(S1, &[])], &[failed.clone(), failed]);
    twice.put(&home, "iu/chat-agent-sessions/s1");
    twice.put(&home, "iu/bg-agent-sessions/s1");
    let all = resolved(&read_home(&home));
    assert_eq!((all.calls.len(), all.failures.len()), (0, 1));
}

/// The format's page: "turn `id`, else conversation + content hash".
#[test]
fn turns_without_an_id_are_told_apart_by_what_they_hold() {
    let nameless = |session: &str, contents: String| turn("", session, contents, &[]);
    let failed = |step: &str| {
        let steps = record("Steps", &json!([{"id": step}]));
        graph(&[steps, round(1, "", 1), error()])
    };
    let agent = |reply: &str| graph(&[round(1, reply, 1)]);
    let one = [
        nameless(S1, ask("one")),
        nameless(S1, ask("two")),
        nameless(S1, agent("one and two")),
        nameless(S1, failed("first")),
        nameless(S1, failed("second")),
        nameless(S2, ask("one")),
    ];
    let sessions = [session(S1, &[]), session(S2, &[])];
    let counted = |turns: &[Java]| {
        let all = resolved(&read_one(&Database::of(&sessions, turns)));
        (all.calls.len(), all.failures.len())
    };
    assert_eq!(counted(&one), (4, 2));
    let revised = graph(&[record("Steps", &json!([])), markdown("one")]);
    let again = [one.to_vec(), one.to_vec(), vec![nameless(S1, revised)]];
    assert_eq!(counted(&again.concat()), (4, 2), "copies and a revision");
}
