//! What a chat request says of the calls that it caused (formats, vscode.md §3.2 to §3.4).

use serde::{Deserialize, Serialize};

use crate::stores::Sink;
use crate::usage::{
    CallFact, Credits, Evidence, Fact, FailureFact, FailureReason, GrossInput, Initiator, Key,
    Observation, Provider, SessionFact, Surface, Timestamp, TokenType, Tokens, TurnFact,
};

use super::lean::{Lean, Shape};
use super::model::{model_name, plain_model_id, split_model_id};
use super::reduce;

/// What is kept of a request.
pub(super) const SHAPE: Shape = Shape::Object(&[
    ("requestId", Shape::Leaf),
    ("timestamp", Shape::Figure),
    ("modelId", Shape::Reduced(plain_model_id)),
    ("agent", Shape::Object(&[("extensionId", EXTENSION)])),
    (
        "modelState",
        Shape::Object(&[("value", Shape::Figure), ("completedAt", Shape::Figure)]),
    ),
    ("completionTokens", Shape::Figure),
    ("promptTokens", Shape::Figure),
    ("copilotCredits", Shape::Figure),
    ("sessionCopilotCredits", Shape::Figure),
    ("modelTotals", Shape::List(&MODEL_TOTAL)),
    ("elapsedMs", Shape::Figure),
    ("isSystemInitiated", Shape::Figure),
    ("requestSource", Shape::Reduced(reduce::request_source)),
    (
        "result",
        Shape::Object(&[
            ("errorDetails", ERROR),
            (
                "timings",
                Shape::Object(&[
                    ("firstProgress", Shape::Figure),
                    ("totalElapsed", Shape::Figure),
                ]),
            ),
            ("details", Shape::Reduced(reduce::credits)),
            ("metadata", METADATA),
        ]),
    ),
]);

const EXTENSION: Shape = Shape::ObjectOrText(
    &[("value", Shape::Reduced(reduce::extension))],
    reduce::extension,
);

const MODEL_TOTAL: Shape = Shape::Object(&[
    ("model", Shape::Leaf),
    ("inputTokens", Shape::Figure),
    ("cachedTokens", Shape::Figure),
    ("outputTokens", Shape::Figure),
]);

const ERROR: Shape = Shape::Object(&[
    ("code", Shape::Reduced(reduce::error_code)),
    ("isRateLimited", Shape::Figure),
    ("isQuotaExceeded", Shape::Figure),
]);

const METADATA: Shape = Shape::Object(&[
    ("resolvedModel", Shape::Leaf),
    ("promptTokens", Shape::Figure),
    ("outputTokens", Shape::Figure),
    ("toolCallRounds", Shape::List(&Shape::Figure)),
    ("summaries", Shape::List(&SUMMARY)),
    ("copilotSessionId", Shape::Leaf),
    ("claudeSessionId", Shape::Reduced(reduce::presence)),
]);

const SUMMARY: Shape = Shape::Object(&[
    ("toolCallRoundId", Shape::Leaf),
    ("model", Shape::Leaf),
    (
        "usage",
        Shape::Object(&[
            ("model", Shape::Leaf),
            ("prompt_tokens", Shape::Figure),
            ("completion_tokens", Shape::Figure),
            (
                "prompt_tokens_details",
                Shape::Object(&[("cached_tokens", Shape::Figure)]),
            ),
        ]),
    ),
]);

/// The figures of a request: the best that have ever been seen of it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Request {
    /// `requestId`; where there is none, the place in the session.
    pub(super) id: RequestId,
    started: Option<Timestamp>,
    completed: Option<Timestamp>,
    state: State,
    foreign: bool,
    model_id: Option<String>,
    resolved_model: Option<String>,
    /// Over all rounds.
    output: Option<u64>,
    /// Of the last round.
    last_input: Option<u64>,
    /// Of the last round.
    last_output: Option<u64>,
    credits: Option<Credits>,
    /// The session's running total.
    pub(super) session_credits: Option<Credits>,
    per_model: Vec<(String, Tokens)>,
    rounds: Option<u32>,
    summaries: Vec<Summary>,
    failure: Option<FailureReason>,
    elapsed_ms: Option<u64>,
    first_progress_ms: Option<u64>,
    by_agent: bool,
    mirror: Option<Mirror>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum RequestId {
    Named(String),
    Position(usize),
}

