//! What a parser keeps between lines, and so between passes. It is small, whatever the log's size.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::legs::Legs;
use crate::usage::{Key, ProjectHint, Provider, Timestamp};

/// How many ids of past lines are remembered: repeated lines follow soon, and a record's message next.
const REMEMBERED: usize = 64;

/// What the lines so far say about those to come.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct State {
    /// Of the last stamped line.
    pub(super) time: Option<Timestamp>,
    pub(super) lines: Recent,
    /// Response ids of records, whose messages say nothing new.
    pub(super) recorded: Recent,
    /// The main agent's model in force.
    pub(super) model: Option<String>,
    pub(super) auto_resolved: Option<String>,
    /// Running sub-agents by tool call; for clients that don't mark a sub-agent's lines.
    pub(super) subagents: Vec<Key>,
    pub(super) marks_subagents: bool,
    /// The last chunked message: its response, its first chunk's statement, and the output it is known to have.
    pub(super) chunked: Option<(Key, Key, Option<u64>)>,
    pub(super) legs: Legs,
    /// The only model of all legs so far, if there is only one.
    pub(super) leg_models: LegModels,
    pub(super) project: Option<ProjectHint>,
    pub(super) started: Option<Timestamp>,
    pub(super) providers: BTreeMap<String, Provider>,
    /// The file is the copy of another session's, or has calls of the user's own provider: its running
    /// totals of credits aren't the session's spend.
    pub(super) totals_are_foreign: bool,
    pub(super) credit_total: Option<u64>,
}

/// The last ids, oldest first.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct Recent(VecDeque<Key>);

impl Recent {
    /// Remembers an id; `false` if it was known.
    pub(super) fn insert(&mut self, key: Key) -> bool {
        if self.0.contains(&key) {
            return false;
        }
        self.0.push_back(key);
        if self.0.len() > REMEMBERED {
            self.0.pop_front();
        }
        true
    }

    pub(super) fn contains(&self, key: Key) -> bool {
        self.0.contains(&key)
    }
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) enum LegModels {
    #[default]
    None,
    One(String),
    Many,
}

impl LegModels {
    pub(super) fn add(&mut self, model: &str) {
        match self {
            Self::None => *self = Self::One(model.to_owned()),
            Self::One(known) if known == model => {}
            Self::One(_) | Self::Many => *self = Self::Many,
        }
    }
}
