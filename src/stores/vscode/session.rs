//! A chat session, as far as its requests' figures go: the document as it is now, and the best that was
//! ever seen of each request.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::stores::Sink;
use crate::usage::{
    Credits, Evidence, Fact, Key, Observation, Project, ProjectHint, ProjectRank, Provider,
    SessionFact, Surface, Timestamp, Tokens, TotalFact,
};

use super::journal::Entry;
use super::lean::{Lean, Shape, Step};
use super::reduce;
use super::requests::{self, Place, Request, RequestId};
use super::skim::Skim;
use super::workspace::{PLACE, project_of_uri, uri_text};

/// What is kept of a session's document, in memory and between passes: ids, names of models and of the
/// project, and figures; no text that anybody wrote, no address and no path.
pub(super) const SHAPE: Shape = Shape::Object(&[
    ("sessionId", Shape::Leaf),
    ("creationDate", Shape::Figure),
    ("sessionCopilotCredits", Shape::Figure),
    (
        "repoData",
        Shape::Object(&[("remoteUrl", Shape::Reduced(reduce::repository))]),
    ),
    ("workingDirectory", PLACE),
    (REQUESTS, Shape::List(&requests::SHAPE)),
]);

const REQUESTS: &str = "requests";

/// The state of a session.
#[derive(Debug, Default)]
pub(super) struct Session {
    document: Document,
    /// The session's id as it was when the first request was seen; empty: that of the file. It stays, or one
    /// request could be stated under two ids in two passes.
    id: Option<String>,
    seen: BTreeMap<RequestId, Request>,
    /// Whose figures changed since they were last stated.
    changed: BTreeSet<RequestId>,
}

#[derive(Debug)]
struct Document(Lean);

impl Default for Document {
    fn default() -> Self {
        Self(Lean::Object(Vec::new()))
    }
}

/// What is kept of a session between passes.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Saved {
    document: Box<RawValue>,
    #[serde(default)]
    id: Option<String>,
    /// Requests of which more was seen than the document says.
    more: Vec<Request>,
}

impl Session {
    /// A session whose document is known whole.
    pub(super) fn of(document: Lean) -> Self {
        let mut session = Self {
            document: Document(document),
            ..Self::default()
        };
        (0..session.requests().len()).for_each(|position| session.look_at(position));
        session
    }

    /// The session as it was saved; nothing of it is stated anew.
    pub(super) fn load(saved: Saved) -> Self {
        let mut skim = Skim::of_kept(saved.document.get().as_bytes());
        let mut session = match Lean::read(&mut skim, &SHAPE) {
            Ok(document) => Self::of(document),
            Err(_) => Self::default(),
        };
        session.id = saved.id.or(session.id);
        session.remember(saved.more);
        session.changed.clear();
        session
    }

    /// What was seen of the requests, for a file that has to be read from its beginning again.
    pub(super) fn only_seen(mut self) -> Self {
        self.document = Document::default();
        self
    }

    pub(super) fn save(&self) -> Option<Saved> {
        let requests = self.requests();
        let now: BTreeMap<RequestId, Request> = requests
            .iter()
            .enumerate()
            .filter_map(|(position, request)| Request::read(request, position))
            .map(|request| (request.id.clone(), request))
            .collect();
        let document = serde_json::value::to_raw_value(&self.document.0).ok()?;
        let more = self
            .seen
            .iter()
            .filter(|(id, best)| now.get(*id) != Some(*best));
        Some(Saved {
            document,
            id: self.id.clone(),
            more: more.map(|(_, request)| request.clone()).collect(),
        })
    }

    fn remember(&mut self, requests: Vec<Request>) {
        for request in requests {
            self.seen.insert(request.id.clone(), request);
        }
    }

