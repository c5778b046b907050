use super::super::java_writer::{Java, document, stream};
use super::*;

const ONE: &str = "aaaaaaaa-1111-4222-8333-444444444444";
const TWO: &str = "bbbbbbbb-1111-4222-8333-444444444444";

fn value(record: &str) -> String {
    serde_json::json!({"type": "Value", "value": record}).to_string()
}

fn record(kind: &str, data: &serde_json::Value) -> String {
    serde_json::json!({"type": kind, "data": data.to_string()}).to_string()
}

fn uuid(n: usize) -> String {
    format!("{n:08x}-0000-4000-8000-000000000000")
}

fn map(records: &[String]) -> String {
    let entries = records.iter().enumerate();
    let entries: Vec<String> = entries
        .map(|(n, record)| format!("\"{}\":{}", uuid(n), value(record)))
        .collect();
    format!("{{{}}}", entries.join(","))
}

fn new_plugin(records: &[String]) -> String {
    let graph = serde_json::json!({"type": "Subgraph", "value": map(records)});
    format!("{{\"__first__\":{graph}}}")
}

fn ask(reply: &str) -> String {
    new_plugin(&[record("Markdown", &serde_json::json!({"text": reply}))])
}

fn round(id: usize, reply: &str) -> String {
    let data = serde_json::json!({"roundId": id, "reply": reply, "toolCalls": []});
    record("AgentRound", &data)
}

/// (conversation, calls, UTF-16 units) of each turn, sorted.
fn turns(bytes: &[u8]) -> Vec<(Option<String>, u32, u64)> {
    let found = search(&bytes).unwrap();
    let mut turns: Vec<_> = found
        .turns
        .iter()
        .map(|turn| (turn.sessions.first().cloned(), turn.calls, turn.units))
        .collect();
    turns.sort();
    turns
}

fn bytes(parts: &[&str]) -> Vec<u8> {
    let mut bytes = vec![0; 100];
    for part in parts {
        bytes.extend(part.as_bytes());
        bytes.extend([0, 1, 2]);
    }
    bytes
}

#[test]
fn edge_171_copies_count_once_but_the_same_text_twice_in_two_conversations() {
    let (one, two) = (format!("${ONE}"), format!("${TWO}"));
    let reply = ask("hello world");
    let parts = [one.as_str(), &reply, &reply, &two, &reply];
    let want = [(Some(ONE.to_owned()), 1, 11), (Some(TWO.to_owned()), 1, 11)];
    assert_eq!(turns(&bytes(&parts)), want);
}

#[test]
fn edge_172_a_former_version_is_no_turn() {
    let one = format!("${ONE}");
    let (part, whole) = (ask("hello wor"), ask("hello world, all of it"));
    for parts in [[one.as_str(), &part, &whole], [one.as_str(), &whole, &part]] {
        assert_eq!(turns(&bytes(&parts)), [(Some(ONE.to_owned()), 1, 22)]);
    }
}

#[test]
fn edge_178_a_grown_document_of_an_old_plugin_holds_the_former() {
    let one = format!("${ONE}");
    let first = map(&[round(1, "first answer")]);
    let both = map(&[round(1, "first answer"), round(2, "second")]);
    let want = [(Some(ONE.to_owned()), 2, 19)];
    assert_eq!(turns(&bytes(&[&one, &first, &both])), want);
}

#[test]
fn edge_179_old_and_new_documents_in_one_file_are_both_found() {
    let (one, old, new) = (format!("${ONE}"), map(&[round(1, "old")]), ask("new one"));
    let want = [(Some(ONE.to_owned()), 1, 3), (Some(ONE.to_owned()), 1, 7)];
    assert_eq!(turns(&bytes(&[&one, &old, &new])), want);
}

#[test]
fn edge_183_ids_in_any_case_and_behind_the_first_contents() {
    let upper = format!("${}", ONE.to_uppercase());
    let reply = ask("x");
    let want = [(Some(ONE.to_owned()), 1, 1)];
    assert_eq!(turns(&bytes(&[&upper, &reply])), want);
    assert_eq!(turns(&bytes(&[&reply, &upper])), want);
    assert_eq!(turns(&bytes(&[&reply])), [(None, 1, 1)]);
}