impl Default for RequestId {
    fn default() -> Self {
        Self::Position(0)
    }
}

/// How far a request has come; a later variant replaces an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
enum State {
    /// Nothing says that it was sent.
    #[default]
    Unknown,
    /// Pending, or waiting for the user.
    Running,
    /// Complete, cancelled, or failed; in old files: there is a result.
    Over,
}

/// A background call that condensed the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Summary {
    id: String,
    model: Option<String>,
    tokens: Tokens,
}

/// The request only shows what another program's session did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Mirror {
    /// That of a Copilot CLI session, which has its own store.
    CopilotCli(String),
    /// Not Copilot.
    Claude,
}

/// Where requests were found.
#[derive(Debug)]
pub(super) struct Place<'a> {
    pub(super) session: &'a str,
    /// Keeps apart what two files say of one request, so that the order of reading decides nothing.
    pub(super) file: &'a str,
    pub(super) evidence: Evidence,
    /// When the session began: the time of a request that has none.
    pub(super) began: Option<Timestamp>,
}

impl Request {
    /// Reads the request at `position` of its session; `None` for a hole.
    pub(super) fn read(request: &Lean, position: usize) -> Option<Self> {
        if !matches!(request, Lean::Object(_)) {
            return None;
        }
        let at = |path: &[&str]| request.at(path);
        let text = |path: &[&str]| request.text_at(path);
        let count = |path: &[&str]| request.count_at(path);
        let time = |path: &[&str]| Timestamp::from_magnitude(at(path)?.number()?);
        let credits = |path: &[&str]| Credits::from_credits(at(path)?.number()?);
        let is = |path: &[&str]| at(path) == Some(&Lean::Bool(true));

        let result = at(&["result"]).filter(|result| matches!(result, Lean::Object(_)));
        let state = count(&["modelState", "value"]);
        let failure = result
            .and_then(|result| result.get("errorDetails"))
            .filter(|error| matches!(error, Lean::Object(_)))
            .map(failure_reason);
        let rounds = at(&["result", "metadata", "toolCallRounds"]);
        let mirror = match text(&["result", "metadata", "copilotSessionId"]) {
            Some(session) => Some(Mirror::CopilotCli(session.to_owned())),
            None => text(&["result", "metadata", "claudeSessionId"]).map(|_| Mirror::Claude),
        };
        let extension =
            text(&["agent", "extensionId", "value"]).or_else(|| text(&["agent", "extensionId"]));
        let source = text(&["requestSource"]);
        Some(Self {
            id: match text(&["requestId"]) {
                Some(id) => RequestId::Named(id.to_owned()),
                None => RequestId::Position(position),
            },
            started: time(&["timestamp"]),
            completed: time(&["modelState", "completedAt"]),
            state: match (state, result) {
                (Some(1..=3), _) | (None, Some(_)) => State::Over,
                (Some(_), _) => State::Running,
                (None, None) => State::Unknown,
            },
            foreign: extension.is_some_and(|id| !is_copilot(id)),
            model_id: text(&["modelId"]).map(str::to_owned),
            resolved_model: text(&["result", "metadata", "resolvedModel"]).and_then(model_name),
            output: count(&["completionTokens"]),
            last_input: count(&["promptTokens"])
                .or_else(|| count(&["result", "metadata", "promptTokens"])),
            last_output: count(&["result", "metadata", "outputTokens"]),
            credits: credits(&["copilotCredits"])
                .or_else(|| credits_in_words(text(&["result", "details"])?)),
            session_credits: credits(&["sessionCopilotCredits"]),
            per_model: at(&["modelTotals"])
                .map(|totals| totals.items().iter().filter_map(model_total).collect())
                .unwrap_or_default(),
            rounds: rounds.map(|rounds| u32::try_from(rounds.items().len()).unwrap_or(u32::MAX)),
            summaries: at(&["result", "metadata", "summaries"])
                .map(|list| {
                    list.items()
                        .iter()
                        .enumerate()
                        .filter_map(summary)
                        .collect()
                })
                .unwrap_or_default(),
            failure: failure.or((state == Some(3)).then_some(FailureReason::Other)),
            elapsed_ms: count(&["elapsedMs"])
                .or_else(|| count(&["result", "timings", "totalElapsed"])),
            first_progress_ms: count(&["result", "timings", "firstProgress"]),
            by_agent: is(&["isSystemInitiated"]) || source.is_some_and(|source| source != "user"),
            mirror,
        })
    }

