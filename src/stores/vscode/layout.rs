//! What lies where below a `User` folder.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use crate::stores::files::{Entry, list};
use crate::stores::{Discovery, Home, Reason, Source, StoreError};

use super::roots::user_folders;

/// Looks for a store's files and keeps account of where it looked.
#[derive(Debug)]
pub(super) struct Search<'a> {
    home: &'a Home,
    found: Discovery,
}

impl<'a> Search<'a> {
    pub(super) fn new(home: &'a Home) -> Self {
        Self {
            home,
            found: Discovery::default(),
        }
    }

    pub(super) fn finish(mut self) -> Discovery {
        self.found.sources.sort();
        self.found.sources.dedup_by(|a, b| a.path == b.path);
        self.found.looked_at.sort();
        self.found.looked_at.dedup();
        self.found
    }

    pub(super) fn add(&mut self, source: Source) {
        self.found.sources.push(source);
    }

    /// The `User` folders that exist.
    pub(super) fn users(&mut self) -> Vec<PathBuf> {
        let folders = user_folders(self.home);
        let exists = |folder: &PathBuf| folder.is_dir();
        self.found.looked_at.extend(folders.iter().cloned());
        folders.into_iter().filter(exists).collect()
    }

    /// The folders of workspaces, empty windows' among them.
    pub(super) fn workspaces(&mut self, user: &Path) -> Vec<PathBuf> {
        self.folders(&user.join("workspaceStorage"))
    }

    /// The global storages: the default profile's and those of the others.
    pub(super) fn global_storages(&mut self, user: &Path) -> Vec<PathBuf> {
        let profiles = self.folders(&user.join("profiles"));
        std::iter::once(user.to_owned())
            .chain(profiles)
            .map(|profile| profile.join("globalStorage"))
            .collect()
    }

    /// The folders of Copilot's extensions in a storage.
    pub(super) fn extensions(&mut self, storage: &Path) -> Vec<PathBuf> {
        let mut folders = self.folders(storage);
        folders.retain(|folder| {
            let name = folder.file_name().map(OsStr::to_string_lossy);
            let name = name.map(|name| name.to_lowercase());
            matches!(
                name.as_deref(),
                Some("github.copilot-chat" | "github.copilot")
            )
        });
        folders
    }

    pub(super) fn folders(&mut self, dir: &Path) -> Vec<PathBuf> {
        let entries = self.list(dir);
        let folders = entries.into_iter().filter(|entry| entry.is_dir);
        folders.map(|entry| entry.path).collect()
    }

    /// The files in `dir` with one of these extensions.
    pub(super) fn files(&mut self, dir: &Path, extensions: &[&str]) -> Vec<PathBuf> {
        let wanted = |entry: &Entry| {
            let extension = entry.path.extension().and_then(OsStr::to_str);
            !entry.is_dir && extension.is_some_and(|extension| extensions.contains(&extension))
        };
        let entries = self.list(dir).into_iter().filter(wanted);
        entries.map(|entry| entry.path).collect()
    }

    fn list(&mut self, dir: &Path) -> Vec<Entry> {
        match list(root_of(self.home, dir), dir) {
            Ok(entries) => {
                if !entries.is_empty() {
                    self.found.looked_at.push(dir.to_owned());
                }
                entries
            }
            Err(error) => {
                let problem = StoreError::new(dir, Reason::Io(error));
                self.found.problems.push(problem);
                Vec::new()
            }
        }
    }
}

/// What a path must not lead out of: the home, or for a configured place the place itself.
pub(super) fn root_of<'a>(home: &'a Home, path: &'a Path) -> &'a Path {
    if path.starts_with(&home.dir) {
        return &home.dir;
    }
    let configured = &home.vscode_user_data_dirs;
    let configured = configured.iter().find(|dir| path.starts_with(dir));
    configured.map_or(path, PathBuf::as_path)
}

/// The `workspace.json` that says which project a file below `workspaceStorage/<id>` belongs to.
pub(super) fn workspace_file(path: &Path) -> Option<PathBuf> {
    let storage = OsStr::new("workspaceStorage");
    let folder = path
        .ancestors()
        .find(|folder| folder.parent().and_then(Path::file_name) == Some(storage))?;
    Some(folder.join("workspace.json"))
}

/// A source whose project a `workspace.json` names.
pub(super) fn source(path: PathBuf) -> Source {
    Source {
        companions: workspace_file(&path).into_iter().collect(),
        path,
    }
}

pub(super) fn io_error(path: &Path) -> impl Fn(io::Error) -> StoreError + '_ {
    |error| StoreError::new(path, Reason::Io(error))
}

/// A file's name without its extension: the session's id.
pub(super) fn stem(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}
