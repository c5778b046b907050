//! Which statements without a common identity speak of one call: by what they say and when.
//!
//! Rows of the CLI's store carry no id that another store knows, old messages none at all, and VS Code's
//! transcripts none that its spans have (formats, "Identities, and which ids join which stores").

use std::mem;

use crate::usage::{CallFact, Evidence, Initiator, Key, TokenType, Tokens};

use super::facts::{Stated, tells_single_calls};
use super::identity::Sets;
use super::merge::Call;
use super::nearest::{Candidate, Side, pairs};
use super::rollups;

/// What two statements about one call have in common, besides being near in time.
#[derive(Debug, Clone, Copy)]
enum Alike {
    /// Model, prompt and output.
    Figures,
    /// Prompt and output, where a store doesn't name the model as others do.
    Tokens,
    ModelAndOutput,
    Model,
    Time,
}

/// Calls of the left kind are joined, one to one, with the nearest ones of the right kind.
struct Rule {
    left: fn(&Call<'_>) -> bool,
    right: fn(&Call<'_>) -> bool,
    alike: Alike,
    within_ms: u64,
}

/// Row and record are 0 or 1 ms apart; so are a compaction and its row.
const SAME_MOMENT_MS: u64 = 10;

/// Around a compaction: a row whose time has whole seconds only.
const SAME_SECONDS_MS: u64 = 10_000;

/// How far apart different stores stamp one call (formats, copilot-cli.md §13).
const SAME_CALL_MS: u64 = 120_000;

/// What is joined for what it says, the better reason first.
const BY_FIGURES: [Rule; 8] = [
    Rule {
        left: is_compaction_event,
        right: |call| is_free_row(call) && call.is_compaction(),
        alike: Alike::Time,
        within_ms: SAME_MOMENT_MS,
    },
    // A row that isn't labelled, or whose time is cut to seconds.
    Rule {
        left: is_compaction_event,
        right: |call| {
            is_free_row(call)
                && matches!(call.initiator, Initiator::Compaction | Initiator::Unknown)
        },
        alike: Alike::Tokens,
        within_ms: SAME_SECONDS_MS,
    },
    Rule {
        left: is_record_without_row,
        right: is_free_call_row,
        alike: Alike::Figures,
        within_ms: SAME_MOMENT_MS,
    },
    Rule {
        left: is_record_without_row,
        right: is_free_call_row,
        alike: Alike::Model,
        within_ms: SAME_MOMENT_MS,
    },
    Rule {
        left: is_record_without_row,
        right: is_free_call_row,
        alike: Alike::Figures,
        within_ms: SAME_CALL_MS,
    },
    Rule {
        left: is_span_without_row,
        right: is_row_without_span,
        alike: Alike::Figures,
        within_ms: SAME_CALL_MS,
    },
    Rule {
        left: is_message_alone,
        right: is_row_without_message,
        alike: Alike::ModelAndOutput,
        within_ms: SAME_CALL_MS,
    },
    Rule {
        left: is_message_without_key,
        right: lacks_message,
        alike: Alike::ModelAndOutput,
        within_ms: SAME_CALL_MS,
    },
];

/// What is joined for being near, among what is still alone.
const BY_TIME: [Rule; 9] = [
    Rule {
        left: |call| is_message_like(call) && !call.has(Evidence::StoreRow),
        right: |call| is_row_without_span(call) && is_row_without_message(call),
        alike: Alike::Model,
        within_ms: SAME_CALL_MS,
    },
    Rule {
        left: is_message_alone,
        right: is_row_without_message,
        alike: Alike::Model,
        within_ms: SAME_CALL_MS,
    },
    Rule {
        left: is_message_without_key,
        right: lacks_message,
        alike: Alike::Model,
        within_ms: SAME_CALL_MS,
    },
    Rule {
        left: |call| is_message_alone(call) && call.model.is_none(),
        right: is_row_without_message,
        alike: Alike::Time,
        within_ms: SAME_CALL_MS,
    },
    Rule {
        left: |call| is_message_without_key(call) && call.model.is_none(),
        right: lacks_message,
        alike: Alike::Time,
        within_ms: SAME_CALL_MS,
    },
    Rule {
        left: |call| call.has(Evidence::TranscriptUsage) && !is_of_otel(call),
        right: |call| is_of_otel(call) && !call.has(Evidence::TranscriptUsage),
        alike: Alike::Tokens,
        within_ms: SAME_CALL_MS,
    },
    // A summary that the journal tells of.
    Rule {
        left: |call| call.evidence.best() == Some(Evidence::JournalRequest),
        right: |call| is_single_call(call) && !call.has(Evidence::JournalRequest),
        alike: Alike::Tokens,
        within_ms: SAME_CALL_MS,
    },
    Rule {
        left: |call| call.evidence.best() == Some(Evidence::TranscriptMessage),
        right: |call| is_single_call(call) && !call.has(Evidence::TranscriptMessage),
        alike: Alike::Time,
        within_ms: SAME_CALL_MS,
    },
    Rule {
        left: |call| call.evidence.best() <= Some(Evidence::Nitrite),
        right: |call| call.evidence.best() >= Some(Evidence::Span) && !is_of_jetbrains(call),
        alike: Alike::Time,
        within_ms: SAME_CALL_MS,
    },
];

fn is_of_otel(call: &Call<'_>) -> bool {
    call.has(Evidence::Span) || call.has(Evidence::LogRecord)
}

fn is_single_call(call: &Call<'_>) -> bool {
    call.evidence.best().is_some_and(tells_single_calls)
}

fn is_of_jetbrains(call: &Call<'_>) -> bool {
    [Evidence::Nitrite, Evidence::Partition, Evidence::Salvage]
        .into_iter()
        .any(|evidence| call.has(evidence))
}

fn is_compaction_event(call: &Call<'_>) -> bool {
    call.is_compaction() && call.has(Evidence::UsageRecord) && !call.has(Evidence::StoreRow)
}

fn is_free_row(call: &Call<'_>) -> bool {
    call.evidence.is_only(Evidence::StoreRow)
}

fn is_free_call_row(call: &Call<'_>) -> bool {
    call.has(Evidence::StoreRow) && !call.has(Evidence::UsageRecord) && !call.is_compaction()
}

fn is_record_without_row(call: &Call<'_>) -> bool {
    call.has(Evidence::UsageRecord) && !call.has(Evidence::StoreRow) && !call.is_compaction()
}

fn is_span_without_row(call: &Call<'_>) -> bool {
    call.has(Evidence::Span) && !call.has(Evidence::StoreRow)
}

fn is_row_without_span(call: &Call<'_>) -> bool {
    is_free_call_row(call) && !call.has(Evidence::Span)
}

fn is_message_alone(call: &Call<'_>) -> bool {
    call.evidence.is_only(Evidence::Message)
}

/// Old clients' messages have no key; with one, a span or record of another key is another call.
fn is_message_without_key(call: &Call<'_>) -> bool {
    is_message_alone(call) && !call.is_keyed
}

fn is_row_without_message(call: &Call<'_>) -> bool {
    is_free_call_row(call) && !call.has(Evidence::Message)
}

/// A message, or a span that tells no more than one.
fn is_message_like(call: &Call<'_>) -> bool {
    matches!(
        call.evidence.best(),
        Some(Evidence::Message | Evidence::Span)
    ) && call.tokens.gross_input().is_none()
}

fn lacks_message(call: &Call<'_>) -> bool {
    call.evidence.best() >= Some(Evidence::Span)
        && !call.has(Evidence::Message)
        && !call.is_compaction()
}

/// The calls that `sets` of statements with common identities speak of, joined as the rules say.
pub(super) fn join<'a>(facts: &[Stated<'a, CallFact>], sets: &mut Sets) -> Vec<Call<'a>> {
    let sets = sets.members().into_iter();
    let mut calls: Vec<Call<'a>> = sets
        .filter_map(|members| Call::merged(facts, members))
        .collect();
    apply(&BY_FIGURES, facts, &mut calls);
    rollups::settle(facts, &mut calls);
    apply(&BY_TIME, facts, &mut calls);
    if calls
        .iter()
        .any(|call| call.has(Evidence::Message) && call.is_keyed)
    {
        calls.retain(|call| !is_of_the_clients_making(call));
    }
    calls
}