    /// Takes over what a newer state of the same request says. What it doesn't say any more stays: a
    /// request that was edited away has been paid for all the same.
    pub(super) fn absorb(&mut self, newer: Self) {
        // A sum over rounds can only grow; a smaller one is a state from before.
        let grown = |old: Option<u64>, new: Option<u64>| old.max(new);
        // Each round replaces the one before, but a 0 tells less: what was stated would depend on when it was
        // read.
        let latest = |old: Option<u64>, new: Option<u64>| new.filter(|&n| n > 0).or(old).or(new);
        let whole = |totals: &[(String, Tokens)]| {
            let sum = totals
                .iter()
                .fold(Tokens::default(), |sum, (_, tokens)| sum.plus(tokens));
            TokenType::ALL
                .map(|class| sum.get(class).unwrap_or(0))
                .iter()
                .sum::<u64>()
        };
        let more_models = whole(&newer.per_model) >= whole(&self.per_model);
        // Once it may have been stated as Copilot's, it is: nobody takes that back.
        let is_copilots = self.is_copilots() && self.is_told();
        *self = Self {
            id: newer.id,
            started: newer.started.or(self.started),
            completed: newer.completed.or(self.completed),
            state: newer.state.max(self.state),
            foreign: newer.foreign && !is_copilots,
            model_id: newer.model_id.or(self.model_id.take()),
            resolved_model: newer.resolved_model.or(self.resolved_model.take()),
            output: grown(self.output, newer.output),
            last_input: latest(self.last_input, newer.last_input),
            last_output: latest(self.last_output, newer.last_output),
            credits: self.credits.max(newer.credits),
            session_credits: self.session_credits.max(newer.session_credits),
            per_model: match more_models && !newer.per_model.is_empty() {
                true => newer.per_model,
                false => std::mem::take(&mut self.per_model),
            },
            rounds: self.rounds.max(newer.rounds),
            summaries: match newer.summaries.len() >= self.summaries.len() {
                true => newer.summaries,
                false => std::mem::take(&mut self.summaries),
            },
            failure: newer.failure.or(self.failure),
            elapsed_ms: newer.elapsed_ms.or(self.elapsed_ms),
            first_progress_ms: newer.first_progress_ms.or(self.first_progress_ms),
            by_agent: newer.by_agent,
            mirror: newer
                .mirror
                .filter(|mirror| *mirror != Mirror::Claude || !is_copilots)
                .or(self.mirror.take()),
        };
    }

    /// The model, and who bills for it if the request tells.
    pub(super) fn model(&self) -> (Option<Provider>, Option<String>) {
        let (provider, chosen) = match &self.model_id {
            Some(id) => split_model_id(id),
            None => (None, None),
        };
        (provider, self.resolved_model.clone().or(chosen))
    }

    /// It went to Copilot's own participant, and isn't another program's.
    pub(super) fn is_copilots(&self) -> bool {
        !self.foreign && self.mirror != Some(Mirror::Claude)
    }

    /// Enough is known to state it.
    fn is_told(&self) -> bool {
        self.state == State::Over || self.has_figures()
    }

