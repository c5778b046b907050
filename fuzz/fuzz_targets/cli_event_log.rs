#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| copilot_exporter::stores::cli_fuzzing::event_log(bytes));
