//! Which lines matter, told without parsing them: nine of ten bytes are contents of tools and messages.

use std::sync::LazyLock;

use memchr::{memchr, memmem::Finder};
use serde::Deserialize;

use crate::stores::json::Text;

/// The events that matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Start,
    Resume,
    ContextChanged,
    ModelChange,
    AutoResolved,
    Message,
    UsageRecord,
    Shutdown,
    Compaction,
    Checkpoint,
    SubagentStarted,
    SubagentEnded,
    Error,
}

impl Kind {
    fn of(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"session.start" => Self::Start,
            b"session.resume" => Self::Resume,
            b"session.context_changed" => Self::ContextChanged,
            b"session.model_change" => Self::ModelChange,
            b"session.auto_mode_resolved" => Self::AutoResolved,
            b"assistant.message" => Self::Message,
            b"session.usage_record" => Self::UsageRecord,
            b"session.shutdown" => Self::Shutdown,
            b"session.compaction_complete" => Self::Compaction,
            b"session.usage_checkpoint" => Self::Checkpoint,
            b"subagent.started" => Self::SubagentStarted,
            b"subagent.completed" | b"subagent.failed" => Self::SubagentEnded,
            b"session.error" => Self::Error,
            _ => return None,
        })
    }
}

/// What a line is by its looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Looks {
    Event(Kind),
    Irrelevant,
    Broken,
}

const FIRST: &[u8] = b"{\"type\":\"";

/// Looks at a line. All clients write `type` first; where it isn't, the line is searched.
pub(super) fn look(line: &[u8]) -> Looks {
    if let Some(rest) = line.strip_prefix(FIRST) {
        let kind = memchr(b'"', rest).and_then(|end| Kind::of(&rest[..end]));
        return match (kind, line.last()) {
            (_, Some(b'}')) => kind.map_or(Looks::Irrelevant, Looks::Event),
            _ => Looks::Broken,
        };
    }
    if line.trim_ascii().is_empty() {
        return Looks::Irrelevant;
    }
    search(line)
}

/// Whether a line that begins so is an event of a kind that doesn't matter.
pub(super) fn is_contents(beginning: &[u8]) -> bool {
    let name = beginning.strip_prefix(FIRST);
    let end = name.and_then(|name| memchr(b'"', name));
    let name = name.zip(end).and_then(|(name, end)| name.get(..end));
    name.is_some_and(|name| Kind::of(name).is_none())
}

fn search(line: &[u8]) -> Looks {
    static MARKS: LazyLock<[Finder<'static>; 3]> =
        LazyLock::new(|| ["session.", "assistant.message", "subagent."].map(Finder::new));
    #[derive(Deserialize)]
    struct Head<'a> {
        #[serde(borrow)]
        r#type: Text<'a>,
    }
    if !crate::stores::json::looks_like_object(line) {
        return Looks::Broken;
    }
    if !MARKS.iter().any(|mark| mark.find(line).is_some()) {
        return Looks::Irrelevant;
    }
    match serde_json::from_slice::<Head<'_>>(line) {
        Ok(head) => {
            Kind::of(head.r#type.as_str().as_bytes()).map_or(Looks::Irrelevant, Looks::Event)
        }
        Err(_) => Looks::Broken,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_of_tools_are_known_by_their_beginning() {
        let is = |line: &str| is_contents(line.as_bytes());
        assert!(is(r#"{"type":"tool.execution_complete","data":{"#));
        assert!(!is(r#"{"type":"assistant.message","data":{"#));
        assert!(!is(r#"{"id":"x","type":"tool.execution_complete","#));
        assert!(!is(r#"{"type":"tool."#));
    }

    #[test]
    fn lines_are_told_by_their_type_wherever_it_stands() {
        for (line, want) in [
            (
                r#"{"type":"session.shutdown","data":{}}"#,
                Looks::Event(Kind::Shutdown),
            ),
            (
                r#"{"data":{},"type":"session.shutdown"}"#,
                Looks::Event(Kind::Shutdown),
            ),
            (
                r#" { "type" : "assistant.message" } "#,
                Looks::Event(Kind::Message),
            ),
            (
                r#"{"type":"tool.execution_complete","data":{"x":"session.shutdown"}}"#,
                Looks::Irrelevant,
            ),
            (
                r#"{"data":{"type":"session.shutdown"},"type":"user.message"}"#,
                Looks::Irrelevant,
            ),
            (r#"{"data":{},"type":"hook.start"}"#, Looks::Irrelevant),
            ("", Looks::Irrelevant),
            ("  \t", Looks::Irrelevant),
        ] {
            assert_eq!(look(line.as_bytes()), want, "{line}");
        }
    }

    #[test]
    fn edge_014_what_is_no_object_is_broken() {
        for line in [
            "null",
            "17",
            "\"x\"",
            "[]",
            "{\"type\":\"session.shutdown\",\"da",
            "{\"type\":\"user.mess",
            "{\"x\":\"session.\"",
            "{\"x\":\"session.\"}}",
        ] {
            assert_eq!(look(line.as_bytes()), Looks::Broken, "{line}");
        }
    }
}