    /// When it was over, else when it began.
    pub(super) fn time(&self) -> Option<Timestamp> {
        self.completed.or(self.started)
    }

    fn has_figures(&self) -> bool {
        let counts = [self.output, self.last_input, self.last_output];
        counts.iter().flatten().any(|&n| n > 0)
            || self.credits.is_some_and(|credits| credits.0 > 0)
            || !self.per_model.is_empty()
    }

    /// States what the request amounts to, if anything.
    pub(super) fn observe(&self, place: &Place<'_>, sink: &mut dyn Sink) {
        if !self.is_copilots() {
            return sink.skipped("not_copilot");
        }
        let (id, key) = match &self.id {
            RequestId::Named(id) => (id.clone(), Key::request(id)),
            RequestId::Position(n) => {
                let id = format!("{} #{n}", place.session);
                let key = Key::of("request at", &[&id]);
                (id, key)
            }
        };
        let scope = match &self.mirror {
            Some(Mirror::CopilotCli(session)) => session,
            _ => place.session,
        };
        let mut state = |kind, part: &str, fact| {
            sink.observe(Observation {
                scope: scope.to_owned(),
                id: Key::of(kind, &[place.file, &id, part]),
                surface: Surface::VsCode,
                fact,
            });
        };
        let start = self.started.or(place.began);
        if self.has_figures() || (self.state == State::Over && self.failure.is_none()) {
            state(
                "vscode request",
                "",
                Fact::Turn(self.turn(key, start, place.evidence)),
            );
        } else if let (State::Over, Some(reason)) = (self.state, self.failure) {
            let (provider, model) = self.model();
            let fact = Fact::Failure(FailureFact {
                evidence: place.evidence,
                keys: vec![key],
                time: start,
                model,
                provider,
                reason,
                project: None,
            });
            state("vscode request", "", fact);
        }
        for summary in &self.summaries {
            let fact = match self.per_model.is_empty() {
                true => Fact::Call(self.summary_call(summary, &id, start, place.evidence)),
                // Sums over models contain it. If it was stated before they came, this takes its place.
                false => Fact::Session(SessionFact::default()),
            };
            state("vscode summary", &summary.id, fact);
        }
    }

    fn turn(&self, key: Key, start: Option<Timestamp>, evidence: Evidence) -> TurnFact {
        let (provider, model) = self.model();
        let own = matches!(provider, Some(Provider::Own(_)));
        // One round, of which both the sum and the last round's figures are known to be the same.
        let one_round = self.per_model.is_empty()
            && self.rounds.is_some_and(|rounds| rounds <= 1)
            && self.output.is_some()
            && self
                .last_output
                .is_none_or(|last| self.output == Some(last));
        let tokens = match self.per_model.is_empty() {
            true => Tokens::default()
                .with(TokenType::Input, self.last_input)
                .with(TokenType::Output, self.output.or(self.last_output)),
            false => Tokens::default(),
        };
        TurnFact {
            evidence,
            keys: vec![key],
            start,
            end: self.completed,
            model,
            provider,
            initiator: match self.by_agent {
                true => Initiator::Agent,
                false => Initiator::User,
            },
            per_model: self.per_model.clone(),
            tokens,
            lower_bound: self.per_model.is_empty() && !one_round && self.has_figures(),
            estimated: false,
            // Of further rounds nothing is known that could be counted: the call is marked as a lower bound.
            calls: u32::try_from(self.per_model.len().max(1)).unwrap_or(u32::MAX),
            credits: self.credits.filter(|_| !own),
            premium: None,
            duration_ms: self.elapsed_ms.filter(|_| one_round),
            first_token_ms: self.first_progress_ms.filter(|_| one_round),
            project: None,
        }
    }

    fn summary_call(
        &self,
        summary: &Summary,
        request: &str,
        time: Option<Timestamp>,
        evidence: Evidence,
    ) -> CallFact {
        let (provider, model) = self.model();
        CallFact {
            evidence,
            keys: vec![Key::of("summary", &[request, &summary.id])],
            time,
            model: summary.model.clone().or(model),
            provider,
            initiator: Initiator::Compaction,
            tokens: summary.tokens,
            estimated: false,
            credits: None,
            premium: None,
            duration_ms: None,
            first_token_ms: None,
            project: None,
        }
    }
}

