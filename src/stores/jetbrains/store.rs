//! The reader of the plugin's databases.

use std::collections::HashMap;
use std::fs::Metadata;
use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;

use super::conversations::{Session, Turn};
use super::mvstore::{self, Store};
use super::nitrite::{Names, Sessions, Walk};
use super::project::GitRoots;
use super::roots;
use super::salvage;
use super::seen::Seen;
use crate::stores::files::open_regular;
use crate::stores::{Cursor, Discovery, Home, Reader, Reason, Sink, Source, StoreError, StoreKind};
use crate::usage::{
    Credits, Evidence, Fact, FailureFact, FailureReason, Initiator, Key, Observation, Project,
    ProjectHint, ProjectRank, SessionFact, Surface, Timestamp, TokenType, Tokens, TurnFact,
};

/// How often a file that grows while it is read is read again.
const ATTEMPTS: u32 = 3;

/// Nitrite databases.
#[derive(Debug)]
pub(in crate::stores) struct JetBrains;

impl Reader for JetBrains {
    fn kind(&self) -> StoreKind {
        StoreKind::JetBrains
    }

    fn discover(&self, home: &Home) -> Discovery {
        roots::discover(home)
    }

    fn read(
        &self,
        home: &Home,
        source: &Source,
        cursor: &Cursor,
        sink: &mut dyn Sink,
    ) -> Result<Cursor, StoreError> {
        let fail = |reason| StoreError::new(&source.path, reason);
        let before = Seen::load(cursor);
        let siblings: Vec<Names> = source
            .companions
            .iter()
            .map(|path| names(&home.dir, path))
            .collect();
        let mut attempt = 0;
        loop {
            attempt += 1;
            let (file, metadata) = open_regular(&home.dir, &source.path)
                .map_err(|error| fail(io_reason(error, cfg!(windows))))?;
            let mut seen = before.clone();
            let first_seen = first_seen(&metadata);
            let read = Store::open(file).and_then(|store| {
                let mut walk = Walk::sessions(&store)?;
                walk.sessions.join(&siblings);
                let evidence = Evidence::Nitrite;
                let mut told = Teller::new(home, &source.path, evidence, first_seen, sink);
                told.sessions(&walk.sessions, &before);
                walk.turns(&store, &mut seen, &mut |turn, sessions, seen| {
                    told.turn(turn, sessions, seen);
                })?;
                Ok(walk)
            });
            let moved = || attempt < ATTEMPTS && has_moved(&source.path, &metadata);
            match read {
                Ok(walk) if walk.damage.pages > 0 && moved() => {}
                Ok(walk) => {
                    told_damage(&walk, sink);
                    return Ok(seen.cursor());
                }
                Err(mvstore::Error::Io(error)) => {
                    return Err(fail(io_reason(error, cfg!(windows))));
                }
                Err(_) if moved() => {}
                Err(error) if before.walked => {
                    return Err(fail(Reason::Corrupt(error.to_string())));
                }
                Err(error) => {
                    let salvaged = salvage(home, source, &siblings, sink);
                    let found = salvaged.map_err(|error| fail(io_reason(error, cfg!(windows))))?;
                    return Err(fail(match found {
                        true => Reason::Salvaged(format!(
                            "{error}; what its bytes still hold is counted as estimated"
                        )),
                        false => Reason::Corrupt(error.to_string()),
                    }));
                }
            }
        }
    }
}

/// States what the bytes of a file hold that can't be walked; `false` if that is nothing.
fn salvage(
    home: &Home,
    source: &Source,
    siblings: &[Names],
    sink: &mut dyn Sink,
) -> io::Result<bool> {
    let (file, metadata) = open_regular(&home.dir, &source.path)?;
    let found = salvage::search(&file)?;
    sink.bytes_read(found.bytes);
    let is_something = !found.turns.is_empty() || !found.is_nameless();
    let (mut sessions, names) = sessions(found.sessions, found.names);
    let siblings = siblings.iter().cloned();
    sessions.join(&siblings.chain([names]).collect::<Vec<_>>());
    let mut seen = Seen::default();
    let first_seen = first_seen(&metadata);
    let mut told = Teller::new(home, &source.path, Evidence::Salvage, first_seen, sink);
    told.sessions(&sessions, &seen);
    for turn in &found.turns {
        told.turn(turn, &sessions, &mut seen);
    }
    Ok(is_something)
}

/// What was salvaged of sessions, and the names that belong to none of them.
fn sessions(all: Vec<Session>, names: Vec<String>) -> (Sessions, Names) {
    let mut sessions = Sessions::default();
    for session in all {
        sessions.add(session);
    }
    let names = Names {
        all: names.into_iter().collect(),
        ..Names::default()
    };
    (sessions, names)
}

fn told_damage(walk: &Walk, sink: &mut dyn Sink) {
    sink.bytes_read(walk.bytes);
    for _ in 0..walk.damage.pages {
        sink.parse_error("page");
    }
    for _ in 0..walk.damage.documents {
        sink.parse_error("document");
    }
    for _ in 0..walk.damage.contents {
        sink.parse_error("contents");
    }
}

/// On Windows the IDE keeps its database to itself while it runs.
fn io_reason(error: io::Error, on_windows: bool) -> Reason {
    const SHARING_VIOLATION: i32 = 32;
    const LOCK_VIOLATION: i32 = 33;
    match error.raw_os_error() {
        Some(SHARING_VIOLATION | LOCK_VIOLATION) if on_windows => Reason::Busy,
        _ => Reason::Io(error),
    }
}

/// The file was written to since it was opened.
fn has_moved(path: &Path, before: &Metadata) -> bool {
    let stamp = |metadata: &Metadata| (metadata.len(), metadata.modified().ok());
    std::fs::metadata(path).is_ok_and(|now| stamp(&now) != stamp(before))
}

