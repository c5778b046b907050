//! docs/configuration.md against the code: it names every key, and its example is a valid file.

mod support;

use std::fs;
use std::process::Command;

use support::exporter::PROGRAM;
use support::tools::root;

fn page() -> String {
    fs::read_to_string(root().join("docs/configuration.md")).expect("the page")
}

#[test]
fn every_key_is_documented() {
    let code = fs::read_to_string(root().join("src/config/file.rs")).expect("the source");
    let page = page();
    let mut keys = 0;
    for line in code.lines() {
        let Some((key, _)) = line
            .strip_prefix("    pub ")
            .and_then(|rest| rest.split_once(": "))
        else {
            continue;
        };
        keys += 1;
        let documented = [
            format!("`{key}`"),
            format!("`[{key}]`"),
            format!("`[[{key}]]`"),
        ];
        assert!(
            documented.iter().any(|name| page.contains(name)),
            "{key} is not in docs/configuration.md"
        );
    }
    assert!(keys > 50, "{keys} keys found");
}

#[test]
fn the_example_is_valid() {
    let page = page();
    let (_, rest) = page.split_once("```toml\n").expect("an example");
    let (example, _) = rest.split_once("```").expect("its end");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("config.toml");
    fs::write(&file, example).expect("to write it");
    let output = Command::new(PROGRAM)
        .arg("check")
        .arg("--config")
        .arg(&file)
        .output()
        .expect("check");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
