//! What holds for a session as a whole: one project, where it ran, and who bills which model.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::usage::{Key, PremiumRequests, Project, ProjectHint, Provider, Surface, Timestamp};

use super::ResolvedCall;
use super::facts::{Facts, Stated, is_cli};
use super::merge::Call;
use super::model::Model;

/// The labels of a session.
#[derive(Debug)]
pub(super) struct Labels<'a> {
    project: Project,
    /// Where the CLI's stores say that it really ran.
    cli_surface: Option<Surface>,
    model: Option<Model<'a>>,
    providers: BTreeMap<Key, &'a Provider>,
}

impl<'a> Labels<'a> {
    pub(super) fn of(facts: &Facts<'a>) -> Self {
        let session_model = facts
            .sessions
            .iter()
            .rev()
            .find_map(|session| session.model);
        Self {
            project: project(facts),
            cli_surface: facts
                .sessions
                .iter()
                .filter_map(|session| session.fact.surface)
                .max(),
            model: session_model,
            providers: providers(facts),
        }
    }

    pub(super) fn project(&self) -> Project {
        self.project.clone()
    }

    pub(super) fn surface(&self, surface: Surface) -> Surface {
        match self.cli_surface {
            Some(really) if is_cli(surface) => really,
            _ => surface,
        }
    }

    pub(super) fn model(&self, own: Option<Model<'a>>) -> Option<Model<'a>> {
        own.or(self.model)
    }

    /// Who bills: the statement's own word, else that of another statement about the same model.
    pub(super) fn provider(&self, own: Option<&Provider>, model: Option<Model<'_>>) -> Provider {
        let of_model = || self.providers.get(&model?.key).copied();
        own.or_else(of_model).cloned().unwrap_or(Provider::Copilot)
    }

    pub(super) fn resolved(&self, call: &Call<'a>) -> ResolvedCall {
        let model = self.model(call.model);
        let provider = self.provider(call.provider, model);
        let is_own = provider != Provider::Copilot;
        ResolvedCall {
            count: call.count,
            time: call.time,
            model: model.map(|model| model.name.to_owned()),
            surface: self.surface(call.surface),
            project: self.project(),
            initiator: call.initiator,
            tokens: call.tokens,
            estimated: call.estimated,
            partial: !call.completed && (call.lower_bound || !call.tokens.is_complete()),
            credits: call.credits,
            premium: if is_own {
                Some(PremiumRequests(0))
            } else {
                call.premium
            },
            duration_ms: call.duration_ms,
            first_token_ms: call.first_token_ms,
            provider,
        }
    }
}

/// The best hint that anybody gives. Among equals, that of a session counts before that of a call, and the
/// earlier one before the later.
fn project(facts: &Facts<'_>) -> Project {
    type Given<'h> = (&'h ProjectHint, bool, Option<Timestamp>);
    let sessions = facts
        .sessions
        .iter()
        .filter_map(|session| Some((session.fact.project.as_ref()?, true, session.fact.started)));
    let calls = facts
        .calls
        .iter()
        .filter_map(|call| Some((call.fact.project.as_ref()?, false, call.fact.time)));
    let turns = facts
        .turns
        .iter()
        .filter_map(|turn| Some((turn.fact.project.as_ref()?, false, turn.fact.start)));
    let failures = facts
        .failures
        .iter()
        .filter_map(|failure| Some((failure.fact.project.as_ref()?, false, failure.fact.time)));
    let rank = |&(hint, of_session, time): &Given<'_>| {
        let unstamped = time.is_none();
        (
            Reverse(hint.rank),
            Reverse(of_session),
            unstamped,
            time,
            hint.project.clone(),
        )
    };
    let given = sessions.chain(calls).chain(turns).chain(failures);
    given
        .min_by_key(rank)
        .map_or_else(Project::unknown, |(hint, ..)| hint.project.clone())
}

/// Who bills the models of this session, where some statement tells: a call, a turn, a leg, else the
/// session's own list. The user's own provider is believed first: what is asked through it looks like a
/// call of Copilot's to stores that only know the client.
fn providers<'a>(facts: &Facts<'a>) -> BTreeMap<Key, &'a Provider> {
    let mut known = BTreeMap::new();
    let calls = told(&facts.calls, |fact| fact.provider.as_ref());
    let turns = told(&facts.turns, |fact| fact.provider.as_ref());
    let legs = told(&facts.legs, |fact| fact.provider.as_ref());
    for (model, provider) in calls.chain(turns).chain(legs) {
        let current = known.entry(model).or_insert(provider);
        let is_own = |provider: &Provider| *provider != Provider::Copilot;
        if (is_own(provider), provider) > (is_own(current), *current) {
            *current = provider;
        }
    }
    for session in &facts.sessions {
        for (model, provider) in &session.fact.providers {
            known.entry(Model::of(model).key).or_insert(provider);
        }
    }
    known
}

/// Model and provider of the statements that name both.
fn told<'f, 'a: 'f, F>(
    facts: &'f [Stated<'a, F>],
    provider: impl Fn(&'a F) -> Option<&'a Provider> + 'f,
) -> impl Iterator<Item = (Key, &'a Provider)> + 'f {
    facts
        .iter()
        .filter_map(move |stated| Some((stated.model?.key, provider(stated.fact)?)))
}
