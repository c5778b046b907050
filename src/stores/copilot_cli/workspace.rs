//! `workspace.yaml`: where a session runs. Flat `key: value`, read as real YAML scalars.

use std::io::Read as _;
use std::path::Path;

use crate::stores::files::open_regular;
use crate::usage::{Project, ProjectHint, ProjectRank, Surface};

/// The most that is read of the file; what matters are a few short lines.
const MOST_BYTES: u64 = 64 << 10;

/// What the file says that matters. Everything else in it may be a prompt.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Workspace {
    pub(super) project: Option<ProjectHint>,
    pub(super) surface: Option<Surface>,
}

impl Workspace {
    /// Reads the file; one that is missing or unreadable says nothing.
    pub(super) fn read(root: &Path, path: &Path) -> Self {
        let mut text = Vec::new();
        let Ok((file, _)) = open_regular(root, path) else {
            return Self::default();
        };
        match file.take(MOST_BYTES).read_to_end(&mut text) {
            Ok(_) => Self::parse(&String::from_utf8_lossy(&text)),
            Err(_) => Self::default(),
        }
    }

    pub(super) fn parse(text: &str) -> Self {
        let (mut repository, mut git_root, mut cwd, mut client) = (None, None, None, None);
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            // Indented lines belong to a block scalar or a nested value.
            let Some((key, rest)) = line
                .split_once(':')
                .filter(|_| !line.starts_with([' ', '\t']))
            else {
                continue;
            };
            let slot = match key.trim_matches(['"', '\'']) {
                "repository" => &mut repository,
                "git_root" => &mut git_root,
                "cwd" => &mut cwd,
                "client_name" => &mut client,
                _ => continue,
            };
            let rest = rest.trim();
            *slot = if rest.starts_with(['|', '>']) {
                let block = lines.next_if(|line| line.starts_with([' ', '\t']));
                block.map(|line| line.trim().to_owned())
            } else {
                scalar(rest)
            };
        }
        Self {
            project: project(repository.as_deref(), git_root.as_deref(), cwd.as_deref()),
            surface: client.as_deref().and_then(surface),
        }
    }
}

/// A plain or quoted scalar without its comment; `None` if it is empty or null.
fn scalar(text: &str) -> Option<String> {
    let value = match text.chars().next()? {
        '\'' => text[1..]
            .replace("''", "\u{0}")
            .split('\'')
            .next()?
            .replace('\u{0}', "'"),
        '"' => double_quoted(&text[1..]),
        '#' => return None,
        _ => {
            // A comment begins only after a blank.
            let comment = text.match_indices('#').map(|(at, _)| at);
            let comment = comment
                .into_iter()
                .find(|&at| text[..at].ends_with([' ', '\t']));
            text[..comment.unwrap_or(text.len())].trim_end().to_owned()
        }
    };
    (!matches!(value.as_str(), "" | "~" | "null")).then_some(value)
}

/// Up to the closing quote, with the escapes that paths and names can have.
fn double_quoted(text: &str) -> String {
    let mut value = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => break,
            '\\' => match chars.next() {
                Some('n') => value.push('\n'),
                Some('t') => value.push('\t'),
                Some('x') => value.extend(code_point(&mut chars, 2)),
                Some('u') => value.extend(code_point(&mut chars, 4)),
                Some('U') => value.extend(code_point(&mut chars, 8)),
                Some(other) => value.push(other),
                None => {}
            },
            other => value.push(other),
        }
    }
    value
}

fn code_point(chars: &mut std::str::Chars<'_>, digits: usize) -> Option<char> {
    let hex: String = chars.take(digits).collect();
    char::from_u32(u32::from_str_radix(&hex, 16).ok()?)
}

/// The project of a place: the repository's name, else the git root's, else the folder's.
pub(super) fn project(
    repository: Option<&str>,
    git_root: Option<&str>,
    cwd: Option<&str>,
) -> Option<ProjectHint> {
    let hint = |rank, project| ProjectHint { rank, project };
    let repository = repository
        .and_then(Project::of_repository)
        .map(|name| hint(ProjectRank::Repository, name));
    let git_root = git_root
        .and_then(Project::of_folder)
        .map(|name| hint(ProjectRank::GitRoot, name));
    let cwd = cwd
        .and_then(Project::of_folder)
        .map(|name| hint(ProjectRank::Folder, name));
    repository.or(git_root).or(cwd)
}

/// Where a client of this name works; the CLI's own sessions say `github/cli`.
fn surface(client: &str) -> Option<Surface> {
    let client = client.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| client.contains(word));
    if says(&["jetbrains", "intellij"]) {
        Some(Surface::JetBrains)
    } else if says(&["vscode", "visual-studio-code"]) {
        Some(Surface::VsCode)
    } else if says(&["desktop", "copilot-app", "github/app"]) {
        Some(Surface::Desktop)
    } else if says(&["cli"]) {
        Some(Surface::Cli)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Option<String> {
        let project = Workspace::parse(text).project?.project;
        Some(project.as_str().to_owned())
    }

    #[test]
    fn edge_202_real_scalars() {
        for (text, want) in [
            ("id: x\r\ncwd: /srv/shop\r\n", Some("shop")),
            ("cwd: '/home/u/my app'\n", Some("my app")),
            ("cwd: '/home/u/it''s'\n", Some("it's")),
            ("cwd: /srv/shop/\n", Some("shop")),
            ("cwd: /home/u/c#proj\n", Some("c#proj")),
            ("cwd: /srv/shop # a comment\n", Some("shop")),
            ("cwd:\nname: /not/this\n", None),
            ("cwd: # only a comment\n", None),
            ("cwd: \"/srv/caf\\u00e9\" # comment\n", Some("café")),
            ("cwd: \"C:\\\\src\\\\shop\"\n", Some("shop")),
            ("cwd: C:\\src\\shop\n", Some("shop")),
            ("cwd: /\n", None),
            ("cwd: null\n", None),
            ("name: |-\n  cwd: /not/this\ncwd: /srv/shop\n", Some("shop")),
            ("cwd: |-\n  /srv/shop\n", Some("shop")),
        ] {
            assert_eq!(name(text).as_deref(), want, "{text:?}");
        }
    }

    #[test]
    fn edge_205_the_repository_names_the_project() {
        let text = "cwd: /srv/shop-copy\nrepository: acme/shop\ngit_root: /srv/shop-copy\n";
        assert_eq!(name(text).as_deref(), Some("shop"));
    }

    #[test]
    fn edge_256_without_git_the_folder_names_it() {
        assert_eq!(name("cwd: /tmp/plain\n").as_deref(), Some("plain"));
    }

    #[test]
    fn the_client_tells_the_surface() {
        for (client, want) in [
            ("github/cli", Some(Surface::Cli)),
            ("github/desktop", Some(Surface::Desktop)),
            ("jetbrains-plugin", Some(Surface::JetBrains)),
            ("vscode", Some(Surface::VsCode)),
            ("something else", None),
        ] {
            let text = format!("client_name: {client}\n");
            assert_eq!(Workspace::parse(&text).surface, want, "{client}");
        }
    }
}
