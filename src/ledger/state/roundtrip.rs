//! Whatever a reader may state is stored and read back as it was.

use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;

use super::codes::Code;
use super::scope::{decode, encode};
use crate::ledger::cells::{Cell, Cells, SeriesId};
use crate::ledger::intake::SourceId;
use crate::ledger::scope::{Scope, Statement};
use crate::usage::{
    CallFact, Credits, Evidence, Fact, FailureFact, FailureReason, Initiator, Key, LegFact,
    Measure, Observation, PremiumRequests, Project, ProjectHint, ProjectRank, Provider,
    SessionFact, Slot, Surface, Timestamp, TokenType, Tokens, Tool, ToolFact, TotalFact, TurnFact,
    Usd,
};

fn coded<T: Code + Clone + std::fmt::Debug + 'static>(codes: u32) -> impl Strategy<Value = T> {
    let all: Vec<T> = (0..codes).filter_map(T::of).collect();
    proptest::sample::select(all)
}

fn time() -> impl Strategy<Value = Timestamp> {
    any::<i64>().prop_map(Timestamp)
}

fn tokens() -> impl Strategy<Value = Tokens> {
    vec(of(0u64..2_000_000_000_000), 5).prop_map(|counts| {
        TokenType::ALL
            .into_iter()
            .zip(&counts)
            .fold(Tokens::default(), |tokens, (class, &count)| {
                tokens.with(class, count)
            })
            .with_reasoning(counts[4])
    })
}

fn text() -> impl Strategy<Value = String> {
    "[a-zé\"\\\\ ]{0,12}"
}

fn provider() -> impl Strategy<Value = Provider> {
    of("[a-z]{1,6}").prop_map(|own| own.map_or(Provider::Copilot, |name| Provider::own(&name)))
}

fn hint() -> impl Strategy<Value = ProjectHint> {
    (coded::<ProjectRank>(9), text()).prop_filter_map("no name", |(rank, name)| {
        Some(ProjectHint {
            rank,
            project: Project::named(&name)?,
        })
    })
}

fn keys() -> impl Strategy<Value = Vec<Key>> {
    vec(any::<u64>().prop_map(Key), 0..3)
}

fn credits() -> impl Strategy<Value = Option<Credits>> {
    of(any::<u64>().prop_map(Credits))
}

fn premium() -> impl Strategy<Value = Option<PremiumRequests>> {
    of(any::<u64>().prop_map(PremiumRequests))
}

prop_compose! {
    fn call()(
        (evidence, keys, time, model, provider) in
            (coded::<Evidence>(20), keys(), of(time()), of(text()), of(provider())),
        (initiator, tokens, estimated, credits, premium) in
            (coded::<Initiator>(9), tokens(), any::<bool>(), credits(), premium()),
        (duration_ms, first_token_ms, project) in
            (of(any::<u64>()), of(any::<u64>()), of(hint())),
    ) -> Fact {
        Fact::Call(CallFact {
            evidence, keys, time, model, provider, initiator, tokens, estimated, credits, premium,
            duration_ms, first_token_ms, project,
        })
    }
}

prop_compose! {
    fn turn()(
        (evidence, keys, start, end, model) in
            (coded::<Evidence>(20), keys(), of(time()), of(time()), of(text())),
        (provider, initiator, per_model, tokens, lower_bound) in
            (of(provider()), coded::<Initiator>(9), vec((text(), tokens()), 0..3), tokens(), any::<bool>()),
        (estimated, calls, credits, premium) in
            (any::<bool>(), any::<u32>(), credits(), premium()),
        (duration_ms, first_token_ms, project) in
            (of(any::<u64>()), of(any::<u64>()), of(hint())),
    ) -> Fact {
        Fact::Turn(TurnFact {
            evidence, keys, start, end, model, provider, initiator, per_model, tokens, lower_bound,
            estimated, calls, credits, premium, duration_ms, first_token_ms, project,
        })
    }
}

