//! File-system events: they only say that a pass is worth while, so a lost event costs a wait for the
//! timed rescan and nothing else.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

/// Watches at most this many folders: every one costs the kernel memory, and the timed rescan sees the rest.
const MOST_FOLDERS: usize = 4096;

/// Watches folders (not what is below them) and calls back when something in them changed.
#[derive(Debug)]
pub(super) struct Watcher {
    inner: Option<RecommendedWatcher>,
    folders: BTreeSet<PathBuf>,
    /// A refusal is told once, not at every pass.
    refused: bool,
}

impl Watcher {
    /// `wake` is called from a thread of the watcher's own, often and for several events of one change.
    /// Where the system gives no watcher, the timed rescan has to do.
    pub(super) fn new(wake: impl Fn() + Send + 'static) -> Self {
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            if event.is_ok_and(|event| is_change(&event)) {
                wake();
            }
        });
        let inner = watcher
            .inspect_err(|error| tracing::warn!(%error, "no file watching; only the timed rescan"))
            .ok();
        Self {
            inner,
            folders: BTreeSet::new(),
            refused: false,
        }
    }

    /// Watches exactly `folders` from now on, as far as they exist.
    pub(super) fn follow(&mut self, folders: BTreeSet<PathBuf>) {
        let Some(watcher) = &mut self.inner else {
            return;
        };
        for gone in self.folders.difference(&folders) {
            // A folder that was deleted is not watched any more; nothing is left to undo.
            let _ = watcher.unwatch(gone);
        }
        self.folders
            .retain(|folder| folders.contains(folder) && folder.is_dir());
        for folder in folders {
            if self.folders.len() >= MOST_FOLDERS {
                break;
            }
            if self.folders.contains(&folder) || !folder.is_dir() {
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

/// Reading is no change (our own reading least of all), and neither is a touched `-shm` file.
fn is_change(event: &Event) -> bool {
    let is_shm = |path: &PathBuf| path.to_string_lossy().ends_with("-shm");
    let only_shm = !event.paths.is_empty() && event.paths.iter().all(is_shm);
    !only_shm && !matches!(event.kind, EventKind::Access(_))
}

/// The folder in which a change of `path` shows: itself where it is a folder, else its nearest ancestor
/// that exists, so that a store that is yet to come is seen when it comes.
pub(super) fn folder_to_watch(path: &Path) -> Option<PathBuf> {
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
    fn a_new_file_wakes_and_reading_does_not() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("events.jsonl");
        std::fs::write(&file, "a").unwrap();
        let (sender, woken) = mpsc::channel();
        let mut watcher = Watcher::new(move || {
            let _ = sender.send(());
        });
        watcher.follow(BTreeSet::from([dir.path().to_owned()]));
        std::fs::read(&file).unwrap();
        assert!(woken.recv_timeout(Duration::from_millis(300)).is_err());
        std::fs::write(dir.path().join("new"), "b").unwrap();
        woken.recv_timeout(Duration::from_secs(10)).unwrap();
    }

    #[test]
    fn a_store_to_come_is_seen_through_its_nearest_ancestor() {
        let dir = tempfile::tempdir().unwrap();
        let wanted = dir.path().join(".copilot/session-state");
        assert_eq!(folder_to_watch(&wanted).unwrap(), dir.path());
    }
}
