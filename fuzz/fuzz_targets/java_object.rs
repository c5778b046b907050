//! Any bytes, read as a Java object stream and visited to the end.
#![no_main]

use copilot_exporter::stores::jetbrains::java_object::{Document, Value};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(document) = Document::read(bytes) {
        visit(document.root(), 0);
    }
});

/// A hostile stream may hold itself: nobody goes deeper than a few levels.
fn visit(value: Value<'_>, depth: u8) {
    let _ = (value.text(), value.integer(), value.bool());
    if depth < 3 {
        for (_, child) in value.entries().take(20) {
            visit(child, depth + 1);
        }
        for item in value.items().take(20) {
            visit(item, depth + 1);
        }
    }
}
