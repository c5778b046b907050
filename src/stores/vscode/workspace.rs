//! From a workspace's `workspace.json` to the name of the project (formats, vscode.md §2).

use std::io::BufReader;
use std::path::Path;

use crate::stores::files::open_regular;
use crate::usage::{Project, ProjectHint, ProjectRank};

use super::lean::{Lean, Shape};
use super::reduce;
use super::skim::Skim;

const SHAPE: Shape = Shape::Object(&[
    ("folder", FOLDER),
    ("workspace", PLACE),
    ("configuration", PLACE),
]);

/// A URI, as text or as the object that VS Code makes of it; only the project that it names is kept.
pub(super) const PLACE: Shape = Shape::ObjectOrText(
    &[
        ("path", FOLDER),
        ("configPath", FOLDER),
        ("fsPath", FOLDER),
        ("external", FOLDER),
    ],
    reduce::folder,
);

const FOLDER: Shape = Shape::Reduced(reduce::folder);

/// The project that the `workspace.json` at `path` names. An empty window has none; one that can't be
/// read gives none either.
pub(super) fn project_of(root: &Path, path: &Path) -> Option<ProjectHint> {
    let (file, _) = open_regular(root, path).ok()?;
    let mut skim = Skim::document(BufReader::with_capacity(4096, file));
    skim.skip_mark().ok()?;
    let document = Lean::read(&mut skim, &SHAPE).ok()?;
    let place = ["folder", "workspace", "configuration"]
        .into_iter()
        .find_map(|name| uri_text(document.get(name)?))?;
    Some(ProjectHint {
        rank: ProjectRank::Workspace,
        project: project_of_uri(place)?,
    })
}

/// The text of a [`PLACE`].
pub(super) fn uri_text(place: &Lean) -> Option<&str> {
    ["external", "path", "configPath", "fsPath"]
        .into_iter()
        .find_map(|name| place.get(name)?.text())
        .or(place.text())
        .filter(|text| !text.is_empty())
}

/// The last component of a URI or path of any kind, percent-decoded; a `.code-workspace` gives its stem.
/// The host of a remote folder is never the name.
pub(super) fn project_of_uri(uri: &str) -> Option<Project> {
    let path = match uri.split_once("://") {
        Some((_, rest)) => {
            let path = rest.find('/').and_then(|at| rest.get(at..))?;
            let end = path.find(['?', '#']).unwrap_or(path.len());
            percent_decode(path.get(..end)?)
        }
        None => uri.to_owned(),
    };
    let project = Project::of_folder(&path)?;
    match project.as_str().strip_suffix(".code-workspace") {
        Some(stem) => Project::named(stem),
        None => Some(project),
    }
}

fn percent_decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let decoded = match (first, tail) {
            (b'%', [high, low, ..]) => hex(*high).zip(hex(*low)),
            _ => None,
        };
        match decoded {
            Some((high, low)) => {
                bytes.push(high * 16 + low);
                rest = tail.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit)
        .to_digit(16)
        .and_then(|n| u8::try_from(n).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn of(uri: &str) -> Option<String> {
        project_of_uri(uri).map(|project| project.as_str().to_owned())
    }

    #[test]
    fn edge_203_uris_of_every_kind() {
        for (uri, want) in [
            ("file:///c%3A/src/My%20App", "My App"),
            ("file:///c%3A/src/x", "x"),
            ("file:///home/u/src/app/", "app"),
            ("vscode-remote://wsl%2BUbuntu/home/u/api", "api"),
            ("vscode-remote://ssh-remote%2Bbox.example/srv/app", "app"),
            (
                "vscode-remote://dev-container%2B7b22686f73/workspaces/web",
                "web",
            ),
            ("vscode-remote://attached-container%2B7b22/srv/tool", "tool"),
            ("vscode-remote://codespaces%2Bname/workspaces/site", "site"),
            ("vscode-remote://tunnel%2Bhost/home/u/t%C3%A9st", "tést"),
            ("vscode-remote://k8s-container%2Bcontext%3Dx/app/job", "job"),
            ("vscode-vfs://github/acme/web", "web"),
            ("vscode-vfs://github%2B7b227d/acme/shop?ref=main", "shop"),
            ("file:///home/u/all.code-workspace", "all"),
            ("/home/u/plain", "plain"),
            ("C:\\src\\win", "win"),
            ("file:///home/u/c%23proj", "c#proj"),
            ("file:///home/u/100%25", "100%"),
        ] {
            assert_eq!(of(uri).as_deref(), Some(want), "{uri}");
        }
        for uri in [
            "file:///",
            "",
            "vscode-remote://wsl%2BUbuntu",
            "file:///c%3A/",
        ] {
            assert_eq!(of(uri), None, "{uri}");
        }
    }

    #[test]
    fn edge_203_workspace_files() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("workspace.json");
        for (text, want) in [
            (r#"{"folder":"file:///home/u/shop"}"#, Some("shop")),
            (
                r#"{"workspace":"file:///home/u/all.code-workspace"}"#,
                Some("all"),
            ),
            (
                r#"{"configuration":"file:///home/u/old.code-workspace"}"#,
                Some("old"),
            ),
            (
                r#"{"workspace":{"id":"x","configPath":"file:///w/both.code-workspace"}}"#,
                Some("both"),
            ),
            (r#"{"folder":7}"#, None),
            ("{", None),
            ("", None),
        ] {
            std::fs::write(&path, text).unwrap();
            let hint = project_of(dir.path(), &path);
            let name = hint.as_ref().map(|hint| hint.project.as_str());
            assert_eq!(name, want, "{text}");
        }
        let missing = dir.path().join("none");
        assert_eq!(project_of(dir.path(), &missing), None);
    }
}
