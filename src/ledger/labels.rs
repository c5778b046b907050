//! Which names get series of their own, for ever, and how projects are shown.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use ring::hmac;

use super::cells::SeriesId;
use super::snapshot::SeriesLabels;
use crate::config::ProjectLabel;
use crate::usage::{Key, Project, Provider, Surface};

/// The label of everything beyond a limit.
pub(super) const OTHER: &str = "__other__";

/// How many models get series of their own: a hostile file can mint any number of names.
const MAX_MODELS: usize = 250;
/// The same for providers.
const MAX_PROVIDERS: usize = 50;
/// How many names beyond a limit are remembered one by one; further ones are decided anew.
const MOST_REMEMBERED: usize = 100_000;

/// The labels by which the ledger tells series apart: privacy rules are applied when they are shown.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Labels {
    pub(super) provider: Provider,
    pub(super) model: Arc<str>,
    pub(super) project: Project,
    pub(super) surface: Surface,
    pub(super) user: Option<Arc<str>>,
}

/// What a budgeted name names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Kind {
    Project,
    Model,
    Provider,
}

/// Decides for every name, at first sight and for ever, whether it gets series of its own. Raising a
/// limit only affects names that come later; ranking anew would make counters fall.
#[derive(Debug, Default)]
pub(super) struct Register {
    decided: HashMap<(Kind, Key), bool>,
    admitted: HashMap<Kind, usize>,
    overflowed: HashMap<Kind, u64>,
    /// Decisions that aren't stored yet.
    pub(super) fresh: Vec<(Kind, Key, bool)>,
}

impl Register {
    /// Takes over a stored decision.
    pub(super) fn restore(&mut self, kind: Kind, name: Key, own: bool) {
        if self.decided.insert((kind, name), own).is_none() {
            self.count(kind, own);
        }
    }

    /// The name as a label: itself, or [`OTHER`].
    fn admit<'a>(&mut self, kind: Kind, name: &'a str, limit: usize) -> &'a str {
        let key = Key::of("label", &[name]);
        let own = match self.decided.get(&(kind, key)) {
            Some(&own) => own,
            None => {
                let own = self.admitted.get(&kind).copied().unwrap_or(0) < limit;
                if own || self.overflowed(kind) < MOST_REMEMBERED as u64 {
                    self.decided.insert((kind, key), own);
                    self.fresh.push((kind, key, own));
                    self.count(kind, own);
                }
                own
            }
        };
        if own { name } else { OTHER }
    }

    fn count(&mut self, kind: Kind, own: bool) {
        if own {
            *self.admitted.entry(kind).or_default() += 1;
        } else {
            *self.overflowed.entry(kind).or_default() += 1;
        }
    }

    /// How many names of a kind are counted under [`OTHER`].
    pub(super) fn overflowed(&self, kind: Kind) -> u64 {
        self.overflowed.get(&kind).copied().unwrap_or(0)
    }

    /// The labels under which a call is counted.
    pub(super) fn labels(&mut self, call: &Labels, max_projects: usize) -> Labels {
        let project = disambiguated(&call.project);
        let project = if project == Project::unknown() {
            project
        } else {
            let name = self.admit(Kind::Project, project.as_str(), max_projects);
            Project::named(name).unwrap_or_else(Project::unknown)
        };
        let model = self.admit(Kind::Model, &call.model, MAX_MODELS);
        let provider = match &call.provider {
            Provider::Copilot => Provider::Copilot,
            // One that calls itself like Copilot must not be taken for it.
            Provider::Own(name) if **name == *Provider::Copilot.as_str() => Provider::own(""),
            Provider::Own(name) => Provider::own(self.admit(Kind::Provider, name, MAX_PROVIDERS)),
        };
        Labels {
            provider,
            model: Arc::from(model),
            project,
            surface: call.surface,
            user: call.user.clone(),
        }
    }
}

/// A project that is really called `__other__` is told from the label of that meaning.
fn disambiguated(project: &Project) -> Project {
    if project.as_str() == OTHER {
        return Project::named("__other__ (project)").unwrap_or_else(Project::unknown);
    }
    project.clone()
}

/// How projects are shown.
#[derive(Debug)]
pub(super) struct Privacy {
    mode: ProjectLabel,
    key: hmac::Key,
}

impl Privacy {
    /// `key` is the ledger's own: without it a hash can't be guessed from a list of likely names.
    pub(super) fn new(mode: ProjectLabel, key: &[u8]) -> Self {
        Self {
            mode,
            key: hmac::Key::new(hmac::HMAC_SHA256, key),
        }
    }

    pub(super) fn show(&self, labels: &Labels) -> SeriesLabels {
        SeriesLabels {
            provider: labels.provider.clone(),
            model: labels.model.to_string(),
            project: self.project(&labels.project),
            surface: labels.surface,
            user: labels.user.as_deref().map(str::to_owned),
        }
    }

    /// The project as it is shown; what isn't a name of anybody's work stays readable.
    pub(super) fn project(&self, project: &Project) -> Option<Project> {
        let is_public = *project == Project::unknown() || project.as_str() == OTHER;
        match self.mode {
            ProjectLabel::Off => None,
            ProjectLabel::Hash if !is_public => {
                let tag = hmac::sign(&self.key, project.as_str().as_bytes());
                let hex: String = tag
                    .as_ref()
                    .iter()
                    .take(6)
                    .map(|byte| format!("{byte:02x}"))
                    .collect();
                Project::named(&hex)
            }
            ProjectLabel::Name | ProjectLabel::Hash => Some(project.clone()),
        }
    }
}

/// Label sets and their ids.
#[derive(Debug, Default)]
pub(super) struct LabelSets {
    sets: BTreeMap<SeriesId, Labels>,
    ids: HashMap<Labels, SeriesId>,
}

impl LabelSets {
    /// Takes over a stored label set.
    pub(super) fn restore(&mut self, id: SeriesId, labels: Labels) {
        self.ids.insert(labels.clone(), id);
        self.sets.insert(id, labels);
    }

    pub(super) fn id(&mut self, labels: &Labels) -> SeriesId {
        if let Some(&id) = self.ids.get(labels) {
            return id;
        }
        let last = self.sets.keys().next_back().copied();
        let id = SeriesId(last.unwrap_or(SeriesId::UNATTRIBUTED).0 + 1);
        self.restore(id, labels.clone());
        id
    }

    /// `None` for [`SeriesId::UNATTRIBUTED`].
    pub(super) fn get(&self, id: SeriesId) -> Option<&Labels> {
        self.sets.get(&id)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (SeriesId, &Labels)> {
        self.sets.iter().map(|(&id, labels)| (id, labels))
    }
}
