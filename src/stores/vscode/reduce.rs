//! What is kept of the texts of a chat that say something about its cost. A session is kept in the ledger
//! between passes, and nobody's paths, addresses or words belong there. Each function gives a text that is
//! read as the one it is made of, and that stays as it is when it is reduced again.

use super::requests::{is_copilot, number_of_credits, reason_of_code};
use super::workspace::project_of_uri;
use crate::usage::Project;

/// The project's name, for a URI or a path of a folder.
pub(super) fn folder(uri: &str) -> String {
    named(uri, project_of_uri, ".code-workspace")
}

/// The repository's name, for its address.
pub(super) fn repository(url: &str) -> String {
    named(url, Project::of_repository, ".git")
}

/// A text that `read` takes for the same project: the name, with the ending that it would lose.
fn named(text: &str, read: fn(&str) -> Option<Project>, ending: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let project = read(text);
    let Some(name) = &project else {
        return "/".to_owned();
    };
    let names = [name.to_string(), format!("{name}{ending}")];
    let mut same = names.into_iter().filter(|name| read(name) == project);
    same.next().unwrap_or_else(|| "/".to_owned())
}

/// The figure, for a text that tells credits.
pub(super) fn credits(details: &str) -> String {
    number_of_credits(details).map_or_else(String::new, |number| format!("{number} credits"))
}

/// The code, if it is one whose meaning is known.
pub(super) fn error_code(code: &str) -> String {
    match reason_of_code(code) {
        Some(_) => code.to_lowercase(),
        None => String::new(),
    }
}

/// Whether the user asked, or something else.
pub(super) fn request_source(source: &str) -> String {
    let told = match source {
        "" | "user" => source,
        _ => "other",
    };
    told.to_owned()
}

/// Whether the extension is one of Copilot's.
pub(super) fn extension(id: &str) -> String {
    let told = match id {
        "" => "",
        _ if is_copilot(id) => "github.copilot",
        _ => "other",
    };
    told.to_owned()
}

/// Whether there is a text.
pub(super) fn presence(text: &str) -> String {
    match text {
        "" => "",
        _ => "some",
    }
    .to_owned()
}

#[cfg(test)]
#[path = "reduce_tests.rs"]
mod tests;
