//! `agent-traces.db`: the spans that the chat extension stores, of which every `chat` span is a model call
//! (formats, vscode.md §6).
//!
//! Its rows come and go: old spans are deleted and rows replaced. So spans are recognised by their ids and
//! contents, never by their place.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::stores::sqlite::{self, Database};
use crate::stores::{Cursor, Discovery, Home, Os, Reader, Sink, Source, StoreError, StoreKind};
use crate::usage::{
    Fact, Key, Observation, Project, ProjectHint, ProjectRank, Provider, SessionFact, Surface,
};

use super::debug_logs::span_key;
use super::layout::{Search, root_of};
use super::span_tables::{Call, RepositoryBy, Tables};

/// Raised when a span is read differently, so that all of them are stated anew.
const VERSION: u32 = 1;
/// How deep sub-agents may lie in sub-agents.
const DEEPEST: usize = 16;
/// How many sessions without a repository are asked about again.
const MOST_UNPLACED: usize = 1024;

/// Reads the database of every root.
#[derive(Debug)]
pub(crate) struct AgentTraces;

/// What is known of the spans that the database held at the last pass.
#[derive(Debug, Default, Serialize, Deserialize)]
struct State {
    version: u32,
    /// What the rows held, by span.
    spans: BTreeMap<u64, u64>,
    /// Sessions of which no span has named the repository yet, each with its conversation.
    unplaced: BTreeMap<String, String>,
}

impl Reader for AgentTraces {
    fn kind(&self) -> StoreKind {
        StoreKind::VsCodeTraces
    }

    fn discover(&self, home: &Home) -> Discovery {
        let mut search = Search::new(home);
        for user in search.users() {
            for storage in search.global_storages(&user) {
                for extension in search.extensions(&storage) {
                    for path in search.files(&extension, &["db"]) {
                        if path.ends_with("agent-traces.db") {
                            search.add(sqlite::source(&path));
                        }
                    }
                }
            }
        }
        if let Some(folder) = temporary_folder(home) {
            let fallback = Path::new(folder).join("copilot-agent-traces.db");
            if fallback.is_file() {
                search.add(sqlite::source(&fallback));
            }
        }
        search.finish()
    }

    fn read(
        &self,
        home: &Home,
        source: &Source,
        cursor: &Cursor,
        sink: &mut dyn Sink,
    ) -> Result<Cursor, StoreError> {
        let path = source.path.as_path();
        let database = Database::open(root_of(home, path), path)?;
        let Some(tables) = Tables::of(&database)? else {
            sink.skipped("no_spans_table");
            return Ok(cursor.clone());
        };
        let state = cursor.load::<State>();
        let state = state.filter(|state| state.version == VERSION);
        let state = state
            .unwrap_or_default()
            .advance(&tables, sink)
            .map_err(|error| database.error(error))?;
        Ok(Cursor::store(&state))
    }
}

/// Where the extension puts its database when it has no storage.
fn temporary_folder(home: &Home) -> Option<&str> {
    let named = home.var("TMPDIR").or_else(|| home.var("TEMP"));
    let usual = (home.os != Os::Windows && !home.env.is_empty()).then_some("/tmp");
    named.or(usual)
}