/// The time of what has none: when the file was last written, but never in the future.
fn first_seen(metadata: &Metadata) -> i64 {
    let now = Timestamp::now().0;
    let modified = metadata.modified().ok();
    let modified = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    modified
        .and_then(|since| i64::try_from(since.as_millis()).ok())
        .map_or(now, |millis| millis.min(now))
}

/// What a sibling store knows of project names; one that can't be read at all knows none.
fn names(root: &Path, path: &Path) -> Names {
    let Ok((file, _)) = open_regular(root, path) else {
        return Names::default();
    };
    let walked = Store::open(&file).and_then(|store| Ok(Walk::sessions(&store)?));
    match walked {
        Ok(walk) => Names::of(&walk.sessions),
        Err(mvstore::Error::Io(_)) => Names::default(),
        Err(_) => salvage::search(&file).map_or_else(
            |_| Names::default(),
            |found| {
                let (sessions, mut names) = sessions(found.sessions, found.names);
                let known = Names::of(&sessions);
                names.by_conversation = known.by_conversation;
                names.all.extend(known.all);
                names
            },
        ),
    }
}

/// Turns what is read into statements.
struct Teller<'t> {
    home: &'t Home,
    path: String,
    evidence: Evidence,
    first_seen: i64,
    roots: GitRoots,
    /// Calls and length of what was told of a turn: of two documents about it the richer one counts.
    told: HashMap<Key, (u32, u64)>,
    sink: &'t mut dyn Sink,
}

impl<'t> Teller<'t> {
    fn new(
        home: &'t Home,
        path: &Path,
        evidence: Evidence,
        first_seen: i64,
        sink: &'t mut dyn Sink,
    ) -> Self {
        Self {
            home,
            path: path.to_string_lossy().into_owned(),
            evidence,
            first_seen,
            roots: GitRoots::default(),
            told: HashMap::new(),
            sink,
        }
    }

    fn observe(&mut self, scope: &str, id: Key, fact: Fact) {
        self.sink.observe(Observation {
            scope: scope.to_owned(),
            id,
            surface: Surface::JetBrains,
            fact,
        });
    }

    /// States what is new of the sessions.
    fn sessions(&mut self, sessions: &Sessions, before: &Seen) {
        for session in sessions.iter() {
            if before.knows(session.key(), sessions.context(session)) {
                continue;
            }
            let fact = Fact::Session(SessionFact {
                started: session.created.map(Timestamp),
                project: sessions.project(Some(session)).and_then(named),
                model: session.model.clone(),
                ..SessionFact::default()
            });
            let id = Key::of("jetbrains session", &[&self.path, &session.id]);
            self.observe(session.scope(), id, fact);
        }
    }

    fn turn(&mut self, turn: &Turn, sessions: &Sessions, seen: &mut Seen) {
        let session = sessions.of(turn.sessions.iter().chain(&turn.ids));
        let named_scope = session
            .map(Session::scope)
            .or(turn.sessions.first().map(String::as_str));
        let keys = turn.keys(named_scope.unwrap_or_default());
        let Some(&key) = keys.first() else {
            return;
        };
        let richness = (turn.calls, turn.units);
        let told = self.told.entry(key).or_insert(richness);
        if *told > richness {
            return;
        }
        *told = richness;
        let scope = named_scope.map_or_else(|| Observation::lone_scope(key), str::to_owned);
        let time = turn
            .created
            .unwrap_or_else(|| Timestamp(seen.first_seen(key.0, self.first_seen)));
        let project = match sessions.project(session) {
            Some(name) => named(name),
            None => self.roots.hint(&turn.files, self.home.os),
        };
        let model = turn.model.clone();
        let fact = if turn.calls == 0 {
            Fact::Failure(FailureFact {
                evidence: self.evidence,
                keys,
                time: Some(time),
                model,
                provider: None,
                reason: FailureReason::Other,
                project,
            })
        } else {
            Fact::Turn(TurnFact {
                evidence: self.evidence,
                keys,
                start: Some(time),
                end: None,
                model,
                provider: None,
                initiator: match turn.calls {
                    1 => Initiator::User,
                    _ => Initiator::Unknown,
                },
                per_model: Vec::new(),
                tokens: estimate(turn.units),
                lower_bound: false,
                estimated: turn.units > 0,
                calls: turn.calls,
                credits: credits(turn, session),
                premium: None,
                duration_ms: None,
                first_token_ms: None,
                project,
            })
        };
        // A turn in a second store is a statement of its own, which the ledger joins by its keys.
        let id = Key::of("jetbrains turn of", &[&self.path, &key.0.to_string()]);
        self.observe(&scope, id, fact);
    }
}

fn named(name: &str) -> Option<ProjectHint> {
    Some(ProjectHint {
        rank: ProjectRank::Workspace,
        project: Project::named(name)?,
    })
}

/// Output tokens from the length of replies; without a reply they are unknown, like all input.
pub(super) fn estimate(units: u64) -> Tokens {
    let output = (units > 0).then(|| units.div_ceil(4));
    Tokens::default().with(TokenType::Output, output)
}

fn credits(turn: &Turn, session: Option<&Session>) -> Option<Credits> {
    let credits = &session?.credits;
    let mut newest_first = credits.iter().rev();
    let is_own = |message: &String| turn.id.as_ref() == Some(message) || turn.ids.contains(message);
    newest_first
        .find(|(message, _)| is_own(message))
        .map(|&(_, credits)| Credits(credits))
}

#[cfg(test)]
mod edge_tests;
#[cfg(test)]
mod tests;
