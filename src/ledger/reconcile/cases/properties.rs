//! What holds for every set of statements.

use std::ops::Range;

use proptest::prelude::*;
use proptest::sample::{Index, Selector};

use super::*;

/// One call of a made-up CLI session, and which stores tell of it.
#[derive(Debug, Clone)]
struct Made {
    gap_ms: i64,
    model: &'static str,
    tokens: [u64; 4],
    has_row: bool,
    has_record: bool,
    has_message: bool,
    has_span: bool,
}

fn made(gap_ms: Range<i64>) -> impl Strategy<Value = Made> {
    (
        gap_ms,
        prop::sample::select(vec!["gpt-5.4", "gpt-5-mini"]),
        prop::array::uniform4(0_u64..5),
        any::<[bool; 4]>(),
    )
        .prop_map(
            |(gap_ms, model, tokens, [has_row, has_record, has_message, has_span])| Made {
                gap_ms,
                model,
                tokens,
                has_row,
                has_record,
                has_message,
                has_span,
            },
        )
}

impl Made {
    /// At least one token of output, as every answer has.
    fn tokens(&self) -> Tokens {
        let [input, read, write, output] = self.tokens;
        tokens(input, read, write, output + 1)
    }

    fn statements(&self, number: usize, time: Timestamp) -> Vec<Observation> {
        let mut statements = Vec::new();
        let mut tell = |kind: &str, evidence, delay: i64, tokens, is_keyed: bool| {
            let mut fact = call(evidence, Timestamp(time.0 + delay), tokens);
            fact.model = Some(self.model.to_owned());
            if is_keyed {
                fact.keys.push(Key::response(&number.to_string()));
            }
            statements.push(cli(&format!("{kind}{number}"), Fact::Call(fact)));
        };
        if self.has_row {
            tell("row", Evidence::StoreRow, 1, self.tokens(), false);
        }
        if self.has_record {
            tell("record", Evidence::UsageRecord, 0, self.tokens(), true);
        }
        if self.has_message {
            tell(
                "message",
                Evidence::Message,
                8,
                output(self.tokens[3] + 1),
                true,
            );
        }
        if self.has_span {
            tell("span", Evidence::Span, -700, self.tokens(), true);
        }
        statements
    }
}

/// A session of `calls`: the statements, and the sums of all calls of which a store tells.
fn session(calls: &[Made]) -> (Vec<Observation>, u64) {
    let mut time = at(0);
    let mut told = 0;
    let mut statements = Vec::new();
    for (number, made) in calls.iter().enumerate() {
        time.0 += made.gap_ms;
        let of_call = made.statements(number, time);
        told += u64::from(!of_call.is_empty());
        statements.extend(of_call);
    }
    (statements, told)
}

/// A statement of any kind, contradicting others as it likes.
fn anything() -> impl Strategy<Value = Observation> {
    let evidence = prop::sample::select(vec![
        Evidence::Salvage,
        Evidence::Partition,
        Evidence::Nitrite,
        Evidence::TranscriptMessage,
        Evidence::Message,
        Evidence::FlatRequest,
        Evidence::JournalRequest,
        Evidence::LogRecord,
        Evidence::TranscriptUsage,
        Evidence::Span,
        Evidence::UsageRecord,
        Evidence::StoreRow,
    ]);
    let class = || prop::option::weighted(0.8, 0_u64..4);
    let tokens = [class(), class(), class(), class()].prop_map(|counts| {
        TokenType::ALL
            .into_iter()
            .zip(counts)
            .fold(Tokens::default(), |tokens, (class, count)| {
                tokens.with(class, count)
            })
    });
    let time = || prop::option::weighted(0.9, (0_i64..40).prop_map(|n| at(n * 700)));
    let parts = (
        0_u8..12,
        evidence,
        tokens,
        time(),
        time(),
        prop::collection::vec(0_u8..6, 0..3),
        prop::option::of(0_u64..9),
        0_usize..5,
    );
    (parts, any::<u32>()).prop_map(
        |((kind, evidence, tokens, time, other, keys, amount, pick), id)| {
            let keys: Vec<Key> = keys.into_iter().map(|key| Key(u64::from(key))).collect();
            let surfaces = [Surface::Cli, Surface::VsCode, Surface::JetBrains];
            let fact = match kind {
                0..=6 => Fact::Call(CallFact {
                    keys,
                    time,
                    initiator: Initiator::ALL[pick],
                    model: [None, Some("gpt-5.4"), Some("gpt-5-mini")][pick % 3].map(str::to_owned),
                    credits: amount.and_then(credits),
                    duration_ms: amount.map(|amount| amount * 100),
                    ..call(evidence, at(0), tokens)
                }),
                7..=8 => Fact::Turn(TurnFact {
                    keys,
                    start: time,
                    end: other,
                    credits: amount.and_then(credits),
                    ..turn(evidence, "", at(0), at(0), tokens)
                }),
                9 => Fact::Leg(LegFact {
                    from: other.filter(|other| Some(*other) <= time),
                    compacted: other,
                    credits: amount.and_then(credits),
                    ..leg(None, time.unwrap_or(at(9_000)), amount.unwrap_or(3), tokens)
                }),
                10 => Fact::Failure(FailureFact {
                    evidence,
                    keys,
                    time,
                    model: None,
                    provider: amount.map(|_| Provider::Copilot),
                    reason: FailureReason::Other,
                    project: None,
                }),
                _ => Fact::Total(TotalFact {
                    time,
                    model: amount.map(|_| MODEL.to_owned()),
                    tokens,
                    credits: amount.and_then(credits),
                }),
            };
            observed(&id.to_string(), surfaces[pick % 3], fact)
        },
    )
}

