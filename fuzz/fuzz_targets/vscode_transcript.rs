#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| copilot_exporter::stores::vscode_fuzzing::transcript(bytes));
