//! What happens on a day: sessions at the hours at which people work, made of turns, made of calls.

use std::sync::Arc;

use super::chance::Chance;
use super::people::{Model, OPUS, Person, Tool};
use crate::pricing::Catalogue;
use crate::usage::{Initiator, Timestamp, TokenType, Tokens};

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: i64 = 3_600_000;
pub(super) const DAY: i64 = 24 * HOUR;

/// How likely a session begins in each hour of a working day.
const HOURS: [(u64, u32); 13] = [
    (8, 2),
    (9, 6),
    (10, 9),
    (11, 8),
    (12, 3),
    (13, 5),
    (14, 9),
    (15, 9),
    (16, 7),
    (17, 4),
    (18, 2),
    (20, 1),
    (21, 1),
];

/// Why requests fail.
const FAILURES: [(&str, u32); 3] = [("rateLimited", 3), ("serverError", 2), ("networkError", 1)];

/// A conversation.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) id: String,
    pub(super) person: &'static Person,
    pub(super) tool: Tool,
    pub(super) project: &'static str,
    pub(super) model: Model,
    pub(super) began: Timestamp,
}

/// What one step does.
#[derive(Debug)]
pub(super) enum Deed {
    Call(Call),
    /// The provider refused or broke off; the code is VS Code's.
    Failure {
        code: &'static str,
    },
}

/// One call.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) initiator: Initiator,
    pub(super) tokens: Tokens,
    /// The charge; 0 for what Copilot doesn't bill.
    pub(super) nano_aiu: u64,
    pub(super) duration_ms: u64,
    pub(super) first_token_ms: u64,
}

/// Something that a store records.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) time: Timestamp,
    /// An identity of its own.
    pub(super) id: String,
    pub(super) session: Arc<Session>,
    /// Which step of its session it is, from 1 on.
    pub(super) sequence: usize,
    pub(super) deed: Deed,
}

/// What `person` does on the day `day` (UTC, since 1970), in order of time within each session.
pub(super) fn day(person: &'static Person, day: i64, prices: &Catalogue) -> Vec<Step> {
    let mut chance = Chance::of(person.name, day);
    // 1 January 1970 was a Thursday.
    let weekend = (day + 3).rem_euclid(7) >= 5;
    let sessions = match (person.automaton, weekend) {
        (true, _) => person.sessions,
        (false, true) => u64::from(chance.once_in(6)),
        (false, false) => chance.between(person.sessions - 2, person.sessions + 2),
    };
    let mut steps = Vec::new();
    for n in 0..sessions {
        let hour = if person.automaton {
            n * 24 / sessions
        } else {
            chance.pick(&HOURS).unwrap_or(12)
        };
        let local = hour * 60 * MINUTE + chance.between(0, 59 * MINUTE);
        let began = Timestamp(day * DAY - person.utc_offset * HOUR + local as i64);
        let Some(session) = session(person, began, &mut chance) else {
            continue;
        };
        steps.extend(converse(&session, &mut chance, prices));
    }
    if !weekend && chance.once_in(25) {
        let at = day * DAY + (10 - person.utc_offset) * HOUR;
        steps.extend(runaway(person, Timestamp(at), prices));
    }
    steps
}

fn session(person: &'static Person, began: Timestamp, chance: &mut Chance) -> Option<Arc<Session>> {
    let model = chance.pick(person.models)?;
    Some(Arc::new(Session {
        id: chance.uuid(),
        person,
        // Own providers are used from the terminal.
        tool: match model.provider {
            Some(_) => Tool::Cli,
            None => chance.pick(person.tools)?,
        },
        project: chance.pick(person.projects)?,
        model,
        began,
    }))
}

