//! The homes that are examined.

use std::path::{Path, PathBuf};

use crate::stores::{Home, Os};
use crate::usage::is_printable;

/// Environment variables that say where stores lie; they count for the user's own home only.
const VARIABLES: [&str; 8] = [
    "COPILOT_HOME",
    "COPILOT_OTEL_FILE_EXPORTER_PATH",
    "XDG_CONFIG_HOME",
    "APPDATA",
    "LOCALAPPDATA",
    "TEMP",
    "TMPDIR",
    "VSCODE_PORTABLE",
];

/// The homes that `patterns` name (globs allowed), or the current user's if there are none.
///
/// Where one pattern is a glob or there are several, each home carries its folder's name as the label
/// `user`. A pattern that matches nothing yet is no error: it is tried again at each pass.
pub(super) fn resolve(patterns: &[String]) -> Vec<Home> {
    if patterns.is_empty() {
        return own().into_iter().collect();
    }
    let labelled = patterns.len() > 1 || patterns.iter().any(|pattern| is_glob(pattern));
    let mut dirs: Vec<PathBuf> = patterns
        .iter()
        .flat_map(|pattern| expand(pattern))
        .collect();
    dirs.sort();
    dirs.dedup();
    dirs.into_iter()
        .map(|dir| Home {
            user: labelled.then(|| name_of(&dir)).flatten(),
            dir,
            os: Os::current(),
            ..Home::default()
        })
        .collect()
}

/// Those of `patterns` that name one folder which isn't there. A glob that matches nothing is none of them: it
/// waits for homes to come.
pub fn missing(patterns: &[String]) -> Vec<&str> {
    patterns
        .iter()
        .map(String::as_str)
        .filter(|pattern| !is_glob(pattern) && !Path::new(pattern).is_dir())
        .collect()
}

fn own() -> Option<Home> {
    let env = VARIABLES
        .into_iter()
        .filter_map(|name| {
            std::env::var(name)
                .ok()
                .map(|value| (name.to_owned(), value))
        })
        .collect();
    Some(Home {
        dir: dirs::home_dir()?,
        os: Os::current(),
        env,
        ..Home::default()
    })
}

fn expand(pattern: &str) -> Vec<PathBuf> {
    if !is_glob(pattern) {
        return vec![PathBuf::from(pattern)];
    }
    match glob::glob(pattern) {
        Ok(paths) => paths
            .filter_map(Result::ok)
            .filter(|path| path.is_dir())
            .collect(),
        Err(_) => Vec::new(),
    }
}

fn is_glob(pattern: &str) -> bool {
    pattern.contains(['*', '?', '['])
}

fn name_of(dir: &Path) -> Option<String> {
    let name = dir.file_name()?.to_string_lossy();
    Some(
        name.chars()
            .filter(|&c| is_printable(c))
            .take(128)
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_plain_home_has_no_user_label_and_no_environment() {
        let homes = resolve(&["/copied/home".to_owned()]);
        assert_eq!(homes.len(), 1);
        assert_eq!(homes[0].user, None);
        assert!(homes[0].env.is_empty());
    }

    #[test]
    fn a_home_that_is_named_must_be_there() {
        let root = tempfile::tempdir().unwrap();
        let there = root.path().to_string_lossy().into_owned();
        let patterns = [there, "/no/such/home".to_owned(), "/no/such/*".to_owned()];
        assert_eq!(missing(&patterns), ["/no/such/home"]);
    }

    #[test]
    fn a_glob_gives_each_home_its_user() {
        let root = tempfile::tempdir().unwrap();
        for name in ["ada", "bob"] {
            std::fs::create_dir(root.path().join(name)).unwrap();
        }
        std::fs::write(root.path().join("file"), "").unwrap();
        let pattern = format!("{}/*", root.path().display());
        let users: Vec<_> = resolve(&[pattern])
            .into_iter()
            .filter_map(|home| home.user)
            .collect();
        assert_eq!(users, ["ada", "bob"]);
    }
}
