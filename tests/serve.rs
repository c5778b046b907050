//! The life of the service: first run, stores that come later, reloads, a second exporter, many homes, and
//! what a real Prometheus makes of its counters.

#![cfg(unix)]

mod support;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use support::exporter::{Exporter, PROGRAM};
use support::home::Home;
use support::process::{Process, free_port};
use support::prometheus::Prometheus;
use support::wait::eventually;

/// One durable line per call, as CLI 1.0.102 writes it.
fn call(session: &str, number: u32, input: u32, output: u32) -> String {
    format!(
        r#"{{"type":"session.usage_record","id":"{session}-{number}","timestamp":"2026-11-02T10:00:{:02}.100Z","data":{{"usage":{{"model":"gpt-5.4","inputTokens":{input},"outputTokens":{output},"cacheReadTokens":0,"cacheWriteTokens":0,"initiator":"user","isByok":false,"apiCallId":"{session}-{number}","accounting":{{"sourceSessionId":"{session}","sequence":{number},"usageId":"{session}-{number}"}},"aiCreditsStatus":"unavailable"}}}}}}"#,
        number % 60
    ) + "\n"
}

fn start(session: &str, project: &str) -> String {
    format!(
        r#"{{"type":"session.start","id":"{session}-0","timestamp":"2026-11-02T09:59:00.000Z","data":{{"sessionId":"{session}","copilotVersion":"1.0.102","context":{{"cwd":"/srv/{project}","repository":"acme/{project}"}}}}}}"#
    ) + "\n"
}

fn log(session: &str) -> String {
    format!(".copilot/session-state/{session}/events.jsonl")
}

const QUICK: &str = "scan = { interval_seconds = 1, zero_hold_seconds = 5 }\n";

fn value(exposition: &str, series: &str) -> Option<f64> {
    let lines = exposition.lines().filter(|line| line.starts_with(series));
    let values: Vec<f64> = lines
        .filter_map(|line| line.rsplit_once(' ')?.1.parse().ok())
        .collect();
    (!values.is_empty()).then(|| values.iter().sum())
}

#[test]
fn a_first_run_without_data_says_so_and_sees_what_comes_later() {
    let home = Home::new();
    // No timed rescan within the test: it is the watcher that sees the store come.
    let exporter = Exporter::serve(
        home.path(),
        "scan = { interval_seconds = 3600, zero_hold_seconds = 1 }\n",
    );
    let told = eventually("the first words", || {
        let output = exporter.process.output();
        output.contains("no Copilot data yet").then_some(output)
    });
    assert!(told.contains(".copilot"), "the places are named: {told}");
    home.write(&log("s1"), start("s1", "shop") + &call("s1", 1, 100, 5));
    eventually("the call", || {
        (value(&exporter.metrics(), "copilot_calls_total") == Some(1.0)).then_some(())
    });
}

#[test]
fn increase_sees_the_first_call_of_a_new_series_and_no_restart() {
    let home = Home::new();
    let state = tempfile::tempdir().unwrap();
    home.write(
        &log("old"),
        start("old", "history") + &call("old", 1, 9_000, 900),
    );
    let exporter = Exporter::serve_with_state(home.path(), state.path(), QUICK);
    let prometheus = Prometheus::start("prometheus", &Prometheus::scraping(&[exporter.port]));
    let tokens = |project: &str| {
        format!(
            "sum(increase(copilot_tokens_total{{project='{project}',token_type='output'}}[5m]))"
        )
    };
    prometheus.wait_for("count(copilot_tokens_total{project='history'})", |n| {
        n > 0.0
    });

    home.write(&log("new"), start("new", "shop") + &call("new", 1, 100, 40));
    prometheus.wait_for(
        "sum(copilot_tokens_total{project='shop',token_type='output'})",
        |n| n == 40.0,
    );
    home.append(&log("new"), call("new", 2, 100, 2));
    prometheus.wait_for(
        "sum(copilot_tokens_total{project='shop',token_type='output'})",
        |n| n == 42.0,
    );
    // Extrapolation to the window's edges is bounded by the zero that came first.
    prometheus.wait_for(&tokens("shop"), |n| (41.9..43.0).contains(&n));

    // Neither a restart nor a pruned store is an increase.
    let port = exporter.port;
    drop(exporter);
    fs::remove_dir_all(home.path().join(".copilot/session-state/old")).unwrap();
    let again = Exporter::serve_again(home.path(), state.path(), QUICK, port);
    prometheus.wait_for("copilot_exporter_scans_total{outcome='success'}", |n| {
        n >= 2.0
    });
    assert_eq!(
        value(
            &again.metrics(),
            "copilot_calls_total{provider=\"copilot\",model=\"gpt-5.4\",project=\"history\""
        ),
        Some(1.0)
    );
    prometheus.wait_for(&tokens("history"), |n| n == 0.0);
    prometheus.wait_for(&tokens("shop"), |n| (41.9..43.0).contains(&n));
}

