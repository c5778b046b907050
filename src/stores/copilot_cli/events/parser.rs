//! From the lines of one event log to observations. The state is small and survives between passes.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::super::figures::{Counts, Details, credits};
use super::super::workspace::{Workspace, project};
use super::legs::{ByModel, Ended, Legs, Totals};
use super::line::{Kind, Looks, look};
use super::shapes::{
    Compaction, Context, CopilotUsage, Event, Message, ModelChange, Opening, Recorded,
    SessionError, Shutdown, Subagent, Usage, counts,
};
use crate::stores::Sink;
use crate::stores::json::{Figure, Text, filled};
use crate::stores::lines::Line;
use crate::stores::otel::is_model;
use crate::usage::{
    CallFact, Credits, Evidence, Fact, FailureFact, FailureReason, Initiator, Key, LegFact,
    Observation, PremiumRequests, ProjectHint, Provider, SessionFact, Surface, Timestamp, Tokens,
    TotalFact,
};

/// How many ids of past lines are remembered: repeated lines follow soon, and a record's message next.
const REMEMBERED: usize = 64;

/// What the lines so far say about those to come.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct State {
    /// Of the last stamped line.
    time: Option<Timestamp>,
    lines: Recent,
    /// Response ids of records, whose messages say nothing new.
    recorded: Recent,
    /// The main agent's model in force.
    model: Option<String>,
    auto_resolved: Option<String>,
    /// Running sub-agents by tool call; for clients that don't mark a sub-agent's lines.
    subagents: Vec<Key>,
    marks_subagents: bool,
    /// The last chunked message and the output it is known to have.
    chunked: Option<(Key, Option<u64>)>,
    legs: Legs,
    /// The only model of all legs so far, if there is only one.
    leg_models: LegModels,
    project: Option<ProjectHint>,
    started: Option<Timestamp>,
    providers: BTreeMap<String, Provider>,
    /// The file is the copy of another session's, or has calls of the user's own provider: its running
    /// totals of credits aren't the session's spend.
    totals_are_foreign: bool,
    credit_total: Option<u64>,
}

/// The last ids, oldest first.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
struct Recent(VecDeque<Key>);

impl Recent {
    /// Remembers an id; `false` if it was known.
    fn insert(&mut self, key: Key) -> bool {
        if self.0.contains(&key) {
            return false;
        }
        self.0.push_back(key);
        if self.0.len() > REMEMBERED {
            self.0.pop_front();
        }
        true
    }
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
enum LegModels {
    #[default]
    None,
    One(String),
    Many,
}

impl LegModels {
    fn add(&mut self, model: &str) {
        match self {
            Self::None => *self = Self::One(model.to_owned()),
            Self::One(known) if known == model => {}
            Self::One(_) | Self::Many => *self = Self::Many,
        }
    }
}

/// Reads the lines of one session's log.
#[derive(Debug)]
pub(super) struct Parser<'s> {
    session: &'s str,
    pub(super) state: State,
}

/// What is known of every event, whatever its kind.
#[derive(Debug, Clone, Copy)]
struct Meta {
    /// The statement's identity: the event's own id, which a fork's copy of the line shares.
    id: Key,
    time: Option<Timestamp>,
    is_subagent: bool,
}

impl<'s> Parser<'s> {
    pub(super) fn new(session: &'s str, state: State) -> Self {
        Self { session, state }
    }

    pub(super) fn read_line(&mut self, line: Line<'_>, sink: &mut dyn Sink) {
        let kind = match look(line.bytes) {
            Looks::Event(kind) => kind,
            Looks::Irrelevant => return,
            Looks::Broken => return sink.parse_error("json"),
        };
        match kind {
            Kind::Start => self.on(line, sink, Self::start),
            Kind::Resume => self.on(line, sink, Self::resume),
            Kind::ContextChanged => self.on(line, sink, Self::context_changed),
            Kind::ModelChange | Kind::AutoResolved => self.on(line, sink, Self::model_change),
            Kind::Message => self.on(line, sink, Self::message),
            Kind::UsageRecord => self.on(line, sink, Self::record),
            Kind::Shutdown => self.on(line, sink, Self::shutdown),
            Kind::Compaction => self.on(line, sink, Self::compaction),
            Kind::Checkpoint => self.on(line, sink, Self::checkpoint),
            Kind::SubagentStarted => self.on(line, sink, Self::subagent_started),
            Kind::SubagentEnded => self.on(line, sink, Self::subagent_ended),
            Kind::Error => self.on(line, sink, Self::error),
        }
    }

