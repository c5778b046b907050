//! One pass over all homes and stores: whatever changed is read, whatever fails is told and hurts nothing
//! else.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use super::homes;
use super::stamp::Stamp;
use crate::config::Config;
use crate::ledger::{Ledger, ScanStatus, Snapshot, SourceId, StoreStatus};
use crate::stores::{Home, Reader, Reason, Source, StoreError, StoreKind, readers};
use crate::usage::{Timestamp, printable};

/// What is read between two commits, so that neither memory nor the work lost to a crash grows with a home.
const COMMIT_BYTES: u64 = 32 << 20;

/// How many problems of one store are logged in one pass.
const MOST_TOLD: usize = 5;

/// How far a pass is, for people who wait for the first one.
#[derive(Debug, Clone, Copy, Default)]
pub struct Progress {
    pub files: u64,
    pub bytes: u64,
}

/// Runs passes over the homes of a config and feeds the ledger.
pub struct Scanner {
    ledger: Ledger,
    readers: Vec<Box<dyn Reader>>,
    homes: Vec<String>,
    extra: Extra,
    status: ScanStatus,
    /// When each store was last read without a problem.
    last_success: BTreeMap<StoreKind, Timestamp>,
    /// Sources that could not be read, as they were then.
    failed: HashMap<SourceId, Failure>,
    /// Problems that were logged already: each is told once while it lasts.
    told: BTreeSet<String>,
    /// Where the last pass expects changes.
    places: BTreeSet<PathBuf>,
}

/// What only the config says of homes.
#[derive(Debug, Clone, Default)]
struct Extra {
    vscode_user_data_dirs: Vec<PathBuf>,
    otel_files: Vec<PathBuf>,
    tool_calls: bool,
}

struct Failure {
    stamp: Stamp,
    problem: Problem,
    /// Worth another try although nothing changed.
    passing: bool,
}

/// What one pass found of one store.
#[derive(Default)]
struct Found {
    files: u64,
    down: bool,
    looked_at: Vec<PathBuf>,
    problems: Vec<String>,
}

impl std::fmt::Debug for Scanner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scanner")
            .field("homes", &self.homes)
            .finish_non_exhaustive()
    }
}

impl Scanner {
    pub fn new(config: &Config, ledger: Ledger) -> Self {
        let mut scanner = Self {
            ledger,
            readers: readers(),
            homes: Vec::new(),
            extra: Extra::default(),
            status: ScanStatus::default(),
            last_success: BTreeMap::new(),
            failed: HashMap::new(),
            told: BTreeSet::new(),
            places: BTreeSet::new(),
        };
        scanner.reconfigure(config);
        scanner
    }

    /// Looks where `config` says from the next pass on.
    pub fn reconfigure(&mut self, config: &Config) {
        self.homes.clone_from(&config.homes);
        self.extra = Extra {
            vscode_user_data_dirs: config.vscode_user_data_dirs.clone(),
            otel_files: config.otel_files.clone(),
            tool_calls: config.tool_calls,
        };
    }

    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    pub fn ledger_mut(&mut self) -> &mut Ledger {
        &mut self.ledger
    }

    /// Where the last pass expects changes: folders or files, there already or yet to come.
    pub fn places(&self) -> &BTreeSet<PathBuf> {
        &self.places
    }

