//! By what statements without a common identity are known to speak of one call.

use crate::usage::{Evidence, Initiator, TokenType};

use super::facts::tells_single_calls;
use super::merge::Call;

/// What two statements about one call have in common, besides being near in time.
#[derive(Debug, Clone, Copy)]
pub(super) enum Alike {
    /// Model, prompt and output.
    Figures,
    /// Prompt and output, where a store doesn't name the model as others do.
    Tokens,
    ModelAndOutput,
    Output,
    Model,
    Nothing,
}

/// Calls of the left kind are joined, one to one, with the nearest ones of the right kind.
pub(super) struct Rule {
    pub(super) left: fn(&Call<'_>) -> bool,
    pub(super) right: fn(&Call<'_>) -> bool,
    pub(super) alike: Alike,
    pub(super) within_ms: u64,
}

const fn rule(
    left: fn(&Call<'_>) -> bool,
    right: fn(&Call<'_>) -> bool,
    alike: Alike,
    within_ms: u64,
) -> Rule {
    Rule {
        left,
        right,
        alike,
        within_ms,
    }
}

/// Row and record are 0 or 1 ms apart; so are a compaction and its row.
const MOMENT: u64 = 10;

/// A message and the row of its call. Farther apart, or beside a span, one whose output differs is another call.
const INSTANT: u64 = 3_000;

/// Around a compaction: a row whose time has whole seconds only.
const SECONDS: u64 = 10_000;

/// How far apart different stores stamp one call (formats, copilot-cli.md §13).
const CALL: u64 = 120_000;

/// What is joined for what it says, the better reason first.
pub(super) const BY_FIGURES: &[Rule] = &[
    rule(
        is_compaction_event,
        is_compaction_row,
        Alike::Nothing,
        MOMENT,
    ),
    // A row that isn't labelled, or whose time is cut to seconds.
    rule(
        is_compaction_event,
        may_be_compaction_row,
        Alike::Tokens,
        SECONDS,
    ),
    rule(is_record_without_row, is_free_row, Alike::Figures, MOMENT),
    rule(is_record_without_row, is_free_row, Alike::Model, MOMENT),
    rule(is_record_without_row, is_free_row, Alike::Figures, CALL),
    rule(
        is_span_without_row,
        is_row_without_span,
        Alike::Figures,
        CALL,
    ),
    rule(
        is_message,
        is_row_without_message,
        Alike::ModelAndOutput,
        CALL,
    ),
    rule(is_keyless, lacks_message, Alike::ModelAndOutput, CALL),
    rule(is_nameless, is_row_without_message, Alike::Output, CALL),
    rule(is_nameless_keyless, lacks_message, Alike::Output, CALL),
];

/// What is joined for being near, among what is still alone.
pub(super) const BY_TIME: &[Rule] = &[
    rule(is_message, is_row_without_message, Alike::Model, INSTANT),
    rule(is_silent, is_bare_row, Alike::Model, CALL),
    rule(
        is_silent_message,
        is_row_without_message,
        Alike::Model,
        CALL,
    ),
    rule(is_silent_keyless, lacks_message, Alike::Model, CALL),
    rule(is_message, is_row_without_output, Alike::Model, CALL),
    rule(
        is_silent_nameless,
        is_row_without_message,
        Alike::Nothing,
        CALL,
    ),
    rule(is_transcript_usage, is_of_otel_alone, Alike::Tokens, CALL),
    // A summary that the journal tells of.
    rule(is_summary, is_no_summary, Alike::Tokens, CALL),
    rule(is_transcript_text, has_no_text, Alike::Nothing, CALL),
    rule(is_conversation, is_span_alone, Alike::Nothing, CALL),
];

fn has_best(call: &Call<'_>, evidence: Evidence) -> bool {
    call.evidence.best() == Some(evidence)
}

fn is_compaction_event(call: &Call<'_>) -> bool {
    call.is_compaction() && call.has(Evidence::UsageRecord) && !call.has(Evidence::StoreRow)
}

fn is_compaction_row(call: &Call<'_>) -> bool {
    call.evidence.is_only(Evidence::StoreRow) && call.is_compaction()
}

fn may_be_compaction_row(call: &Call<'_>) -> bool {
    call.evidence.is_only(Evidence::StoreRow)
        && matches!(call.initiator, Initiator::Compaction | Initiator::Unknown)
}

fn is_free_row(call: &Call<'_>) -> bool {
    call.has(Evidence::StoreRow) && !call.has(Evidence::UsageRecord) && !call.is_compaction()
}

fn is_record_without_row(call: &Call<'_>) -> bool {
    call.has(Evidence::UsageRecord) && !call.has(Evidence::StoreRow) && !call.is_compaction()
}

fn is_span_without_row(call: &Call<'_>) -> bool {
    call.has(Evidence::Span) && !call.has(Evidence::StoreRow)
}

fn is_row_without_span(call: &Call<'_>) -> bool {
    is_free_row(call) && !call.has(Evidence::Span)
}

fn is_row_without_message(call: &Call<'_>) -> bool {
    is_free_row(call) && !call.has(Evidence::Message)
}

fn is_bare_row(call: &Call<'_>) -> bool {
    is_row_without_span(call) && is_row_without_message(call)
}

fn is_row_without_output(call: &Call<'_>) -> bool {
    is_row_without_message(call) && call.tokens.get(TokenType::Output).is_none()
}

fn lacks_message(call: &Call<'_>) -> bool {
    call.evidence.best() >= Some(Evidence::Span)
        && !call.has(Evidence::Message)
        && !call.is_compaction()
}

fn is_message(call: &Call<'_>) -> bool {
    call.evidence.is_only(Evidence::Message)
}

/// Old clients' messages have no key; with one, a span or record of another key is another call.
pub(super) fn is_keyless(call: &Call<'_>) -> bool {
    is_message(call) && !call.is_keyed
}

fn is_nameless(call: &Call<'_>) -> bool {
    is_message(call) && call.model.is_none()
}

fn is_nameless_keyless(call: &Call<'_>) -> bool {
    is_nameless(call) && is_keyless(call)
}

/// A message without output, or a span that tells no more.
fn is_silent(call: &Call<'_>) -> bool {
    (has_best(call, Evidence::Message) || has_best(call, Evidence::Span))
        && call.tokens.gross_input().is_none()
        && call.tokens.get(TokenType::Output).is_none()
}

fn is_silent_message(call: &Call<'_>) -> bool {
    is_silent(call) && is_message(call)
}

fn is_silent_keyless(call: &Call<'_>) -> bool {
    is_silent(call) && is_keyless(call)
}

fn is_silent_nameless(call: &Call<'_>) -> bool {
    is_silent(call) && is_nameless(call)
}

fn is_of_otel(call: &Call<'_>) -> bool {
    call.has(Evidence::Span) || call.has(Evidence::LogRecord)
}

fn is_of_otel_alone(call: &Call<'_>) -> bool {
    is_of_otel(call) && !call.has(Evidence::TranscriptUsage)
}

fn is_transcript_usage(call: &Call<'_>) -> bool {
    call.has(Evidence::TranscriptUsage) && !is_of_otel(call)
}

fn is_single_call(call: &Call<'_>) -> bool {
    call.evidence.best().is_some_and(tells_single_calls)
}

fn is_summary(call: &Call<'_>) -> bool {
    has_best(call, Evidence::JournalRequest)
}

fn is_no_summary(call: &Call<'_>) -> bool {
    is_single_call(call) && !call.has(Evidence::JournalRequest)
}

fn is_transcript_text(call: &Call<'_>) -> bool {
    has_best(call, Evidence::TranscriptMessage)
}

fn has_no_text(call: &Call<'_>) -> bool {
    is_single_call(call) && !call.has(Evidence::TranscriptMessage)
}

fn is_conversation(call: &Call<'_>) -> bool {
    call.evidence.best() <= Some(Evidence::Nitrite)
}

fn is_span_alone(call: &Call<'_>) -> bool {
    let told = [Evidence::Nitrite, Evidence::Partition, Evidence::Salvage];
    call.evidence.best() >= Some(Evidence::Span) && !told.into_iter().any(|one| call.has(one))
}
