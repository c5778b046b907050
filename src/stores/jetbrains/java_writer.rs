//! Writes Java object streams as Nitrite 4 does, for tests: every entry of a document twice, strings and
//! classes once and then as references.

use std::collections::HashMap;

use super::modified_utf8;

/// A value of a document.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Java {
    Null,
    Text(String),
    Long(i64),
    Bool(bool),
    Document(Vec<(String, Java)>),
    List(Vec<Java>),
    /// An object of a class that nobody knows, whose own form derails a reader that trusts its fields.
    Unknown,
}

impl From<&str> for Java {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Java {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for Java {
    fn from(n: i64) -> Self {
        Self::Long(n)
    }
}

/// A document of these entries.
pub(super) fn document<const N: usize>(entries: [(&str, Java); N]) -> Java {
    Java::Document(
        entries
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect(),
    )
}

/// A whole stream.
pub(super) fn stream(value: &Java) -> Vec<u8> {
    let mut writer = StreamWriter::default();
    writer.out.extend([0xac, 0xed, 0, 5]);
    writer.value(value);
    writer.out
}

/// A `NitriteId`, as keys are.
pub(super) fn nitrite_id(id: u64) -> Vec<u8> {
    let mut writer = StreamWriter::default();
    writer.out.extend([0xac, 0xed, 0, 5, 0x73]);
    writer.class(
        "org.dizitart.no2.collection.NitriteId",
        3,
        &[(b'L', "idValue")],
        None,
    );
    let digits = id.to_string();
    writer.block(&[&(digits.len() as u16).to_be_bytes(), digits.as_bytes()].concat());
    writer.out.push(0x78);
    writer.out
}

#[derive(Default)]
struct StreamWriter {
    out: Vec<u8>,
    handles: u32,
    classes: HashMap<String, u32>,
    texts: HashMap<String, u32>,
}

type Parent<'a> = Option<&'a dyn Fn(&mut StreamWriter)>;

impl StreamWriter {
    fn handle(&mut self) -> u32 {
        self.handles += 1;
        self.handles - 1
    }

    fn reference(&mut self, handle: u32) {
        self.out.push(0x71);
        self.out.extend((0x7e_0000 + handle).to_be_bytes());
    }

    fn utf(&mut self, text: &str) {
        let bytes = modified_utf8::encode(text);
        self.out.extend((bytes.len() as u16).to_be_bytes());
        self.out.extend(bytes);
    }

    fn text(&mut self, text: &str) -> u32 {
        if let Some(&handle) = self.texts.get(text) {
            self.reference(handle);
            return handle;
        }
        let bytes = modified_utf8::encode(text);
        match u16::try_from(bytes.len()) {
            Ok(length) => {
                self.out.push(0x74);
                self.out.extend(length.to_be_bytes());
            }
            Err(_) => {
                self.out.push(0x7c);
                self.out.extend((bytes.len() as u64).to_be_bytes());
            }
        }
        self.out.extend(bytes);
        let handle = self.handle();
        self.texts.insert(text.to_owned(), handle);
        handle
    }

    fn class(&mut self, name: &str, flags: u8, fields: &[(u8, &str)], parent: Parent<'_>) {
        if let Some(&handle) = self.classes.get(name) {
            return self.reference(handle);
        }
        self.out.push(0x72);
        self.utf(name);
        self.out.extend([0x58; 8]);
        let handle = self.handle();
        self.classes.insert(name.to_owned(), handle);
        self.out.push(flags);
        self.out.extend((fields.len() as u16).to_be_bytes());
        for &(kind, field) in fields {
            self.out.push(kind);
            self.utf(field);
            if kind == b'L' {
                self.text("Ljava/lang/Object;");
            }
        }
        self.out.push(0x78);
        match parent {
            Some(parent) => parent(self),
            None => self.out.push(0x70),
        }
    }

    fn block(&mut self, bytes: &[u8]) {
        self.out.extend([0x77, bytes.len() as u8]);
        self.out.extend(bytes);
    }

    fn boxed(&mut self, class: &str, kind: u8, bytes: &[u8]) -> u32 {
        self.out.push(0x73);
        self.class(
            class,
            2,
            &[(kind, "value")],
            Some(&|w| {
                w.class("java.lang.Number", 2, &[], None);
            }),
        );
        self.out.extend(bytes);
        self.handle()
    }

    /// Writes a value and returns its handle, if it has one.
    fn value(&mut self, value: &Java) -> Option<u32> {
        Some(match value {
            Java::Null => {
                self.out.push(0x70);
                return None;
            }
            Java::Text(text) => self.text(text),
            Java::Long(n) => self.boxed("java.lang.Long", b'J', &n.to_be_bytes()),
            Java::Bool(b) => {
                self.out.push(0x73);
                self.class("java.lang.Boolean", 2, &[(b'Z', "value")], None);
                self.out.push(u8::from(*b));
                self.handle()
            }
            Java::List(items) => {
                self.out.push(0x73);
                self.class("java.util.ArrayList", 3, &[(b'I', "size")], None);
                let handle = self.handle();
                let size = (items.len() as u32).to_be_bytes();
                self.out.extend(size);
                self.block(&size);
                for item in items {
                    self.value(item);
                }
                self.out.push(0x78);
                handle
            }
            Java::Document(entries) => self.document(entries),
            Java::Unknown => {
                self.out.push(0x73);
                self.class(
                    "com.example.Custom",
                    3,
                    &[(b'J', "first"), (b'L', "second")],
                    None,
                );
                self.block(b"own");
                self.out.push(0x78);
                self.handle()
            }
        })
    }

    fn document(&mut self, entries: &[(String, Java)]) -> u32 {
        self.out.push(0x73);
        self.class(
            "org.dizitart.no2.collection.NitriteDocument",
            3,
            &[],
            Some(&|w| {
                w.class(
                    "java.util.LinkedHashMap",
                    2,
                    &[(b'Z', "accessOrder")],
                    Some(&|w| {
                        let fields = [(b'F', "loadFactor"), (b'I', "threshold")];
                        w.class("java.util.HashMap", 3, &fields, None);
                    }),
                );
            }),
        );
        let handle = self.handle();
        self.out.extend(0.75f32.to_be_bytes());
        self.out.extend(12u32.to_be_bytes());
        let size = (entries.len() as u32).to_be_bytes();
        self.block(&[16u32.to_be_bytes(), size].concat());
        let mut handles = Vec::new();
        for (key, value) in entries {
            handles.push((self.text(key), self.value(value)));
        }
        self.out.push(0x78);
        self.out.push(0);
        self.block(&size);
        for (key, value) in handles {
            self.out.push(0x73);
            let fields = [(b'L', "first"), (b'L', "second")];
            self.class("org.dizitart.no2.common.tuples.Pair", 3, &fields, None);
            self.handle();
            self.reference(key);
            match value {
                Some(value) => self.reference(value),
                None => self.out.push(0x70),
            }
            self.out.push(0x78);
        }
        self.out.push(0x78);
        handle
    }
}
