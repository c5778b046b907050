//! What a reader says: observations. A reader only observes; the ledger decides what they amount to.

use serde::{Deserialize, Serialize};

use super::{
    Credits, FailureReason, Initiator, Key, PremiumRequests, ProjectHint, Provider, Surface,
    Timestamp, Tokens, Tool,
};

/// How good a statement about a call is; a later variant is better (design, "One call counts once").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Evidence {
    /// Recovered from the bytes of a store that can't be walked.
    Salvage,
    /// JetBrains partition file.
    Partition,
    /// JetBrains Nitrite store.
    Nitrite,
    /// VS Code transcript message, estimated from its text.
    TranscriptMessage,
    /// CLI `assistant.message`: output only.
    Message,
    /// VS Code flat `.json` session.
    FlatRequest,
    /// VS Code journal request.
    JournalRequest,
    /// OTel log record of a call: usage without the cached part of the input.
    LogRecord,
    /// VS Code transcript `assistant.usage`.
    TranscriptUsage,
    /// OTel `chat` span or debug-log round.
    Span,
    /// CLI `session.usage_record`; for a compaction, `session.compaction_complete`.
    UsageRecord,
    /// A row of `session-store.db`.
    StoreRow,
}

/// One statement of one store.
///
/// `scope` is the unit within which statements are reconciled: the session (CLI session id, VS Code chat
/// session id, JetBrains conversation id: one namespace, so that products that mirror each other's
/// sessions meet), else [`Observation::lone_scope`]. `id` identifies the statement: the same statement
/// read again (from a copy, a rewritten file, a fork) has the same `id` and replaces its former version.
/// A usage record's `id` is its accounting key, any other event line's its event id, so that a fork's
/// copies fall on the originals; a response id is no `id`, since some providers repeat theirs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    pub scope: String,
    pub id: Key,
    pub surface: Surface,
    pub fact: Fact,
}

impl Observation {
    /// The scope of a statement of which no store names the session: its own, until a session's statement
    /// shares a key with it.
    pub fn lone_scope(id: Key) -> String {
        format!("{LONE}{:016x}", id.0)
    }

    /// The statement is of no known session.
    pub fn is_lone(&self) -> bool {
        self.scope.starts_with(LONE)
    }
}

const LONE: &str = "lone:";

/// What is stated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Fact {
    Call(CallFact),
    Turn(TurnFact),
    Leg(LegFact),
    Total(TotalFact),
    Failure(FailureFact),
    Session(SessionFact),
    Tool(ToolFact),
}

/// One model call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallFact {
    pub evidence: Evidence,
    /// Identities of the call, by which statements of several stores are joined. May be empty: rows are
    /// joined by their figures and time, messages without a key by model and time. Providers that repeat
    /// response ids exist: a shared key joins only statements that don't contradict each other.
    pub keys: Vec<Key>,
    pub time: Option<Timestamp>,
    /// As the store spells it; `auto` and the like are no models and are left out.
    pub model: Option<String>,
    /// `None` where the store doesn't tell who bills.
    pub provider: Option<Provider>,
    pub initiator: Initiator,
    pub tokens: Tokens,
    /// The token counts are estimated from text length.
    pub estimated: bool,
    /// `None` is unknown; 0 is a real 0.
    pub credits: Option<Credits>,
    /// What the store says the request counts as; the ledger takes it from user-initiated calls only.
    pub premium: Option<PremiumRequests>,
    pub duration_ms: Option<u64>,
    pub first_token_ms: Option<u64>,
    /// The project that this very call names, where the store has one per call.
    pub project: Option<ProjectHint>,
}

/// One chat request of VS Code (or turn of JetBrains with credits): a user's prompt and all the calls it
/// caused, of which the store knows sums or only the last round.
///
/// Better statements about calls within its time replace its tokens; its credits cover all of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnFact {
    pub evidence: Evidence,
    pub keys: Vec<Key>,
    pub start: Option<Timestamp>,
    /// When the turn was complete; unknown: until the next turn of the session begins.
    pub end: Option<Timestamp>,
    pub model: Option<String>,
    pub provider: Option<Provider>,
    pub initiator: Initiator,
    /// Exact sums per model where the store has them (`modelTotals`); then `tokens` is empty.
    pub per_model: Vec<(String, Tokens)>,
    pub tokens: Tokens,
    /// The input (or all) is that of the last round only.
    pub lower_bound: bool,
    pub estimated: bool,
    /// How many calls the turn is known to have made, at least 1.
    pub calls: u32,
    pub credits: Option<Credits>,
    pub premium: Option<PremiumRequests>,
    pub duration_ms: Option<u64>,
    pub first_token_ms: Option<u64>,
    pub project: Option<ProjectHint>,
}

/// What one process run of a CLI session used of one model, as its shutdown line says: the running total
/// is already taken apart by the reader. It counts as a remainder over the calls known in its span.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LegFact {
    /// The end of the leg before (exclusive); `None`: the session's beginning.
    pub from: Option<Timestamp>,
    /// The `session.resume` that opened the leg, if it came later than `from` and no other process had
    /// the session open: what lies between is of a run that was killed and that no shutdown may contain.
    pub resumed: Option<Timestamp>,
    /// The shutdown (inclusive).
    pub to: Timestamp,
    /// The last successful compaction in the leg: some versions forget what came before it
    /// (formats, copilot-cli.md §5.2).
    pub compacted: Option<Timestamp>,
    pub model: Option<String>,
    pub provider: Option<Provider>,
    pub calls: u64,
    pub tokens: Tokens,
    /// `None` where 0 stands beside tokens: unavailable, not free. Compactions of earlier legs that some
    /// versions repeat are taken off by the reader.
    pub credits: Option<Credits>,
    pub premium: Option<PremiumRequests>,
}

/// Lifetime totals of a session, for sessions of which nothing better is known (desktop `data.db`); or a
/// session's running total of credits up to `time` (`model` unknown, tokens empty), whose excess over the
/// known calls is unattributed. Every reading that differs is a statement of its own (an `id` made of the
/// session and the figures), so that what a total grew by is dated when it was first seen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TotalFact {
    pub time: Option<Timestamp>,
    pub model: Option<String>,
    pub tokens: Tokens,
    pub credits: Option<Credits>,
}

/// A request that failed and was not billed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FailureFact {
    /// Of what kind the telling store is: a session's or request's error is the end of the attempts that
    /// spans tell one by one, and no further failure.
    pub evidence: Evidence,
    pub keys: Vec<Key>,
    pub time: Option<Timestamp>,
    pub model: Option<String>,
    pub provider: Option<Provider>,
    pub reason: FailureReason,
    pub project: Option<ProjectHint>,
}

/// A tool call that a model asked for, identified by the statement's `id`. It is no model call, and costs
/// nothing by itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolFact {
    pub time: Option<Timestamp>,
    /// The model that asked for it.
    pub model: Option<String>,
    pub tool: Tool,
}

/// What a store knows of a session as a whole. Counts nothing by itself.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SessionFact {
    pub started: Option<Timestamp>,
    pub project: Option<ProjectHint>,
    /// Where the session really ran, if the store tells better than its own surface.
    pub surface: Option<Surface>,
    /// What `auto` resolved to, or the model in force where a call names none.
    pub model: Option<String>,
    /// Who bills the calls of a model in this session (model as spelt, provider).
    pub providers: Vec<(String, Provider)>,
}