    /// Runs one pass and publishes what it found.
    pub fn pass(&mut self, progress: &mut dyn FnMut(Progress)) -> Arc<Snapshot> {
        let begun = Instant::now();
        self.ledger.begin_pass(Timestamp::now());
        self.places.clear();
        let mut found: BTreeMap<StoreKind, Found> = BTreeMap::new();
        let mut work = Work {
            progress,
            so_far: Progress::default(),
            uncommitted: 0,
            commit_failed: false,
        };
        let readers = std::mem::take(&mut self.readers);
        for home in self.homes() {
            for reader in &readers {
                self.store(
                    &home,
                    reader.as_ref(),
                    found.entry(reader.kind()).or_default(),
                    &mut work,
                );
            }
        }
        self.readers = readers;
        work.commit_failed |= self
            .ledger
            .commit()
            .inspect_err(|error| tracing::error!(%error, "cannot commit"))
            .is_err();
        let now = Timestamp::now();
        self.tell(&found);
        let stores = self.statuses(found, now);
        let any_down = stores.values().any(|store| store.up == Some(false));
        let status = &mut self.status;
        status.last = Some(now);
        status.last_duration_seconds = begun.elapsed().as_secs_f64();
        match (work.commit_failed, any_down) {
            (true, _) => status.failed += 1,
            (false, true) => status.partial += 1,
            (false, false) => status.succeeded += 1,
        }
        self.ledger.finish_pass(now, status.clone(), stores)
    }

    fn homes(&self) -> Vec<Home> {
        let mut homes = homes::resolve(&self.homes);
        for home in &mut homes {
            home.vscode_user_data_dirs
                .clone_from(&self.extra.vscode_user_data_dirs);
            home.otel_files.clone_from(&self.extra.otel_files);
            home.tool_calls = self.extra.tool_calls;
        }
        homes
    }

    fn store(&mut self, home: &Home, reader: &dyn Reader, found: &mut Found, work: &mut Work<'_>) {
        let kind = reader.kind();
        let Ok(discovery) = catch_unwind(AssertUnwindSafe(|| reader.discover(home))) else {
            found.down = true;
            found.problems.push(format!(
                "{}: internal error while looking for files",
                printable(&home.dir.to_string_lossy())
            ));
            return;
        };
        for error in discovery.problems {
            found.down |= is_down(&error.reason);
            found.problems.push(error.to_string());
        }
        self.places.extend(discovery.looked_at.iter().cloned());
        found.looked_at.extend(discovery.looked_at);
        for source in &discovery.sources {
            self.places.extend(source.path.parent().map(PathBuf::from));
            match self.source(home, reader, kind, source, work) {
                Ok(()) => found.files += 1,
                Err(Some(failure)) => {
                    found.files += 1;
                    found.down |= failure.down;
                    found.problems.push(failure.text);
                }
                Err(None) => {}
            }
        }
    }

    /// Reads a source if it changed. `Err(None)`: it is gone.
    fn source(
        &mut self,
        home: &Home,
        reader: &dyn Reader,
        kind: StoreKind,
        source: &Source,
        work: &mut Work<'_>,
    ) -> Result<(), Option<Problem>> {
        let id = SourceId::of(kind, &source.path);
        // The stamp from before the reading: what is written meanwhile makes the next one differ.
        let (stamp, size) = match Stamp::of(source) {
            Ok(stamp) => stamp,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(None),
            Err(error) => {
                return Err(Some(Problem::of(&StoreError::new(
                    &source.path,
                    error.into(),
                ))));
            }
        };
        let lasting = |failure: &&Failure| failure.stamp == stamp && !failure.passing;
        if let Some(failure) = self.failed.get(&id).filter(lasting) {
            return Err(Some(failure.problem.clone()));
        }
        if self.ledger.stamp(id) == stamp.0 {
            return Ok(());
        }
        let cursor = self.ledger.cursor(id);
        let mut intake = self.ledger.intake(kind, &source.path, home.user.as_deref());
        let read = catch_unwind(AssertUnwindSafe(|| {
            reader.read(home, source, &cursor, &mut intake)
        }));
        let outcome = match read {
            Ok(Ok(cursor)) => {
                intake.finish(cursor, stamp.0.clone());
                self.failed.remove(&id);
                Ok(())
            }
            Ok(Err(error)) => {
                if matches!(error.reason, Reason::Salvaged(_)) {
                    // There is no more to be had of it until it changes.
                    intake.finish(cursor, stamp.0.clone());
                }
                Err(error)
            }
            Err(_) => Err(StoreError::new(
                &source.path,
                Reason::Shape("internal error while reading it".to_owned()),
            )),
        };
        work.read(size, &mut self.ledger);
        outcome.map_err(|error| {
            let failure = Failure {
                stamp,
                problem: Problem::of(&error),
                passing: matches!(error.reason, Reason::Busy | Reason::Io(_)),
            };
            let problem = failure.problem.clone();
            self.failed.insert(id, failure);
            Some(problem)
        })
    }

