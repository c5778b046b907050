//! File-system events: they only say that a pass is worth while, so a lost event costs a wait for the
//! timed rescan and nothing else.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

/// Watches at most this many folders: every one costs the kernel memory, and the timed rescan sees the rest.
const MOST_FOLDERS: usize = 4096;

/// Watches the folders of places and calls back when something changed in one of them.
#[derive(Debug)]
pub(super) struct Watcher {
    inner: Option<RecommendedWatcher>,
    /// Shared with the thread that gets the events.
    places: Arc<RwLock<BTreeSet<PathBuf>>>,
    folders: BTreeSet<PathBuf>,
    /// A refusal is told once, not at every pass.
    refused: bool,
}

impl Watcher {
    /// `wake` is called from a thread of the watcher's own, often and for several events of one change.
    /// Where the system gives no watcher, the timed rescan has to do.
    pub(super) fn new(wake: impl Fn() + Send + 'static) -> Self {
        let places = Arc::new(RwLock::new(BTreeSet::new()));
        let concerned = Arc::clone(&places);
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            let places = concerned.read().unwrap_or_else(PoisonError::into_inner);
            if event.is_ok_and(|event| is_change(&event, &places)) {
                wake();
            }
        });
        let inner = watcher
            .inspect_err(|error| {
                tracing::warn!(error = %error.kind_text(), "no file watching; only the timed rescan");
            })
            .ok();
        Self {
            inner,
            places,
            folders: BTreeSet::new(),
            refused: false,
        }
    }

    /// Watches exactly `places` from now on: folders or files, there already or yet to come.
    pub(super) fn follow(&mut self, places: &BTreeSet<PathBuf>) {
        let Some(watcher) = &mut self.inner else {
            return;
        };
        self.places
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .clone_from(places);
        let folders: BTreeSet<PathBuf> = places
            .iter()
            .filter_map(|place| folder_to_watch(place))
            .take(MOST_FOLDERS)
            .collect();
        for gone in self.folders.difference(&folders) {
            // A folder that was deleted is not watched any more; nothing is left to undo.
            let _ = watcher.unwatch(gone);
        }
        self.folders.retain(|folder| folders.contains(folder));
        for folder in folders {
            if self.folders.contains(&folder) {
                continue;
            }
            match watcher.watch(&folder, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    self.folders.insert(folder);
                }
                Err(error) if !self.refused => {
                    self.refused = true;
                    tracing::warn!(error = %error.kind_text(), "cannot watch every folder; the timed rescan sees the rest");
                }
                Err(_) => {}
            }
        }
    }
}

trait KindText {
    /// The kind of the error, without the paths that it lists.
    fn kind_text(&self) -> String;
}

impl KindText for notify::Error {
    fn kind_text(&self) -> String {
        match &self.kind {
            notify::ErrorKind::MaxFilesWatch => {
                "the system's limit of watched files is reached".to_owned()
            }
            notify::ErrorKind::Io(error) => error.to_string(),
            _ => "not possible here".to_owned(),
        }
    }
}

/// Whether an event is about one of `places`. Reading is no change (our own least of all), and neither is a
/// touched `-shm` file; what happens elsewhere in a folder that is watched for what is yet to come (a home, a
/// temporary folder) is nobody's concern.
fn is_change(event: &Event, places: &BTreeSet<PathBuf>) -> bool {
    let is_shm = |path: &Path| path.as_os_str().as_encoded_bytes().ends_with(b"-shm");
    let concerns = |path: &PathBuf| {
        let below = || path.ancestors().any(|ancestor| places.contains(ancestor));
        let above = || {
            let next = places.range::<PathBuf, _>(path..).next();
            next.is_some_and(|place| place.starts_with(path))
        };
        !is_shm(path) && (below() || above())
    };
    // An event without a path says that some were lost.
    let told = event.paths.is_empty() || event.paths.iter().any(concerns);
    told && !matches!(event.kind, EventKind::Access(_))
}

/// The folder in which a change of `path` shows: itself where it is a folder, else its nearest ancestor
/// that exists, so that a store that is yet to come is seen when it comes.
fn folder_to_watch(path: &Path) -> Option<PathBuf> {
    path.ancestors()
        .find(|ancestor| ancestor.is_dir())
        .map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_comes_wakes_and_reading_or_a_stranger_does_not() {
        let dir = tempfile::tempdir().unwrap();
        let store = dir.path().join("store");
        let file = dir.path().join("stranger");
        std::fs::write(&file, "a").unwrap();
        let (sender, woken) = mpsc::channel();
        let mut watcher = Watcher::new(move || {
            let _ = sender.send(());
        });
        watcher.follow(&BTreeSet::from([store.clone()]));
        std::fs::read(&file).unwrap();
        std::fs::write(&file, "b").unwrap();
        assert!(woken.recv_timeout(Duration::from_millis(300)).is_err());
        std::fs::create_dir(&store).unwrap();
        woken.recv_timeout(Duration::from_secs(10)).unwrap();
    }

    #[test]
    fn events_count_below_and_above_a_place() {
        let places = BTreeSet::from([PathBuf::from("/h/.copilot/session-state")]);
        let event = |path: &str| Event::new(EventKind::Any).add_path(PathBuf::from(path));
        for (path, want) in [
            ("/h/.copilot/session-state/1/events.jsonl", true),
            ("/h/.copilot", true),
            ("/h/.copilot-other", false),
            ("/h/notes", false),
            ("/h/.copilot/session-state/x.db-shm", false),
        ] {
            assert_eq!(is_change(&event(path), &places), want, "{path}");
        }
    }

    #[test]
    fn a_store_to_come_is_seen_through_its_nearest_ancestor() {
        let dir = tempfile::tempdir().unwrap();
        let wanted = dir.path().join(".copilot/session-state");
        assert_eq!(folder_to_watch(&wanted).unwrap(), dir.path());
    }
}
