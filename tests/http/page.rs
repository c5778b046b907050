//! The page for people, in a real browser.

use std::path::PathBuf;
use std::process::{Command, Output};

use copilot_exporter::ledger::Snapshot;

use crate::server::{Client, TestServer};
use crate::snapshots::{HOSTILE, full};
use crate::support::tools::tool;
use crate::support::wait::eventually;

/// Chromium at the page of `port`, with further arguments.
fn chromium(port: u16, arguments: &[&str]) -> Output {
    let profile = tempfile::tempdir().unwrap();
    let output = Command::new(tool("chromium"))
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
        ])
        .args(["--no-first-run", "--disable-background-networking"])
        .args([
            "--disable-component-update",
            "--disable-sync",
            "--hide-scrollbars",
        ])
        .args(["--enable-logging=stderr", "--virtual-time-budget=2000"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .args(arguments)
        .arg(format!("http://127.0.0.1:{port}/"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    output
}

/// Takes a picture and returns its file, after a look at what the browser complained of.
fn picture(port: u16, name: &str, size: &str, dark: bool) -> PathBuf {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_file(&file);
    let scheme = match dark {
        true => "--blink-settings=preferredColorScheme=0",
        false => "--blink-settings=preferredColorScheme=1",
    };
    let output = chromium(
        port,
        &[
            &format!("--screenshot={}", file.display()),
            &format!("--window-size={size}"),
            scheme,
        ],
    );
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(!log.contains("CONSOLE"), "{log}");
    file
}

#[test]
fn it_is_drawn_at_desktop_and_phone_width() {
    let server = TestServer::start(full(HOSTILE.len() + 9));
    for (name, size, dark) in [
        ("page-desktop.png", "1280,1500", false),
        ("page-desktop-dark.png", "1280,1500", true),
        ("page-phone.png", "390,2100", false),
    ] {
        let file = picture(server.port, name, size, dark);
        // An unstyled or empty page is a far smaller picture.
        assert!(std::fs::metadata(&file).unwrap().len() > 40_000, "{name}");
    }
}

#[test]
fn the_browser_finds_everything_and_no_name_becomes_markup() {
    let server = TestServer::start(full(HOSTILE.len()));
    let dom = chromium(server.port, &["--dump-dom"]).stdout;
    let dom = String::from_utf8(dom).unwrap();
    for text in [
        "Today",
        "This month",
        "By model",
        "By project",
        "cli_events",
        "jetbrains",
    ] {
        assert!(dom.contains(text), "{text}");
    }
    assert!(dom.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert!(!dom.contains("<script") && !dom.contains("<b>"));
    assert!(dom.contains("the database is busy"));
}

#[test]
fn nothing_but_its_own_style_sheet_is_allowed() {
    let server = TestServer::start(full(1));
    let answer = Client::connect(server.port).get("/").unwrap();
    let policy = answer.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"));
    assert!(!policy.contains("unsafe"));
    assert_eq!(
        answer.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
    // No request goes anywhere else, and no style is where the policy would not allow it.
    for forbidden in [
        "http://", "https://", "src=", " style=", "<script", "@import", "url(",
    ] {
        assert!(!answer.text().contains(forbidden), "{forbidden}");
    }
}

#[test]
fn before_the_first_scan_and_without_copilot_it_says_so() {
    let server = TestServer::start(Snapshot::default());
    let mut client = Client::connect(server.port);
    let early = client.get("/").unwrap();
    assert!(early.text().contains("first scan is running"));
    let empty = Snapshot {
        ready: true,
        ..Snapshot::default()
    };
    server.snapshots.send_replace(empty.into());
    let late = eventually("the snapshot to be served", || {
        let page = client.get("/").unwrap();
        (!page.text().contains("first scan is running")).then_some(page)
    });
    assert!(late.text().contains("Nothing of Copilot was found"));
    assert!(!late.text().contains("$0"), "unknown is not zero");
}

#[test]
fn paths_are_shown_only_to_this_machine() {
    let shows = |listen: &str| {
        let server = TestServer::with(full(1), Default::default(), |config| {
            config.listen = vec![listen.to_owned()];
        });
        let server = server.unwrap();
        let answer = Client::connect(server.port).get("/").unwrap();
        assert!(answer.text().contains("jetbrains"));
        answer.text().contains("/home/u/")
    };
    assert!(shows("127.0.0.1:0"));
    assert!(!shows("0.0.0.0:0"));
}