    /// Logs each problem when it is new, and that it is over when it is; of many, the first few.
    fn tell(&mut self, found: &BTreeMap<StoreKind, Found>) {
        let mut lasting = BTreeSet::new();
        for (kind, found) in found {
            let store = kind.as_str();
            let new = found.problems.iter().filter(|p| !self.told.contains(*p));
            let more = each_of_the_first(new, |problem| tracing::warn!(store, "{problem}"));
            if more > 0 {
                tracing::warn!(
                    store,
                    "and {more} problems more: `copilot-exporter stores` tells"
                );
            }
            lasting.extend(found.problems.iter().cloned());
        }
        let over = self.told.difference(&lasting);
        let more = each_of_the_first(over, |over| tracing::info!("no longer: {over}"));
        if more > 0 {
            tracing::info!("and {more} problems less");
        }
        self.told = lasting;
    }

    fn statuses(
        &mut self,
        found: BTreeMap<StoreKind, Found>,
        now: Timestamp,
    ) -> BTreeMap<StoreKind, StoreStatus> {
        let mut statuses = BTreeMap::new();
        for (kind, found) in found {
            let up = (found.files > 0 || found.down).then_some(!found.down);
            if up == Some(true) {
                self.last_success.insert(kind, now);
            }
            statuses.insert(
                kind,
                StoreStatus {
                    up,
                    files: found.files,
                    last_success: self.last_success.get(&kind).copied(),
                    looked_at: found.looked_at,
                    problems: found.problems,
                    ..StoreStatus::default()
                },
            );
        }
        statuses
    }
}

#[derive(Clone)]
struct Problem {
    text: String,
    down: bool,
}

impl Problem {
    fn of(error: &StoreError) -> Self {
        Self {
            text: error.to_string(),
            down: is_down(&error.reason),
        }
    }
}

/// What this version can't read, or could only salvage, is told, but is no failure of a store that it can.
fn is_down(reason: &Reason) -> bool {
    !matches!(reason, Reason::Unsupported(_) | Reason::Salvaged(_))
}

struct Work<'a> {
    progress: &'a mut dyn FnMut(Progress),
    so_far: Progress,
    uncommitted: u64,
    commit_failed: bool,
}

impl Work<'_> {
    fn read(&mut self, bytes: u64, ledger: &mut Ledger) {
        self.so_far.files += 1;
        self.so_far.bytes += bytes;
        (self.progress)(self.so_far);
        self.uncommitted += bytes;
        if self.uncommitted >= COMMIT_BYTES {
            self.uncommitted = 0;
            if let Err(error) = ledger.commit() {
                tracing::error!(%error, "cannot commit");
                self.commit_failed = true;
            }
        }
    }
}

/// Tells the first few and returns how many are left.
fn each_of_the_first<'a>(
    mut problems: impl Iterator<Item = &'a String>,
    tell: impl Fn(&'a str),
) -> usize {
    problems
        .by_ref()
        .take(MOST_TOLD)
        .for_each(|problem| tell(problem));
    problems.count()
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn of_many_problems_the_first_few_are_told() {
        let problems: Vec<String> = (0..MOST_TOLD + 3).map(|n| n.to_string()).collect();
        let told = RefCell::new(Vec::new());
        let tell = |problem: &str| told.borrow_mut().push(problem.to_owned());
        assert_eq!(each_of_the_first(problems.iter(), tell), 3);
        assert_eq!(*told.borrow(), problems[..MOST_TOLD]);
        assert_eq!(each_of_the_first(problems[..2].iter(), |_| {}), 0);
    }
}