/// Copilot's own participants, also those that VS Code's core provides in its name.
pub(super) fn is_copilot(extension: &str) -> bool {
    let id = extension.to_lowercase();
    id.starts_with("github.copilot")
        || id.starts_with("vscode.")
        || id == "nullextensiondescription"
}

fn model_total(total: &Lean) -> Option<(String, Tokens)> {
    let count = |name| total.get(name).and_then(Lean::count);
    let (cached, output) = (count("cachedTokens"), count("outputTokens"));
    let (tokens, _) = match count("inputTokens") {
        Some(input) => GrossInput(input).split(cached, None),
        None => (Tokens::default().with(TokenType::CacheRead, cached), false),
    };
    let tokens = tokens.with(TokenType::Output, output);
    let model = total.get("model").and_then(Lean::text).and_then(model_name);
    let named = model.is_some();
    let entry = (model.unwrap_or_else(|| "unknown".to_owned()), tokens);
    (named || tokens != Tokens::default()).then_some(entry)
}

fn summary((position, summary): (usize, &Lean)) -> Option<Summary> {
    let usage = summary.get("usage")?;
    let count = |name| usage.get(name).and_then(Lean::count);
    let cached = usage
        .get("prompt_tokens_details")
        .and_then(|details| details.get("cached_tokens"))
        .and_then(Lean::count);
    let (tokens, _) = match count("prompt_tokens") {
        Some(input) => GrossInput(input).split(cached, None),
        None => (Tokens::default(), false),
    };
    let tokens = tokens.with(TokenType::Output, count("completion_tokens"));
    let text = |value: Option<&Lean>| value.and_then(Lean::text).map(str::to_owned);
    let model = text(usage.get("model")).or_else(|| text(summary.get("model")));
    let id = text(summary.get("toolCallRoundId"));
    (!tokens.is_empty()).then(|| Summary {
        id: id.unwrap_or_else(|| format!("#{position}")),
        model: model.and_then(|name| model_name(&name)),
        tokens,
    })
}

fn failure_reason(error: &Lean) -> FailureReason {
    let is = |name| error.get(name) == Some(&Lean::Bool(true));
    if is("isRateLimited") || is("isQuotaExceeded") {
        return FailureReason::RateLimit;
    }
    let code = error.get("code").and_then(Lean::text).unwrap_or_default();
    reason_of_code(code).unwrap_or(FailureReason::Other)
}

/// What an error's code says of the reason.
pub(super) fn reason_of_code(code: &str) -> Option<FailureReason> {
    Some(match code.to_lowercase().as_str() {
        "ratelimited" | "quotaexceeded" => FailureReason::RateLimit,
        "canceled" | "cancelled" => FailureReason::Cancelled,
        "badrequest" | "notfound" | "length" | "invalidstatefulmarker" => FailureReason::BadRequest,
        "networkerror" => FailureReason::Network,
        "agentunauthorized" | "agentfaileddependency" | "unauthorized" => FailureReason::Auth,
        "servererror" | "servercanceled" => FailureReason::Server,
        _ => return None,
    })
}

/// Credits as the chat shows them: `Model • 1.6 credits`. Other texts (`1x`, other languages) say nothing.
fn credits_in_words(details: &str) -> Option<Credits> {
    Credits::from_credits(number_of_credits(details)?.parse().ok()?)
}

/// The figure of a text that tells credits.
pub(super) fn number_of_credits(details: &str) -> Option<&str> {
    let at = details.find(" credit")?;
    let number = details.get(..at)?.rsplit(' ').next()?;
    let credits = number.parse().ok().and_then(Credits::from_credits);
    credits.is_some().then_some(number)
}

#[cfg(test)]
#[path = "requests_tests.rs"]
mod tests;
