//! The program itself under ten thousand sockets, and started by a socket unit.

use std::io::Write;
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::server::Client;
use crate::support::exporter::{Exporter, PROGRAM};
use crate::support::home::Home;
use crate::support::http;
use crate::support::process::{Process, free_port};

/// `VmRSS` of a process in KiB.
fn resident(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok())
        .unwrap()
}

#[test]
fn ten_thousand_sockets_neither_stop_scrapes_nor_grow_memory() {
    const SOCKETS: usize = 10_000;
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    rustix::process::setrlimit(
        rustix::process::Resource::Nofile,
        rustix::process::Rlimit {
            current: limit.maximum,
            ..limit
        },
    )
    .unwrap();
    let home = Home::new();
    let exporter = Exporter::serve(home.path(), "");
    let before = resident(exporter.process.id());
    // Nothing at all, half a head, and a request whose answer nobody reads.
    let texts = [
        &b""[..],
        b"GET /metrics HTTP/1.1\r\nX-Slow: ",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ];
    let mut sockets = Vec::new();
    for n in 0..SOCKETS {
        let mut socket = TcpStream::connect(("127.0.0.1", exporter.port)).unwrap();
        let _ = socket.write_all(texts[n % texts.len()]);
        sockets.push(socket);
        if n % 1_000 == 999 {
            let began = Instant::now();
            let answer = Client::connect(exporter.port).get("/metrics").unwrap();
            assert_eq!(answer.status, 200);
            assert!(began.elapsed() < Duration::from_secs(10), "after {n}");
        }
    }
    let grown = resident(exporter.process.id()).saturating_sub(before);
    assert!(grown < 32 * 1024, "{grown} KiB more");
}

#[test]
fn a_socket_unit_can_start_it() {
    // What systemd does: the socket is descriptor 3, and the variables say so.
    const ACTIVATE: &str = "import os, socket, sys
s = socket.create_server(('127.0.0.1', int(sys.argv[1])))
os.dup2(s.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS='1')
os.execv(sys.argv[2], sys.argv[2:])";
    let home = Home::new();
    let port = free_port();
    let mut process = Process::start("copilot-exporter", "python3", |_, command| {
        command
            .args(["-c", ACTIVATE, &port.to_string(), PROGRAM, "serve"])
            .args(["--web.systemd-socket", "--no-state", "--home"])
            .arg(home.path());
    });
    process.wait_ready(port, "/-/ready");
    assert_eq!(http::get(port, "/metrics").unwrap().status, 200);
    assert!(process.output().contains(&format!("127.0.0.1:{port}")));
}

#[test]
fn without_a_passed_socket_it_says_so() {
    let output = Command::new(PROGRAM)
        .args([
            "serve",
            "--web.systemd-socket",
            "--no-state",
            "--home",
            "/nonexistent",
        ])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("systemd passed no socket"), "{said}");
}

#[test]
fn a_bad_web_configuration_is_a_usage_error() {
    let folder = tempfile::tempdir().unwrap();
    let web = folder.path().join("web.yml");
    std::fs::write(&web, "tls_server_confg: {}\n").unwrap();
    let config = folder.path().join("config.toml");
    std::fs::write(&config, "[web]\nconfig_file = 'web.yml'\n").unwrap();
    for command in ["check", "serve"] {
        let output = Command::new(PROGRAM)
            .args([command, "--no-state", "--config"])
            .arg(&config)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{command}: {said}");
        assert!(said.contains("tls_server_confg"), "{said}");
    }
}