fn shuffled(mut statements: Vec<Observation>, by: &[Index]) -> Vec<Observation> {
    for (at, index) in by.iter().enumerate().take(statements.len()) {
        let other = at + index.index(statements.len() - at);
        statements.swap(at, other);
    }
    statements
}

/// So far apart that a statement about one call can't be taken for one about another.
const APART: Range<i64> = 125_000..400_000;

/// Whichever stores tell of a call, it is one, with its output.
fn counts_once(calls: &[Made], order: &[Index]) -> Result<(), TestCaseError> {
    let (statements, told) = session(calls);
    let sums = total(&shuffled(statements, order));
    prop_assert_eq!(sums.calls, told);
    let outputs: u64 = calls
        .iter()
        .filter(|made| made.has_row || made.has_record || made.has_message || made.has_span)
        .map(|made| made.tokens[3] + 1)
        .sum();
    prop_assert_eq!(sums.output, outputs);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_order_of_statements_changes_nothing(
        statements in prop::collection::vec(anything(), 0..40),
        order in prop::collection::vec(any::<Index>(), 40),
    ) {
        let expected = reconcile(&statements);
        let other = reconcile(&shuffled(statements, &order));
        prop_assert_eq!(other, expected);
    }

    #[test]
    fn every_call_that_a_store_tells_of_counts_once(
        calls in prop::collection::vec(made(APART), 1..30),
        order in prop::collection::vec(any::<Index>(), 120),
    ) {
        counts_once(&calls, &order)?;
    }

    #[test]
    fn calls_in_quick_succession_count_once_each(
        mut calls in prop::collection::vec(made(1..5_000), 1..30),
        order in prop::collection::vec(any::<Index>(), 120),
    ) {
        // Each store knows all of them or none.
        let first = calls[0].clone();
        for made in &mut calls {
            made.has_row = first.has_row;
            made.has_record = first.has_record;
            made.has_message = first.has_message;
            made.has_span = first.has_span;
        }
        counts_once(&calls, &order)?;
    }

    #[test]
    fn a_leg_keeps_its_sum_whichever_of_its_calls_are_known(
        calls in prop::collection::vec(made(1..400_000), 1..20),
        order in prop::collection::vec(any::<Index>(), 80),
    ) {
        let (statements, _) = session(&calls);
        // Records make legs needless: that is another rule.
        let without_records = statements.into_iter().filter(|statement| {
            !matches!(&statement.fact, Fact::Call(call) if call.evidence == Evidence::UsageRecord)
        });
        let mut known: Vec<Observation> = Vec::new();
        let end = at(400_000 * 30);
        for model in ["gpt-5.4", "gpt-5-mini"] {
            let of_model: Vec<&Made> = calls.iter().filter(|made| made.model == model).collect();
            let sum = of_model.iter().fold(Tokens::default(), |sum, made| sum.plus(&made.tokens()));
            let mut fact = leg(None, end, of_model.len() as u64, sum);
            fact.model = Some(model.to_owned());
            if !of_model.is_empty() {
                known.push(cli(model, Fact::Leg(fact)));
            }
        }
        let expected = total(&known);
        prop_assert_eq!(expected.calls, calls.len() as u64);
        for statement in shuffled(without_records.collect(), &order) {
            known.push(statement);
            prop_assert_eq!(total(&known), expected);
        }
    }

    #[test]
    fn a_better_statement_adds_no_second_call(
        calls in prop::collection::vec(made(APART), 1..20),
        which in any::<Selector>(),
    ) {
        let weak: Vec<Made> = calls
            .iter()
            .map(|made| Made { has_message: true, has_row: false, has_record: false, has_span: false, ..made.clone() })
            .collect();
        let (mut statements, told) = session(&weak);
        let better: Vec<Made> = weak
            .iter()
            .map(|made| Made { has_message: false, has_row: true, has_record: true, has_span: true, ..made.clone() })
            .collect();
        let (better, _) = session(&better);
        statements.push(which.select(better).clone());
        prop_assert_eq!(total(&statements).calls, told);
    }
}
