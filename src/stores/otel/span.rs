//! From a span of a model call to an observation.

use super::attributes::Attributes;
use crate::usage::{
    CallFact, Credits, Evidence, Fact, FailureFact, FailureReason, GrossInput, Initiator, Key,
    Observation, PremiumRequests, Project, ProjectHint, ProjectRank, Provider, SessionFact,
    Surface, Timestamp, TokenType, Tokens,
};

/// A span, or a log record about the same call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Span {
    pub(crate) surface: Surface,
    pub(crate) trace_id: String,
    pub(crate) span_id: String,
    pub(crate) start: Option<Timestamp>,
    pub(crate) end: Option<Timestamp>,
    /// OTel status 2.
    pub(crate) failed: bool,
    /// A log record: it lacks the cached part of the input, and repeats a span where there is one.
    pub(crate) is_log_record: bool,
    pub(crate) attributes: Attributes,
}

/// What a span amounts to.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Reading {
    pub(crate) observations: Vec<Observation>,
    /// Cache reads and writes exceed the prompt that should contain them.
    pub(crate) cache_above_input: bool,
}

impl Span {
    /// The session that the span belongs to. A sub-agent's call belongs to the session that started it.
    pub(crate) fn session(&self) -> Option<&str> {
        let a = &self.attributes;
        [
            &a.parent_session,
            &a.chat_session,
            &a.session,
            &a.conversation,
        ]
        .into_iter()
        .find_map(|id| id.as_deref())
    }

    /// Reads the span. Only leaf `chat` spans are calls: `invoke_agent` repeats the sum of its children.
    ///
    /// `session` is used where the span names none; without one it stands for itself.
    pub(crate) fn read(&self, session: Option<&str>) -> Reading {
        let mut reading = Reading::default();
        let is_chat = self.attributes.operation.as_deref() == Some("chat");
        let Some(id) = self.id().filter(|_| is_chat || self.repository().is_some()) else {
            return reading;
        };
        let session = self.session().or(session);
        let scope = match session {
            Some(session) => session.to_owned(),
            None => Observation::lone_scope(id),
        };
        if is_chat {
            let fact = if self.failed && !self.has_usage() {
                Fact::Failure(self.failure())
            } else {
                let (call, odd) = self.call();
                reading.cache_above_input = odd;
                Fact::Call(call)
            };
            reading
                .observations
                .push(self.observation(&scope, id, fact));
        }
        if let (Some(_), Some(project)) = (session, self.repository()) {
            let id = Key::of("span project", &[&scope, project.project.as_str()]);
            let fact = Fact::Session(SessionFact {
                project: Some(project),
                ..SessionFact::default()
            });
            reading
                .observations
                .push(self.observation(&scope, id, fact));
        }
        reading
    }

    fn observation(&self, scope: &str, id: Key, fact: Fact) -> Observation {
        Observation {
            scope: scope.to_owned(),
            id,
            surface: self.surface,
            fact,
        }
    }

    /// The statement's identity: a log record and a span of one call are two statements.
    fn id(&self) -> Option<Key> {
        let kind = match self.is_log_record {
            true => "log record",
            false => "span",
        };
        match (&self.attributes.response_id, self.span_id.as_str()) {
            (Some(response), _) if self.is_log_record => Some(Key::of(kind, &[response])),
            // Log records share the span of their turn.
            (None, _) if self.is_log_record => None,
            (Some(response), "") => Some(Key::of(kind, &[response])),
            (None, "") => None,
            (_, span) => Some(Key::of(kind, &[&self.trace_id, span])),
        }
    }

    fn keys(&self) -> Vec<Key> {
        let response = self.attributes.response_id.as_deref().map(Key::response);
        let span = (!self.is_log_record && !self.span_id.is_empty())
            .then(|| Key::span(&self.trace_id, &self.span_id));
        response.into_iter().chain(span).collect()
    }

    fn has_usage(&self) -> bool {
        let a = &self.attributes;
        let counts = [a.gross_input, a.output, a.cache_read, a.cache_write];
        counts.iter().any(Option::is_some)
    }

    fn tokens(&self) -> (Tokens, bool) {
        let a = &self.attributes;
        let (tokens, odd) = match a.gross_input {
            Some(gross) => GrossInput(gross).split(
                a.cache_read.or(self.absent_read()),
                a.cache_write.or(self.absent_write()),
            ),
            None => (
                Tokens::default()
                    .with(TokenType::CacheRead, a.cache_read)
                    .with(TokenType::CacheWrite, a.cache_write),
                false,
            ),
        };
        let tokens = tokens
            .with(TokenType::Output, a.output)
            .with_reasoning(a.reasoning);
        (tokens, odd)
    }

