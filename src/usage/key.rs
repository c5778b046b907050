//! Identities, as the stores give them, reduced to 64 bits.

use xxhash_rust::xxh3::Xxh3;

/// An identity that some store gives to a call, a turn or a statement about them.
///
/// Two statements that share a key speak of the same thing. Keys of different kinds never collide by
/// construction of the hashed text; a chance collision among a million keys has a probability of about
/// 3e-8. Row ids, list positions and timestamps alone are never identities
/// (formats, "Identities, and which ids join which stores").
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub struct Key(pub u64);

impl Key {
    /// The provider's response id: `apiCallId`, `usageId`, `gen_ai.response.id`, `responseId`.
    pub fn response(id: &str) -> Self {
        Self::of("response", &[id])
    }

    /// `accounting.sourceSessionId` and `accounting.sequence` of a usage record.
    pub fn accounting(source_session: &str, sequence: u64) -> Self {
        Self::of("accounting", &[source_session, &sequence.to_string()])
    }

    /// The `id` of an event line; a fork copies events with their ids.
    pub fn event(id: &str) -> Self {
        Self::of("event", &[id])
    }

    /// A span, where there is no response id.
    pub fn span(trace_id: &str, span_id: &str) -> Self {
        Self::of("span", &[trace_id, span_id])
    }

    /// A chat request (`requestId` of VS Code).
    pub fn request(id: &str) -> Self {
        Self::of("request", &[id])
    }

    /// Any other identity: `kind` names the rule, `parts` are what is identified.
    ///
    /// Each part is hashed with its length, so that moving text between parts gives another key.
    pub fn of(kind: &str, parts: &[&str]) -> Self {
        let mut hash = Xxh3::new();
        for part in std::iter::once(&kind).chain(parts) {
            hash.update(&(part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        Self(hash.digest())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_run_into_each_other() {
        assert_ne!(Key::of("k", &["ab", "c"]), Key::of("k", &["a", "bc"]));
        assert_ne!(Key::response("x"), Key::event("x"));
        assert_eq!(Key::response("x"), Key::response("x"));
    }
}
