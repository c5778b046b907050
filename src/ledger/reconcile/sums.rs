//! Spans of old clients that repeat what other statements say call by call: up to 1.0.75 at least, the CLI
//! wrote one `chat` span for all calls of a sub-agent.

use crate::usage::{CallFact, Evidence, Initiator, Key, TokenType};

use super::facts::{Facts, Stated, is_cli};
use super::session::model_key;

/// Spans of one model that overlap in time, as positions among the facts: sub-agents may run side by side.
struct Cluster {
    spans: Vec<usize>,
    model: Option<Key>,
    from: i64,
    to: i64,
}

/// Prompt and output of several calls. Messages tell only the output.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Sum {
    calls: usize,
    prompt: Option<u64>,
    output: u64,
}

/// Leaves out the spans whose figures are the sum of what better statements, or messages, say of the
/// sub-agents' calls in their time. Returns how many those are.
pub(super) fn drop_sums(facts: &mut Facts<'_>) -> usize {
    let mut surplus: Vec<usize> = clusters(&facts.calls)
        .into_iter()
        .filter(|cluster| cluster.is_told_by_call(&facts.calls))
        .flat_map(|cluster| cluster.spans)
        .collect();
    surplus.sort_unstable();
    let mut at = 0..;
    facts.calls.retain(|_| {
        at.next()
            .is_none_or(|at| surplus.binary_search(&at).is_err())
    });
    surplus.len()
}

fn clusters(calls: &[Stated<'_, CallFact>]) -> Vec<Cluster> {
    let mut clusters: Vec<Cluster> = Vec::new();
    let spans = calls
        .iter()
        .enumerate()
        .filter(|(_, call)| is_cli(call.surface) && is_of_subagent(call.fact, Evidence::Span));
    for (at, call) in spans {
        let (Some(end), Some(duration)) = (call.fact.time, call.fact.duration_ms) else {
            continue;
        };
        let (from, to) = (end.0.saturating_sub_unsigned(duration), end.0);
        let model = call.fact.model.as_deref().map(model_key);
        let overlaps = |cluster: &&mut Cluster| cluster.model == model && cluster.to >= from;
        match clusters.iter_mut().rev().take(SIDE_BY_SIDE).find(overlaps) {
            Some(cluster) => {
                cluster.spans.push(at);
                cluster.from = cluster.from.min(from);
                cluster.to = to;
            }
            None => clusters.push(Cluster {
                spans: vec![at],
                model,
                from,
                to,
            }),
        }
    }
    clusters
}

/// How many of the last clusters (of other models) may still go on.
const SIDE_BY_SIDE: usize = 8;

fn is_of_subagent(fact: &CallFact, evidence: Evidence) -> bool {
    fact.evidence == evidence && fact.initiator == Initiator::Subagent
}

impl Cluster {
    /// Whether another kind of statement tells the calls that these spans sum up.
    fn is_told_by_call(&self, calls: &[Stated<'_, CallFact>]) -> bool {
        let spans = sum(self.spans.iter().map(|&at| calls[at].fact));
        let begin = calls.partition_point(|call| call.fact.time.is_none_or(|at| at.0 < self.from));
        let within = calls[begin..]
            .iter()
            .take_while(|call| call.fact.time.is_some_and(|at| at.0 <= self.to));
        [Evidence::StoreRow, Evidence::UsageRecord, Evidence::Message]
            .into_iter()
            .any(|evidence| {
                let told = sum(within
                    .clone()
                    .map(|call| call.fact)
                    .filter(|fact| is_of_subagent(fact, evidence) && self.may_contain(fact)));
                told.calls > self.spans.len()
                    && told.output == spans.output
                    && (told.prompt == spans.prompt || told.prompt.is_none())
            })
    }

    /// A message of an old client doesn't name its model.
    fn may_contain(&self, fact: &CallFact) -> bool {
        let model = fact.model.as_deref().map(model_key);
        model.is_none() || model == self.model
    }
}

fn sum<'f>(facts: impl Iterator<Item = &'f CallFact>) -> Sum {
    facts.fold(Sum::default(), |sum, fact| Sum {
        calls: sum.calls + 1,
        prompt: match (sum.prompt, fact.tokens.gross_input()) {
            (before, Some(gross)) => Some(before.unwrap_or(0) + gross.0),
            (before, None) => before,
        },
        output: sum.output + fact.tokens.get(TokenType::Output).unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use super::super::reconcile;
    use crate::usage::{
        CallFact, Evidence, Fact, GrossInput, Initiator, Key, Observation, Surface, Timestamp,
        TokenType, Tokens,
    };

    /// A sub-agent's call that ends at `end` ms after a moment and took `duration`.
    fn call(
        evidence: Evidence,
        end: i64,
        duration: u64,
        gross: Option<u64>,
        output: u64,
    ) -> Observation {
        let tokens = gross.map_or_else(Tokens::default, |gross| {
            GrossInput(gross).split(Some(0), Some(0)).0
        });
        Observation {
            scope: "s".to_owned(),
            id: Key::of("test", &[&format!("{evidence:?} {end}")]),
            surface: Surface::Cli,
            fact: Fact::Call(CallFact {
                evidence,
                keys: Vec::new(),
                time: Some(Timestamp(1_790_000_000_000 + end)),
                model: Some("m".to_owned()),
                provider: None,
                initiator: Initiator::Subagent,
                tokens: tokens.with(TokenType::Output, Some(output)),
                estimated: false,
                credits: None,
                premium: None,
                duration_ms: Some(duration),
                first_token_ms: None,
                project: None,
            }),
        }
    }

    fn outputs(observations: &[Observation]) -> Vec<u64> {
        let calls = reconcile(observations).calls.into_iter();
        calls
            .filter_map(|call| call.tokens.get(TokenType::Output))
            .collect()
    }

    #[test]
    fn a_span_that_sums_rows_adds_nothing() {
        let rows = [
            call(Evidence::StoreRow, 40, 5, Some(4_398), 24),
            call(Evidence::StoreRow, 90, 5, Some(4_430), 12),
        ];
        let span = call(Evidence::Span, 100, 100, Some(8_828), 36);
        let all = [rows.as_slice(), &[span]].concat();
        assert_eq!(outputs(&all), [24, 12]);
    }

    #[test]
    fn a_span_that_sums_messages_adds_nothing() {
        let all = [
            call(Evidence::Message, 40, 0, None, 24),
            call(Evidence::Message, 90, 0, None, 12),
            call(Evidence::Span, 100, 100, Some(8_828), 36),
        ];
        assert_eq!(outputs(&all), [24, 12]);
    }

    #[test]
    fn sub_agents_side_by_side() {
        let all = [
            call(Evidence::StoreRow, 40, 5, Some(100), 10),
            call(Evidence::StoreRow, 50, 5, Some(200), 20),
            call(Evidence::StoreRow, 60, 5, Some(300), 30),
            call(Evidence::Span, 70, 60, Some(400), 40),
            call(Evidence::Span, 90, 60, Some(200), 20),
        ];
        assert_eq!(outputs(&all), [10, 20, 30]);
    }

    #[test]
    fn a_span_that_is_no_sum_stays() {
        let all = [
            call(Evidence::StoreRow, 40, 5, Some(100), 10),
            call(Evidence::StoreRow, 50, 5, Some(200), 20),
            call(Evidence::Span, 100, 90, Some(999), 50),
        ];
        assert_eq!(outputs(&all), [10, 20, 50]);
        assert_eq!(outputs(&all[2..]), [50]);
    }
}
