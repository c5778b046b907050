//! Routes, methods, negotiation, the `Host` check, and when a snapshot counts as seen.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use copilot_exporter::ledger::Snapshot;
use copilot_exporter::serve::Limits;

use crate::server::{Client, TestServer};
use crate::snapshots::full;
use crate::support::http;
use crate::support::wait::eventually;

#[test]
fn the_route_table() {
    let server = TestServer::start(full(2));
    let mut client = Client::connect(server.port);
    for (method, path, want) in [
        ("GET", "/metrics", 200),
        ("HEAD", "/metrics", 200),
        ("GET", "/metrics?x=y", 200),
        ("GET", "/", 200),
        ("HEAD", "/", 200),
        ("GET", "/-/healthy", 200),
        ("HEAD", "/-/healthy", 200),
        ("GET", "/-/ready", 200),
        ("GET", "/metrics/", 404),
        ("GET", "//metrics", 404),
        ("GET", "/../etc/passwd", 404),
        ("GET", "/%2e%2e/metrics", 404),
        ("POST", "/nowhere", 404),
        ("POST", "/metrics", 405),
        ("PUT", "/", 405),
        ("DELETE", "/-/ready", 405),
        ("OPTIONS", "/metrics", 405),
        ("TRACE", "/metrics", 405),
    ] {
        let answer = client.ask(method, path, "").unwrap();
        assert_eq!(answer.status, want, "{method} {path}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        let allow = (want == 405).then_some("GET, HEAD");
        assert_eq!(answer.header("allow"), allow, "{method} {path}");
        assert_eq!(answer.header("access-control-allow-origin"), None);
    }
}

#[test]
fn head_says_what_get_would_send() {
    let server = TestServer::start(full(2));
    let mut client = Client::connect(server.port);
    for path in ["/", "/-/healthy"] {
        let head = client.ask("HEAD", path, "").unwrap();
        let get = client.get(path).unwrap();
        let length = get.body.len().to_string();
        assert_eq!(head.header("content-length"), Some(length.as_str()));
        assert_eq!(head.header("content-type"), get.header("content-type"));
    }
}

#[test]
fn not_ready_before_the_first_pass_but_healthy() {
    let server = TestServer::start(Snapshot::default());
    let mut client = Client::connect(server.port);
    assert_eq!(client.get("/-/ready").unwrap().status, 503);
    assert_eq!(client.get("/-/healthy").unwrap().status, 200);
    let early = client.get("/metrics").unwrap();
    assert_eq!(early.status, 200);
    assert!(!early.text().contains("copilot_calls_total"));
    server.snapshots.send_replace(full(1).into());
    eventually("the snapshot to be served", || {
        (client.get("/-/ready").unwrap().status == 200).then_some(())
    });
    let late = client.get("/metrics").unwrap();
    assert!(late.text().contains("copilot_calls_total{"));
}

#[test]
fn the_metrics_can_be_elsewhere_and_without_the_exporters_own() {
    let server = TestServer::with(full(1), Limits::default(), |config| {
        config.telemetry_path = "/".to_owned();
        config.disable_exporter_metrics = true;
    });
    let server = server.unwrap();
    let mut client = Client::connect(server.port);
    assert_eq!(client.get("/metrics").unwrap().status, 404);
    let metrics = client.get("/").unwrap();
    assert!(metrics.text().contains("copilot_calls_total{"));
    assert!(!metrics.text().contains("copilot_exporter_"));
    assert!(!metrics.text().contains("process_"));
}

#[test]
fn formats_and_codings() {
    let server = TestServer::start(full(3));
    let mut client = Client::connect(server.port);
    let mut ask = |headers: &str| client.ask("GET", "/metrics", headers).unwrap();

    let text = ask("");
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    assert_eq!(text.header("content-type"), Some(kind));
    assert_eq!(text.header("vary"), Some("Accept, Accept-Encoding"));
    let open = ask("Accept: application/openmetrics-text;version=1.0.0\r\n");
    assert!(open.text().ends_with("\n# EOF\n"));
    assert_eq!(open.text().matches("# EOF\n").count(), 1);
    assert!(!open.text().contains("_created"));

    let gzip = ask("Accept-Encoding: gzip\r\n");
    assert_eq!(gzip.header("content-encoding"), Some("gzip"));
    let mut plain = String::new();
    let mut decoder = flate2::read::GzDecoder::new(gzip.body.as_slice());
    decoder.read_to_string(&mut plain).unwrap();
    let usage = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| line.starts_with("copilot_"));
        let lines = lines.filter(|line| !line.starts_with("copilot_exporter_"));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(usage(&plain), usage(text.text()));
    assert!(usage(&plain).len() > 50);

    assert_eq!(ask("Accept: text/plain;q=0\r\n").status, 406);
    assert_eq!(ask("Accept-Encoding: identity;q=0\r\n").status, 406);
}

