//! Clients that are slow, idle, many, or send too much.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use copilot_exporter::serve::Limits;

use crate::server::{Client, TestServer};
use crate::snapshots::full;
use crate::support::wait::eventually;

fn short() -> Limits {
    Limits {
        connections: 32,
        head: Duration::from_secs(1),
        idle: Duration::from_secs(6),
        answer: Duration::from_secs(2),
    }
}

#[test]
fn a_head_that_trickles_in_is_cut_off() {
    let server = TestServer::with(full(1), short(), |_| {}).unwrap();
    let mut slow = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    let began = Instant::now();
    // One byte at a time never lets the connection look idle.
    let cut = eventually("the connection to be cut", || {
        let alive = slow.write_all(b"G").and_then(|()| slow.flush());
        alive.is_err().then(|| began.elapsed())
    });
    assert!(cut >= Duration::from_millis(900), "{cut:?}");
}

#[test]
fn a_connection_that_never_says_anything_is_closed() {
    let server = TestServer::with(full(1), short(), |_| {}).unwrap();
    assert!(Client::connect(server.port).is_closed());
}

#[test]
fn a_kept_connection_may_be_idle_longer_than_a_head_may_take() {
    let server = TestServer::with(full(1), short(), |_| {}).unwrap();
    let mut client = Client::connect(server.port);
    for _ in 0..2 {
        client.get("/metrics").unwrap();
        std::thread::sleep(short().head * 2);
    }
    client.get("/metrics").unwrap();
    assert!(client.is_closed());
}

#[test]
fn an_answer_that_is_not_taken_is_given_up() {
    let server = TestServer::with(full(20_000), short(), |_| {}).unwrap();
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    stream
        .write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .unwrap();
    std::thread::sleep(short().answer + Duration::from_secs(1));
    let mut taken = Vec::new();
    let _ = stream.read_to_end(&mut taken);
    assert!(taken.len() < 10_000_000, "{} bytes arrived", taken.len());
}

#[test]
fn heads_that_are_too_large_are_refused() {
    let server = TestServer::start(full(1));
    for head in [
        format!("X-Long: {}\r\n", "x".repeat(20_000)),
        "X-Many: y\r\n".repeat(200),
    ] {
        let mut client = Client::connect(server.port);
        let _ = client.send(&format!("GET / HTTP/1.1\r\nHost: localhost\r\n{head}\r\n"));
        assert_eq!(client.receive(false).unwrap().status, 431);
        assert!(client.is_closed());
    }
    let mut client = Client::connect(server.port);
    let path = "/".repeat(20_000);
    let _ = client.send(&format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    assert!(matches!(client.receive(false).unwrap().status, 414 | 431));
    assert_eq!(Client::connect(server.port).get("/").unwrap().status, 200);
}

#[test]
fn what_is_no_http_is_refused() {
    let server = TestServer::start(full(1));
    for text in [
        "\x16\x03\x01\x02\x00\x01\r\n\r\n",
        "GET\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
    ] {
        let mut client = Client::connect(server.port);
        client.send(text).unwrap();
        assert_eq!(client.receive(false).unwrap().status, 400, "{text:?}");
        assert!(client.is_closed());
    }
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let server = TestServer::start(full(50));
    let mut client = Client::connect(server.port);
    let paths = ["/metrics", "/-/healthy", "/nowhere", "/metrics", "/-/ready"];
    let requests = paths.map(|path| format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    client.send(&requests.concat()).unwrap();
    let statuses = paths.map(|_| client.receive(false).unwrap().status);
    assert_eq!(statuses, [200, 200, 404, 200, 200]);
}

#[test]
fn a_body_is_not_waited_for() {
    let server = TestServer::start(full(1));
    let mut client = Client::connect(server.port);
    let answer = client.ask("POST", "/metrics", "Content-Length: 99999999\r\n");
    assert_eq!(answer.unwrap().status, 405);
}

#[test]
fn half_closed_connections_get_their_answer() {
    let server = TestServer::start(full(1));
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    stream
        .write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"));
}

/// Opens `count` connections, each of which sends `text` and then nothing.
fn crowd(port: u16, count: usize, text: &[u8]) -> Vec<TcpStream> {
    let connect = |_| {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let _ = stream.write_all(text);
        stream
    };
    (0..count).map(connect).collect()
}

#[test]
fn sockets_that_wait_make_room_for_those_that_ask() {
    let limits = Limits {
        connections: 32,
        ..Limits::default()
    };
    let server = TestServer::with(full(1), limits, |_| {}).unwrap();
    for text in [
        &b""[..],
        b"GET /metrics HT",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ] {
        let waiting = crowd(server.port, 300, text);
        let mut client = Client::connect(server.port);
        assert_eq!(client.get("/metrics").unwrap().status, 200);
        drop(waiting);
    }
}

#[test]
fn scrapes_that_nobody_takes_make_room_for_others() {
    let server = TestServer::with(full(20_000), Limits::default(), |config| {
        config.max_requests = 4;
    });
    let server = server.unwrap();
    let request = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let stuck = crowd(server.port, 4, request);
    let mut client = Client::connect(server.port);
    // At first they might be on their way: the scrape is refused at once, with a word when to come back.
    let refused = eventually("a refusal, or the first of the others to stall", || {
        let answer = client.get("/metrics").unwrap();
        (answer.status == 503 || answer.status == 200).then_some(answer)
    });
    if refused.status == 503 {
        assert_eq!(refused.header("retry-after"), Some("1"));
    }
    eventually("a place", || {
        (client.get("/metrics").unwrap().status == 200).then_some(())
    });
    assert_eq!(client.get("/-/healthy").unwrap().status, 200);
    drop(stuck);
}

#[test]
fn the_end_is_orderly() {
    let server = TestServer::start(full(1));
    let mut idle = Client::connect(server.port);
    idle.get("/metrics").unwrap();
    let began = Instant::now();
    drop(server);
    assert!(began.elapsed() < Duration::from_secs(5));
    assert!(idle.is_closed());
}
