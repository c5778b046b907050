//! Shutdown legs, as remainders: what a process run says beyond the calls that are known of it.

use std::ops::Range;

use crate::usage::{
    Credits, Evidence, Initiator, LegFact, PremiumRequests, Timestamp, TokenType, Tokens,
};

use super::facts::Stated;
use super::merge::{Call, pick, share};
use super::model::Model;

/// Adds what legs know beyond `calls`, and completes the messages that legs cover.
pub(super) fn settle<'a>(legs: &[Stated<'a, LegFact>], calls: &mut Vec<Call<'a>>) {
    if legs.is_empty() {
        return;
    }
    calls.sort_unstable_by_key(|call| (call.finished, call.id));
    // From its first usage record on, a session knows its calls one by one, those of killed runs too.
    let first_record = calls
        .iter()
        .find(|call| call.has(Evidence::UsageRecord) && !call.is_compaction())
        .and_then(|call| call.finished);
    let is_needed =
        |leg: &&Stated<'_, LegFact>| first_record.is_none_or(|first| leg.fact.to < first);
    let legs: Vec<Stated<'a, LegFact>> = legs.iter().filter(is_needed).copied().collect();
    let mut remainders = Vec::new();
    let mut surplus = Vec::new();
    // Legs that end at one moment can't be told apart by time, and are taken together.
    for ended in legs.chunk_by(|a, b| a.fact.to == b.fact.to) {
        Ended::new(ended).settle(calls, &mut remainders, &mut surplus);
    }
    surplus.sort_unstable();
    let mut at = 0..;
    calls.retain(|_| {
        at.next()
            .is_none_or(|at| surplus.binary_search(&at).is_err())
    });
    calls.append(&mut remainders);
}

/// What ended at one moment.
struct Ended<'a> {
    from: Option<Timestamp>,
    resumed: Option<Timestamp>,
    compacted: Option<Timestamp>,
    to: Timestamp,
    legs: Vec<Leg<'a>>,
}

/// What a run used of one model, and the calls that are known of it.
struct Leg<'a> {
    stated: Stated<'a, LegFact>,
    model: Option<Model<'a>>,
    calls: u64,
    tokens: Tokens,
    credits: Option<Credits>,
    premium: Option<PremiumRequests>,
    /// Calls known better than by the leg.
    better: Vec<usize>,
    /// How many those are.
    known: u64,
    /// Calls that the leg completes.
    messages: Vec<usize>,
}

impl<'a> Leg<'a> {
    fn new(stated: Stated<'a, LegFact>) -> Self {
        let fact = stated.fact;
        let without_count = fact.calls == 0 && !fact.tokens.is_empty();
        Self {
            stated,
            model: stated.model,
            calls: if without_count { 1 } else { fact.calls },
            tokens: fact.tokens,
            credits: fact.credits,
            premium: fact.premium,
            better: Vec::new(),
            known: 0,
            messages: Vec::new(),
        }
    }

    fn is_of(&self, model: Option<Model<'_>>) -> bool {
        self.model.map(|model| model.key) == model.map(|model| model.key)
    }

    fn add(&mut self, other: &LegFact) {
        self.calls = self.calls.saturating_add(other.calls);
        self.tokens = self.tokens.plus(&other.tokens);
        self.credits = sum(self.credits, other.credits, |a, b| {
            Credits(a.0.saturating_add(b.0))
        });
        self.premium = sum(self.premium, other.premium, |a, b| {
            PremiumRequests(a.0.saturating_add(b.0))
        });
    }

    /// How many of its calls nobody knows better.
    fn open(&self) -> u64 {
        self.calls.saturating_sub(self.known)
    }

    /// How many messages more it has than open calls (negative: fewer).
    fn excess(&self) -> i128 {
        self.messages.len() as i128 - i128::from(self.open())
    }
}

fn sum<T>(a: Option<T>, b: Option<T>, add: impl Fn(T, T) -> T) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(add(a, b)),
        (a, b) => a.or(b),
    }
}

