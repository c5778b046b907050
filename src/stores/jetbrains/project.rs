//! The project of a turn whose session names none: the git root above the files that it refers to.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::stores::Os;
use crate::usage::{Project, ProjectHint, ProjectRank};

/// How far up from a file a git root is looked for.
const MOST_STEPS: usize = 40;

/// Folders and whether a git root lies above; at most this many are remembered.
const MOST_FOLDERS: usize = 10_000;

/// Finds git roots, and asks for each folder only once.
#[derive(Debug, Default)]
pub(super) struct GitRoots(HashMap<PathBuf, Option<Project>>);

impl GitRoots {
    /// The root above the first of `uris` that lies in a repository.
    pub(super) fn hint(&mut self, uris: &[String], os: Os) -> Option<ProjectHint> {
        let project = uris.iter().find_map(|uri| {
            let path = path_of(uri, os)?;
            self.above(path.parent()?)
        })?;
        Some(ProjectHint {
            rank: ProjectRank::GitRoot,
            project,
        })
    }

    fn above(&mut self, folder: &Path) -> Option<Project> {
        if let Some(known) = self.0.get(folder) {
            return known.clone();
        }
        // `.git` is a file in worktrees and submodules.
        let mut steps = folder.ancestors().take(MOST_STEPS);
        let root = steps.find(|step| fs::symlink_metadata(step.join(".git")).is_ok());
        let project = root.and_then(|root| Project::of_folder(&root.to_string_lossy()));
        if self.0.len() < MOST_FOLDERS {
            self.0.insert(folder.to_owned(), project.clone());
        }
        project
    }
}

/// The local path of a `file://` URI: `file:///C:/x` is `C:\x` on Windows.
fn path_of(uri: &str, os: Os) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let rest = rest.strip_prefix("localhost").unwrap_or(rest);
    // Another host's files aren't looked for.
    if !rest.starts_with('/') {
        return None;
    }
    let end = rest.find(['#', '?']).unwrap_or(rest.len());
    let path = percent_decoded(rest.get(..end)?)?;
    if path.contains('\0') {
        return None;
    }
    if os == Os::Windows {
        return Some(PathBuf::from(path.get(1..)?.replace('/', "\\")));
    }
    Some(PathBuf::from(path))
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        let digits = tail.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match digits.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(decoded) if byte == b'%' => {
                bytes.push(decoded);
                rest = tail.get(2..).unwrap_or_default();
            }
            _ => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_all_systems() {
        for (uri, os, want) in [
            (
                "file:///home/u/my%20app/a.rs",
                Os::Linux,
                Some("/home/u/my app/a.rs"),
            ),
            (
                "file:///home/u/my app/a.rs",
                Os::Linux,
                Some("/home/u/my app/a.rs"),
            ),
            ("file:///C:/x/a.rs", Os::Windows, Some("C:\\x\\a.rs")),
            ("file:///c%3A/x/a.rs", Os::Windows, Some("c:\\x\\a.rs")),
            ("file://localhost/x/a.rs", Os::MacOs, Some("/x/a.rs")),
            ("file:///x/a%zz.rs#L5", Os::Linux, Some("/x/a%zz.rs")),
            ("file://server/share/a.rs", Os::Linux, None),
            ("file:///x/%ff", Os::Linux, None),
            ("file:///x/%00", Os::Linux, None),
            ("file://", Os::Linux, None),
            ("https://x", Os::Linux, None),
        ] {
            assert_eq!(path_of(uri, os), want.map(PathBuf::from), "{uri}");
        }
    }

    #[test]
    fn edge_189_the_git_root_above_a_file_names_the_project() {
        let dir = tempfile::tempdir().unwrap();
        for (repo, is_file) in [("plain", false), ("work tree", true)] {
            let root = dir.path().join(repo);
            fs::create_dir_all(root.join("a/b/c")).unwrap();
            match is_file {
                true => fs::write(root.join(".git"), "gitdir: elsewhere").unwrap(),
                false => fs::create_dir(root.join(".git")).unwrap(),
            }
        }
        fs::create_dir_all(dir.path().join("none/a")).unwrap();
        let uri = |path: &str| format!("file://{}/{path}", dir.path().display());
        let mut roots = GitRoots::default();
        let mut name = |uris: &[String]| {
            let hint = roots.hint(uris, Os::current())?;
            assert_eq!(hint.rank, ProjectRank::GitRoot);
            Some(hint.project.as_str().to_owned())
        };
        assert_eq!(name(&[uri("plain/a/b/c/x.rs")]).as_deref(), Some("plain"));
        assert_eq!(
            name(&[uri("work%20tree/gone/x.rs")]).as_deref(),
            Some("work tree")
        );
        let several = [uri("none/a/x.rs"), uri("plain/a/y.rs")];
        assert_eq!(name(&several).as_deref(), Some("plain"));
        assert_eq!(name(&[uri("none/a/x.rs")]), None);
    }
}
