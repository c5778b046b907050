//! The rules that ship, by the word of Prometheus' own tools, of both generations: 3.x takes the left edge of a
//! range to be open.

mod support;

use std::path::PathBuf;
use std::process::Command;

use support::tools::{root, tool};

fn yaml_files(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join(folder)).unwrap();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "yml"));
    files.sort();
    assert!(!files.is_empty(), "{folder} has no rules");
    files
}

fn succeeds(program: &str, arguments: &[&str], files: &[PathBuf]) {
    let output = Command::new(tool(program))
        .args(arguments)
        .args(files)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{program} {}:\n{}{}",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
}

#[test]
fn rules_and_configurations_are_valid() {
    for promtool in ["promtool", "promtool3"] {
        succeeds(
            promtool,
            &["check", "rules", "--lint=all", "--lint-fatal"],
            &yaml_files("deploy/prometheus/rules"),
        );
        succeeds(
            promtool,
            &["check", "config"],
            &[root().join("deploy/prometheus/prometheus.yml")],
        );
    }
    succeeds(
        "amtool",
        &["check-config"],
        &[root().join("deploy/alertmanager/alertmanager.yml")],
    );
}

#[test]
fn rules_fire_and_stay_quiet_on_prometheus_2() {
    succeeds(
        "promtool",
        &["test", "rules"],
        &yaml_files("deploy/prometheus/tests"),
    );
}

#[test]
fn rules_fire_and_stay_quiet_on_prometheus_3() {
    succeeds(
        "promtool3",
        &["test", "rules"],
        &yaml_files("deploy/prometheus/tests"),
    );
}

/// Each alert says what is wrong, what to do, and which dashboard shows it; each is tested.
#[test]
fn every_alert_is_explained_and_tested() {
    let rules = std::fs::read_to_string(root().join("deploy/prometheus/rules/alerts.yml")).unwrap();
    let runbooks = std::fs::read_to_string(root().join("docs/runbooks.md")).unwrap();
    let tests: String = yaml_files("deploy/prometheus/tests")
        .iter()
        .map(|file| std::fs::read_to_string(file).unwrap())
        .collect();
    let alerts: Vec<&str> = rules.split("- alert: ").skip(1).collect();
    assert!(alerts.len() > 10);
    for alert in alerts {
        let name = alert.lines().next().unwrap();
        let runbook = format!("runbook: docs/runbooks.md#{}\n", name.to_lowercase());
        for wanted in [
            "severity: ",
            "summary: ",
            "description: ",
            "dashboard: /d/copilot-",
            &runbook,
        ] {
            assert!(alert.contains(wanted), "{name} lacks {wanted}");
        }
        assert!(
            runbooks.contains(&format!("\n## {name}\n")),
            "no runbook for {name}"
        );
        assert!(
            tests.contains(&format!("alertname: {name}\n        exp_alerts:\n")),
            "no test in which {name} fires"
        );
    }
}
