//! Which statements without a common identity speak of one call: by what they say and when.
//!
//! Rows of the CLI's store carry no id that another store knows, old messages none at all, and VS Code's
//! transcripts none that its spans have (formats, "Identities, and which ids join which stores").

use std::mem;

use crate::usage::{CallFact, Evidence, Key, TokenType, Tokens};

use super::facts::Stated;
use super::identity::Sets;
use super::merge::Call;
use super::nearest::{Candidate, Side, pairs};
use super::rollups;
use super::rules::{Alike, BY_FIGURES, BY_TIME, Rule, is_keyless};

/// The calls that `sets` of statements with common identities speak of, joined as the rules say.
pub(super) fn join<'a>(facts: &[Stated<'a, CallFact>], sets: &mut Sets) -> Vec<Call<'a>> {
    let sets = sets.members().into_iter();
    let mut calls: Vec<Call<'a>> = sets
        .filter_map(|members| Call::merged(facts, members))
        .collect();
    apply(BY_FIGURES, facts, &mut calls);
    rollups::settle(facts, &mut calls);
    apply(BY_TIME, facts, &mut calls);
    if calls
        .iter()
        .any(|call| call.has(Evidence::Message) && call.is_keyed)
    {
        calls.retain(|call| !is_of_the_clients_making(call));
    }
    calls
}

fn apply<'a>(rules: &[Rule], facts: &[Stated<'a, CallFact>], calls: &mut Vec<Call<'a>>) {
    for rule in rules {
        for (left, right) in rule.pairs(calls) {
            let mut members = mem::take(&mut calls[right].members);
            members.extend_from_slice(&calls[left].members);
            if let Some(call) = Call::merged(facts, members) {
                calls[left] = call;
            }
        }
        calls.retain(|call| !call.members.is_empty());
    }
}

/// A message that no model sent: clients write some of their own, without tokens and without the key that
/// the session's other messages have.
fn is_of_the_clients_making(call: &Call<'_>) -> bool {
    is_keyless(call) && call.tokens == Tokens::default()
}

/// Model, prompt and output: what is not compared is equal everywhere.
type Likeness = (Option<Key>, u64, u64);

impl Rule {
    fn pairs(&self, calls: &[Call<'_>]) -> Vec<(usize, usize)> {
        let of_side = |side: Side, wanted: fn(&Call<'_>) -> bool| {
            calls
                .iter()
                .enumerate()
                .filter(move |(_, call)| wanted(call))
                .filter_map(move |(index, call)| {
                    Some(Candidate {
                        alike: self.likeness(call)?,
                        millis: call.finished?.0,
                        side,
                        index,
                    })
                })
        };
        let mut candidates: Vec<_> = of_side(Side::Left, self.left).collect();
        if candidates.is_empty() {
            return Vec::new();
        }
        candidates.extend(of_side(Side::Right, self.right));
        pairs(candidates, self.within_ms)
    }

    /// `None`: the call doesn't tell what has to be equal.
    fn likeness(&self, call: &Call<'_>) -> Option<Likeness> {
        let model = || call.model.map(|model| model.key);
        let prompt = || call.tokens.gross_input().map(|gross| gross.0);
        let output = || call.tokens.get(TokenType::Output);
        Some(match self.alike {
            Alike::Figures => {
                // Absent beside absent is equal, too: a provider that reports no usage.
                (model(), prompt().unwrap_or(0), output().unwrap_or(0))
            }
            Alike::Tokens => (None, prompt()?, output()?),
            Alike::ModelAndOutput => (model(), 0, output()?),
            Alike::Output => (None, 0, output()?),
            Alike::Model => (Some(model()?), 0, 0),
            Alike::Nothing => (None, 0, 0),
        })
    }
}
