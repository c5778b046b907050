//! When passes run: at start, when something changed, when a counter may be released, and at the latest
//! after the interval.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::pass::{Progress, Scanner};
use super::watcher::Watcher;
use crate::config::Config;
use crate::ledger::{Settings, Snapshot};

/// After a first change, this long for more of them to come together.
const GATHER: Duration = Duration::from_millis(500);

/// Why the scanner wakes up.
#[derive(Debug)]
pub enum Wake {
    /// Something changed on disk.
    Changed,
    /// A snapshot was delivered: what it showed at 0 may be released.
    Seen,
    /// Another config is in force.
    Reload(Box<(Config, Settings)>),
    Stop,
}

/// The thread that scans. It alone holds the ledger.
#[derive(Debug)]
pub struct Schedule {
    waker: Sender<Wake>,
    thread: JoinHandle<Scanner>,
}

impl Schedule {
    /// Starts scanning; every pass is published on `snapshots`, and `after` is called with it.
    pub fn start(
        scanner: Scanner,
        config: &Config,
        snapshots: watch::Sender<Arc<Snapshot>>,
        after: impl FnMut(&Snapshot) + Send + 'static,
        progress: impl FnMut(Progress) + Send + 'static,
    ) -> std::io::Result<Self> {
        let (waker, wakes) = channel();
        let mut running = Running {
            scanner,
            wakes,
            waker: waker.clone(),
            interval: Duration::ZERO,
            watcher: None,
            snapshots,
            after: Box::new(after),
            progress: Box::new(progress),
        };
        running.configure(config);
        let thread = std::thread::Builder::new()
            .name("scan".to_owned())
            .spawn(move || running.run())?;
        Ok(Self { waker, thread })
    }

    /// Wakes the scanner; for outlets and signal handlers.
    pub fn waker(&self) -> Sender<Wake> {
        self.waker.clone()
    }

    /// Asks the scanner to stop and waits for the pass that runs to end.
    pub fn stop(self) -> Option<Scanner> {
        let _ = self.waker.send(Wake::Stop);
        self.thread.join().ok()
    }
}

struct Running {
    scanner: Scanner,
    wakes: Receiver<Wake>,
    waker: Sender<Wake>,
    interval: Duration,
    watcher: Option<Watcher>,
    snapshots: watch::Sender<Arc<Snapshot>>,
    after: Box<dyn FnMut(&Snapshot) + Send>,
    progress: Box<dyn FnMut(Progress) + Send>,
}

impl Running {
    fn run(mut self) -> Scanner {
        loop {
            let snapshot = self.scanner.pass(&mut self.progress);
            if let Some(watcher) = &mut self.watcher {
                watcher.follow(self.scanner.places());
            }
            (self.after)(&snapshot);
            self.snapshots.send_replace(snapshot);
            if !self.wait() {
                return self.scanner;
            }
        }
    }

    /// Waits for the next pass; `false`: there is none.
    fn wait(&mut self) -> bool {
        let mut until = Instant::now() + self.interval;
        loop {
            match self
                .wakes
                .recv_timeout(until.saturating_duration_since(Instant::now()))
            {
                Ok(Wake::Changed) => until = until.min(Instant::now() + GATHER),
                Ok(Wake::Seen) => {
                    if self.snapshots.borrow().held_series > 0 {
                        return true;
                    }
                }
                Ok(Wake::Reload(new)) => {
                    let (config, settings) = *new;
                    self.configure(&config);
                    self.scanner.reconfigure(&config);
                    self.scanner.ledger_mut().reconfigure(settings);
                    return true;
                }
                Ok(Wake::Stop) | Err(RecvTimeoutError::Disconnected) => return false,
                Err(RecvTimeoutError::Timeout) => return true,
            }
        }
    }

    fn configure(&mut self, config: &Config) {
        self.interval = Duration::from_secs(config.scan.interval_seconds);
        match (config.scan.watch, &self.watcher) {
            (true, None) => {
                let waker = self.waker.clone();
                self.watcher = Some(Watcher::new(move || {
                    let _ = waker.send(Wake::Changed);
                }));
            }
            (false, _) => self.watcher = None,
            (true, Some(_)) => {}
        }
    }
}