impl<'a> Ended<'a> {
    fn new(ended: &[Stated<'a, LegFact>]) -> Self {
        let mut legs: Vec<Leg<'a>> = Vec::new();
        for &stated in ended {
            let leg = Leg::new(stated);
            match legs.iter_mut().find(|other| other.is_of(leg.model)) {
                Some(other) => other.add(stated.fact),
                None => legs.push(leg),
            }
        }
        let facts = || ended.iter().map(|stated| stated.fact);
        Self {
            from: facts().map(|fact| fact.from).min().flatten(),
            resumed: facts().map(|fact| fact.resumed).min().flatten(),
            compacted: facts().filter_map(|fact| fact.compacted).max(),
            to: ended
                .first()
                .map_or(Timestamp::default(), |stated| stated.fact.to),
            legs,
        }
    }

    fn settle(
        mut self,
        calls: &mut [Call<'a>],
        remainders: &mut Vec<Call<'a>>,
        surplus: &mut Vec<usize>,
    ) {
        let whole = span(calls, self.from, self.to);
        self.name_models(&mut calls[whole.clone()]);
        let start = self.start(calls);
        let covered = span(calls, start, self.to);
        if !self.assign(calls, covered, surplus) {
            return;
        }
        for leg in &self.legs {
            let compactions = calls[whole.clone()]
                .iter()
                .filter(|call| call.is_compaction() && leg.is_of(call.model));
            let compacted = compactions
                .filter_map(|call| call.credits)
                .fold(0, |sum: u64, credits| sum.saturating_add(credits.0));
            remainders.extend(leg.settle(calls, Credits(compacted)));
        }
    }

    /// A run that used one model tells that of its calls.
    fn name_models(&self, calls: &mut [Call<'a>]) {
        if let [leg] = self.legs.as_slice() {
            for call in calls {
                call.model = call.model.or(leg.model);
            }
        }
    }

    /// From when on calls are inside: some versions forget what came before a compaction, and none before
    /// 1.0.102 knows of a run that was killed before this one (formats, copilot-cli.md §5.2).
    fn start(&self, calls: &[Call<'_>]) -> Option<Timestamp> {
        let known = |start| Known::of(&calls[span(calls, start, self.to)]);
        let stated = Known::stated(&self.legs);
        let after = |earlier: Option<Timestamp>| {
            move |later: &Timestamp| earlier.is_none_or(|earlier| earlier < *later)
        };
        let begun = self.resumed.filter(after(self.from)).or(self.from);
        let compacted = self.compacted.filter(after(begun));
        let Some(compacted) = compacted else {
            return if known(self.from).is(&stated) {
                self.from
            } else {
                begun
            };
        };
        let whole = known(begun);
        if known(self.from).is(&stated) {
            return self.from;
        }
        if whole.is(&stated) {
            return begun;
        }
        let counts_the_rest = known(Some(compacted)).calls == stated.calls;
        // As many calls, but others: the known ones were forgotten.
        let counts_others = whole.calls == stated.calls;
        if counts_the_rest || counts_others || whole.exceeds(&stated) {
            Some(compacted)
        } else {
            begun
        }
    }

    /// Gives every covered call to the leg of its model. Which model a message is of is not always known
    /// well; a run's counts are. Messages beyond them that tell nothing are no calls: `surplus`.
    ///
    /// `false`: the calls are those of the run, though some are under a name that it doesn't know.
    fn assign(
        &mut self,
        calls: &mut [Call<'a>],
        covered: Range<usize>,
        surplus: &mut Vec<usize>,
    ) -> bool {
        let mut astray = Vec::new();
        let mut strange = false;
        for at in covered.clone() {
            let call = &calls[at];
            if call.is_compaction() {
                continue;
            }
            let leg = self.legs.iter_mut().find(|leg| leg.is_of(call.model));
            match (leg, call.is_mere_message()) {
                (Some(leg), true) => leg.messages.push(at),
                (Some(leg), false) => {
                    leg.better.push(at);
                    leg.known += call.count;
                }
                (None, true) => astray.push(at),
                (None, false) => strange = true,
            }
        }
        if strange && Known::of(&calls[covered]).is(&Known::stated(&self.legs)) {
            return false;
        }
        for leg in &mut self.legs {
            // A sub-agent's messages are the ones that can carry the main model's name.
            leg.messages.sort_by_key(|&at| {
                let call = &calls[at];
                let tells = call.tokens != Tokens::default();
                (call.initiator == Initiator::Subagent, !tells)
            });
            while leg.excess() > 0 {
                astray.extend(leg.messages.pop());
            }
        }
        for at in astray {
            match self.legs.iter_mut().find(|leg| leg.excess() < 0) {
                Some(leg) => {
                    leg.messages.push(at);
                    calls[at].model = leg.model;
                }
                None if calls[at].tokens == Tokens::default() => surplus.push(at),
                None => {}
            }
        }
        true
    }
}

impl<'a> Leg<'a> {
    /// Completes the leg's messages; what is left is the remainder. `compacted` is what its compactions
    /// cost, which may be inside its credits.
    fn settle(&self, calls: &mut [Call<'a>], compacted: Credits) -> Option<Call<'a>> {
        let known = |f: fn(&Call<'_>) -> u64| {
            let better = self.better.iter().map(|&at| f(&calls[at]));
            better.fold(0, u64::saturating_add)
        };
        let tokens = self
            .better
            .iter()
            .fold(Tokens::default(), |sum, &at| sum.plus(&calls[at].tokens));
        let mut tokens = beyond(&self.tokens, &tokens);
        let spent = known(|call| call.credits.unwrap_or_default().0).saturating_add(compacted.0);
        let credits = self.credits.map(|credits| credits.0.saturating_sub(spent));
        let counted = known(|call| call.premium.unwrap_or_default().0);
        let premium = self
            .premium
            .map(|premium| PremiumRequests(premium.0.saturating_sub(counted)))
            .filter(|premium| premium.0 > 0);
        let mut lacking: Vec<usize> = self.better.clone();
        lacking.retain(|&at| calls[at].credits.is_none());
        lacking.extend(&self.messages);
        lacking.sort_unstable();

        let fact = self.stated.fact;
        let mut remainder = Call {
            time: Some(fact.to),
            finished: Some(fact.to),
            model: self.model,
            provider: fact.provider.as_ref(),
            ..Call::unknown(self.stated.id, self.stated.surface)
        };
        for &at in &self.better {
            let call = &mut calls[at];
            call.completed |= self.tokens.is_complete();
            // Where nothing is left over, what a call doesn't tell is 0.
            for class in TokenType::ALL {
                if tokens.get(class) == Some(0) {
                    call.tokens = call.tokens.or(&Tokens::default().with(class, Some(0)));
                }
            }
        }
        if let (&[only], 1) = (self.messages.as_slice(), self.open())
            && output(&tokens) >= output(&calls[only].tokens)
        {
            // The one call of which only the output is known has the rest.
            let call = &mut calls[only];
            call.tokens = tokens.or(&call.tokens);
            call.completed = true;
            call.premium = call.premium.or(premium);
            if let Some(credits) = credits {
                share(Credits(credits), pick(calls, &lacking));
            }
            return None;
        }
        for &at in &self.messages {
            tokens = tokens.minus(&calls[at].tokens);
            calls[at].completed = true;
        }
        remainder.count = self.open().saturating_sub(self.messages.len() as u64);
        remainder.completed = remainder.count == 0;
        remainder.premium = premium;
        if !tokens.is_empty() {
            remainder.tokens = tokens;
        }
        let is_needed = remainder.count > 0 || !tokens.is_empty();
        if let Some(credits) = credits {
            let mut lacking = pick(calls, &lacking);
            lacking.extend(is_needed.then_some(&mut remainder));
            share(Credits(credits), lacking);
        }
        (is_needed || premium.is_some()).then_some(remainder)
    }
}

/// The positions of the calls after `from` and not after `to`; `calls` are sorted by when they finished.
/// Those of unknown time can't be placed: rather too much than lost (edge case 77).
fn span(calls: &[Call<'_>], from: Option<Timestamp>, to: Timestamp) -> Range<usize> {
    let from = calls.partition_point(|call| call.finished <= from);
    let to = calls.partition_point(|call| call.finished <= Some(to));
    from..to.max(from)
}

/// What the calls of a span amount to, as far as they tell.
struct Known {
    calls: u64,
    prompt: Sum,
    output: Sum,
}

#[derive(Clone, Copy)]
struct Sum {
    amount: u64,
    /// Every call tells its part.
    whole: bool,
}

impl Known {
    fn of(calls: &[Call<'_>]) -> Self {
        let counted = || calls.iter().filter(|call| !call.is_compaction());
        let sum = |told: fn(&Tokens) -> Option<u64>| Sum {
            amount: counted()
                .filter_map(|call| told(&call.tokens))
                .fold(0, u64::saturating_add),
            whole: counted().all(|call| told(&call.tokens).is_some()),
        };
        Self {
            calls: counted().map(|call| call.count).sum(),
            prompt: sum(prompt),
            output: sum(output),
        }
    }

    fn stated(legs: &[Leg<'_>]) -> Self {
        let tokens = legs
            .iter()
            .fold(Tokens::default(), |sum, leg| sum.plus(&leg.tokens));
        let sum = |told: Option<u64>| Sum {
            amount: told.unwrap_or(0),
            whole: told.is_some(),
        };
        Self {
            calls: legs
                .iter()
                .map(|leg| leg.calls)
                .fold(0, u64::saturating_add),
            prompt: sum(prompt(&tokens)),
            output: sum(output(&tokens)),
        }
    }

    /// These are the calls that the leg counts, as far as anybody can tell.
    fn is(&self, stated: &Self) -> bool {
        let fits = |known: Sum, stated: Sum| {
            !stated.whole
                || known.amount == stated.amount
                || !known.whole && known.amount < stated.amount
        };
        self.calls == stated.calls
            && fits(self.prompt, stated.prompt)
            && fits(self.output, stated.output)
    }

    fn exceeds(&self, stated: &Self) -> bool {
        let more = |known: Sum, stated: Sum| stated.whole && known.amount > stated.amount;
        more(self.prompt, stated.prompt) || more(self.output, stated.output)
    }
}

fn prompt(tokens: &Tokens) -> Option<u64> {
    tokens.gross_input().map(|gross| gross.0)
}

fn output(tokens: &Tokens) -> Option<u64> {
    tokens.get(TokenType::Output)
}

/// What `stated` has beyond `known`, class by class, but in the prompt's classes together no more than the
/// whole prompt has: stores may split one prompt differently.
pub(super) fn beyond(stated: &Tokens, known: &Tokens) -> Tokens {
    let mut rest = stated.minus(known);
    let most = prompt(stated).map(|whole| whole.saturating_sub(prompt(known).unwrap_or(0)));
    let mut excess = prompt(&rest)
        .unwrap_or(0)
        .saturating_sub(most.unwrap_or(u64::MAX));
    for class in [
        TokenType::Input,
        TokenType::CacheWrite,
        TokenType::CacheRead,
    ] {
        if let Some(amount) = rest.get(class) {
            let taken = amount.min(excess);
            excess -= taken;
            rest = rest.with(class, Some(amount - taken));
        }
    }
    rest
}
