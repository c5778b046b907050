//! Genuine databases against their truth file.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::PathBuf;

use serde::Deserialize;

use super::*;
use crate::stores::testing::Kept;

#[derive(Debug, Deserialize)]
struct Truth {
    sessions: Vec<TrueSession>,
    turns: Vec<TrueTurn>,
    dead: Vec<String>,
    #[serde(default)]
    h2_turn_ids: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct TrueSession {
    id: String,
    project: Option<String>,
    created: i64,
}

#[derive(Debug, Deserialize)]
struct TrueTurn {
    id: String,
    session: String,
    created: i64,
    replies: Vec<u64>,
    model: Option<String>,
    errored: bool,
}

const ROOT: &str = ".config/github-copilot";

/// A home with the genuine databases, and the truth about each.
fn genuine() -> (tempfile::TempDir, Home, BTreeMap<PathBuf, Truth>) {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/jetbrains");
    let truth = fs::read_to_string(fixtures.join("truth.json")).unwrap();
    let truth: BTreeMap<String, Truth> = serde_json::from_str(&truth).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let mut by_path = BTreeMap::new();
    for (name, truth) in truth {
        let packed = fs::read(fixtures.join(format!("{name}.gz"))).unwrap();
        let mut bytes = Vec::new();
        flate2::read::GzDecoder::new(packed.as_slice())
            .read_to_end(&mut bytes)
            .unwrap();
        let path = dir.path().join(ROOT).join(name.split_once('/').unwrap().1);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        by_path.insert(path, truth);
    }
    let home = Home {
        dir: dir.path().to_owned(),
        ..Home::default()
    };
    (dir, home, by_path)
}

fn source(home: &Home, part: &str) -> Source {
    let found = JetBrains.discover(home).sources;
    let is_it = |source: &Source| source.path.to_string_lossy().contains(part);
    found.into_iter().find(is_it).unwrap()
}

fn read(home: &Home, source: &Source, cursor: &Cursor) -> (Result<Cursor, StoreError>, Kept) {
    let mut kept = Kept::default();
    let read = JetBrains.read(home, source, cursor, &mut kept);
    (read, kept)
}

/// A turn's or failure's statement, in the words of the truth file.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Stated {
    key: u64,
    scope: String,
    time: i64,
    calls: u32,
    output: Option<u64>,
    model: Option<String>,
}

fn stated(kept: &Kept) -> Vec<Stated> {
    let mut stated: Vec<Stated> = kept
        .observations
        .iter()
        .filter_map(|observation| {
            let scope = observation.scope.clone();
            match &observation.fact {
                Fact::Turn(turn) => Some(Stated {
                    key: turn.keys[0].0,
                    scope,
                    time: turn.start.unwrap().0,
                    calls: turn.calls,
                    output: turn.tokens.get(TokenType::Output),
                    model: turn.model.clone(),
                }),
                Fact::Failure(failure) => Some(Stated {
                    key: failure.keys[0].0,
                    scope,
                    time: failure.time.unwrap().0,
                    calls: 0,
                    output: None,
                    model: failure.model.clone(),
                }),
                _ => None,
            }
        })
        .collect();
    stated.sort();
    stated
}

fn key(turn: &str) -> u64 {
    Key::of("jetbrains turn", &[turn]).0
}

fn truly(truth: &Truth) -> Vec<Stated> {
    let mut turns: Vec<Stated> = truth
        .turns
        .iter()
        .map(|turn| {
            let filled: Vec<u64> = turn.replies.iter().copied().filter(|&n| n > 0).collect();
            assert_eq!(filled.is_empty(), turn.errored);
            let joined = filled.iter().sum::<u64>() + u64::saturating_sub(filled.len() as u64, 1);
            Stated {
                key: key(&turn.id),
                scope: turn.session.clone(),
                time: turn.created,
                calls: if filled.is_empty() {
                    0
                } else {
                    turn.replies.len() as u32
                },
                output: (joined > 0).then(|| joined.div_ceil(4)),
                model: turn.model.clone(),
            }
        })
        .collect();
    turns.sort();
    turns
}

#[test]
fn genuine_databases_give_exactly_their_live_turns() {
    let (_dir, home, truth) = genuine();
    let sources = JetBrains.discover(&home).sources;
    assert_eq!(sources.len(), truth.len());
    let mut whole = 0;
    for source in sources {
        let truth = &truth[&source.path];
        if !truth.h2_turn_ids.is_empty() || source.path.to_string_lossy().contains("s17") {
            continue;
        }
        whole += 1;
        let (cursor, kept) = read(&home, &source, &Cursor::default());
        assert!(cursor.is_ok(), "{cursor:?}");
        assert_eq!(kept.parse_errors, [""; 0], "{}", source.path.display());
        assert_eq!(stated(&kept), truly(truth), "{}", source.path.display());
        let dead: Vec<u64> = truth.dead.iter().map(|id| key(id)).collect();
        assert!(stated(&kept).iter().all(|turn| !dead.contains(&turn.key)));
        assert!(
            kept.observations
                .iter()
                .all(|o| o.surface == Surface::JetBrains)
        );
    }
    assert_eq!(whole, 8);
}

#[test]
fn genuine_sessions_have_their_projects_and_times() {
    let (_dir, home, truth) = genuine();
    for part in ["s01", "s02", "s05", "s07", "s08"] {
        let source = source(&home, part);
        let (_, kept) = read(&home, &source, &Cursor::default());
        let sessions: BTreeMap<&str, &SessionFact> = kept
            .observations
            .iter()
            .filter_map(|o| match &o.fact {
                Fact::Session(fact) => Some((o.scope.as_str(), fact)),
                _ => None,
            })
            .collect();
        let want = &truth[&source.path].sessions;
        assert_eq!(sessions.len(), want.len());
        let agreed = want.iter().filter_map(|s| s.project.as_ref());
        let several = agreed.collect::<std::collections::BTreeSet<_>>().len() > 1;
        assert!(several, "no name stands for the whole store");
        for session in want {
            let told = sessions[session.id.as_str()];
            assert_eq!(told.started, Some(Timestamp(session.created)));
            let project = told.project.as_ref().map(|hint| hint.project.as_str());
            assert_eq!(project, session.project.as_deref(), "{}", session.id);
        }
    }
}

#[test]
fn edge_180_a_genuine_torn_file_gives_what_h2_reads_of_it() {
    let (_dir, home, truth) = genuine();
    let torn = source(&home, "s14");
    let (cursor, kept) = read(&home, &torn, &Cursor::default());
    assert!(cursor.is_ok());
    let mut want: Vec<u64> = truth[&torn.path]
        .h2_turn_ids
        .iter()
        .map(|id| key(id))
        .collect();
    want.sort_unstable();
    let got: Vec<u64> = stated(&kept).iter().map(|turn| turn.key).collect();
    assert_eq!(got, want);
}

#[test]
fn edge_174_nothing_is_read_again_where_nothing_changed() {
    let (_dir, home, _) = genuine();
    for part in ["s02", "s05", "s08"] {
        let source = source(&home, part);
        let (cursor, _) = read(&home, &source, &Cursor::default());
        let (again, kept) = read(&home, &source, &cursor.unwrap());
        assert_eq!(kept.observations, []);
        assert!(again.is_ok());
    }
}