    /// Takes in a line of the journal; the error is why it was left out.
    pub(super) fn apply(&mut self, entry: Entry) -> Result<(), &'static str> {
        let before = self.requests().len();
        let root = &mut self.document.0;
        // From which request on something may have changed.
        let mut from = 0;
        let (path, fits) = match entry {
            Entry::Irrelevant => return Ok(()),
            Entry::Rejected(reason) => return Err(reason),
            Entry::Initial(document) => {
                *root = document;
                (Vec::new(), Ok(()))
            }
            Entry::Set(path, Some(value)) => {
                let fits = root.set(&SHAPE, &path, value);
                (path, fits.then_some(()).ok_or("path"))
            }
            Entry::Set(path, None) | Entry::Delete(path) => {
                root.clear(&path);
                (path, Ok(()))
            }
            Entry::Push(path, length, items) => {
                let fits = root.push(&SHAPE, &path, length, items);
                from = length.unwrap_or(before).min(before);
                (path, fits)
            }
        };
        match path.as_slice() {
            [Step::Name(name), Step::Index(position), ..] if name == REQUESTS => {
                self.look_at(*position);
            }
            _ => (from..self.requests().len()).for_each(|position| self.look_at(position)),
        }
        fits
    }

    fn requests(&self) -> &[Lean] {
        self.document.0.get(REQUESTS).map_or(&[], Lean::items)
    }

    fn stated_id(&self) -> Option<&str> {
        self.document.0.get("sessionId").and_then(Lean::text)
    }

    fn look_at(&mut self, position: usize) {
        let request = self.requests().get(position);
        let Some(request) = request.and_then(|request| Request::read(request, position)) else {
            return;
        };
        if self.id.is_none() {
            self.id = Some(self.stated_id().unwrap_or_default().to_owned());
        }
        let id = request.id.clone();
        let known = self.seen.get(&id).cloned();
        let mut best = known.clone().unwrap_or_default();
        best.absorb(request);
        if known.as_ref() != Some(&best) {
            self.seen.insert(id.clone(), best);
            self.changed.insert(id);
        }
    }

    /// States what changed since the last time, and what the session is.
    pub(super) fn observe(
        &mut self,
        file: &str,
        stem: &str,
        evidence: Evidence,
        workspace: Option<ProjectHint>,
        sink: &mut dyn Sink,
    ) {
        let changed = std::mem::take(&mut self.changed);
        let session = match self.id.as_deref().or_else(|| self.stated_id()) {
            None | Some("") => stem,
            Some(id) => id,
        };
        let place = Place {
            session,
            file,
            evidence,
            began: self.began(),
        };
        for id in &changed {
            if let Some(request) = self.seen.get(id) {
                request.observe(&place, sink);
            }
        }
        if !self.seen.values().any(Request::is_copilots) {
            return;
        }
        let mut state = |id, fact| {
            sink.observe(Observation {
                scope: session.to_owned(),
                id,
                surface: Surface::VsCode,
                fact,
            });
        };
        if let Some((credits, time)) = self.running_credits() {
            let fact = Fact::Total(TotalFact {
                time,
                model: None,
                tokens: Tokens::default(),
                credits: Some(credits),
            });
            let figures = credits.0.to_string();
            state(
                Key::of("vscode session credits", &[session, &figures]),
                fact,
            );
        }
        let fact = Fact::Session(SessionFact {
            started: self.began(),
            project: self.project().or(workspace),
            surface: None,
            model: None,
            providers: self.own_providers(),
        });
        state(Key::of("vscode session", &[file, session]), fact);
    }

    fn began(&self) -> Option<Timestamp> {
        let created = self.document.0.get("creationDate")?.number()?;
        Timestamp::from_magnitude(created)
    }

    /// What the session itself says of its project. A working folder that a session names is preferred to
    /// that of the window.
    fn project(&self) -> Option<ProjectHint> {
        let remote = || {
            let url = self.document.0.get("repoData")?.get("remoteUrl")?.text()?;
            Some(ProjectHint {
                rank: ProjectRank::Repository,
                project: Project::of_repository(url)?,
            })
        };
        let folder = || {
            let uri = uri_text(self.document.0.get("workingDirectory")?)?;
            Some(ProjectHint {
                rank: ProjectRank::Workspace,
                project: project_of_uri(uri)?,
            })
        };
        remote().or_else(folder)
    }

    /// The highest running total of credits, and until when it held.
    fn running_credits(&self) -> Option<(Credits, Option<Timestamp>)> {
        let whole = self.document.0.get("sessionCopilotCredits");
        let whole = whole
            .and_then(Lean::number)
            .and_then(Credits::from_credits)
            .map(|credits| (credits, self.began()));
        self.seen
            .values()
            .filter(|request| request.is_copilots())
            .filter_map(|request| Some((request.session_credits?, request.time())))
            .chain(whole)
            .filter(|(credits, _)| credits.0 > 0)
            .max()
    }

    /// The models that the user's own providers run in this session: other stores can't tell them from
    /// Copilot's.
    fn own_providers(&self) -> Vec<(String, Provider)> {
        let mut providers: BTreeMap<String, BTreeSet<Provider>> = BTreeMap::new();
        for request in self.seen.values().filter(|request| request.is_copilots()) {
            if let (Some(provider), Some(model)) = request.model() {
                providers.entry(model).or_default().insert(provider);
            }
        }
        let certain = |(model, providers): (String, BTreeSet<Provider>)| {
            let provider = providers.first().filter(|_| providers.len() == 1)?;
            (*provider != Provider::Copilot).then(|| (model, provider.clone()))
        };
        providers.into_iter().filter_map(certain).collect()
    }
}