    /// A span with a prompt leaves cache figures out when they are 0; a log record never has them.
    fn absent_read(&self) -> Option<u64> {
        (!self.is_log_record).then_some(0)
    }

    /// CLI versions before 1.0.64 had no key for cache writes at all.
    fn absent_write(&self) -> Option<u64> {
        let version = self.attributes.service_version.as_deref();
        let lacks_key = self.surface == Surface::Cli
            && version.and_then(triple).is_some_and(|v| v < [1, 0, 64]);
        (!self.is_log_record && !lacks_key).then_some(0)
    }

    fn evidence(&self) -> Evidence {
        match self.is_log_record {
            true => Evidence::LogRecord,
            false => Evidence::Span,
        }
    }

    fn call(&self) -> (CallFact, bool) {
        let a = &self.attributes;
        let (tokens, odd) = self.tokens();
        let call = CallFact {
            evidence: self.evidence(),
            keys: self.keys(),
            time: self.time(),
            model: self.model(),
            provider: self.provider(),
            initiator: self.initiator(),
            tokens,
            estimated: false,
            credits: a.nano_aiu.map(Credits),
            premium: a.multiplier.and_then(PremiumRequests::from_multiplier),
            duration_ms: a.server_duration.map(|n| n as u64).or(self.duration()),
            first_token_ms: a.first_token.map(|n| n.round() as u64),
            project: self.repository(),
        };
        (call, odd)
    }

    fn failure(&self) -> FailureFact {
        FailureFact {
            evidence: self.evidence(),
            keys: self.keys(),
            time: self.time(),
            model: self.model(),
            provider: self.provider(),
            reason: self.reason(),
            project: self.repository(),
        }
    }

    /// The CLI's other stores stamp a call when it is over, those of editors when it begins.
    fn time(&self) -> Option<Timestamp> {
        match self.surface {
            Surface::Cli | Surface::Desktop => self.end.or(self.start),
            _ => self.start.or(self.end),
        }
    }

    fn duration(&self) -> Option<u64> {
        u64::try_from(self.end?.0 - self.start?.0).ok()
    }

    fn model(&self) -> Option<String> {
        let a = &self.attributes;
        let names = [&a.response_model, &a.request_model];
        let mut names = names.into_iter().flatten();
        names.find(|name| is_model(name)).cloned()
    }

    /// `github` is what VS Code and the interactive CLI say of BYOK calls as well: it tells nothing.
    fn provider(&self) -> Option<Provider> {
        let name = self.attributes.provider.as_deref()?;
        (!name.starts_with("github")).then(|| Provider::own(name))
    }

    fn initiator(&self) -> Initiator {
        match &self.attributes.initiator {
            Some(text) => Initiator::parse(text),
            None if self.is_subagent() => Initiator::Subagent,
            None => Initiator::Unknown,
        }
    }

    /// A sub-agent's span has another session above its own; the CLI's lacks the prompt it serves.
    fn is_subagent(&self) -> bool {
        let a = &self.attributes;
        let is_cli = self.surface == Surface::Cli && a.service_version.is_some();
        a.parent_session.is_some() || (is_cli && a.interaction.is_none())
    }

    fn repository(&self) -> Option<ProjectHint> {
        let project = Project::of_repository(self.attributes.repository.as_deref()?)?;
        Some(ProjectHint {
            rank: ProjectRank::Repository,
            project,
        })
    }

    fn reason(&self) -> FailureReason {
        let error = self.attributes.error.as_deref().unwrap_or_default();
        let status = self.attributes.http_status.or_else(|| error.parse().ok());
        if let Some(status) = status.and_then(|n| u16::try_from(n).ok()) {
            return FailureReason::of_status(status);
        }
        let error = error.to_ascii_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| error.contains(word));
        if says(&["destroyed", "abort", "cancel"]) {
            FailureReason::Cancelled
        } else if says(&["ratelimit", "rate_limit", "quota"]) {
            FailureReason::RateLimit
        } else if says(&["timeout", "network", "connect", "fetch"]) {
            FailureReason::Network
        } else if says(&["auth", "forbidden"]) {
            FailureReason::Auth
        } else {
            FailureReason::Other
        }
    }
}

/// Names that stand for a choice yet to be made, or for no model.
pub(crate) fn is_model(name: &str) -> bool {
    let name = name.strip_prefix("copilot/").unwrap_or(name);
    !matches!(name, "" | "auto" | "copilot" | "resumed")
}

fn triple(version: &str) -> Option<[u32; 3]> {
    let mut parts = version.split(['.', '-']).map(str::parse);
    Some([
        parts.next()?.ok()?,
        parts.next()?.ok()?,
        parts.next()?.ok()?,
    ])
}
