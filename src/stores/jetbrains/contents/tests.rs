use super::super::plugin_writer::{error, graph, map, markdown, record, round};
use super::*;
use proptest::prelude::*;
use serde_json::json;

fn by_level(text: &str) -> Contents {
    let mut contents = Contents::default();
    assert!(contents.read_by_level(text, 0), "{text}");
    contents
}

fn in_place(text: &str) -> Option<Contents> {
    let mut contents = Contents::default();
    contents.read_in_place(text)?;
    Some(contents)
}

/// The example of the format's description.
const EXAMPLE: &str = r#"{"__first__":{"type":"Subgraph","value":"{\"11111111-2222-4333-8444-555555555555\":{\"type\":\"Value\",\"value\":\"{\\\"type\\\":\\\"Markdown\\\",\\\"data\\\":\\\"{\\\\\\\"text\\\\\\\":\\\\\\\"All tests pass.\\\\\\\"}\\\"}\"}}"}}"#;

#[test]
fn the_documented_example() {
    let contents = in_place(EXAMPLE).unwrap();
    assert_eq!(contents, by_level(EXAMPLE));
    assert_eq!(contents.markdown[0].1, "All tests pass.");
    assert!(contents.has_subgraph && contents.rounds.is_empty());
}

#[test]
fn both_ways_read_odd_records_alike() {
    let odd = [
        record(
            "AgentRound",
            &json!({"roundId": "r-1", "reply": null, "toolCalls": null}),
        ),
        record(
            "AgentRound",
            &json!({"roundId": null, "reply": "a", "toolCalls": {"x": 1}}),
        ),
        record(
            "AgentRound",
            &json!({"reply": "b", "isError": true, "toolCalls": [[], {}]}),
        ),
        json!({"type": "AgentRound", "data": {"reply": "no text"}}).to_string(),
        json!({"type": "Steps", "status": "failed", "data": "[{\"a\":[1,2.5e3,true,null]}]"})
            .to_string(),
        json!({"isError": "true", "isErro": true, "type": "Notification"}).to_string(),
        json!({"model": "gpt-4.1", "modelName": "", "x": {"y": [{}, []]}}).to_string(),
        json!({"modelName": "auto"}).to_string(),
        " { \"type\" : \"Markdown\" , \"data\" : \"{ }\" } "
            .trim_end()
            .to_owned(),
        error(),
    ];
    for record in &odd {
        for text in [
            map(std::slice::from_ref(record)),
            graph(&[record.clone(), markdown("x")]),
        ] {
            assert_eq!(in_place(&text).as_ref(), Some(&by_level(&text)), "{text}");
        }
    }
}

#[test]
fn what_cant_be_read_in_place_is_read_by_level() {
    let quoted = EXAMPLE.replace("\\\\\\\\\\\\\\\"", "\\\\\\\\u0022");
    assert_ne!(quoted, EXAMPLE);
    assert_eq!(in_place(&quoted), None);
    let mut contents = Contents::default();
    assert_eq!(contents.add(&quoted), Form::Contents);
    assert_eq!(contents.markdown[0].1, "All tests pass.");
}

#[test]
fn broken_contents_are_told_from_other_texts() {
    let form = |text: &str| Contents::default().add(text);
    let two = map(&[markdown("one"), markdown("two")]);
    let cut = &two[..two.len() - 3];
    assert_eq!(form(cut), Form::Contents, "told before it broke off");
    assert_eq!(form(&EXAMPLE[..100]), Form::Broken);
    assert_eq!(form("{\"type\":\"other\"}"), Form::Other);
    assert_eq!(form("a reply"), Form::Other);
    assert_eq!(form("{}"), Form::Other);
}

#[test]
fn files_are_found_at_every_depth() {
    let uri = "file:///home/u/my%20app/a.rs";
    let text = graph(&[
        record("References", &json!([uri, "https://x"])),
        markdown(uri),
    ]);
    let found: Vec<_> = file_uris(&text).collect();
    assert_eq!(found, [uri, uri]);
}

#[test]
fn edge_165_units_of_utf_16() {
    for text in ["", "abc", "café", "你好", "\u{1f680}x", "a\u{0}b"] {
        assert_eq!(utf16_units(text), text.encode_utf16().count() as u64);
    }
}

/// Texts in which quotes, backslashes and braces are frequent.
fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec(
        prop_oneof![
            Just("\"".to_owned()),
            Just("\\".to_owned()),
            Just("{\"type\":\"".to_owned()),
            Just("}".to_owned()),
            Just("\n\t\0é\u{1f680}".to_owned()),
            any::<String>(),
        ],
        0..8,
    )
    .prop_map(|parts| parts.concat())
}

fn records() -> impl Strategy<Value = Vec<String>> {
    let one = prop_oneof![
        text().prop_map(|text| markdown(&text)),
        (0usize..3, text(), 0usize..3).prop_map(|(id, text, tools)| round(id, &text, tools)),
        text().prop_map(|text| record("Thinking", &json!({"id": "x", "text": text}))),
        text().prop_map(|text| json!({"type": "PendingChanges", "content": text}).to_string()),
        text().prop_map(|model| json!({"model": model}).to_string()),
        Just(error()),
    ];
    proptest::collection::vec(one, 0..6)
}

/// Escapes of every kind, and what is none.
fn escapes() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("\\".to_owned()),
        Just("\"".to_owned()),
        Just("\\\\n".to_owned()),
        "[nrtbfu/x\n]",
        "u(00e9|006E|0022|005c|0000|2028|d83d|12)",
        any::<char>().prop_map(String::from),
    ];
    proptest::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn all_levels_at_once_are_the_levels_one_by_one(text in escapes(), times in 1u32..5) {
        let mut escaped = text;
        for _ in 0..times - 1 {
            escaped = json!(escaped).to_string();
            escaped = escaped[1..escaped.len() - 1].to_owned();
        }
        let (at_once, one_by_one) = nested::both(&escaped, times);
        if let Some(text) = at_once {
            prop_assert_eq!(Some(text), one_by_one);
        }
    }

    #[test]
    fn plain_escapes_are_read_at_once(text in "[a-z\\\\\"\n\t\0\u{7} ]{0,20}", times in 1u32..5) {
        let mut escaped = text.clone();
        for _ in 0..times {
            escaped = json!(escaped).to_string();
            escaped = escaped[1..escaped.len() - 1].to_owned();
        }
        prop_assert_eq!(nested::both(&escaped, times).0, Some(text));
    }

    #[test]
    fn both_ways_read_the_same(records in records(), new: bool) {
        let text = if new { graph(&records) } else { map(&records) };
        let contents = in_place(&text);
        if !text.contains("u0022") && !text.contains("u005") {
            prop_assert!(contents.is_some());
        }
        if let Some(contents) = contents {
            prop_assert_eq!(contents, by_level(&text));
        }
    }

    #[test]
    fn replies_come_back_whole(text in text()) {
        let mut contents = Contents::default();
        contents.add(&graph(&[round(1, &text, 0)]));
        prop_assert_eq!(&contents.rounds[0].reply, &text);
    }

    #[test]
    fn no_text_panics(text in text(), at in 0usize..400) {
        let mut whole = graph(&[round(1, &text, 1), markdown(&text)]);
        if whole.is_char_boundary(at) && at < whole.len() {
            whole.insert_str(at, &text);
        }
        Contents::default().add(&whole);
        Contents::default().add(&text);
    }
}