    fn on<'a, D: Deserialize<'a>>(
        &mut self,
        line: Line<'a>,
        sink: &mut dyn Sink,
        handle: fn(&mut Self, Meta, D, &mut dyn Sink),
    ) {
        let Ok(event) = serde_json::from_slice::<Event<'a, D>>(line.bytes) else {
            return sink.parse_error("event");
        };
        let time = filled(&event.timestamp).and_then(Timestamp::parse_iso);
        self.state.time = time.or(self.state.time);
        let id = filled(&event.id).map_or_else(|| self.line_id(line), Key::event);
        // A line that was written twice: it is one event.
        if !self.state.lines.insert(id) {
            return;
        }
        let is_subagent = filled(&event.agent_id).is_some();
        self.state.marks_subagents |= is_subagent;
        let meta = Meta {
            id,
            time: self.state.time,
            is_subagent,
        };
        handle(self, meta, event.data, sink);
    }

    /// The identity of a line without an id: its place and its contents.
    fn line_id(&self, line: Line<'_>) -> Key {
        let contents = xxhash_rust::xxh3::xxh3_64(line.bytes).to_string();
        Key::of("line", &[self.session, &line.offset.to_string(), &contents])
    }

    fn observe(&self, id: Key, fact: Fact, sink: &mut dyn Sink) {
        sink.observe(Observation {
            scope: self.session.to_owned(),
            id,
            surface: Surface::Cli,
            fact,
        });
    }

    fn start(&mut self, meta: Meta, start: Opening<'_>, _: &mut dyn Sink) {
        if meta.is_subagent {
            return;
        }
        let id = filled(&start.session_id);
        self.state.totals_are_foreign |= id.is_some_and(|id| id != self.session);
        let started = filled(&start.start_time).and_then(Timestamp::parse_iso);
        self.state.started = self.state.started.or(started).or(meta.time);
        self.open(&start);
    }

    fn resume(&mut self, meta: Meta, resume: Opening<'_>, _: &mut dyn Sink) {
        if meta.is_subagent {
            return;
        }
        let was_active =
            resume.session_was_active == Some(true) || resume.already_in_use == Some(true);
        let legs = &mut self.state.legs;
        legs.resume(meta.time, resume.session_limits, was_active);
        self.open(&resume);
    }

    fn open(&mut self, opening: &Opening<'_>) {
        self.set_model(filled(&opening.selected_model));
        if let Some(context) = &opening.context {
            self.place(context);
        }
    }

    fn context_changed(&mut self, meta: Meta, context: Context<'_>, _: &mut dyn Sink) {
        if !meta.is_subagent {
            self.place(&context);
        }
    }

    /// One label a session: the first of the best kind stays.
    fn place(&mut self, context: &Context<'_>) {
        let found = project(
            filled(&context.repository),
            filled(&context.git_root),
            filled(&context.cwd),
        );
        let known = self.state.project.as_ref().map(|hint| hint.rank);
        if found.as_ref().map(|hint| hint.rank) > known {
            self.state.project = found;
        }
    }

    fn set_model(&mut self, model: Option<&str>) {
        if let Some(model) = model.filter(|model| is_model(model)) {
            self.state.model = Some(model.to_owned());
        }
    }

    fn model_change(&mut self, meta: Meta, change: ModelChange<'_>, _: &mut dyn Sink) {
        if meta.is_subagent || filled(&change.source) == Some("agent") {
            return;
        }
        if let Some(model) = filled(&change.chosen_model).filter(|model| is_model(model)) {
            self.state.auto_resolved = Some(model.to_owned());
            self.set_model(Some(model));
        }
        self.set_model(filled(&change.new_model));
    }

    fn subagent_started(&mut self, _: Meta, subagent: Subagent<'_>, _: &mut dyn Sink) {
        if let Some(id) = filled(&subagent.tool_call_id) {
            self.state.subagents.push(Key::of("tool call", &[id]));
        }
    }

    fn subagent_ended(&mut self, _: Meta, subagent: Subagent<'_>, _: &mut dyn Sink) {
        if let Some(id) = filled(&subagent.tool_call_id) {
            let id = Key::of("tool call", &[id]);
            self.state.subagents.retain(|&running| running != id);
        }
    }

    fn message(&mut self, meta: Meta, message: Message<'_>, sink: &mut dyn Sink) {
        let response = filled(&message.api_call_id);
        let has_parent = filled(&message.parent_tool_call_id).is_some();
        self.state.marks_subagents |= has_parent;
        // The client writes messages of its own to start background tools: no model wrote them.
        let is_answer = message.output_tokens != Figure::Absent
            || [&message.model, &message.api_call_id, &message.request_id]
                .into_iter()
                .chain([&message.interaction_id, &message.turn_id])
                .any(|field| filled(field).is_some());
        if !is_answer {
            return sink.skipped("no_answer");
        }
        if message.output_tokens == Figure::Odd {
            sink.parse_error("number");
        }
        let is_subagent = meta.is_subagent
            || has_parent
            || (!self.state.marks_subagents && !self.state.subagents.is_empty());
        let own = filled(&message.model).filter(|model| is_model(model));
        if !is_subagent {
            self.set_model(own);
        }
        let model = match (own, is_subagent) {
            (Some(model), _) => Some(model.to_owned()),
            (None, false) => self.state.model.clone(),
            (None, true) => None,
        };
        let mut output = message.output_tokens.count();
        let mut id = meta.id;
        let in_chunks = message.chunk_count.count().unwrap_or(1) > 1
            || message.chunk_index.count().unwrap_or(0) > 0;
        if let (true, Some(response)) = (in_chunks, response) {
            id = Key::of("chunked message", &[response]);
            match self.state.chunked {
                Some((known, before)) if known == id => output = output.max(before),
                _ => self.state.legs.message(),
            }
            self.state.chunked = Some((id, output));
        } else {
            self.state.legs.message();
        }
        let recorded = response.is_some_and(|response| {
            let response = Key::response(response);
            self.state.recorded.0.contains(&response)
        });
        if recorded || output == Some(0) {
            return;
        }
        let counts = Counts {
            output,
            ..Counts::default()
        };
        let mut call = call(
            Evidence::Message,
            meta,
            counts.tokens(&Details::default()).0,
        );
        call.keys.extend(response.map(Key::response));
        call.model = model;
        if is_subagent {
            call.initiator = Initiator::Subagent;
        }
        self.observe(id, Fact::Call(call), sink);
    }

    fn record(&mut self, meta: Meta, recorded: Recorded<'_>, sink: &mut dyn Sink) {
        let usage = recorded.usage;
        self.state.legs.record();
        let (counts, odd) = counts(
            usage.input_tokens,
            usage.cache_read_tokens,
            usage.cache_write_tokens,
            usage.output_tokens,
            usage.reasoning_tokens,
        );
        if odd {
            sink.parse_error("number");
        }
        let (nano_aiu, details) = charge(usage.copilot_usage.as_ref());
        let (tokens, oddity) = counts.tokens(&details);
        if let Some(oddity) = oddity {
            sink.parse_error(oddity.reason());
        }
        let accounting = usage.accounting.as_ref();
        let response = filled(&usage.api_call_id)
            .or_else(|| accounting.and_then(|a| filled(&a.usage_id)))
            .map(Key::response);
        let accounting =
            accounting.map(|a| Key::accounting(a.source_session_id.as_str(), a.sequence.count()));
        if let Some(response) = response {
            self.state.recorded.insert(response);
        }
        let provider = provider(&usage);
        self.state.totals_are_foreign |= matches!(provider, Some(Provider::Own(_)));
        let mut call = call(Evidence::UsageRecord, meta, tokens);
        call.keys.extend(response);
        call.model = model(&usage.model);
        call.provider = provider;
        call.initiator = match filled(&usage.initiator) {
            Some(text) => Initiator::parse(text),
            None if meta.is_subagent => Initiator::Subagent,
            None => Initiator::Unknown,
        };
        call.credits = credits(nano_aiu, filled(&usage.ai_credits_status));
        call.premium = usage
            .cost
            .number()
            .and_then(PremiumRequests::from_multiplier);
        call.duration_ms = usage.duration.count();
        call.first_token_ms = usage.time_to_first_token_ms.count();
        self.observe(accounting.unwrap_or(meta.id), Fact::Call(call), sink);
    }

    fn compaction(&mut self, meta: Meta, compaction: Compaction<'_>, sink: &mut dyn Sink) {
        let success = compaction.success != Some(false);
        self.state.legs.compaction(success, meta.time);
        let Some(usage) = compaction.compaction_tokens_used else {
            return;
        };
        let (counts, odd) = counts(
            usage.input_tokens,
            usage.cache_read_tokens,
            usage.cache_write_tokens,
            usage.output_tokens,
            Figure::Absent,
        );
        if odd {
            sink.parse_error("number");
        }
        let (nano_aiu, details) = charge(usage.copilot_usage.as_ref());
        let (tokens, oddity) = counts.tokens(&details);
        if let Some(oddity) = oddity {
            sink.parse_error(oddity.reason());
        }
        if counts.is_zero() {
            return;
        }
        let mut call = call(Evidence::UsageRecord, meta, tokens);
        call.model = model(&usage.model).or_else(|| self.state.model.clone());
        call.initiator = Initiator::Compaction;
        call.credits = credits(nano_aiu, filled(&usage.ai_credits_status));
        call.duration_ms = usage.duration.count();
        if let (Some(model), Some(Credits(nano))) = (&call.model, call.credits) {
            self.state.legs.compaction_charge(model, nano);
        }
        self.observe(meta.id, Fact::Call(call), sink);
    }

    fn shutdown(&mut self, meta: Meta, shutdown: Shutdown<'_>, sink: &mut dyn Sink) {
        let mut totals = ByModel::new();
        for (model, metrics) in shutdown.model_metrics.iter().flatten() {
            let (of_model, odd) = Totals::of(metrics);
            if odd {
                sink.parse_error("number");
            }
            self.state.leg_models.add(model);
            totals.insert(model.clone(), of_model);
        }
        for metrics in shutdown.provider_model_metrics.iter().flatten() {
            let names = (filled(&metrics.provider), filled(&metrics.model_id));
            if let (Some(provider), Some(model)) = names {
                let provider = match provider {
                    "copilot" | "github" => Provider::Copilot,
                    own => Provider::own(own),
                };
                self.state.providers.insert(model.to_owned(), provider);
            }
        }
        let charged: u64 = totals.values().filter_map(|t| t.nano_aiu).sum();
        let Some(ended) = self.state.legs.shutdown(meta.time, totals) else {
            return;
        };
        let total = shutdown.total_nano_aiu.count().unwrap_or(0);
        let rest = total > charged && ended.reading == super::legs::Reading::RunningTotal;
        self.credit_total(meta, rest.then_some(total), ended.leg.has_records, sink);
        self.leg(meta, ended, sink);
    }

    /// States what the leg used, one statement a model.
    fn leg(&self, meta: Meta, ended: Ended, sink: &mut dyn Sink) {
        // Every call of a client that writes usage records has one, in killed runs as well.
        if ended.leg.has_records {
            return;
        }
        for (model, used) in ended.used {
            if used.is_zero() {
                continue;
            }
            let (tokens, oddity) = used.counts().tokens(&Details::default());
            if let Some(oddity) = oddity {
                sink.parse_error(oddity.reason());
            }
            let id = Key::of("leg", &[&meta.id.0.to_string(), &model]);
            let leg = LegFact {
                from: ended.from,
                resumed: ended.leg.resumed.filter(|&at| Some(at) > ended.from),
                to: meta.time.unwrap_or_default(),
                compacted: ended.leg.compacted,
                provider: self.state.providers.get(&model).cloned(),
                model: Some(model).filter(|model| is_model(model)),
                calls: used.calls.unwrap_or(0),
                tokens,
                credits: used.nano_aiu.map(Credits),
                premium: used.premium.map(PremiumRequests),
            };
            self.observe(id, Fact::Leg(leg), sink);
        }
    }

    fn checkpoint(&mut self, meta: Meta, checkpoint: Shutdown<'_>, sink: &mut dyn Sink) {
        self.state.legs.checkpoint();
        let total = checkpoint.total_nano_aiu.count().filter(|&nano| nano > 0);
        let has_records = self.state.legs.leg.has_records;
        self.credit_total(meta, total, has_records, sink);
    }

    /// States the running total of credits where calls and legs may not explain it: a run that was killed
    /// after a checkpoint. Each reading replaces the one before; `None` takes it back.
    fn credit_total(
        &mut self,
        meta: Meta,
        total: Option<u64>,
        has_records: bool,
        sink: &mut dyn Sink,
    ) {
        let total = total.filter(|_| !has_records && !self.state.totals_are_foreign);
        if total == self.state.credit_total {
            return;
        }
        self.state.credit_total = total;
        let fact = TotalFact {
            time: meta.time,
            model: None,
            tokens: Tokens::default(),
            credits: total.map(Credits),
        };
        let id = Key::of("credit total", &[self.session]);
        self.observe(id, Fact::Total(fact), sink);
    }

    fn error(&mut self, meta: Meta, error: SessionError<'_>, sink: &mut dyn Sink) {
        let status = error.status_code.count();
        let status = status
            .and_then(|n| u16::try_from(n).ok())
            .filter(|&n| n > 0);
        let reason = match (status, filled(&error.error_type)) {
            (Some(status), _) => FailureReason::of_status(status),
            (None, Some("authentication" | "authorization")) => FailureReason::Auth,
            (None, Some("quota" | "rate_limit")) => FailureReason::RateLimit,
            (None, Some("query")) => FailureReason::Other,
            // Errors of the client itself are no failed requests.
            (None, _) => return,
        };
        let failure = FailureFact {
            evidence: Evidence::Message,
            keys: Vec::new(),
            time: meta.time,
            model: self.state.model.clone(),
            provider: None,
            reason,
            project: None,
        };
        self.observe(meta.id, Fact::Failure(failure), sink);
    }

    /// States what is known of the session as a whole.
    pub(super) fn session(&self, workspace: &Workspace, sink: &mut dyn Sink) {
        let state = &self.state;
        let rank = |hint: &Option<ProjectHint>| hint.as_ref().map(|hint| hint.rank);
        let project = match rank(&workspace.project) > rank(&state.project) {
            true => &workspace.project,
            false => &state.project,
        };
        let fact = SessionFact {
            started: state.started,
            project: project.clone(),
            surface: workspace.surface,
            model: state.auto_resolved.clone().or(match &state.leg_models {
                LegModels::One(model) if is_model(model) => Some(model.clone()),
                _ => None,
            }),
            providers: state
                .providers
                .iter()
                .map(|(model, provider)| (model.clone(), provider.clone()))
                .collect(),
        };
        if fact != SessionFact::default() {
            let id = Key::of("session of events", &[self.session]);
            self.observe(id, Fact::Session(fact), sink);
        }
    }
}