fn apply<'a>(rules: &[Rule], facts: &[Stated<'a, CallFact>], calls: &mut Vec<Call<'a>>) {
    for rule in rules {
        for (left, right) in rule.pairs(calls) {
            let mut members = mem::take(&mut calls[right].members);
            members.extend_from_slice(&calls[left].members);
            if let Some(call) = Call::merged(facts, members) {
                calls[left] = call;
            }
        }
        calls.retain(|call| !call.members.is_empty());
    }
}

/// A message that no model sent: clients write some of their own, without tokens and without the key that
/// the session's other messages have.
fn is_of_the_clients_making(call: &Call<'_>) -> bool {
    is_message_without_key(call) && call.tokens == Tokens::default()
}

/// Model, prompt and output: what is not compared is equal everywhere.
type Likeness = (Option<Key>, u64, u64);

impl Rule {
    fn pairs(&self, calls: &[Call<'_>]) -> Vec<(usize, usize)> {
        let of_side = |side: Side, wanted: fn(&Call<'_>) -> bool| {
            calls
                .iter()
                .enumerate()
                .filter(move |(_, call)| wanted(call))
                .filter_map(move |(index, call)| {
                    Some(Candidate {
                        alike: self.likeness(call)?,
                        millis: call.finished?.0,
                        side,
                        index,
                    })
                })
        };
        let mut candidates: Vec<_> = of_side(Side::Left, self.left).collect();
        if candidates.is_empty() {
            return Vec::new();
        }
        candidates.extend(of_side(Side::Right, self.right));
        pairs(candidates, self.within_ms)
    }

    /// `None`: the call doesn't tell what has to be equal.
    fn likeness(&self, call: &Call<'_>) -> Option<Likeness> {
        let model = || call.model.map(|model| model.key);
        let prompt = || call.tokens.gross_input().map(|gross| gross.0);
        let output = || call.tokens.get(TokenType::Output);
        Some(match self.alike {
            Alike::Figures => {
                // Absent beside absent is equal, too: a provider that reports no usage.
                (model(), prompt().unwrap_or(0), output().unwrap_or(0))
            }
            Alike::Tokens => (None, prompt()?, output()?),
            Alike::ModelAndOutput => (model(), 0, output()?),
            Alike::Model => (Some(model()?), 0, 0),
            Alike::Time => (None, 0, 0),
        })
    }
}