/// The turns of a session: a prompt, then the agent's own calls, then a pause.
fn converse(session: &Arc<Session>, chance: &mut Chance, prices: &Catalogue) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut context = Context::begun(chance);
    let mut time = session.began;
    let turns = if session.person.automaton {
        1
    } else {
        chance.between(3, 12)
    };
    for _ in 0..turns {
        for call in 0..chance.between(1, 6) {
            time.0 += chance.between(8 * SECOND, 50 * SECOND) as i64;
            let initiator = match call {
                0 => Initiator::User,
                _ if session.tool == Tool::Cli && chance.once_in(9) => Initiator::Subagent,
                _ => Initiator::Agent,
            };
            let deed = if session.tool != Tool::Cli && chance.once_in(60) {
                let code = chance.pick(&FAILURES).unwrap_or_default();
                Deed::Failure { code }
            } else {
                Deed::Call(context.call(session, time, initiator, chance, prices))
            };
            let sequence = steps.len() + 1;
            steps.push(step(session, sequence, time, deed, chance));
        }
        time.0 += chance.between(20 * SECOND, 5 * MINUTE) as i64;
    }
    steps
}

/// An agent in a loop: a call every few seconds, with a huge context, on a dear model, until somebody notices.
pub(super) fn runaway(person: &'static Person, now: Timestamp, prices: &Catalogue) -> Vec<Step> {
    let mut chance = Chance::of(person.name, now.0);
    let session = Arc::new(Session {
        id: chance.uuid(),
        person,
        tool: Tool::Cli,
        project: person
            .projects
            .first()
            .map_or("infra", |&(project, _)| project),
        model: OPUS,
        began: now,
    });
    let mut context = Context { size: 120_000 };
    let mut time = now;
    let mut steps = Vec::new();
    for _ in 0..chance.between(250, 500) {
        time.0 += chance.between(5 * SECOND, 12 * SECOND) as i64;
        let call = context.call(&session, time, Initiator::Agent, &mut chance, prices);
        let sequence = steps.len() + 1;
        steps.push(step(
            &session,
            sequence,
            time,
            Deed::Call(call),
            &mut chance,
        ));
    }
    steps
}

fn step(
    session: &Arc<Session>,
    sequence: usize,
    time: Timestamp,
    deed: Deed,
    chance: &mut Chance,
) -> Step {
    Step {
        time,
        id: chance.uuid(),
        session: Arc::clone(session),
        sequence,
        deed,
    }
}

/// The prompt, which grows from call to call until it is compacted.
struct Context {
    size: u64,
}

impl Context {
    fn begun(chance: &mut Chance) -> Self {
        Self {
            size: chance.between(12_000, 30_000),
        }
    }

    fn call(
        &mut self,
        session: &Session,
        time: Timestamp,
        initiator: Initiator,
        chance: &mut Chance,
        prices: &Catalogue,
    ) -> Call {
        let model = &session.model;
        let fresh = chance.between(600, 5_000);
        if self.size > 180_000 {
            self.size = 40_000;
        }
        // After a pause the cache is cold now and then.
        let cold = initiator == Initiator::User && chance.once_in(4);
        let cached = if cold { 0 } else { self.size };
        self.size += fresh;
        let uncached = self.size - cached;
        let (input, write) = match model.cache_writes {
            true => (uncached / 12, Some(uncached - uncached / 12)),
            false => (uncached, None),
        };
        let output = chance.between(80, 1_400);
        let reasoning = model.reasons.then(|| output * chance.between(20, 60) / 100);
        let tokens = Tokens::default()
            .with(TokenType::Input, Some(input))
            .with(TokenType::CacheRead, Some(cached))
            .with(TokenType::CacheWrite, write.or(Some(0)))
            .with(TokenType::Output, Some(output))
            .with_reasoning(reasoning);
        let first_token_ms = 300 + self.size / 200 + chance.between(0, 900);
        Call {
            initiator,
            tokens,
            nano_aiu: match model.provider {
                Some(_) => 0,
                None => charge(prices, model, time, &tokens),
            },
            duration_ms: first_token_ms + output * chance.between(8, 22),
            first_token_ms,
        }
    }
}

/// The list price in nano-AIU; Copilot charges no less here.
fn charge(prices: &Catalogue, model: &Model, time: Timestamp, tokens: &Tokens) -> u64 {
    let id = prices.canonical(Some(model.name));
    let usd = prices.list_price(&id, time, tokens, 1).unwrap_or_default();
    // One nano-AIU is 10 picodollars.
    u64::try_from(usd.0 / 10).unwrap_or(0)
}