impl State {
    /// States what is new, and gives the state after that.
    fn advance(mut self, tables: &Tables<'_>, sink: &mut dyn Sink) -> rusqlite::Result<Self> {
        let parents = tables.parents()?;
        let mut attributes = tables.attributes()?;
        let mut by_trace = tables.repository_by("trace_id")?;
        let mut spans = BTreeMap::new();
        tables.for_each_chat(|found, span| {
            let id = Key::of("span", &[&found.span_id]).0;
            spans.insert(id, found.contents);
            if self.spans.get(&id) == Some(&found.contents) {
                return Ok(());
            }
            let mut call = attributes.complete(span)?;
            if found.has_too_long || call.has_too_long {
                sink.parse_error("value_too_long");
            }
            if found.has_too_long && found.span_id.is_empty() {
                return Ok(());
            }
            let attributes = &mut call.span.attributes;
            if let Some(parent) = &attributes.parent_session {
                attributes.parent_session = Some(root_session(parent, &parents).to_owned());
            }
            if call.span.session().is_none() && call.span.attributes.repository.is_none() {
                call.span.attributes.repository = by_trace.find(&call.span.trace_id)?;
            }
            if let Some(session) = state_call(&call, sink) {
                let conversation = call.span.attributes.conversation.as_ref();
                let conversation = conversation.unwrap_or(&session).clone();
                self.unplaced.insert(session, conversation);
            }
            Ok(())
        })?;
        let mut by_session = tables.repository_by("chat_session_id")?;
        let mut by_conversation = tables.repository_by("conversation_id")?;
        let mut unplaced = BTreeMap::new();
        for (session, conversation) in self.unplaced {
            let found = named_repository(&mut by_session, &session)?;
            let found = match found {
                Some(project) => Some(project),
                None => named_repository(&mut by_conversation, &conversation)?,
            };
            match found {
                Some(project) => state_project(&session, project, sink),
                None if unplaced.len() < MOST_UNPLACED => {
                    unplaced.insert(session, conversation);
                }
                None => {}
            }
        }
        Ok(Self {
            version: VERSION,
            spans,
            unplaced,
        })
    }
}

/// The session in which a user asked for what a sub-agent does.
fn root_session<'s>(session: &'s str, parents: &'s HashMap<String, String>) -> &'s str {
    let mut root = session;
    for _ in 0..DEEPEST {
        match parents.get(root) {
            Some(parent) => root = parent,
            None => break,
        }
    }
    root
}

/// States a call. Gives its session, if it doesn't name its repository itself.
fn state_call(call: &Call, sink: &mut dyn Sink) -> Option<String> {
    let span = &call.span;
    let own = on_this_machine(call).then(|| Provider::own(LOCAL));
    let reading = span.read(None);
    if reading.cache_above_input {
        sink.parse_error("cache_above_input");
    }
    for mut observation in reading.observations {
        if let Fact::Call(fact) = &mut observation.fact {
            fact.keys.push(span_key(&span.span_id));
            // In a session, the chat's own word on who bills is better than this guess.
            if span.session().is_none() {
                fact.provider = fact.provider.take().or(own.clone());
            }
        }
        sink.observe(observation);
    }
    let session = span.session()?.to_owned();
    let model = span.attributes.response_model.as_ref();
    let model = model.or(span.attributes.request_model.as_ref());
    if let (Some(own), Some(model)) = (own, model) {
        let id = Key::of("vscode local model", &[&session, model]);
        let fact = SessionFact {
            providers: vec![(model.clone(), own)],
            ..SessionFact::default()
        };
        sink.observe(of_session(&session, id, fact));
    }
    span.attributes.repository.is_none().then_some(session)
}

/// The provider of a model that runs on the developer's own machine, where nothing names it.
const LOCAL: &str = "local";

/// Every span says `github`, also those of the user's own providers; but Copilot's models don't run here.
fn on_this_machine(call: &Call) -> bool {
    let server = call.server.as_deref().unwrap_or_default();
    let is_local = server == "localhost" || server == "::1" || server.starts_with("127.");
    is_local && call.span.attributes.nano_aiu.is_none()
}

fn named_repository(by: &mut RepositoryBy<'_>, value: &str) -> rusqlite::Result<Option<Project>> {
    let repository = by.find(value)?;
    Ok(repository.and_then(|repository| Project::of_repository(&repository)))
}

fn state_project(session: &str, project: Project, sink: &mut dyn Sink) {
    let id = Key::of("span project", &[session, project.as_str()]);
    let fact = SessionFact {
        project: Some(ProjectHint {
            rank: ProjectRank::Repository,
            project,
        }),
        ..SessionFact::default()
    };
    sink.observe(of_session(session, id, fact));
}

fn of_session(session: &str, id: Key, fact: SessionFact) -> Observation {
    Observation {
        scope: session.to_owned(),
        id,
        surface: Surface::VsCode,
        fact: Fact::Session(fact),
    }
}

#[cfg(test)]
#[path = "agent_traces_tests.rs"]
mod tests;
