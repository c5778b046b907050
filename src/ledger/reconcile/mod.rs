//! From the statements about one scope to the calls that they amount to: a pure function of a set, so
//! that neither the order in which stores are seen nor a restart can change a total.

#[cfg(test)]
mod cases;
mod facts;
mod failures;
mod identity;
mod legs;
mod merge;
mod model;
mod nearest;
mod rollups;
mod rows;
mod rules;
mod session;
mod tools;
mod totals;
mod turns;

use facts::Facts;
use session::Labels;

use crate::usage::{
    Credits, FailureReason, Initiator, Observation, PremiumRequests, Project, Provider, Surface,
    Timestamp, Tokens, Tool,
};

/// A call as it is counted, or the remainder of an aggregate that nobody knows call by call.
#[derive(Debug, Clone, PartialEq)]
pub struct ResolvedCall {
    /// How many calls this stands for: 1 for a call; for a remainder any number, also 0 (tokens or credits
    /// that known calls lack).
    pub count: u64,
    pub time: Option<Timestamp>,
    /// As spelt by the best statement that names one.
    pub model: Option<String>,
    pub provider: Provider,
    pub surface: Surface,
    pub project: Project,
    pub initiator: Initiator,
    pub tokens: Tokens,
    /// The token counts are estimated from text length.
    pub estimated: bool,
    /// Some class is unknown, or the counts are a lower bound.
    pub partial: bool,
    /// What was reported as the charge, whoever bills: only Copilot's own calls cost credits.
    pub credits: Option<Credits>,
    /// Only from user-initiated calls.
    pub premium: Option<PremiumRequests>,
    pub duration_ms: Option<u64>,
    pub first_token_ms: Option<u64>,
}

/// A failed request: not billed, counted apart.
#[derive(Debug, Clone, PartialEq)]
pub struct ResolvedFailure {
    pub time: Option<Timestamp>,
    pub model: Option<String>,
    pub provider: Provider,
    pub surface: Surface,
    pub project: Project,
    pub reason: FailureReason,
}

/// A tool call, whoever tells of it.
#[derive(Debug, Clone, PartialEq)]
pub struct ResolvedTool {
    pub time: Option<Timestamp>,
    pub model: Option<String>,
    pub provider: Provider,
    pub surface: Surface,
    pub project: Project,
    pub tool: Tool,
}

/// What the statements about one scope amount to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Resolution {
    pub calls: Vec<ResolvedCall>,
    pub failures: Vec<ResolvedFailure>,
    pub tools: Vec<ResolvedTool>,
    /// Real spend of no known model.
    pub unattributed: Credits,
    /// Statements that spoke of a call which a better one had told already.
    pub duplicates: u64,
}

/// Decides. The order of `observations` doesn't matter; their ids are distinct.
pub fn reconcile(observations: &[Observation]) -> Resolution {
    let mut facts = Facts::sorted(observations);
    let labels = Labels::of(&facts);
    let mirrors = facts.drop_mirrors();
    let mut sets = identity::join(&facts.calls);
    let mut calls = rows::join(&facts.calls, &mut sets);
    let joined = facts.calls.len() - calls.len();
    calls.retain(|call| !call.is_nothing());
    let replaced = turns::settle(&facts.calls, &facts.turns, &mut calls);
    legs::settle(&facts.legs, &mut calls);
    calls.extend(totals::usage(&facts));
    calls.sort_unstable_by_key(|call| (call.time, call.id));
    Resolution {
        unattributed: totals::unattributed(&facts.totals, &calls, &labels),
        failures: failures::resolve(&facts.failures, &labels),
        tools: tools::resolve(&facts.tools, &labels),
        duplicates: (mirrors + joined) as u64 + replaced,
        calls: calls.iter().map(|call| labels.resolved(call)).collect(),
    }
}
