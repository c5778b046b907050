//! A server in this process, on a free port, over snapshots that the test makes.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use copilot_exporter::config::WebConfig;
use copilot_exporter::ledger::Snapshot;
use copilot_exporter::metrics::{ConstantLabels, Recorder};
use copilot_exporter::serve::{Limits, ServeError, Server, Sources};
use tokio::runtime::Runtime;
use tokio::sync::{Notify, oneshot, watch};

use crate::support::wait::PATIENCE;

pub struct TestServer {
    pub port: u16,
    pub addresses: Vec<String>,
    pub seen: Arc<Notify>,
    pub snapshots: watch::Sender<Arc<Snapshot>>,
    end: Option<oneshot::Sender<()>>,
    running: Option<tokio::task::JoinHandle<io::Result<()>>>,
    runtime: Runtime,
}

impl TestServer {
    pub fn start(snapshot: Snapshot) -> Self {
        Self::with(snapshot, Limits::default(), |_| {}).unwrap()
    }

    pub fn with(
        snapshot: Snapshot,
        limits: Limits,
        configure: impl FnOnce(&mut WebConfig),
    ) -> Result<Self, ServeError> {
        let (snapshots, receiver) = watch::channel(Arc::new(snapshot));
        let seen = Arc::new(Notify::new());
        let mut config = WebConfig {
            listen: vec!["127.0.0.1:0".to_owned()],
            ..WebConfig::default()
        };
        configure(&mut config);
        let sources = Sources {
            snapshots: receiver,
            seen: seen.clone(),
            labels: ConstantLabels::default(),
            recorder: Arc::new(Recorder::new()),
        };
        let server = Server::bind_with(&config, sources, limits)?;
        let addresses = server.addresses();
        let port = |address: &String| address.rsplit(':').next()?.parse().ok();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let (end, ended) = oneshot::channel();
        let running = runtime.spawn(server.run(async move {
            let _ = ended.await;
        }));
        Ok(Self {
            port: addresses.iter().find_map(port).unwrap_or(0),
            addresses,
            seen,
            snapshots,
            end: Some(end),
            running: Some(running),
            runtime,
        })
    }

    /// Whether `snapshot` is seen soon, in the server's own words.
    pub fn is_seen(&self, patience: Duration) -> bool {
        let seen = self.seen.clone();
        let waited = self
            .runtime
            .block_on(async { tokio::time::timeout(patience, seen.notified()).await });
        waited.is_ok() && self.snapshots.borrow().was_seen()
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        let _ = self.end.take().unwrap().send(());
        let running = self.running.take().unwrap();
        let ended = self
            .runtime
            .block_on(async { tokio::time::timeout(PATIENCE, running).await });
        if !std::thread::panicking() {
            ended.expect("the server to end").unwrap().unwrap();
        }
    }
}

/// An answer, read by its Content-Length as a client does that keeps its connection.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

/// A connection that is kept.
pub struct Client<S: Read + Write = TcpStream> {
    reader: BufReader<S>,
}

impl Client {
    pub fn connect(port: u16) -> Self {
        Self::over(TcpStream::connect(("127.0.0.1", port)).unwrap())
    }

    pub fn over(stream: TcpStream) -> Self {
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        Self {
            reader: BufReader::new(stream),
        }
    }
}

impl<S: Read + Write> Client<S> {
    pub fn on(stream: S) -> Self {
        Self {
            reader: BufReader::new(stream),
        }
    }

    pub fn send(&mut self, text: &str) -> io::Result<()> {
        self.reader.get_mut().write_all(text.as_bytes())?;
        self.reader.get_mut().flush()
    }

    /// The next answer; `bodiless` for that to a HEAD request.
    pub fn receive(&mut self, bodiless: bool) -> io::Result<Answer> {
        let mut head = String::new();
        loop {
            let start = head.len();
            if self.reader.read_line(&mut head)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if head[start..].trim_end().is_empty() {
                break;
            }
        }
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
        let mut answer = Answer {
            status: status.ok_or_else(|| io::Error::other(head.clone()))?,
            head,
            body: Vec::new(),
        };
        if !bodiless {
            let length = answer.header("content-length").unwrap_or("0");
            answer.body = vec![0; length.parse().map_err(io::Error::other)?];
            self.reader.read_exact(&mut answer.body)?;
        }
        Ok(answer)
    }

    /// `METHOD path` with further header lines.
    pub fn ask(&mut self, method: &str, path: &str, headers: &str) -> io::Result<Answer> {
        self.send(&format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n"
        ))?;
        self.receive(method == "HEAD")
    }

    pub fn get(&mut self, path: &str) -> io::Result<Answer> {
        self.ask("GET", path, "")
    }

    /// Whether the server has closed the connection, once everything is read.
    pub fn is_closed(&mut self) -> bool {
        let mut rest = Vec::new();
        match self.reader.read_to_end(&mut rest) {
            Ok(_) => true,
            Err(error) => error.kind() == io::ErrorKind::ConnectionReset,
        }
    }
}
