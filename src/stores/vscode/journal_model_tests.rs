//! A small model of the journal's writer: whatever it does, the reader has the best figures of every request
//! that was ever in the file when it was read.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::stores::vscode::testing::Seen;
use crate::usage::{Fact, Key, TokenType};

/// What the writer, or the reader, does next. Numbers are taken modulo what there is.
#[derive(Debug, Clone)]
enum Act {
    Ask,
    Answer {
        request: usize,
        output: u16,
        at_once: bool,
    },
    Finish {
        request: usize,
        whole_result: bool,
    },
    Clear {
        request: usize,
    },
    Undo {
        keep: usize,
    },
    Regenerate,
    Noise {
        text: String,
    },
    /// A crash in the middle of a line; the next start rewrites the file.
    Crash {
        share: u8,
    },
    /// Figures of finished requests that only a rewrite brings.
    Seal {
        output: u16,
    },
    Rewrite {
        same_file: bool,
    },
    Read,
}

fn act() -> impl Strategy<Value = Act> {
    let any_request = 0..64_usize;
    prop_oneof![
        4 => Just(Act::Ask),
        4 => (any_request.clone(), 1..u16::MAX, any::<bool>())
            .prop_map(|(request, output, at_once)| Act::Answer { request, output, at_once }),
        3 => (any_request.clone(), any::<bool>())
            .prop_map(|(request, whole_result)| Act::Finish { request, whole_result }),
        1 => any_request.clone().prop_map(|request| Act::Clear { request }),
        2 => any_request.prop_map(|keep| Act::Undo { keep }),
        1 => Just(Act::Regenerate),
        2 => "\\PC{0,30}".prop_map(|text| Act::Noise { text }),
        1 => any::<u8>().prop_map(|share| Act::Crash { share }),
        1 => (1..u16::MAX).prop_map(|output| Act::Seal { output }),
        2 => any::<bool>().prop_map(|same_file| Act::Rewrite { same_file }),
        5 => Just(Act::Read),
    ]
}

#[derive(Debug, Clone, Default)]
struct Asked {
    id: String,
    output: Option<u64>,
    finished: bool,
}

impl Asked {
    fn json(&self) -> Value {
        let mut request = json!({"requestId": self.id, "timestamp": 1_790_000_001_000_u64,
            "message": {"text": "\u{fffd} \"requests\""}});
        if let Some(output) = self.output {
            request["completionTokens"] = output.into();
        }
        if self.finished {
            request["modelState"] = json!({"value": 1, "completedAt": 1_790_000_009_000_u64});
        }
        request
    }
}

/// The writer, the file, and what may be known of it.
struct Model {
    dir: tempfile::TempDir,
    requests: Vec<Asked>,
    asked: usize,
    /// What the file's lines say, one after the other.
    in_file: Vec<Asked>,
    /// What of that was ever there when the file was read.
    known: BTreeMap<Key, Option<u64>>,
    seen: Seen,
    cursor: Cursor,
}

impl Model {
    fn new() -> Self {
        let mut model = Self {
            dir: tempfile::tempdir().unwrap(),
            requests: Vec::new(),
            asked: 0,
            in_file: Vec::new(),
            known: BTreeMap::new(),
            seen: Seen::default(),
            cursor: Cursor::default(),
        };
        model.rewrite(true);
        model
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("s.jsonl")
    }

    fn append(&mut self, entry: &Value) {
        let text = fs::read_to_string(self.path()).unwrap();
        fs::write(self.path(), format!("{text}{entry}\n")).unwrap();
    }

    fn rewrite(&mut self, same_file: bool) {
        let requests: Vec<Value> = self.requests.iter().map(Asked::json).collect();
        let root = json!({"kind": 0, "v": {"version": 3, "sessionId": "s", "requests": requests}});
        if !same_file {
            fs::remove_file(self.path()).unwrap();
        }
        fs::write(self.path(), format!("{root}\n")).unwrap();
        self.in_file = self.requests.clone();
    }

