//! Statements to stored messages and back.

use super::Damaged;
use super::codes::Code;
use super::messages::{
    StoredCall, StoredFact, StoredFailure, StoredHint, StoredLeg, StoredModelProvider,
    StoredModelTokens, StoredProvider, StoredSession, StoredStatement, StoredTokens, StoredTool,
    StoredTotal, StoredTurn,
};
use super::texts::{self, Texts};
use crate::usage::{
    CallFact, Credits, Evidence, Fact, FailureFact, FailureReason, Initiator, Key, LegFact,
    Observation, PremiumRequests, Project, ProjectHint, ProjectRank, Provider, SessionFact,
    Surface, Timestamp, TokenType, Tokens, Tool, ToolFact, TotalFact, TurnFact,
};

impl StoredStatement {
    pub(super) fn encode(
        observation: &Observation,
        source: u32,
        scope: &str,
        texts: &mut Texts,
    ) -> Self {
        Self {
            source,
            id: observation.id.0,
            surface: observation.surface.code(),
            scope: texts.add_option(Some(&*observation.scope).filter(|&name| name != scope)),
            fact: Some(Encoder(texts).fact(&observation.fact)),
        }
    }

    pub(super) fn decode(&self, scope: &str, texts: &[String]) -> Result<Observation, Damaged> {
        let fact = self.fact.as_ref().ok_or(Damaged)?;
        Ok(Observation {
            scope: texts::option(texts, self.scope)?
                .unwrap_or(scope)
                .to_owned(),
            id: Key(self.id),
            surface: Surface::of(self.surface).ok_or(Damaged)?,
            fact: Decoder(texts).fact(fact)?,
        })
    }
}

struct Encoder<'a>(&'a mut Texts);

impl Encoder<'_> {
    fn fact(&mut self, fact: &Fact) -> StoredFact {
        match fact {
            Fact::Call(call) => StoredFact::Call(self.call(call)),
            Fact::Turn(turn) => StoredFact::Turn(self.turn(turn)),
            Fact::Leg(leg) => StoredFact::Leg(self.leg(leg)),
            Fact::Total(total) => StoredFact::Total(StoredTotal {
                time: millis(total.time),
                model: self.text(total.model.as_ref()),
                tokens: encode_tokens(&total.tokens),
                credits: total.credits.map(|credits| credits.0),
            }),
            Fact::Failure(failure) => StoredFact::Failure(StoredFailure {
                evidence: failure.evidence.code(),
                keys: encode_keys(&failure.keys),
                time: millis(failure.time),
                model: self.text(failure.model.as_ref()),
                provider: self.provider(failure.provider.as_ref()),
                reason: failure.reason.code(),
                project: self.hint(failure.project.as_ref()),
            }),
            Fact::Tool(tool) => StoredFact::Tool(StoredTool {
                time: millis(tool.time),
                model: self.text(tool.model.as_ref()),
                tool: tool.tool.number(),
            }),
            Fact::Session(session) => StoredFact::Session(StoredSession {
                started: millis(session.started),
                project: self.hint(session.project.as_ref()),
                surface: session.surface.map_or(0, Code::code),
                model: self.text(session.model.as_ref()),
                providers: session
                    .providers
                    .iter()
                    .map(|(model, provider)| StoredModelProvider {
                        model: self.0.add(model),
                        provider: self.known_provider(provider),
                    })
                    .collect(),
            }),
        }
    }

    fn call(&mut self, call: &CallFact) -> StoredCall {
        StoredCall {
            evidence: call.evidence.code(),
            keys: encode_keys(&call.keys),
            time: millis(call.time),
            model: self.text(call.model.as_ref()),
            provider: self.provider(call.provider.as_ref()),
            initiator: call.initiator.code(),
            tokens: encode_tokens(&call.tokens),
            estimated: call.estimated,
            credits: call.credits.map(|credits| credits.0),
            premium: call.premium.map(|premium| premium.0),
            duration_ms: call.duration_ms,
            first_token_ms: call.first_token_ms,
            project: self.hint(call.project.as_ref()),
        }
    }

    fn turn(&mut self, turn: &TurnFact) -> StoredTurn {
        StoredTurn {
            evidence: turn.evidence.code(),
            keys: encode_keys(&turn.keys),
            start: millis(turn.start),
            end: millis(turn.end),
            model: self.text(turn.model.as_ref()),
            provider: self.provider(turn.provider.as_ref()),
            initiator: turn.initiator.code(),
            per_model: turn
                .per_model
                .iter()
                .map(|(model, tokens)| StoredModelTokens {
                    model: self.0.add(model),
                    tokens: encode_tokens(tokens),
                })
                .collect(),
            tokens: encode_tokens(&turn.tokens),
            lower_bound: turn.lower_bound,
            estimated: turn.estimated,
            calls: turn.calls,
            credits: turn.credits.map(|credits| credits.0),
            premium: turn.premium.map(|premium| premium.0),
            duration_ms: turn.duration_ms,
            first_token_ms: turn.first_token_ms,
            project: self.hint(turn.project.as_ref()),
        }
    }

    fn leg(&mut self, leg: &LegFact) -> StoredLeg {
        StoredLeg {
            from: millis(leg.from),
            resumed: millis(leg.resumed),
            to: leg.to.0,
            compacted: millis(leg.compacted),
            model: self.text(leg.model.as_ref()),
            provider: self.provider(leg.provider.as_ref()),
            calls: leg.calls,
            tokens: encode_tokens(&leg.tokens),
            credits: leg.credits.map(|credits| credits.0),
            premium: leg.premium.map(|premium| premium.0),
        }
    }

    fn text(&mut self, text: Option<&String>) -> u32 {
        self.0.add_option(text.map(String::as_str))
    }

    fn hint(&mut self, hint: Option<&ProjectHint>) -> Option<StoredHint> {
        hint.map(|hint| StoredHint {
            rank: hint.rank.code(),
            project: self.0.add(hint.project.as_str()),
        })
    }

    fn provider(&mut self, provider: Option<&Provider>) -> Option<StoredProvider> {
        provider.map(|provider| self.known_provider(provider))
    }

    fn known_provider(&mut self, provider: &Provider) -> StoredProvider {
        StoredProvider {
            own: match provider {
                Provider::Copilot => 0,
                Provider::Own(name) => self.0.add(name),
            },
        }
    }
}

