//! The labels a call is counted under.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::printable::is_printable;

/// Text from a store, made fit for a label: only what is printable, trimmed, at most [`LABEL_CHARS`]
/// characters; `None` if nothing is left.
fn clean(text: &str) -> Option<Arc<str>> {
    let kept: String = text.chars().filter(|&c| is_printable(c)).collect();
    let kept: String = kept.trim().chars().take(LABEL_CHARS).collect();
    let kept = kept.trim_end();
    (!kept.is_empty()).then(|| Arc::from(kept))
}

/// The longest label value, in characters.
pub(super) const LABEL_CHARS: usize = 128;

/// Where the developer worked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Surface {
    Cli,
    Desktop,
    VsCode,
    JetBrains,
    VisualStudio,
    Xcode,
}

impl Surface {
    pub const ALL: [Self; 6] = [
        Self::Cli,
        Self::Desktop,
        Self::VsCode,
        Self::JetBrains,
        Self::VisualStudio,
        Self::Xcode,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cli => "cli",
            Self::Desktop => "desktop",
            Self::VsCode => "vscode",
            Self::JetBrains => "jetbrains",
            Self::VisualStudio => "visual_studio",
            Self::Xcode => "xcode",
        }
    }
}

/// Who caused a call.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub enum Initiator {
    User,
    Agent,
    Subagent,
    Compaction,
    #[default]
    Unknown,
}

impl Initiator {
    pub const ALL: [Self; 5] = [
        Self::User,
        Self::Agent,
        Self::Subagent,
        Self::Compaction,
        Self::Unknown,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Agent => "agent",
            Self::Subagent => "subagent",
            Self::Compaction => "compaction",
            Self::Unknown => "unknown",
        }
    }

    /// The stores' spellings (`user`, `agent`, `sub-agent`, `compaction`).
    pub fn parse(text: &str) -> Self {
        match text {
            "user" => Self::User,
            "agent" => Self::Agent,
            "sub-agent" | "subagent" => Self::Subagent,
            "compaction" => Self::Compaction,
            _ => Self::Unknown,
        }
    }
}

/// Who bills the call: Copilot, or the user's own provider (BYOK).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Provider {
    Copilot,
    /// A cleaned, lower-case name such as `openai`. Its calls cost no Copilot credit.
    Own(Arc<str>),
}

impl Provider {
    /// The user's own provider called `name`; one without a usable name is called `byok`.
    pub fn own(name: &str) -> Self {
        Self::Own(clean(&name.to_lowercase()).unwrap_or_else(|| Arc::from("byok")))
    }

    pub fn as_str(&self) -> &str {
        match self {
            Self::Copilot => "copilot",
            Self::Own(name) => name,
        }
    }
}

/// The label `project`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Project(Arc<str>);

impl Project {
    pub fn unknown() -> Self {
        Self(Arc::from("unknown"))
    }

    /// A name as it is, cleaned. `.` and `..` only point at a folder.
    pub fn named(name: &str) -> Option<Self> {
        clean(name)
            .filter(|name| !matches!(&**name, "." | ".."))
            .map(Self)
    }

    /// The last part of a repository name or URL, without `.git`: `git@host:o/repo.git` → `repo`.
    pub fn of_repository(repository: &str) -> Option<Self> {
        let trimmed = repository.trim().trim_end_matches(['/', '\\']);
        let last = trimmed.rsplit(['/', '\\', ':']).next()?;
        Self::named(last.strip_suffix(".git").unwrap_or(last))
    }

    /// The last component of a folder path of any system; a root has no name.
    pub fn of_folder(path: &str) -> Option<Self> {
        let trimmed = path.trim().trim_end_matches(['/', '\\']);
        let last = trimmed.rsplit(['/', '\\']).next()?;
        if last.len() == 2 && last.ends_with(':') {
            return None;
        }
        Self::named(last)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Project {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How good the source of a project's name is; a later variant is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ProjectRank {
    /// The name of the working folder.
    Folder,
    /// The name of the git root.
    GitRoot,
    /// The name of the editor's workspace, or of an IDE's project.
    Workspace,
    /// The repository's name.
    Repository,
}

/// A project's name and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ProjectHint {
    pub rank: ProjectRank,
    pub project: Project,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repository_names() {
        for (text, want) in [
            ("acme/shop", "shop"),
            ("git@host:o/repo.git", "repo"),
            ("https://github.com/acme/web.git/", "web"),
            ("repo.git", "repo"),
        ] {
            assert_eq!(
                Project::of_repository(text).unwrap().as_str(),
                want,
                "{text}"
            );
        }
        assert_eq!(Project::of_repository(""), None);
    }

    #[test]
    fn folder_names_of_all_systems() {
        for (text, want) in [
            ("/home/u/my app", "my app"),
            ("/srv/shop/", "shop"),
            ("C:\\src\\x", "x"),
            ("/home/u/c#proj", "c#proj"),
        ] {
            assert_eq!(Project::of_folder(text).unwrap().as_str(), want, "{text}");
        }
        for text in ["/", "", "C:\\", "\u{1}", ".", "/srv/..", "\u{202e}"] {
            assert_eq!(Project::of_folder(text), None, "{text:?}");
        }
    }

    #[test]
    fn labels_are_bounded_and_clean() {
        let name = format!("a\u{0}\n{}", "x".repeat(10_000));
        assert_eq!(Project::named("a\u{202e}b\u{200b}").unwrap().as_str(), "ab");
        assert_eq!(
            Project::named(&name).unwrap().as_str().chars().count(),
            LABEL_CHARS
        );
    }
}
