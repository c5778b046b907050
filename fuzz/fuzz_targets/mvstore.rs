//! Any bytes, opened as an MVStore file and walked. Start from the unpacked files of `fixtures/jetbrains`.
#![no_main]

use copilot_exporter::stores::jetbrains::java_object::Document;
use copilot_exporter::stores::jetbrains::mvstore::Store;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(store) = Store::open(bytes) else {
        return;
    };
    for map in store.maps() {
        let walked = store.walk(map, &mut |_| false, &mut |_, leaf| {
            let _ = leaf.java_objects(&mut |object| {
                let _ = Document::read(object);
            });
        });
        assert!(walked.is_ok(), "bytes in memory can always be read");
    }
});