#[test]
fn a_truncated_text_swallows_nothing() {
    let one = format!("${ONE}");
    let (cut, whole) = (ask("lost"), ask("kept"));
    let cut = &cut[..cut.len() - 20];
    assert_eq!(
        turns(&bytes(&[&one, cut, &whole])),
        [(Some(ONE.to_owned()), 1, 4)]
    );
}

#[test]
fn edge_200_errored_copies_are_one_failure() {
    let error = |n: usize| {
        let data = serde_json::json!({"message": n});
        new_plugin(&[round(1, ""), record("Error", &data)])
    };
    let one = format!("${ONE}");
    let found = search(&bytes(&[&one, &error(1), &error(1), &error(2)]).as_slice()).unwrap();
    assert_eq!(found.turns.len(), 2);
    assert!(
        found
            .turns
            .iter()
            .all(|turn| turn.is_error && turn.calls == 0)
    );
}

#[test]
fn edge_187_the_first_usable_name_is_whole() {
    let name = |name: &str| {
        let mut framed = b"t\0\x0bprojectNamet".to_vec();
        framed.extend((name.len() as u16).to_be_bytes());
        framed.extend(name.as_bytes());
        framed
    };
    for good in [
        "café",
        "a \"quoted\" name",
        "0123456789",
        "0123456789abc",
        &"x".repeat(65),
    ] {
        let mut file = format!("${ONE}").into_bytes();
        for bad in ["bad\u{1}name", &"x".repeat(200)] {
            file.extend(name(bad));
        }
        file.extend(name(good));
        file.extend(name("second"));
        let found = search(&file.as_slice()).unwrap();
        let projects: Vec<_> = found
            .sessions
            .iter()
            .map(|s| s.project.as_deref())
            .collect();
        assert_eq!(projects, [Some(good)]);
    }
}

#[test]
fn the_model_is_the_field_behind_and_never_in_the_text() {
    let mut file = format!("${ONE}").into_bytes();
    file.extend(ask("use gpt-4.1 or t\0\x05modelt\0\x03o99").bytes());
    file.extend(b"t\0\x05modelt\0\x0fclaude-opus-4.5t\0\x06rating");
    let found = search(&file.as_slice()).unwrap();
    assert_eq!(found.turns[0].model.as_deref(), Some("claude-opus-4.5"));
}

#[test]
fn documents_are_read_whole_with_their_ids_and_times() {
    let turn = document([
        ("id", uuid(7).into()),
        ("sessionId", ONE.into()),
        ("createdAt", Java::Long(1_780_086_405_000)),
        ("response", document([("contents", ask("hello").into())])),
        ("modelName", "gpt-4.1".into()),
    ]);
    let session = document([
        ("id", ONE.into()),
        ("name", document([("value", "a title".into())])),
        ("projectName", "shop".into()),
    ]);
    let mut file = vec![0xff; 50];
    file.extend(stream(&session));
    file.extend([1, 2, 3]);
    file.extend(stream(&turn));
    let found = search(&file.as_slice()).unwrap();
    assert_eq!(found.turns.len(), 1);
    let turn = &found.turns[0];
    assert_eq!(turn.id, Some(uuid(7)));
    assert_eq!(turn.created.map(|t| t.0), Some(1_780_086_405_000));
    assert_eq!(turn.model.as_deref(), Some("gpt-4.1"));
    assert_eq!(found.sessions[0].project.as_deref(), Some("shop"));
}

#[test]
fn finds_in_every_window_of_a_large_file() {
    let filler = vec![b'x'; 5 << 20];
    let mut file = format!("${ONE}").into_bytes();
    for n in 0..6 {
        file.extend(&filler);
        file.extend(ask(&format!("reply number {n}")).bytes());
    }
    let found = turns(&file);
    assert_eq!(found.len(), 6);
    assert!(found.iter().all(|turn| turn.0.as_deref() == Some(ONE)));
}

proptest::proptest! {
    #[test]
    fn no_bytes_panic(bytes: Vec<u8>, at in 0usize..300) {
        let _ = search(&bytes.as_slice());
        let mut file = ask("hello").into_bytes();
        file.splice(at.min(file.len())..at.min(file.len()), bytes);
        let _ = search(&file.as_slice());
    }
}
