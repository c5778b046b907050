//! The smallest HTTP client and the smallest HTTP server that tests can do with.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::time::Duration;

/// A whole answer.
#[derive(Debug)]
pub struct Response {
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Response {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.body.clone()).expect("the answer is UTF-8")
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("not JSON ({error}): {}", self.text()))
    }
}

/// `GET path` of the server at `port` on the loopback address.
pub fn get(port: u16, path: &str) -> io::Result<Response> {
    request(port, "GET", path, &[], &[])
}

/// `GET path` with further headers.
pub fn get_with(port: u16, path: &str, headers: &[(&str, &str)]) -> io::Result<Response> {
    request(port, "GET", path, headers, &[])
}

/// `POST body` to `path`.
pub fn post(port: u16, path: &str, content_type: &str, body: &[u8]) -> io::Result<Response> {
    request(port, "POST", path, &[("Content-Type", content_type)], body)
}

/// Any request. It is HTTP/1.0, so that the answer ends with the connection.
pub fn request(
    port: u16,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> io::Result<Response> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    let mut head = format!("{method} {path} HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)?;
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let status = line
        .split(' ')
        .nth(1)
        .and_then(|code| code.parse().ok())
        .ok_or_else(|| io::Error::other(format!("not a status line: {line:?}")))?;
    let headers = read_headers(&mut reader)?;
    let mut body = Vec::new();
    reader.read_to_end(&mut body)?;
    Ok(Response {
        status,
        headers,
        body,
    })
}

fn read_headers(reader: &mut impl BufRead) -> io::Result<Vec<(String, String)>> {
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        match line.trim_end().split_once(':') {
            Some((name, value)) => {
                headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
            }
            None => return Ok(headers),
        }
    }
}

/// Percent-encodes `text` for a query string.
pub fn encode(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                char::from(byte).to_string()
            }
            _ => format!("%{byte:02X}"),
        })
        .collect()
}

/// A server that answers 200 to everything and hands over what was posted to it.
#[derive(Debug)]
pub struct Sink {
    pub port: u16,
    bodies: mpsc::Receiver<Vec<u8>>,
}

impl Sink {
    pub fn start() -> Self {
        Self::start_on(0)
    }

    /// On a port that the test chose before.
    pub fn start_on(port: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).expect("a free port");
        let port = listener.local_addr().expect("bound").port();
        let (sender, bodies) = mpsc::channel();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if let Ok(body) = accept(stream)
                    && sender.send(body).is_err()
                {
                    return;
                }
            }
        });
        Self { port, bodies }
    }

    /// The next body that was posted and not taken yet.
    pub fn take(&self) -> Option<Vec<u8>> {
        self.bodies.try_recv().ok()
    }
}

fn accept(stream: TcpStream) -> io::Result<Vec<u8>> {
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    let mut reader = BufReader::new(stream);
    reader.read_line(&mut String::new())?;
    let length = read_headers(&mut reader)?
        .iter()
        .find(|(name, _)| name == "content-length")
        .and_then(|(_, value)| value.parse().ok())
        .unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    reader
        .into_inner()
        .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")?;
    Ok(body)
}