prop_compose! {
    fn leg()(
        (from, resumed, to, compacted) in (of(time()), of(time()), time(), of(time())),
        (model, provider, calls, tokens) in (of(text()), of(provider()), any::<u64>(), tokens()),
        (credits, premium) in (credits(), premium()),
    ) -> Fact {
        Fact::Leg(LegFact { from, resumed, to, compacted, model, provider, calls, tokens, credits, premium })
    }
}

prop_compose! {
    fn total()(
        (time, model, tokens, credits) in (of(time()), of(text()), tokens(), credits()),
    ) -> Fact {
        Fact::Total(TotalFact { time, model, tokens, credits })
    }
}

prop_compose! {
    fn failure()(
        (evidence, keys, time, model) in (coded::<Evidence>(20), keys(), of(time()), of(text())),
        (provider, reason, project) in (of(provider()), coded::<FailureReason>(9), of(hint())),
    ) -> Fact {
        Fact::Failure(FailureFact { evidence, keys, time, model, provider, reason, project })
    }
}

prop_compose! {
    fn session()(
        (started, project, surface) in (of(time()), of(hint()), of(coded::<Surface>(9))),
        (model, providers) in (of(text()), vec((text(), provider()), 0..3)),
    ) -> Fact {
        Fact::Session(SessionFact { started, project, surface, model, providers })
    }
}

prop_compose! {
    fn tool()(
        (time, model, tool) in (of(time()), of(text()), any::<u32>()),
    ) -> Fact {
        let tool = Tool::numbered(tool % 100).unwrap_or(Tool::OTHER);
        Fact::Tool(ToolFact { time, model, tool })
    }
}

fn fact() -> impl Strategy<Value = Fact> {
    prop_oneof![call(), turn(), leg(), total(), failure(), session(), tool()]
}

prop_compose! {
    fn statement()(
        source in 0u64..3,
        (scope, id, surface) in (prop_oneof![Just("s".to_owned()), text()], any::<u64>(), coded::<Surface>(9)),
        fact in fact(),
    ) -> Statement {
        Statement { source: SourceId(source), observation: Observation { scope, id: Key(id), surface, fact } }
    }
}

fn cells() -> impl Strategy<Value = Cells> {
    let one = (
        any::<u32>(),
        any::<u32>(),
        coded::<Measure>(500),
        any::<u64>(),
    );
    vec(one, 0..6).prop_map(|all| {
        all.into_iter()
            .map(|(slot, series, measure, amount)| Cell {
                slot: Slot(slot),
                series: SeriesId(series),
                measure,
                amount,
            })
            .collect()
    })
}

prop_compose! {
    fn scope()(
        (name, user, first_seen, touched) in (text(), of("[a-z]{1,5}"), time(), time()),
        (newest, folded_until, last_call, surface) in
            (of(time()), of(time()), of(time()), of(coded::<Surface>(9))),
        statements in vec(statement(), 0..8),
        (base, cells, anchor) in (cells(), cells(), cells()),
        (base_truth, truth, unbacked) in (of(cells()), of(cells()), cells()),
        prices in vec((any::<u64>(), of(0..u64::MAX)), 0..4),
        (pass, duplicates) in (any::<u64>(), any::<u64>()),
    ) -> Scope {
        Scope {
            name,
            user: user.map(std::sync::Arc::from),
            first_seen,
            touched,
            newest,
            statements,
            folded_until,
            base,
            base_truth,
            cells,
            truth,
            unbacked,
            anchor,
            pass,
            prices: prices
                .into_iter()
                .map(|(print, pico)| (print, pico.map(|pico| Usd(u128::from(pico)))))
                .collect(),
            duplicates,
            last_call,
            surface,
        }
    }
}

proptest! {
    #[test]
    fn a_scope_survives(scope in scope()) {
        prop_assert_eq!(decode(&encode(&scope)), Ok(scope));
    }

    #[test]
    fn damaged_bytes_are_an_error_and_no_panic(
        scope in scope(),
        place in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut row = encode(&scope);
        if !row.facts.is_empty() {
            let place = place.index(row.facts.len());
            row.facts[place] = byte;
        }
        let _ = decode(&row);
    }
}