#[test]
fn an_invalid_config_is_refused_and_the_old_one_stays_in_force() {
    let home = Home::new();
    let exporter = Exporter::serve(home.path(), QUICK);
    let successful = "copilot_exporter_config_last_reload_successful";
    assert_eq!(value(&exporter.metrics(), successful), Some(1.0));
    let file = exporter.process.folder().join("config.toml");
    let good = fs::read_to_string(&file).unwrap();
    fs::write(&file, "nonsense = 1\n").unwrap();
    hang_up(&exporter);
    eventually("the refusal", || {
        (value(&exporter.metrics(), successful) == Some(0.0)).then_some(())
    });
    let budget = "[[budgets]]\nname = 'team'\nusd = 10.0\nwindow = 'month'\n";
    fs::write(&file, format!("{good}\n{budget}")).unwrap();
    hang_up(&exporter);
    eventually("the new budget", || {
        let metrics = exporter.metrics();
        (value(&metrics, successful) == Some(1.0)
            && value(&metrics, "copilot_budget_usd") == Some(10.0))
        .then_some(())
    });
}

fn hang_up(exporter: &Exporter) {
    let id = exporter.process.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-HUP", &id])
            .status()
            .unwrap()
            .success()
    );
}

#[test]
fn a_second_exporter_on_one_state_folder_says_so_and_stops() {
    let home = Home::new();
    let state = tempfile::tempdir().unwrap();
    let first = Exporter::serve_with_state(home.path(), state.path(), QUICK);
    let second = Command::new(PROGRAM)
        .args(["once", "--home"])
        .arg(home.path())
        .arg("--state-dir")
        .arg(state.path())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&second.stderr).into_owned();
    assert_eq!(second.status.code(), Some(1), "{told}");
    assert!(
        told.contains(&first.process.id().to_string()),
        "the holder is named: {told}"
    );
    // Looking is no keeping: a report is given beside a running exporter.
    let report = Command::new(PROGRAM)
        .args(["report", "--home"])
        .arg(home.path())
        .arg("--state-dir")
        .arg(state.path())
        .output()
        .unwrap();
    assert!(
        report.status.success(),
        "{}",
        String::from_utf8_lossy(&report.stderr)
    );
}

#[test]
fn many_homes_each_with_its_user_and_none_harmed_by_another() {
    let root = tempfile::tempdir().unwrap();
    let write = |user: &str, session: &str, text: String| {
        let file = root.path().join(user).join(log(session));
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    };
    write("ada", "a", start("a", "shop") + &call("a", 1, 100, 10));
    write("bob", "b", start("b", "shop") + &call("b", 1, 100, 20));
    // A home with a broken database, one with a link out of itself, and one that nobody may read.
    fs::write(
        root.path().join("bob/.copilot/session-store.db"),
        [7; 9_000],
    )
    .unwrap();
    let outside = tempfile::tempdir().unwrap();
    fs::create_dir_all(outside.path().join("x")).unwrap();
    fs::write(
        outside.path().join("x/events.jsonl"),
        start("x", "secret") + &call("x", 1, 100, 30),
    )
    .unwrap();
    fs::create_dir_all(root.path().join("eve/.copilot")).unwrap();
    symlink(
        outside.path(),
        root.path().join("eve/.copilot/session-state"),
    )
    .unwrap();
    fs::create_dir_all(root.path().join("mal/.copilot/session-state")).unwrap();
    fs::set_permissions(
        root.path().join("mal/.copilot"),
        fs::Permissions::from_mode(0o000),
    )
    .unwrap();

    let homes = format!("{}/*", root.path().display());
    let output = Command::new(PROGRAM)
        .args(["once", "--no-state", "--home", &homes])
        .output()
        .unwrap();
    let metrics = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    let output_of = |user: &str| {
        let lines = metrics
            .lines()
            .filter(|line| line.starts_with("copilot_tokens_total") && line.contains("\"output\""));
        let own: Vec<&str> = lines
            .filter(|line| line.contains(&format!("user=\"{user}\"")))
            .collect();
        value(&own.join("\n"), "copilot_tokens_total")
    };
    assert_eq!(
        (output_of("ada"), output_of("bob"), output_of("eve")),
        (Some(10.0), Some(20.0), None),
        "{metrics}"
    );
    assert_eq!(
        value(&metrics, "copilot_exporter_store_up{store=\"cli_store\"}"),
        Some(0.0)
    );
    assert!(!metrics.contains("secret"));
}