struct Decoder<'a>(&'a [String]);

impl Decoder<'_> {
    fn fact(&self, fact: &StoredFact) -> Result<Fact, Damaged> {
        Ok(match fact {
            StoredFact::Call(call) => Fact::Call(self.call(call)?),
            StoredFact::Turn(turn) => Fact::Turn(self.turn(turn)?),
            StoredFact::Leg(leg) => Fact::Leg(self.leg(leg)?),
            StoredFact::Total(total) => Fact::Total(TotalFact {
                time: total.time.map(Timestamp),
                model: self.text(total.model)?,
                tokens: decode_tokens(&total.tokens),
                credits: total.credits.map(Credits),
            }),
            StoredFact::Failure(failure) => Fact::Failure(FailureFact {
                evidence: Evidence::of(failure.evidence).ok_or(Damaged)?,
                keys: decode_keys(&failure.keys),
                time: failure.time.map(Timestamp),
                model: self.text(failure.model)?,
                provider: self.provider(failure.provider.as_ref())?,
                reason: FailureReason::of(failure.reason).ok_or(Damaged)?,
                project: self.hint(failure.project.as_ref())?,
            }),
            StoredFact::Session(session) => Fact::Session(self.session(session)?),
            StoredFact::Tool(tool) => Fact::Tool(ToolFact {
                time: tool.time.map(Timestamp),
                model: self.text(tool.model)?,
                tool: Tool::numbered(tool.tool).ok_or(Damaged)?,
            }),
        })
    }

    fn call(&self, call: &StoredCall) -> Result<CallFact, Damaged> {
        Ok(CallFact {
            evidence: Evidence::of(call.evidence).ok_or(Damaged)?,
            keys: decode_keys(&call.keys),
            time: call.time.map(Timestamp),
            model: self.text(call.model)?,
            provider: self.provider(call.provider.as_ref())?,
            initiator: Initiator::of(call.initiator).ok_or(Damaged)?,
            tokens: decode_tokens(&call.tokens),
            estimated: call.estimated,
            credits: call.credits.map(Credits),
            premium: call.premium.map(PremiumRequests),
            duration_ms: call.duration_ms,
            first_token_ms: call.first_token_ms,
            project: self.hint(call.project.as_ref())?,
        })
    }

    fn turn(&self, turn: &StoredTurn) -> Result<TurnFact, Damaged> {
        let per_model = turn
            .per_model
            .iter()
            .map(|of| {
                Ok((
                    texts::text(self.0, of.model)?.to_owned(),
                    decode_tokens(&of.tokens),
                ))
            })
            .collect::<Result<_, Damaged>>()?;
        Ok(TurnFact {
            evidence: Evidence::of(turn.evidence).ok_or(Damaged)?,
            keys: decode_keys(&turn.keys),
            start: turn.start.map(Timestamp),
            end: turn.end.map(Timestamp),
            model: self.text(turn.model)?,
            provider: self.provider(turn.provider.as_ref())?,
            initiator: Initiator::of(turn.initiator).ok_or(Damaged)?,
            per_model,
            tokens: decode_tokens(&turn.tokens),
            lower_bound: turn.lower_bound,
            estimated: turn.estimated,
            calls: turn.calls,
            credits: turn.credits.map(Credits),
            premium: turn.premium.map(PremiumRequests),
            duration_ms: turn.duration_ms,
            first_token_ms: turn.first_token_ms,
            project: self.hint(turn.project.as_ref())?,
        })
    }

    fn leg(&self, leg: &StoredLeg) -> Result<LegFact, Damaged> {
        Ok(LegFact {
            from: leg.from.map(Timestamp),
            resumed: leg.resumed.map(Timestamp),
            to: Timestamp(leg.to),
            compacted: leg.compacted.map(Timestamp),
            model: self.text(leg.model)?,
            provider: self.provider(leg.provider.as_ref())?,
            calls: leg.calls,
            tokens: decode_tokens(&leg.tokens),
            credits: leg.credits.map(Credits),
            premium: leg.premium.map(PremiumRequests),
        })
    }

    fn session(&self, session: &StoredSession) -> Result<SessionFact, Damaged> {
        let providers = session
            .providers
            .iter()
            .map(|of| {
                let model = texts::text(self.0, of.model)?.to_owned();
                Ok((model, self.known_provider(&of.provider)?))
            })
            .collect::<Result<_, Damaged>>()?;
        Ok(SessionFact {
            started: session.started.map(Timestamp),
            project: self.hint(session.project.as_ref())?,
            surface: match session.surface {
                0 => None,
                code => Some(Surface::of(code).ok_or(Damaged)?),
            },
            model: self.text(session.model)?,
            providers,
        })
    }

    fn text(&self, number: u32) -> Result<Option<String>, Damaged> {
        Ok(texts::option(self.0, number)?.map(str::to_owned))
    }

    fn hint(&self, hint: Option<&StoredHint>) -> Result<Option<ProjectHint>, Damaged> {
        hint.map(|hint| {
            Ok(ProjectHint {
                rank: ProjectRank::of(hint.rank).ok_or(Damaged)?,
                project: Project::named(texts::text(self.0, hint.project)?).ok_or(Damaged)?,
            })
        })
        .transpose()
    }

    fn provider(&self, provider: Option<&StoredProvider>) -> Result<Option<Provider>, Damaged> {
        provider.map(|known| self.known_provider(known)).transpose()
    }

    fn known_provider(&self, provider: &StoredProvider) -> Result<Provider, Damaged> {
        Ok(match texts::option(self.0, provider.own)? {
            None => Provider::Copilot,
            Some(name) => Provider::own(name),
        })
    }
}

fn millis(time: Option<Timestamp>) -> Option<i64> {
    time.map(|time| time.0)
}

fn encode_keys(keys: &[Key]) -> Vec<u64> {
    keys.iter().map(|key| key.0).collect()
}

fn decode_keys(keys: &[u64]) -> Vec<Key> {
    keys.iter().copied().map(Key).collect()
}

fn encode_tokens(tokens: &Tokens) -> StoredTokens {
    StoredTokens {
        input: tokens.get(TokenType::Input),
        cache_read: tokens.get(TokenType::CacheRead),
        cache_write: tokens.get(TokenType::CacheWrite),
        output: tokens.get(TokenType::Output),
        reasoning: tokens.reasoning(),
    }
}

fn decode_tokens(tokens: &StoredTokens) -> Tokens {
    Tokens::default()
        .with(TokenType::Input, tokens.input)
        .with(TokenType::CacheRead, tokens.cache_read)
        .with(TokenType::CacheWrite, tokens.cache_write)
        .with(TokenType::Output, tokens.output)
        .with_reasoning(tokens.reasoning)
}
