//! Everything below `~/.copilot`: the event logs and the store of the Copilot CLI, its OpenTelemetry file,
//! and the desktop app's database.

mod desktop;
mod events;
mod figures;
#[cfg(fuzzing)]
pub mod fuzzing;
mod otel_file;
mod session_store;
mod workspace;

use std::path::PathBuf;

use super::Home;

pub(super) use desktop::Desktop;
pub(super) use events::Events;
pub(super) use otel_file::OtelFile;
pub(super) use session_store::{SessionStore, read as read_session_store};

/// The CLI's folder: `COPILOT_HOME` where it is set, else `.copilot` in the home folder, on every system.
fn root(home: &Home) -> PathBuf {
    match home.var("COPILOT_HOME") {
        Some(dir) => PathBuf::from(dir),
        None => home.dir.join(".copilot"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::stores::Reader;

    /// Logins, settings and what users' own scripts dump are never opened.
    #[test]
    fn edge_213_and_262_only_stores_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join(".copilot");
        fs::create_dir_all(root.join("usage")).unwrap();
        fs::create_dir_all(root.join("logs")).unwrap();
        for name in [
            "config.json",
            "settings.json",
            "usage/usage-2026-07-01.jsonl",
            "logs/process-1-2.log",
        ] {
            fs::write(root.join(name), "{}").unwrap();
        }
        let home = Home {
            dir: dir.path().to_owned(),
            ..Home::default()
        };
        let readers: [&dyn Reader; 4] = [&Events, &OtelFile, &Desktop, &SessionStore];
        for reader in readers {
            let found = reader.discover(&home);
            assert!(found.sources.is_empty() && found.problems.is_empty());
            assert!(!found.looked_at.is_empty());
        }
    }

    #[test]
    fn edge_206_copilot_home_moves_the_root() {
        let mut home = Home {
            dir: PathBuf::from("/home/u"),
            ..Home::default()
        };
        assert_eq!(root(&home), PathBuf::from("/home/u/.copilot"));
        let name = "COPILOT_HOME".to_owned();
        home.env.insert(name.clone(), String::new());
        assert_eq!(root(&home), PathBuf::from("/home/u/.copilot"));
        home.env.insert(name, "/data/copilot".to_owned());
        assert_eq!(root(&home), PathBuf::from("/data/copilot"));
    }
}
