//! A program that runs beside a test and never outlives it.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};

use tempfile::TempDir;

use super::http;
use super::wait::eventually;

/// A running program, with a folder of its own for data and its output. Killed when dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    name: String,
    folder: TempDir,
}

impl Process {
    /// Starts `program`; `arrange` adds its arguments, given the folder it may write to.
    pub fn start(
        name: &str,
        program: impl Into<PathBuf>,
        arrange: impl FnOnce(&std::path::Path, &mut Command),
    ) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let output = File::create(folder.path().join("output.log")).expect("a log file");
        let mut command = Command::new(program.into());
        command
            .stdin(Stdio::null())
            .stdout(output.try_clone().expect("a second handle"))
            .stderr(output);
        arrange(folder.path(), &mut command);
        let child = command
            .spawn()
            .unwrap_or_else(|error| panic!("{name} did not start: {error}"));
        Self {
            child,
            name: name.to_owned(),
            folder,
        }
    }

    /// Waits until `path` at `port` answers 200.
    pub fn wait_ready(&mut self, port: u16, path: &str) {
        let what = format!("{} to be ready at {path}", self.name);
        eventually(&what, || {
            if let Some(status) = self.child.try_wait().expect("a child to ask") {
                panic!("{} ended with {status}:\n{}", self.name, self.output());
            }
            http::get(port, path)
                .ok()
                .filter(|answer| answer.status == 200)
        });
    }

    /// The folder that it may write to.
    pub fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// What it has printed so far, both streams.
    pub fn output(&self) -> String {
        fs::read_to_string(self.folder.path().join("output.log")).unwrap_or_default()
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Asks it to end (SIGTERM) and waits for that.
    pub fn terminate(&mut self) -> ExitStatus {
        let _ = Command::new("kill")
            .arg(self.child.id().to_string())
            .status();
        let what = format!("{} to end", self.name);
        eventually(&what, || self.child.try_wait().expect("a child to ask"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("--- output of {}:\n{}", self.name, self.output());
        }
    }
}

/// A port that nobody listens on, below the range from which the system takes the ports of outgoing
/// connections: so nothing takes it before the program that is to have it.
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let offset = (std::process::id() % 120) as u16 * 100;
    (0..)
        .map(|_| 20_000 + (offset + NEXT.fetch_add(1, Ordering::Relaxed)) % 12_000)
        .find(|&port| TcpListener::bind(("127.0.0.1", port)).is_ok())
        .expect("a free port")
}
