//! docs/configuration.md against the code: every key has a row in the table of its section, every row is a key,
//! defaults are the code's, and the example is a valid file.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use copilot_exporter::config::Config;
use support::exporter::PROGRAM;
use support::tools::root;

fn page() -> String {
    std::fs::read_to_string(root().join("docs/configuration.md")).expect("the page")
}

/// The section of each key: its heading on the page, and its type in the code.
const SECTIONS: [(&str, &str); 8] = [
    ("Where to look", "Config"),
    ("`[scan]`", "ScanConfig"),
    ("`[web]`", "WebConfig"),
    ("`[otlp]`", "OtlpConfig"),
    ("`[privacy]`", "PrivacyConfig"),
    ("`[plan]`", "PlanConfig"),
    ("`[[budgets]]`", "Budget"),
    ("`[[prices]]`", "PriceOverride"),
];

/// The rows of the table under `heading`: the cells of each.
fn rows<'a>(page: &'a str, heading: &str) -> Vec<Vec<&'a str>> {
    let (_, behind) = page
        .split_once(&format!("\n## {heading}\n"))
        .unwrap_or_else(|| panic!("no section {heading}"));
    let section = behind.split_once("\n## ").map_or(behind, |(one, _)| one);
    section
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"))
        .skip(1)
        .map(|line| line.split(" | ").collect())
        .collect()
}

/// What stands between backquotes.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// The fields of the struct `name`.
fn fields(source: &str, name: &str) -> BTreeSet<String> {
    let (_, behind) = source
        .split_once(&format!("pub struct {name} {{"))
        .unwrap_or_else(|| panic!("no struct {name}"));
    let (body, _) = behind.split_once("\n}").expect("its end");
    body.lines()
        .filter_map(|line| line.trim().strip_prefix("pub ")?.split_once(": "))
        .map(|(field, _)| field.to_owned())
        .collect()
}

#[test]
fn every_key_has_a_row_and_every_row_is_a_key() {
    let source = std::fs::read_to_string(root().join("src/config/file.rs")).expect("the source");
    assert_eq!(
        source.matches("pub struct ").count(),
        SECTIONS.len(),
        "a section is new"
    );
    let page = page();
    for (heading, name) in SECTIONS {
        let mut keys = fields(&source, name);
        // Tables of the file are sections of the page.
        keys.retain(|key| {
            let headings = [format!("\n## `[{key}]`\n"), format!("\n## `[[{key}]]`\n")];
            !headings.iter().any(|heading| page.contains(heading))
        });
        let rows: BTreeSet<String> = rows(&page, heading)
            .iter()
            .flat_map(|cells| quoted(cells[0]))
            .map(str::to_owned)
            .collect();
        assert_eq!(rows, keys, "{heading}");
    }
}

#[test]
fn defaults_are_the_codes() {
    let config = Config::default();
    let defaults = [
        (
            "Where to look",
            "max_projects",
            config.max_projects.to_string(),
        ),
        ("Where to look", "tool_calls", config.tool_calls.to_string()),
        (
            "`[scan]`",
            "interval_seconds",
            config.scan.interval_seconds.to_string(),
        ),
        ("`[scan]`", "watch", config.scan.watch.to_string()),
        (
            "`[scan]`",
            "zero_hold_seconds",
            config.scan.zero_hold_seconds.to_string(),
        ),
        ("`[web]`", "listen", format!("`{:?}`", config.web.listen)),
        (
            "`[web]`",
            "systemd_socket",
            config.web.systemd_socket.to_string(),
        ),
        (
            "`[web]`",
            "telemetry_path",
            format!("`{}`", config.web.telemetry_path),
        ),
        (
            "`[web]`",
            "max_requests",
            config.web.max_requests.to_string(),
        ),
        (
            "`[web]`",
            "disable_exporter_metrics",
            config.web.disable_exporter_metrics.to_string(),
        ),
        (
            "`[web]`",
            "openmetrics_created",
            config.web.openmetrics_created.to_string(),
        ),
        (
            "`[plan]`",
            "premium_requests",
            config.plan.premium_requests.to_string(),
        ),
        (
            "`[privacy]`",
            "project",
            format!("`{:?}`", config.privacy.project).to_lowercase(),
        ),
    ];
    let page = page();
    for (heading, key, default) in defaults {
        let rows = rows(&page, heading);
        let row = rows
            .iter()
            .find(|cells| cells[0] == format!("`{key}`"))
            .unwrap_or_else(|| panic!("{heading} {key}"));
        assert_eq!(row[1], default, "{heading} {key}");
    }
}

#[test]
fn the_example_is_valid_and_has_every_section() {
    let page = page();
    let (_, rest) = page.split_once("```toml\n").expect("an example");
    let (example, _) = rest.split_once("```").expect("its end");
    let sections: BTreeMap<String, toml::Value> = toml::from_str(example).expect("TOML");
    for (heading, _) in &SECTIONS[1..] {
        let section = heading.trim_matches(['`', '[', ']']);
        assert!(sections.contains_key(section), "{section}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("config.toml");
    std::fs::write(&file, example).expect("to write it");
    let output = Command::new(PROGRAM)
        .args(["check", "--config"])
        .arg(&file)
        .output()
        .expect("check");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
