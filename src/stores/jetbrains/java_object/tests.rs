use super::super::java_writer::{Java, document, nitrite_id, stream};
use super::*;
use proptest::prelude::*;

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

/// What a tree holds, for comparison with what was written.
fn tree(value: Value<'_>) -> Java {
    match value.node() {
        Node::Nothing => Java::Null,
        Node::Text(_) | Node::Uuid(..) => Java::Text(value.text().unwrap().into_owned()),
        Node::Integer(n) => Java::Long(n),
        Node::Float(n) => Java::Long(n as i64),
        Node::Bool(b) => Java::Bool(b),
        Node::Map(_) => Java::Document(
            value
                .entries()
                .map(|(key, value)| (key.into_owned(), tree(value)))
                .collect(),
        ),
        Node::List(_) => Java::List(value.items().map(tree).collect()),
    }
}

fn sample() -> Java {
    document([
        ("id", "7f2fc3e9-dacc-4ecd-fc62-6e5c0885634e".into()),
        ("createdAt", Java::Long(1_780_086_405_000)),
        (
            "request",
            document([("stringContent", "why?\0 \u{1f680}".into())]),
        ),
        (
            "response",
            document([("stringContent", "x".repeat(70_000).into())]),
        ),
        ("tags", Java::List(vec!["a".into(), Java::Null, "a".into()])),
        ("archived", Java::Bool(false)),
        ("deletedAt", Java::Null),
    ])
}

#[test]
fn edge_198_each_entry_is_there_once() {
    let bytes = stream(&sample());
    let read = Document::read(&bytes).unwrap();
    assert_eq!(tree(read.root()), sample());
    assert_eq!(read.root().entries().count(), 7);
}

#[test]
fn a_nitrite_id_is_its_digits() {
    let class = "org.dizitart.no2.collection.NitriteId";
    let start = hex("aced0005 73 72 0025");
    let rest = hex("0000000058104967 03 0001 4c 0007 696456616c7565 74 0012");
    let end = hex("78 70 77 03 0001 37 78");
    let bytes = [&start, class.as_bytes(), &rest, b"Ljava/lang/String;", &end].concat();
    assert_eq!(
        Document::read(&bytes).unwrap().root().text().as_deref(),
        Some("7")
    );
    let written = nitrite_id(2_127_590_469_514_039_296);
    let read = Document::read(&written).unwrap();
    assert_eq!(read.root().text().as_deref(), Some("2127590469514039296"));
}

#[test]
fn dates_and_uuids_are_understood() {
    let mut bytes = hex("aced0005 73 72 000e");
    bytes.extend(b"java.util.Date");
    bytes.extend(hex(
        "686a81014b597419 03 0000 78 70 77 08 0000019e75741547 78",
    ));
    let date = Document::read(&bytes).unwrap();
    assert_eq!(date.root().integer(), Some(0x19e_7574_1547));
    let mut bytes = hex("aced0005 73 72 000e");
    bytes.extend(b"java.util.UUID");
    bytes.extend(hex("bc9903f798 6d852f 02 0002 4a 000c"));
    bytes.extend(b"leastSigBits");
    bytes.extend(hex("4a 000b"));
    bytes.extend(b"mostSigBits");
    bytes.extend(hex("78 70 9f83cb7ab64d67bb 7f2fc3e9dacc4ecd"));
    let uuid = Document::read(&bytes).unwrap();
    let want = "7f2fc3e9-dacc-4ecd-9f83-cb7ab64d67bb";
    assert_eq!(uuid.root().text().as_deref(), Some(want));
}

/// The documents of Nitrite 3: maps without an own form.
#[test]
fn a_subclass_of_a_map_is_a_map() {
    let mut bytes = hex("aced0005 73 72 0019");
    bytes.extend(b"org.dizitart.no2.Document");
    bytes.extend(b"\0\0\0\0\0\0\0\x01");
    bytes.extend(hex("02 0000 78 72 0017"));
    bytes.extend(b"java.util.LinkedHashMap");
    bytes.extend(hex("34c04e5c106cc0fb 02 0001 5a 000b"));
    bytes.extend(b"accessOrder");
    bytes.extend(hex("78 72 0011"));
    bytes.extend(b"java.util.HashMap");
    bytes.extend(hex("0507dac1c31660d1 03 0002 46 000a"));
    bytes.extend(b"loadFactor");
    bytes.extend(hex("49 0009"));
    bytes.extend(b"threshold");
    bytes.extend(hex(
        "78 70 3f400000 0000000c 77 08 00000010 00000001 74 0002 6964 74 0001 78 78 00",
    ));
    let read = Document::read(&bytes).unwrap();
    assert_eq!(tree(read.root()), document([("id", "x".into())]));
}

#[test]
fn edge_199_an_unknown_form_is_an_error_and_no_more() {
    let bytes = stream(&document([("odd", Java::Unknown), ("id", "x".into())]));
    assert!(Document::read(&bytes).is_err());
}

#[test]
fn nesting_and_references_are_bounded() {
    let mut deep = Java::Null;
    for _ in 0..200 {
        deep = Java::List(vec![deep]);
    }
    assert!(Document::read(&stream(&deep)).is_err());
    // A descriptor that is its own parent.
    let own_parent = hex("aced0005 73 72 0001 41 0000000000000000 02 0000 78 71 007e0000");
    assert!(Document::read(&own_parent).is_err());
    // A list that holds itself can be read, and is walked no further than its reader wants.
    let mut own_item = hex("aced0005 73 72 0013");
    own_item.extend(b"java.util.ArrayList");
    own_item.extend(hex("7881d21d99c7619d 03 0001 49 0004"));
    own_item.extend(b"size");
    own_item.extend(hex("78 70 00000001 77 04 00000001 71 007e0001 78"));
    assert_eq!(Document::read(&own_item).unwrap().root().items().count(), 1);
}

fn java() -> impl Strategy<Value = Java> {
    let leaf = prop_oneof![
        Just(Java::Null),
        any::<String>().prop_map(Java::Text),
        any::<i64>().prop_map(Java::Long),
        any::<bool>().prop_map(Java::Bool),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Java::List),
            proptest::collection::vec((any::<String>(), inner), 0..6).prop_map(Java::Document),
        ]
    })
}

proptest! {
    #[test]
    fn any_document_comes_back(value in java()) {
        let bytes = stream(&value);
        let mut read = Document::read(&bytes).unwrap();
        // In memory that holds another document.
        let length = read.replace(&bytes).unwrap();
        prop_assert_eq!(length, bytes.len());
        prop_assert_eq!(tree(read.root()), value);
    }

    #[test]
    fn damage_is_survived(at in 0usize..4000, byte: u8, cut in 0usize..4000) {
        let mut bytes = stream(&document([("a", "x".repeat(3000).into()), ("b", sample())]));
        prop_assert!(Document::read(&bytes[..cut]).is_err());
        bytes[at] = byte;
        let _ = Document::read(&bytes);
    }

    #[test]
    fn no_bytes_panic(bytes: Vec<u8>) {
        let _ = Document::read(&[&[0xac, 0xed, 0, 5], bytes.as_slice()].concat());
    }
}
