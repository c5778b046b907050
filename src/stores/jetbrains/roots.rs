//! Where the plugin keeps its databases: `<root>/<ide>/<kind>/<store id>/<file>`, for every IDE and kind.

use std::path::{Path, PathBuf};

use crate::stores::files;
use crate::stores::{Discovery, Home, Os, Reason, Source, StoreError};

/// Folders from a root down to a database's folder.
const DEPTH: usize = 3;

/// The roots of `home`: `github-copilot` in the folders where a system keeps its configurations.
pub(super) fn roots(home: &Home) -> Vec<PathBuf> {
    let below = |part: &str| home.dir.join(part);
    let set = |name: &str, part: &str| home.var(name).map_or_else(|| below(part), PathBuf::from);
    let xdg = home.var("XDG_CONFIG_HOME").map(PathBuf::from);
    let unix = std::iter::once(below(".config")).chain(xdg.filter(|path| path.is_absolute()));
    let mac = below("Library/Application Support");
    let windows = [
        set("LOCALAPPDATA", "AppData/Local"),
        set("APPDATA", "AppData/Roaming"),
    ];
    let mut folders: Vec<PathBuf> = match home.os {
        _ if !home.is_own() => unix.chain([mac]).chain(windows).collect(),
        Os::Linux => unix.collect(),
        Os::MacOs => unix.chain([mac]).collect(),
        Os::Windows => windows.into(),
    };
    folders.dedup();
    folders
        .into_iter()
        .map(|folder| folder.join("github-copilot"))
        .collect()
}

/// Finds the databases below `home`.
pub(super) fn discover(home: &Home) -> Discovery {
    let mut discovery = Discovery {
        looked_at: roots(home),
        ..Discovery::default()
    };
    let mut xodus = Vec::new();
    for root in &discovery.looked_at {
        let mut problem = |path: &Path, error| {
            discovery
                .problems
                .push(StoreError::new(path, Reason::Io(error)));
        };
        for path in files::walk(root, root, DEPTH, &mut problem) {
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
                continue;
            };
            if name.ends_with("-nitrite.db") {
                discovery.sources.push(Source::file(path));
            } else if name == "00000000000.xd" {
                xodus.extend(path.parent().map(Path::to_owned));
            }
        }
    }
    discovery.problems.extend(unsupported(&xodus));
    add_siblings(&mut discovery.sources);
    discovery
}

/// One remark, however many there are: nothing that is done on this machine can mend it.
fn unsupported(xodus: &[PathBuf]) -> Option<StoreError> {
    let first = xodus.first()?;
    let mut text = "a Xodus database, as older versions of the plugin wrote".to_owned();
    if xodus.len() > 1 {
        text = format!("{text} ({} more like it)", xodus.len() - 1);
    }
    Some(StoreError::new(first, Reason::Unsupported(text)))
}

/// The databases of other kinds with the same IDE and store id may know the project's name.
fn add_siblings(sources: &mut [Source]) {
    let keys: Vec<_> = sources
        .iter()
        .map(|source| store_key(&source.path))
        .collect();
    let paths: Vec<_> = sources.iter().map(|source| source.path.clone()).collect();
    for (at, source) in sources.iter_mut().enumerate() {
        let siblings = keys.iter().zip(&paths).enumerate();
        source.companions = siblings
            .filter(|&(other, (key, _))| other != at && key.is_some() && *key == keys[at])
            .map(|(_, (_, path))| path.clone())
            .collect();
    }
}

/// The IDE's folder and the store's id.
fn store_key(path: &Path) -> Option<(PathBuf, std::ffi::OsString)> {
    let store = path.parent()?;
    let ide = store.parent()?.parent()?;
    Some((ide.to_owned(), store.file_name()?.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn home(os: Os, env: &[(&str, &str)]) -> Home {
        Home {
            dir: PathBuf::from("/home/u"),
            os,
            env: env
                .iter()
                .map(|&(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
            ..Home::default()
        }
    }

    #[test]
    fn roots_of_all_systems() {
        let paths = |os: Os, env: &[(&str, &str)]| {
            let roots = roots(&home(os, env)).into_iter();
            roots
                .map(|root| root.parent().unwrap().display().to_string())
                .collect::<Vec<_>>()
        };
        let own = ("HOME", "/home/u");
        let config = "/home/u/.config";
        let support = "/home/u/Library/Application Support";
        let (local, roaming) = ("/home/u/AppData/Local", "/home/u/AppData/Roaming");
        assert_eq!(paths(Os::Linux, &[own]), [config]);
        assert_eq!(
            paths(Os::Linux, &[("XDG_CONFIG_HOME", "/xdg")]),
            [config, "/xdg"]
        );
        assert_eq!(paths(Os::Linux, &[("XDG_CONFIG_HOME", config)]), [config]);
        assert_eq!(
            paths(Os::Linux, &[("XDG_CONFIG_HOME", "relative")]),
            [config]
        );
        assert_eq!(paths(Os::MacOs, &[own]), [config, support]);
        assert_eq!(paths(Os::Windows, &[own]), [local, roaming]);
        assert_eq!(
            paths(Os::Windows, &[("APPDATA", "/roam")]),
            [local, "/roam"]
        );
        assert_eq!(
            paths(Os::Linux, &[]),
            [config, support, local, roaming],
            "a copy"
        );
    }

    fn tree(files: &[&str]) -> (tempfile::TempDir, Home) {
        let dir = tempfile::tempdir().unwrap();
        for file in files {
            let path = dir.path().join(".config/github-copilot").join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let home = Home {
            dir: dir.path().to_owned(),
            ..Home::default()
        };
        (dir, home)
    }

    #[test]
    fn every_ide_and_kind_is_found_and_siblings_are_companions() {
        let (_dir, home) = tree(&[
            "iu/chat-agent-sessions/s1/copilot-agent-sessions-nitrite.db",
            "iu/chat-edit-sessions/s1/copilot-chat-edit-sessions-nitrite.db",
            "iu/bg-agent-sessions/s2/copilot-agent-sessions-nitrite.db",
            "PyCharm2025.2/chat-sessions/s1/copilot-chat-nitrite.db",
            "iu/some-new-kind/s3/whatever-nitrite.db",
            "iu/chat-agent-sessions/s1/other.db",
            "hosts.json",
        ]);
        let found = discover(&home);
        assert!(found.problems.is_empty());
        let companions: Vec<usize> = found.sources.iter().map(|s| s.companions.len()).collect();
        assert_eq!(companions, [0, 0, 1, 1, 0]);
        assert!(
            found.sources[2].companions[0]
                .ends_with("iu/chat-edit-sessions/s1/copilot-chat-edit-sessions-nitrite.db")
        );
    }

    #[test]
    fn edge_196_xodus_is_told_once() {
        let (_dir, home) = tree(&[
            "iu/chat-sessions/s1/00000000000.xd",
            "iu/chat-sessions/s1/xd.lck",
            "iu/chat-sessions/s1/blobs/version",
            "ws/chat-sessions/s2/00000000000.xd",
        ]);
        let found = discover(&home);
        assert!(found.sources.is_empty());
        let [problem] = &found.problems[..] else {
            panic!("{:?}", found.problems);
        };
        assert!(matches!(&problem.reason, Reason::Unsupported(text) if text.contains("1 more")));
    }
}