/// A store that can't be read is told at every pass, but read again only when it changes.
#[test]
fn a_lasting_problem_is_told_once_and_costs_nothing() {
    let home = Home::new();
    home.write(".copilot/session-store.db", [7; 9_000]);
    let exporter = Exporter::serve(home.path(), QUICK);
    eventually("some passes", || {
        let scans = value(
            &exporter.metrics(),
            "copilot_exporter_scans_total{outcome=\"partial\"}",
        );
        (scans > Some(3.0)).then_some(())
    });
    assert_eq!(
        value(
            &exporter.metrics(),
            "copilot_exporter_store_up{store=\"cli_store\"}"
        ),
        Some(0.0)
    );
    assert_eq!(
        exporter
            .process
            .output()
            .matches("session-store.db")
            .count(),
        1
    );
    fs::remove_file(home.path().join(".copilot/session-store.db")).unwrap();
    eventually("the end of the problem", || {
        exporter
            .process
            .output()
            .contains("no longer")
            .then_some(())
    });
}

#[test]
fn it_stops_cleanly_and_frees_its_state() {
    let home = Home::new();
    let state = tempfile::tempdir().unwrap();
    home.write(&log("s"), start("s", "shop") + &call("s", 1, 100, 5));
    let mut exporter = Exporter::serve_with_state(home.path(), state.path(), QUICK);
    assert!(exporter.process.terminate().success());
    let again = Exporter::serve_with_state(home.path(), state.path(), QUICK);
    assert_eq!(value(&again.metrics(), "copilot_calls_total"), Some(1.0));
}

#[test]
fn an_address_that_is_taken_is_a_clear_error() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let home = Home::new();
    let output = Command::new(PROGRAM)
        .args(["--no-state", "--web.listen-address", &address, "--home"])
        .arg(home.path())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains(&address), "{told}");
}

#[test]
fn nothing_of_peoples_work_is_said_at_any_level() {
    let home = Home::new();
    let secret = "hunter2-prompt";
    let private = format!(
        "{{\"type\":\"user.message\",\"id\":\"m\",\"data\":{{\"content\":\"{secret}\"}}}}\n{{\"type\":\"session.usage_record\",\"id\":\"{secret}\",\"data\":{{\"usage\":\"{secret}\"}}}}\n{secret}\n"
    );
    home.write(
        &log("s"),
        start("s", "shop") + &private + &call("s", 1, 100, 5),
    );
    home.write(".copilot/session-store.db", secret.repeat(500));
    home.write(
        ".config/Code/User/workspaceStorage/w/chatSessions/c.jsonl",
        format!("{{\"kind\":0,\"v\":\"{secret}\"}}\n{{{secret}\n"),
    );
    home.write(
        ".config/github-copilot/iu/chat-sessions/x/copilot-chat-nitrite.db",
        secret.repeat(900),
    );
    let port = free_port();
    let mut process = Process::start("copilot-exporter", PROGRAM, |_, command| {
        command
            .args([
                "--no-state",
                "--log.level",
                "debug",
                "--web.listen-address",
                &format!("127.0.0.1:{port}"),
                "--home",
            ])
            .arg(home.path());
    });
    process.wait_ready(port, "/-/ready");
    for page in ["/metrics", "/"] {
        let shown = support::http::get(port, page).unwrap().text();
        assert!(!shown.contains(secret), "{page}");
    }
    let said = process.output();
    assert!(!said.contains(secret), "{said}");
    assert!(
        said.contains("session-store.db"),
        "the broken store is named: {said}"
    );
}
