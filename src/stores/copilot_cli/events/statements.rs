//! The events that state usage: what each of them says of calls, legs, credits and failures.

use super::super::figures::{Counts, Details, credits};
use super::legs::{ByModel, Ended, Reading, Totals};
use super::parser::{Meta, Parser};
use super::shapes::{
    Compaction, CopilotUsage, Message, Recorded, SessionError, Shutdown, Usage, counts,
};
use crate::stores::Sink;
use crate::stores::json::{Figure, Text, filled};
use crate::stores::lines::Line;
use crate::stores::otel::is_model;
use crate::stores::tool_requests::tool_requests;
use crate::usage::{
    CallFact, Credits, Evidence, Fact, FailureFact, FailureReason, Initiator, Key, LegFact,
    PremiumRequests, Provider, Tokens, ToolFact, TotalFact,
};

impl Parser<'_> {
    pub(super) fn message(&mut self, meta: Meta, message: Message<'_>, sink: &mut dyn Sink) {
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
        if self.tool_calls {
            self.asked = Some((meta.id, model.clone()));
        }
        let mut output = message.output_tokens.count();
        let mut id = meta.id;
        let in_chunks = message.chunk_count.count().unwrap_or(1) > 1
            || message.chunk_index.count().unwrap_or(0) > 0;
        if let (true, Some(response)) = (in_chunks, response) {
            let response = Key::response(response);
            match self.state.chunked {
                Some((of, first, before)) if of == response => {
                    id = first;
                    output = output.max(before);
                }
                _ => self.state.legs.message(),
            }
            self.state.chunked = Some((response, id, output));
        } else {
            self.state.legs.message();
        }
        let recorded = response.is_some_and(|response| {
            let response = Key::response(response);
            self.state.recorded.contains(response)
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

    /// States which tools the message on `line`, which was just read, asks for.
    pub(super) fn tools(&mut self, line: Line<'_>, sink: &mut dyn Sink) {
        let Some((message, model)) = self.asked.take() else {
            return;
        };
        for (id, tool) in tool_requests(line.bytes) {
            let id = Key::of("tool request", &[&message.0.to_string(), &id]);
            let fact = ToolFact {
                time: self.state.time,
                model: model.clone(),
                tool,
            };
            self.observe(id, Fact::Tool(fact), sink);
        }
    }

    pub(super) fn record(&mut self, meta: Meta, recorded: Recorded<'_>, sink: &mut dyn Sink) {
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

    pub(super) fn compaction(
        &mut self,
        meta: Meta,
        compaction: Compaction<'_>,
        sink: &mut dyn Sink,
    ) {
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

    pub(super) fn shutdown(&mut self, meta: Meta, shutdown: Shutdown<'_>, sink: &mut dyn Sink) {
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
        let rest = total > charged && ended.reading == Reading::RunningTotal;
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

    pub(super) fn checkpoint(&mut self, meta: Meta, checkpoint: Shutdown<'_>, sink: &mut dyn Sink) {
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

    pub(super) fn error(&mut self, meta: Meta, error: SessionError<'_>, sink: &mut dyn Sink) {
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
