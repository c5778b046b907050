//! The edge cases in which several statements meet, by number, and what holds for all sets of statements.

mod calls;
mod labels;
mod legs;
mod properties;
mod turns;

use super::{Resolution, ResolvedCall, reconcile};
use crate::usage::{
    CallFact, Credits, Evidence, Fact, FailureFact, FailureReason, Initiator, Key, LegFact,
    Observation, PremiumRequests, Project, ProjectHint, ProjectRank, Provider, SessionFact,
    Surface, Timestamp, TokenType, Tokens, TotalFact, TurnFact,
};

const MODEL: &str = "gpt-5.4";

/// Milliseconds after a certain moment.
fn at(millis: i64) -> Timestamp {
    Timestamp(1_790_000_000_000 + millis)
}

fn seconds(seconds: i64) -> Timestamp {
    at(seconds * 1_000)
}

/// Uncached input, cache reads, cache writes, output.
fn tokens(input: u64, read: u64, write: u64, output: u64) -> Tokens {
    Tokens::default()
        .with(TokenType::Input, Some(input))
        .with(TokenType::CacheRead, Some(read))
        .with(TokenType::CacheWrite, Some(write))
        .with(TokenType::Output, Some(output))
}

/// A call of which only the output is known.
fn output(output: u64) -> Tokens {
    Tokens::default().with(TokenType::Output, Some(output))
}

fn input(input: u64) -> Tokens {
    tokens(input, 0, 0, 0)
}

/// A statement with an id of its own.
fn observed(id: &str, surface: Surface, fact: Fact) -> Observation {
    Observation {
        scope: "s".to_owned(),
        id: Key::of("test", &[id]),
        surface,
        fact,
    }
}

fn cli(id: &str, fact: Fact) -> Observation {
    observed(id, Surface::Cli, fact)
}

fn call(evidence: Evidence, time: Timestamp, tokens: Tokens) -> CallFact {
    CallFact {
        evidence,
        keys: Vec::new(),
        time: Some(time),
        model: Some(MODEL.to_owned()),
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

fn row(id: &str, time: Timestamp, tokens: Tokens) -> Observation {
    cli(id, Fact::Call(call(Evidence::StoreRow, time, tokens)))
}

fn message(id: &str, time: Timestamp, tokens: Tokens) -> Observation {
    cli(id, Fact::Call(call(Evidence::Message, time, tokens)))
}

/// With the response id `response`.
fn keyed(
    evidence: Evidence,
    id: &str,
    response: &str,
    time: Timestamp,
    tokens: Tokens,
) -> Observation {
    let fact = CallFact {
        keys: vec![Key::response(response)],
        ..call(evidence, time, tokens)
    };
    cli(id, Fact::Call(fact))
}

fn record(id: &str, response: &str, time: Timestamp, tokens: Tokens) -> Observation {
    keyed(Evidence::UsageRecord, id, response, time, tokens)
}

fn compaction(evidence: Evidence, id: &str, time: Timestamp, tokens: Tokens) -> Observation {
    let fact = CallFact {
        initiator: Initiator::Compaction,
        ..call(evidence, time, tokens)
    };
    cli(id, Fact::Call(fact))
}

/// The leg of a run from the end of the one before.
fn leg(from: Option<Timestamp>, to: Timestamp, calls: u64, tokens: Tokens) -> LegFact {
    LegFact {
        from,
        resumed: None,
        to,
        compacted: None,
        model: Some(MODEL.to_owned()),
        provider: None,
        calls,
        tokens,
        credits: None,
        premium: None,
    }
}

fn turn(
    evidence: Evidence,
    request: &str,
    start: Timestamp,
    end: Timestamp,
    tokens: Tokens,
) -> TurnFact {
    TurnFact {
        evidence,
        keys: vec![Key::request(request)],
        start: Some(start),
        end: Some(end),
        model: Some(MODEL.to_owned()),
        provider: None,
        initiator: Initiator::User,
        per_model: Vec::new(),
        tokens,
        lower_bound: false,
        estimated: false,
        calls: 1,
        credits: None,
        premium: None,
        duration_ms: None,
        first_token_ms: None,
        project: None,
    }
}

fn vscode_call(evidence: Evidence, id: &str, time: Timestamp, tokens: Tokens) -> Observation {
    observed(
        id,
        Surface::VsCode,
        Fact::Call(call(evidence, time, tokens)),
    )
}

fn vscode_turn(id: &str, turn: TurnFact) -> Observation {
    observed(id, Surface::VsCode, Fact::Turn(turn))
}

fn credits(credits: u64) -> Option<Credits> {
    Some(Credits(credits * Credits::NANO))
}

/// Number of calls, and the sums of their tokens (0 where unknown).
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
struct Sums {
    calls: u64,
    input: u64,
    read: u64,
    write: u64,
    output: u64,
}

fn sums(calls: u64, [input, read, write, output]: [u64; 4]) -> Sums {
    Sums {
        calls,
        input,
        read,
        write,
        output,
    }
}

impl Sums {
    fn of<'r>(calls: impl IntoIterator<Item = &'r ResolvedCall>) -> Self {
        let mut sums = sums(0, [0; 4]);
        for call in calls {
            let of_class = |class| call.tokens.get(class).unwrap_or(0);
            sums.calls += call.count;
            sums.input += of_class(TokenType::Input);
            sums.read += of_class(TokenType::CacheRead);
            sums.write += of_class(TokenType::CacheWrite);
            sums.output += of_class(TokenType::Output);
        }
        sums
    }
}

impl Resolution {
    fn sums(&self) -> Sums {
        Sums::of(&self.calls)
    }

    fn credits(&self) -> u64 {
        self.calls
            .iter()
            .filter_map(|call| call.credits)
            .map(|c| c.0)
            .sum()
    }
}

fn total(observations: &[Observation]) -> Sums {
    reconcile(observations).sums()
}
