use std::fs;
use std::path::PathBuf;

use super::*;
use crate::stores::vscode::testing::Seen;
use crate::usage::{Credits, Fact, Observation, ProjectRank, Timestamp, TokenType, TurnFact};

const FOLDER: &str = ".config/Code/User/workspaceStorage/w1/chatSessions";
const ROOT: &str =
    r#"{"kind":0,"v":{"version":3,"sessionId":"s-9","creationDate":1790000000000,"requests":[]}}"#;

struct Dir(tempfile::TempDir);

impl Dir {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn home(&self) -> Home {
        Home {
            dir: self.0.path().to_owned(),
            ..Home::default()
        }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn journal(&self, lines: &[&str]) -> PathBuf {
        self.write(&format!("{FOLDER}/s-9.jsonl"), &(lines.join("\n") + "\n"))
    }
}

/// Output by request, in the order of first sight.
fn outputs(seen: &Seen) -> Vec<Option<u64>> {
    turns(seen)
        .iter()
        .map(|turn| turn.tokens.get(TokenType::Output))
        .collect()
}

fn turns(seen: &Seen) -> Vec<TurnFact> {
    let turn = |fact| match fact {
        Fact::Turn(turn) => Some(turn),
        _ => None,
    };
    seen.facts().into_iter().filter_map(turn).collect()
}

/// What the lines amount to, read at once; the same must come out line by line.
fn read(lines: &[&str]) -> Seen {
    let dir = Dir::new();
    dir.journal(lines);
    let mut seen = Seen::default();
    seen.read_all(&ChatSessions, &dir.home());

    let step_by_step = Dir::new();
    let (mut again, mut cursor) = (Seen::default(), Cursor::default());
    for n in 1..=lines.len() {
        let source = Source::file(step_by_step.journal(&lines[..n]));
        cursor = again
            .read(&ChatSessions, &step_by_step.home(), &source, &cursor)
            .unwrap();
    }
    assert_eq!(outputs(&again), outputs(&seen));
    seen
}

fn request(id: &str, more: &str) -> String {
    format!(r#"{{"requestId":"{id}","timestamp":1790000001000{more}}}"#)
}

fn push(requests: &[String], length: Option<usize>) -> String {
    let length = length.map(|n| format!(r#","i":{n}"#)).unwrap_or_default();
    format!(
        r#"{{"kind":2,"k":["requests"]{length},"v":[{}]}}"#,
        requests.join(",")
    )
}

#[test]
fn the_example_of_the_format_page() {
    let seen = read(&[
        ROOT,
        r#"{"kind":2,"k":["requests"],"v":[{"requestId":"request_a","timestamp":1790000001000,"modelId":"copilot/claude-haiku-4.5"}]}"#,
        r#"{"kind":1,"k":["requests",0,"completionTokens"],"v":120}"#,
        r#"{"kind":1,"k":["requests",0,"modelState"],"v":{"value":1,"completedAt":1790000009000}}"#,
        r#"{"kind":2,"k":["requests"],"i":0,"v":[{"requestId":"request_b","timestamp":1790000020000,"modelId":"copilot/gpt-5.4"}]}"#,
        r#"{"kind":1,"k":["requests",0,"completionTokens"],"v":75}"#,
        r#"{"kind":1,"k":["requests",0,"modelState"],"v":{"value":1,"completedAt":1790000024000}}"#,
    ]);
    assert_eq!(outputs(&seen), [Some(120), Some(75)]);
    let turns = turns(&seen);
    assert_eq!(turns[0].tokens.get(TokenType::Input), None);
    assert_eq!(turns[0].end, Some(Timestamp(1_790_000_009_000)));
    assert_eq!(turns[1].model.as_deref(), Some("gpt-5.4"));
    assert!(seen.observations().iter().all(|seen| seen.scope == "s-9"));
}

#[test]
fn edge_109_figures_that_arrive_later() {
    let push = push(&[request("a", ""), request("b", "")], None);
    let seen = read(&[
        ROOT,
        &push,
        r#"{"kind":1,"k":["requests",0,"completionTokens"],"v":490}"#,
        r#"{"kind":1,"k":["requests",1,"result"],"v":{"metadata":{"outputTokens":60,"promptTokens":7}}}"#,
        r#"{"kind":1,"k":["requests",1,"result","metadata","outputTokens"],"v":88}"#,
    ]);
    assert_eq!(outputs(&seen), [Some(490), Some(88)]);
}

#[test]
fn edge_111_and_130_files_without_requests_are_no_sessions() {
    let dir = Dir::new();
    dir.journal(&[ROOT]);
    for (name, text) in [
        ("copilot.cli.workspaceSessions.x.json", r#"[{"id":"x"}]"#),
        ("models.json", r#"{"models":[{"id":"gpt"}]}"#),
        ("none.json", r#"{"requests":[]}"#),
        ("empty.json", ""),
        ("empty.jsonl", ""),
        ("blank.jsonl", "\n \n\r\n"),
        ("mark.jsonl", "\u{feff}"),
    ] {
        dir.write(&format!("{FOLDER}/{name}"), text);
    }
    fs::create_dir(dir.path(FOLDER).join("folder.jsonl")).unwrap();
    let mut seen = Seen::default();
    seen.read_all(&ChatSessions, &dir.home());
    assert_eq!(seen.facts(), []);
    assert_eq!(seen.errors, [""; 0]);
}

#[test]
fn edge_112_an_empty_window_has_no_project_unless_it_says_so() {
    let dir = Dir::new();
    let folder = ".config/Code/User/globalStorage/emptyWindowChatSessions";
    let push = push(&[request("a", r#","completionTokens":5"#)], None);
    let path = dir.write(&format!("{folder}/s.jsonl"), &format!("{ROOT}\n{push}\n"));
    let mut seen = Seen::default();
    seen.read_all(&ChatSessions, &dir.home());
    assert_eq!(projects(&seen), [None]);

    let set = r#"{"kind":1,"k":["workingDirectory"],"v":"file:///home/u/My%20App"}"#;
    fs::write(&path, format!("{ROOT}\n{push}\n{set}\n")).unwrap();
    seen.read_all(&ChatSessions, &dir.home());
    assert_eq!(projects(&seen), [Some("My App".to_owned())]);
}

fn projects(seen: &Seen) -> Vec<Option<String>> {
    let project = |fact| match fact {
        Fact::Session(session) => Some(session.project.map(|hint| hint.project.to_string())),
        _ => None,
    };
    seen.facts().into_iter().filter_map(project).collect()
}

#[test]
fn edge_113_a_push_without_path_means_the_requests() {
    let push = format!(
        r#"{{"kind":2,"v":[{}]}}"#,
        request("a", r#","completionTokens":3"#)
    );
    assert_eq!(outputs(&read(&[ROOT, &push])), [Some(3)]);
}

#[test]
fn edge_114_hostile_paths_are_ignored_and_what_follows_counts() {
    let push = push(&[request("a", "")], None);
    let seen = read(&[
        ROOT,
        &push,
        r#"{"kind":1,"k":["__proto__","x"],"v":1}"#,
        r#"{"kind":1,"k":["constructor","prototype"],"v":1}"#,
        r#"{"kind":1,"k":["requests",-1,"completionTokens"],"v":1}"#,
        r#"{"kind":1,"k":["requests",1.5,"completionTokens"],"v":2}"#,
        r#"{"kind":1,"k":["requests",10000000],"v":{"requestId":"far","completionTokens":3}}"#,
        r#"{"kind":1,"k":["requests",null],"v":3}"#,
        r#"{"kind":1,"k":"requests","v":3}"#,
        r#"{"kind":2,"k":["requests"],"i":-1,"v":[{"requestId":"x","completionTokens":3}]}"#,
        r#"{"kind":1,"k":["requests",0,"completionTokens"],"v":4}"#,
    ]);
    assert_eq!(outputs(&seen), [Some(4)]);
    assert_eq!(seen.errors.len(), 8);
}

#[test]
fn edge_115_no_leading_root_unknown_kinds_and_broken_lines() {
    let push = push(&[request("a", "")], None);
    let seen = read(&[
        &push,
        r#"{"kind":9,"k":["requests"],"v":[1]}"#,
        "null",
        "17",
        r#""x""#,
        "",
        "   ",
        r#"{"kind":1,"k":["requests",0,"completionTokens"],"v":{"#,
        r#"{"kind":1,"k":["requests",0,"completionTokens"],"v":7}{"kind":1}"#,
        r#"{"k":["requests",0,"completionTokens"],"v":8}"#,
        "\u{0}\u{1}",
        r#"{"v":5,"k":["requests",0,"completionTokens"],"kind":1}"#,
    ]);
    assert_eq!(outputs(&seen), [Some(5)]);
    assert_eq!(seen.skipped, ["unknown_kind"]);
    assert_eq!(seen.errors.len(), 7);
}

#[test]
fn kinds_as_the_writer_means_them() {
    let push = push(
        &[request("a", r#","completionTokens":1"#), request("b", "")],
        None,
    );
    let late = request("c", r#","completionTokens":9"#);
    let seen = read(&[
        ROOT,
        &push,
        // A hole where a request was deleted; the next one keeps its place.
        r#"{"kind":3,"k":["requests",0]}"#,
        r#"{"kind":1,"k":["requests",1,"completionTokens"],"v":2}"#,
        // An empty path has no effect; neither has a push to what is no list.
        r#"{"kind":1,"k":[],"v":{"requests":[]}}"#,
        r#"{"kind":2,"k":["sessionId"],"v":[1]}"#,
        // Cleared: the figure that was seen stays.
        r#"{"kind":1,"k":["requests",1,"completionTokens"]}"#,
        // Missing parents are made.
        r#"{"kind":1,"k":["requests",1,"result","metadata","resolvedModel"],"v":"gpt-5.4"}"#,
        // A new root in mid-file.
        &format!(r#"{{"kind":0,"v":{{"requests":[{late}]}}}}"#),
    ]);
    assert_eq!(outputs(&seen), [Some(1), Some(2), Some(9)]);
    assert_eq!(turns(&seen)[1].model.as_deref(), Some("gpt-5.4"));
}

#[test]
fn lone_surrogates_do_not_cost_the_figures_of_their_line() {
    let text = r#","message":{"text":"\ud83d half \ude00"},"result":{"details":"\udc00"},"completionTokens":6"#;
    assert_eq!(
        outputs(&read(&[ROOT, &push(&[request("a", text)], None)])),
        [Some(6)]
    );
}

#[test]
fn edge_117_copies_in_two_folders_and_two_formats_have_one_identity() {
    let dir = Dir::new();
    let push = push(&[request("a", r#","completionTokens":5"#)], None);
    let journal = format!("{ROOT}\n{push}\n");
    let flat = format!(
        r#"{{"version":3,"sessionId":"s-9","requests":[{}]}}"#,
        request("a", "")
    );
    dir.write(&format!("{FOLDER}/s-9.jsonl"), &journal);
    dir.write(&format!("{FOLDER}/s-9.json"), &flat);
    dir.write(
        ".vscode-server/data/User/workspaceStorage/w2/chatSessions/s-9.jsonl",
        &journal,
    );
    dir.write(
        ".config/Code - Insiders/User/globalStorage/transferredChatSessions/s-9.json",
        &flat.replace("1790000001000", r#"1790000001000,"completionTokens":5"#),
    );
    let mut seen = Seen::default();
    seen.read_all(&ChatSessions, &dir.home());
    let turns = turns(&seen);
    assert_eq!(turns.len(), 3, "the bare flat copy knows nothing of it");
    assert!(turns.iter().all(|turn| turn.keys == turns[0].keys));
}

#[test]
fn edge_118_flat_documents_of_all_versions() {
    for version in ["", r#""version":2,"#, r#""version":3,"#] {
        let dir = Dir::new();
        let request = r#"{"requestId":"a","modelId":"copilot/gpt-4o","result":{"metadata":{"promptTokens":50,"outputTokens":7}}}"#;
        let pretty = format!(
            "{{\n  {version}\n  \"creationDate\": 1790000000000,\n  \"requests\": [\n{request}\n]}}"
        );
        dir.write(&format!("{FOLDER}/old.json"), &pretty);
        let mut seen = Seen::default();
        seen.read_all(&ChatSessions, &dir.home());
        let turns = turns(&seen);
        assert_eq!(outputs(&seen), [Some(7)], "{version}");
        assert_eq!(turns[0].evidence, Evidence::FlatRequest);
        assert_eq!(turns[0].start, Some(Timestamp(1_790_000_000_000)));
        assert_eq!(seen.observations()[0].scope, "old");
    }
}

#[test]
fn edge_121_running_credits_are_a_maximum() {
    let push = push(
        &[request("a", ""), request("b", ""), request("c", "")],
        None,
    );
    let set = |n: usize, v: u32| {
        format!(r#"{{"kind":1,"k":["requests",{n},"sessionCopilotCredits"],"v":{v}}}"#)
    };
    let dir = Dir::new();
    dir.journal(&[ROOT, &push, &set(0, 2), &set(1, 5), &set(2, 5)]);
    let mut seen = Seen::default();
    seen.read_all(&ChatSessions, &dir.home());
    let total = |fact| match fact {
        Fact::Total(total) => Some(total.credits),
        _ => None,
    };
    let totals: Vec<_> = seen.facts().into_iter().filter_map(total).collect();
    assert_eq!(totals, [Some(Credits(5 * Credits::NANO))]);
}

#[test]
fn edge_125_queued_requests_never_count() {
    let queued = r#"{"kind":2,"k":["pendingRequests"],"v":[{"requestId":"q","completionTokens":9,"request":{"completionTokens":9}}]}"#;
    assert_eq!(outputs(&read(&[ROOT, queued])), []);
}

#[test]
fn edge_128_a_rewrite_that_shortens_brings_late_figures_and_keeps_what_was_undone() {
    let dir = Dir::new();
    let undone = push(&[request("undone", r#","completionTokens":11"#)], None);
    let kept = push(&[request("kept", r#","modelState":{"value":1}"#)], Some(0));
    let path = dir.journal(&[ROOT, &undone, &kept, &"x".repeat(2000)]);
    let (mut seen, source) = (Seen::default(), Source::file(&path));
    let cursor = seen
        .read(&ChatSessions, &dir.home(), &source, &Cursor::default())
        .unwrap();
    assert_eq!(outputs(&seen), [None, Some(11)]);

    let sealed = request("kept", r#","completionTokens":30,"promptTokens":9"#);
    dir.journal(&[&format!(
        r#"{{"kind":0,"v":{{"sessionId":"s-9","requests":[{sealed}]}}}}"#
    )]);
    let cursor = seen
        .read(&ChatSessions, &dir.home(), &source, &cursor)
        .unwrap();
    assert_eq!(outputs(&seen), [Some(30), Some(11)]);

    // Cut at the tail: what was seen is not unseen.
    fs::write(&path, format!("{ROOT}\n")).unwrap();
    seen.read(&ChatSessions, &dir.home(), &source, &cursor)
        .unwrap();
    assert_eq!(outputs(&seen), [Some(30), Some(11)]);
}

#[test]
fn a_rewrite_that_grows_is_no_append() {
    let dir = Dir::new();
    let before = push(&[request("a", r#","completionTokens":1"#)], None);
    let path = dir.journal(&[ROOT, &before]);
    let (mut seen, source) = (Seen::default(), Source::file(&path));
    let cursor = seen
        .read(&ChatSessions, &dir.home(), &source, &Cursor::default())
        .unwrap();
    let long = request(
        "a",
        &format!(r#","message":"{}","completionTokens":2"#, "m".repeat(9000)),
    );
    let more = push(&[request("b", r#","completionTokens":3"#)], None);
    dir.journal(&[
        &format!(r#"{{"kind":0,"v":{{"sessionId":"s-9","requests":[{long}]}}}}"#),
        &more,
    ]);
    seen.read(&ChatSessions, &dir.home(), &source, &cursor)
        .unwrap();
    assert_eq!(outputs(&seen), [Some(2), Some(3)]);
}

#[test]
fn an_append_costs_what_was_appended_and_states_only_that() {
    let dir = Dir::new();
    let push = push(
        &[request("a", r#","completionTokens":1"#), request("b", "")],
        None,
    );
    let path = dir.journal(&[ROOT, &push, &"y".repeat(100_000)]);
    let (mut first, source) = (Seen::default(), Source::file(&path));
    let cursor = first
        .read(&ChatSessions, &dir.home(), &source, &Cursor::default())
        .unwrap();
    let line = "{\"kind\":1,\"k\":[\"requests\",1,\"completionTokens\"],\"v\":8}\n";
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{text}{line}")).unwrap();
    let mut second = Seen::default();
    second
        .read(&ChatSessions, &dir.home(), &source, &cursor)
        .unwrap();
    assert_eq!(second.bytes, line.len() as u64);
    assert_eq!(outputs(&second), [Some(8)]);
}

#[test]
fn a_torn_last_line_waits_until_it_is_whole() {
    let dir = Dir::new();
    let push = push(&[request("a", "")], None);
    let line = r#"{"kind":1,"k":["requests",0,"completionTokens"],"v":1234}"#;
    let path = dir.journal(&[ROOT, &push]);
    let whole = fs::read_to_string(&path).unwrap();
    let (mut seen, mut cursor) = (Seen::default(), Cursor::default());
    for cut in 0..=line.len() {
        fs::write(&path, format!("{whole}{}", &line[..cut])).unwrap();
        cursor = seen
            .read(&ChatSessions, &dir.home(), &Source::file(&path), &cursor)
            .unwrap();
        assert_eq!(outputs(&seen), [], "{cut}");
    }
    fs::write(&path, format!("{whole}{line}\n")).unwrap();
    seen.read(&ChatSessions, &dir.home(), &Source::file(&path), &cursor)
        .unwrap();
    assert_eq!(outputs(&seen), [Some(1234)]);
    assert_eq!(seen.errors, [""; 0]);
}

#[test]
fn edge_129_long_lines_and_truncation_markers_cost_only_contents() {
    let marker = "[VS Code: value truncated for persistence, 5 MB]";
    let long = "t".repeat(3 << 20);
    let push = push(
        &[request(
            "a",
            &format!(r#","message":"{long}","response":["{marker}"],"completionTokens":2"#),
        )],
        None,
    );
    let deep = format!("{}1{}", "[".repeat(5000), "]".repeat(5000));
    let content = format!(r#"{{"kind":1,"k":["requests",0,"response"],"v":{deep}}}"#);
    let nested = format!(
        r#"{{"kind":1,"k":["requests",0,"result"],"v":{{"x":{deep},"metadata":{{"outputTokens":1}}}}}}"#
    );
    let after = r#"{"kind":1,"k":["requests",0,"completionTokens"],"v":3}"#;
    assert_eq!(
        outputs(&read(&[ROOT, &push, &content, &nested, after])),
        [Some(3)]
    );
}

#[test]
fn edge_132_requests_of_one_millisecond_are_two() {
    let figures = r#","completionTokens":5"#;
    let push = push(&[request("a", figures), request("b", figures)], None);
    assert_eq!(outputs(&read(&[ROOT, &push])), [Some(5), Some(5)]);
}

#[test]
fn edge_133_and_208_every_place_is_read() {
    let dir = Dir::new();
    let places = [
        ".config/Code/User/workspaceStorage/no-workspace/chatSessions",
        ".config/Code/User/workspaceStorage/w/GitHub.copilot-chat/chatSessions",
        ".config/Code/User/profiles/p1/globalStorage/emptyWindowChatSessions",
        ".config/Code - Insiders/User/workspaceStorage/w/chatSessions",
        ".config/VSCodium/User/workspaceStorage/w/chatSessions",
        ".vscode-server/data/User/workspaceStorage/w/chatSessions",
    ];
    for (n, place) in places.iter().enumerate() {
        let push = push(
            &[request(&format!("r{n}"), r#","completionTokens":1"#)],
            None,
        );
        dir.write(&format!("{place}/s{n}.jsonl"), &format!("{push}\n"));
    }
    let mut seen = Seen::default();
    seen.read_all(&ChatSessions, &dir.home());
    assert_eq!(turns(&seen).len(), places.len());
}

#[test]
fn edge_210_a_folder_that_moves_while_it_is_read_is_an_error_of_that_file() {
    let dir = Dir::new();
    let push = push(&[request("a", r#","completionTokens":1"#)], None);
    dir.journal(&[ROOT, &push]);
    let found = ChatSessions.discover(&dir.home());
    fs::rename(dir.path(FOLDER), dir.path(FOLDER).with_file_name("moved")).unwrap();
    let mut seen = Seen::default();
    let read = seen.read(
        &ChatSessions,
        &dir.home(),
        &found.sources[0],
        &Cursor::default(),
    );
    assert!(read.is_err());
    assert_eq!(seen.facts(), []);
}

#[test]
fn edge_204_workspaces_with_other_ids_are_one_project() {
    let dir = Dir::new();
    for id in ["w1", "w2"] {
        let push = push(&[request(id, r#","completionTokens":1"#)], None);
        let folder = format!(".config/Code/User/workspaceStorage/{id}");
        dir.write(
            &format!("{folder}/chatSessions/{id}.jsonl"),
            &format!("{push}\n"),
        );
        dir.write(
            &format!("{folder}/workspace.json"),
            r#"{"folder":"file:///home/u/shop"}"#,
        );
    }
    let mut seen = Seen::default();
    seen.read_all(&ChatSessions, &dir.home());
    assert_eq!(
        projects(&seen),
        [Some("shop".to_owned()), Some("shop".to_owned())]
    );
}

#[test]
fn the_repository_that_a_session_names_beats_its_window() {
    let dir = Dir::new();
    let push = push(&[request("a", r#","completionTokens":1"#)], None);
    let set = r#"{"kind":1,"k":["repoData","remoteUrl"],"v":"git@host.example:acme/web.git"}"#;
    let path = dir.journal(&[ROOT, &push, set]);
    dir.write(
        ".config/Code/User/workspaceStorage/w1/workspace.json",
        r#"{"folder":"file:///home/u/copy"}"#,
    );
    let mut seen = Seen::default();
    seen.read_all(&ChatSessions, &dir.home());
    assert_eq!(projects(&seen), [Some("web".to_owned())]);
    let _ = path;
    let session = seen.facts().into_iter().find_map(|fact| match fact {
        Fact::Session(session) => session.project,
        _ => None,
    });
    assert_eq!(session.unwrap().rank, ProjectRank::Repository);
}

#[test]
fn own_providers_are_told_for_the_stores_that_cannot_tell() {
    let dir = Dir::new();
    let requests = [
        request(
            "a",
            r#","modelId":"customendpoint/Fake/demo-large","completionTokens":1"#,
        ),
        request("b", r#","modelId":"copilot/gpt-5.4","completionTokens":1"#),
        request("c", r#","modelId":"copilot/both","completionTokens":1"#),
        request("d", r#","modelId":"openai/both","completionTokens":1"#),
    ];
    dir.journal(&[ROOT, &push(&requests, None)]);
    let mut seen = Seen::default();
    seen.read_all(&ChatSessions, &dir.home());
    let providers = seen.facts().into_iter().find_map(|fact| match fact {
        Fact::Session(session) => Some(session.providers),
        _ => None,
    });
    let want = crate::usage::Provider::own("customendpoint");
    assert_eq!(providers, Some(vec![("demo-large".to_owned(), want)]));
}

/// Counts, where [`Seen`] would look through everything for each statement.
#[derive(Default)]
struct Told {
    turns: usize,
    errors: Vec<&'static str>,
}

impl Sink for Told {
    fn observe(&mut self, observation: Observation) {
        self.turns += usize::from(matches!(observation.fact, Fact::Turn(_)));
    }

    fn checkpoint(&mut self, _: Cursor) {}

    fn parse_error(&mut self, reason: &'static str) {
        self.errors.push(reason);
    }

    fn skipped(&mut self, _: &'static str) {}

    fn bytes_read(&mut self, _: u64) {}
}

#[test]
fn requests_for_which_there_is_no_room_are_told() {
    let many = |count: usize| {
        let requests = (0..count).map(|n| request(&format!("r{n}"), r#","completionTokens":1"#));
        requests.collect::<Vec<_>>()
    };
    let told = |name: &str, lines: &[String]| {
        let dir = Dir::new();
        dir.write(&format!("{FOLDER}/{name}"), &(lines.join("\n") + "\n"));
        let mut told = Told::default();
        for source in ChatSessions.discover(&dir.home()).sources {
            let start = Cursor::default();
            ChatSessions
                .read(&dir.home(), &source, &start, &mut told)
                .unwrap();
        }
        (told.turns, told.errors)
    };
    let most = super::super::lean::MOST_ITEMS;
    let document = |count| format!(r#"{{"requests":[{}]}}"#, many(count).join(","));
    let initial = |count| format!(r#"{{"kind":0,"v":{}}}"#, document(count));
    let late = |count| format!(r#"{{"v":{},"kind":0}}"#, document(count));
    let one = push(&[request("last", r#","completionTokens":1"#)], None);
    let full = (most, vec!["too_many_items"]);
    assert_eq!(told("s.jsonl", &[initial(most)]), (most, vec![]));
    assert_eq!(told("s.jsonl", &[initial(most + 2)]), full);
    assert_eq!(told("s.jsonl", &[late(most + 2)]), full);
    assert_eq!(told("s.jsonl", &[initial(most), one]), full);
    assert_eq!(told("s.jsonl", &[push(&many(most + 1), None)]), full);
    assert_eq!(told("s.json", &[document(most + 1)]), full);
}

#[test]
fn a_value_that_can_not_be_set_aside_is_told() {
    let long = format!(r#"{{"v":"{}","kind":1,"k":["x"]}}"#, "x".repeat(9 << 20));
    let seen = read(&[
        ROOT,
        &long,
        &push(&[request("a", r#","completionTokens":5"#)], None),
    ]);
    assert_eq!(
        (outputs(&seen), &seen.errors[..]),
        (vec![Some(5)], &["line_too_long"][..])
    );
}