fn call(evidence: Evidence, meta: Meta, tokens: Tokens) -> CallFact {
    CallFact {
        evidence,
        keys: Vec::new(),
        time: meta.time,
        model: None,
        provider: None,
        initiator: Initiator::Unknown,
        tokens,
        estimated: false,
        credits: None,
        premium: None,
        duration_ms: None,
        first_token_ms: None,
        project: None,
    }
}

fn model(name: &Option<Text<'_>>) -> Option<String> {
    filled(name)
        .filter(|name| is_model(name))
        .map(str::to_owned)
}

fn charge(usage: Option<&CopilotUsage<'_>>) -> (Option<u64>, Details) {
    let details = usage.and_then(|usage| usage.token_details.as_deref());
    let nano_aiu = usage.and_then(|usage| usage.total_nano_aiu.count());
    (nano_aiu, Details::of(details.unwrap_or_default()))
}

/// Who bills a recorded call. The client calls a provider that it has no name for `other`.
fn provider(usage: &Usage<'_>) -> Option<Provider> {
    if !usage.is_byok? {
        return Some(Provider::Copilot);
    }
    let named = filled(&usage.model_provider).filter(|&name| name != "other");
    let name = named.or(filled(&usage.provider_type));
    Some(Provider::own(name.unwrap_or_default()))
}