#[test]
fn requests_are_counted() {
    let server = TestServer::start(full(1));
    let mut client = Client::connect(server.port);
    client.get("/nowhere").unwrap();
    client.get("/metrics").unwrap();
    let metrics = client.get("/metrics").unwrap();
    for line in [
        "copilot_exporter_http_requests_total{handler=\"metrics\",code=\"200\"} 1",
        "copilot_exporter_http_requests_total{handler=\"metrics\",code=\"503\"} 0",
        "copilot_exporter_http_requests_total{handler=\"none\",code=\"404\"} 1",
        "copilot_exporter_http_requests_total{handler=\"page\",code=\"200\"} 0",
    ] {
        assert!(metrics.text().lines().any(|other| other == line), "{line}");
    }
}

#[test]
fn a_web_page_can_not_read_it_by_dns_rebinding() {
    let server = TestServer::with(full(1), Limits::default(), |config| {
        config.allowed_hosts = vec!["metrics.example".to_owned()];
    });
    let server = server.unwrap();
    let ask = |head: &str| {
        let mut client = Client::connect(server.port);
        client.send(head).unwrap();
        client.receive(false).unwrap().status
    };
    assert_eq!(ask("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"), 403);
    assert_eq!(
        ask("GET / HTTP/1.1\r\nHost: metrics.example:1\r\n\r\n"),
        200
    );
    assert_eq!(ask("GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n"), 200);
    assert_eq!(ask("GET / HTTP/1.1\r\n\r\n"), 400);
    let two = "GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n";
    assert_eq!(ask(two), 400);
    assert_eq!(ask("GET / HTTP/1.0\r\n\r\n"), 200);
}

#[test]
fn beyond_loopback_any_host_will_do() {
    let server = TestServer::with(full(1), Limits::default(), |config| {
        config.listen = vec![":0".to_owned()];
    });
    let server = server.unwrap();
    let mut client = Client::connect(server.port);
    client
        .send("GET /metrics HTTP/1.1\r\nHost: build-7.example\r\n\r\n")
        .unwrap();
    assert_eq!(client.receive(false).unwrap().status, 200);
}

#[test]
fn several_addresses_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("exporter.sock");
    let server = TestServer::with(full(1), Limits::default(), |config| {
        config.listen.push(format!("unix:{}", path.display()));
        config.listen.push("[::1]:0".to_owned());
    });
    let server = match server {
        Ok(server) => server,
        // A machine without IPv6.
        Err(error) => return assert!(error.to_string().contains("[::1]"), "{error}"),
    };
    assert_eq!(http::get(server.port, "/metrics").unwrap().status, 200);
    let six: u16 = server.addresses[2]
        .rsplit(':')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    let stream = TcpStream::connect(("::1", six)).unwrap();
    assert_eq!(Client::over(stream).get("/metrics").unwrap().status, 200);
    let unix = std::os::unix::net::UnixStream::connect(&path).unwrap();
    let mut client = Client::on(unix);
    client
        .send("GET /metrics HTTP/1.1\r\nHost: whatever\r\n\r\n")
        .unwrap();
    assert_eq!(client.receive(false).unwrap().status, 200);
    drop(server);
    assert!(!path.exists(), "the socket file goes with the server");
}

#[test]
fn seen_is_what_was_delivered_whole() {
    let brief = Duration::from_millis(300);
    let server = TestServer::start(full(20_000));
    let mut client = Client::connect(server.port);
    client.ask("HEAD", "/metrics", "").unwrap();
    client.get("/-/ready").unwrap();
    client.get("/").unwrap();
    assert!(!server.is_seen(brief), "nothing was scraped");

    // More than the system buffers, and the client leaves after the first bytes.
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    stream
        .write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .unwrap();
    stream.read_exact(&mut [0; 100]).unwrap();
    stream.shutdown(Shutdown::Both).unwrap();
    drop(stream);
    assert!(!server.is_seen(brief), "only a part was taken");

    let whole = client.get("/metrics").unwrap();
    assert!(whole.body.len() > 10_000_000);
    assert!(server.is_seen(Duration::from_secs(10)));
}

#[test]
fn every_snapshot_is_rendered_anew() {
    let server = TestServer::start(full(1));
    let mut client = Client::connect(server.port);
    for projects in [3, 1, 5] {
        server.snapshots.send_replace(full(projects).into());
        for accept in ["text/plain", "application/openmetrics-text"] {
            let header = format!("Accept: {accept}\r\n");
            eventually("the snapshot to be served", || {
                let answer = client.ask("GET", "/metrics", &header).unwrap();
                let sessions = answer.text().matches("\ncopilot_sessions_total{").count();
                (sessions == projects).then_some(())
            });
        }
    }
}