    fn ask(&mut self, cut_to: Option<usize>) {
        self.requests.truncate(cut_to.unwrap_or(usize::MAX));
        self.asked += 1;
        let asked = Asked {
            id: format!("r{}", self.asked),
            ..Asked::default()
        };
        let mut entry = json!({"kind": 2, "k": ["requests"], "v": [asked.json()]});
        if let Some(length) = cut_to {
            entry["i"] = length.into();
        }
        self.requests.push(asked.clone());
        self.in_file.push(asked);
        self.append(&entry);
    }

    fn set(&mut self, at: usize, path: &[&str], value: Option<Value>) {
        let mut k = vec![json!("requests"), json!(at)];
        k.extend(path.iter().map(|name| json!(name)));
        let mut entry = json!({"kind": 1, "k": k});
        if let Some(value) = value {
            entry["v"] = value;
        }
        self.in_file.push(self.requests[at].clone());
        self.append(&entry);
    }

    fn act(&mut self, act: &Act) {
        let count = self.requests.len();
        match act {
            Act::Ask => self.ask(None),
            Act::Undo { keep } if count > 0 => {
                let length = keep % count;
                self.requests.truncate(length);
                self.append(&json!({"kind": 2, "k": ["requests"], "i": length}));
            }
            Act::Regenerate if count > 0 => self.ask(Some(count - 1)),
            Act::Answer {
                request,
                output,
                at_once,
            } if count > 0 => {
                let at = request % count;
                let asked = &mut self.requests[at];
                // Over the rounds of a request, the sum only grows.
                let output = asked.output.unwrap_or(0) + u64::from(*output);
                asked.output = Some(output);
                match at_once {
                    true => self.set(at, &["completionTokens"], Some(output.into())),
                    false => self.set(at, &[], Some(self.requests[at].json())),
                }
            }
            Act::Finish {
                request,
                whole_result,
            } if count > 0 => {
                let at = request % count;
                self.requests[at].finished = true;
                let state = json!({"value": 1, "completedAt": 1_790_000_009_000_u64});
                if *whole_result {
                    let result = json!({"metadata": {"toolCallRounds": [{"response": "x"}]}});
                    self.set(at, &["result"], Some(result));
                }
                self.set(at, &["modelState"], Some(state));
            }
            Act::Clear { request } if count > 0 => {
                self.set(request % count, &["promptTokens"], None);
            }
            Act::Noise { text } => {
                self.append(&json!({"kind": 1, "k": ["inputState", "inputText"], "v": text}));
            }
            Act::Crash { share } => {
                let entry =
                    json!({"kind": 1, "k": ["requests", 0, "completionTokens"], "v": 60_000});
                let entry = entry.to_string();
                let cut = entry.len() * usize::from(*share) / 256;
                let text = fs::read_to_string(self.path()).unwrap();
                fs::write(self.path(), format!("{text}{}", &entry[..cut])).unwrap();
                self.read();
                self.rewrite(true);
            }
            Act::Seal { output } => {
                for asked in self.requests.iter_mut().filter(|asked| asked.finished) {
                    asked.output = Some(asked.output.unwrap_or(0) + u64::from(*output));
                }
                self.rewrite(true);
            }
            Act::Rewrite { same_file } => self.rewrite(*same_file),
            Act::Read => self.read(),
            _ => {}
        }
    }

    fn read(&mut self) {
        for said in &self.in_file {
            if said.output.is_some() || said.finished {
                let known = self.known.entry(Key::request(&said.id)).or_default();
                *known = (*known).max(said.output);
            }
        }
        let home = Home {
            dir: self.dir.path().to_owned(),
            ..Home::default()
        };
        let source = Source::file(self.path());
        self.cursor = self
            .seen
            .read(&ChatSessions, &home, &source, &self.cursor)
            .unwrap();
    }

    fn stated(&self) -> BTreeMap<Key, Option<u64>> {
        let turn = |fact| match fact {
            Fact::Turn(turn) => Some((turn.keys[0], turn.tokens.get(TokenType::Output))),
            _ => None,
        };
        self.seen.facts().into_iter().filter_map(turn).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_history_of_a_journal_gives_the_totals_of_its_truth(
        acts in proptest::collection::vec(act(), 1..60)
    ) {
        let mut model = Model::new();
        for act in &acts {
            model.act(act);
        }
        model.read();
        prop_assert_eq!(model.stated(), model.known);
        prop_assert!(model.seen.errors.is_empty());
    }
}
