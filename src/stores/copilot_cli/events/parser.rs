//! From the lines of one event log to observations.

use serde::Deserialize;

use super::super::workspace::{Workspace, project};
use super::line::{Kind, Looks, look};
use super::shapes::{Context, Event, ModelChange, Opening, Subagent};
use super::state::{LegModels, State};
use crate::stores::Sink;
use crate::stores::json::filled;
use crate::stores::lines::Line;
use crate::stores::otel::is_model;
use crate::usage::{Fact, Key, Observation, ProjectHint, SessionFact, Surface, Timestamp};

/// Reads the lines of one session's log.
#[derive(Debug)]
pub(super) struct Parser<'s> {
    pub(super) session: &'s str,
    pub(super) state: State,
    /// Tool calls are wanted.
    pub(super) tool_calls: bool,
    /// Identity and model of the message read last.
    pub(super) asked: Option<(Key, Option<String>)>,
}

/// What is known of every event, whatever its kind.
#[derive(Debug, Clone, Copy)]
pub(super) struct Meta {
    /// The statement's identity: the event's own id, which a fork's copy of the line shares.
    pub(super) id: Key,
    pub(super) time: Option<Timestamp>,
    pub(super) is_subagent: bool,
}

impl<'s> Parser<'s> {
    pub(super) fn new(session: &'s str, state: State) -> Self {
        Self {
            session,
            state,
            tool_calls: false,
            asked: None,
        }
    }

    pub(super) fn read_line(&mut self, line: Line<'_>, sink: &mut dyn Sink) {
        let kind = match look(line.bytes) {
            Looks::Event(kind) => kind,
            Looks::Irrelevant => return,
            Looks::Broken => return sink.parse_error("json"),
        };
        match kind {
            Kind::Start => self.on(line, sink, Self::start),
            Kind::Resume => self.on(line, sink, Self::resume),
            Kind::ContextChanged => self.on(line, sink, Self::context_changed),
            Kind::ModelChange | Kind::AutoResolved => self.on(line, sink, Self::model_change),
            Kind::Message => {
                self.on(line, sink, Self::message);
                self.tools(line, sink);
            }
            Kind::UsageRecord => self.on(line, sink, Self::record),
            Kind::Shutdown => self.on(line, sink, Self::shutdown),
            Kind::Compaction => self.on(line, sink, Self::compaction),
            Kind::Checkpoint => self.on(line, sink, Self::checkpoint),
            Kind::SubagentStarted => self.on(line, sink, Self::subagent_started),
            Kind::SubagentEnded => self.on(line, sink, Self::subagent_ended),
            Kind::Error => self.on(line, sink, Self::error),
        }
    }

    fn on<'a, D: Deserialize<'a>>(
        &mut self,
        line: Line<'a>,
        sink: &mut dyn Sink,
        handle: fn(&mut Self, Meta, D, &mut dyn Sink),
    ) {
        let Ok(event) = serde_json::from_slice::<Event<'a, D>>(line.bytes) else {
            return sink.parse_error("event");
        };
        let time = filled(&event.timestamp).and_then(Timestamp::parse_iso);
        self.state.time = time.or(self.state.time);
        let id = filled(&event.id).map_or_else(|| self.line_id(line), Key::event);
        // A line that was written twice: it is one event.
        if !self.state.lines.insert(id) {
            return;
        }
        let is_subagent = filled(&event.agent_id).is_some();
        self.state.marks_subagents |= is_subagent;
        let meta = Meta {
            id,
            time: self.state.time,
            is_subagent,
        };
        handle(self, meta, event.data, sink);
    }

    /// The identity of a line without an id: its place and its contents.
    fn line_id(&self, line: Line<'_>) -> Key {
        let contents = xxhash_rust::xxh3::xxh3_64(line.bytes).to_string();
        Key::of("line", &[self.session, &line.offset.to_string(), &contents])
    }

    pub(super) fn observe(&self, id: Key, fact: Fact, sink: &mut dyn Sink) {
        sink.observe(Observation {
            scope: self.session.to_owned(),
            id,
            surface: Surface::Cli,
            fact,
        });
    }

    fn start(&mut self, meta: Meta, start: Opening<'_>, _: &mut dyn Sink) {
        if meta.is_subagent {
            return;
        }
        let id = filled(&start.session_id);
        self.state.totals_are_foreign |= id.is_some_and(|id| id != self.session);
        let started = filled(&start.start_time).and_then(Timestamp::parse_iso);
        self.state.started = self.state.started.or(started).or(meta.time);
        self.open(&start);
    }

    fn resume(&mut self, meta: Meta, resume: Opening<'_>, _: &mut dyn Sink) {
        if meta.is_subagent {
            return;
        }
        let was_active =
            resume.session_was_active == Some(true) || resume.already_in_use == Some(true);
        let legs = &mut self.state.legs;
        legs.resume(meta.time, resume.session_limits, was_active);
        self.open(&resume);
    }

    fn open(&mut self, opening: &Opening<'_>) {
        self.set_model(filled(&opening.selected_model));
        if let Some(context) = &opening.context {
            self.place(context);
        }
    }

    fn context_changed(&mut self, meta: Meta, context: Context<'_>, _: &mut dyn Sink) {
        if !meta.is_subagent {
            self.place(&context);
        }
    }

    /// One label a session: the first of the best kind stays.
    fn place(&mut self, context: &Context<'_>) {
        let found = project(
            filled(&context.repository),
            filled(&context.git_root),
            filled(&context.cwd),
        );
        let known = self.state.project.as_ref().map(|hint| hint.rank);
        if found.as_ref().map(|hint| hint.rank) > known {
            self.state.project = found;
        }
    }

    pub(super) fn set_model(&mut self, model: Option<&str>) {
        if let Some(model) = model.filter(|model| is_model(model)) {
            self.state.model = Some(model.to_owned());
        }
    }

    fn model_change(&mut self, meta: Meta, change: ModelChange<'_>, _: &mut dyn Sink) {
        if meta.is_subagent || filled(&change.source) == Some("agent") {
            return;
        }
        if let Some(model) = filled(&change.chosen_model).filter(|model| is_model(model)) {
            self.state.auto_resolved = Some(model.to_owned());
            self.set_model(Some(model));
        }
        self.set_model(filled(&change.new_model));
    }

    fn subagent_started(&mut self, _: Meta, subagent: Subagent<'_>, _: &mut dyn Sink) {
        if let Some(id) = filled(&subagent.tool_call_id) {
            self.state.subagents.push(Key::of("tool call", &[id]));
        }
    }

    fn subagent_ended(&mut self, _: Meta, subagent: Subagent<'_>, _: &mut dyn Sink) {
        if let Some(id) = filled(&subagent.tool_call_id) {
            let id = Key::of("tool call", &[id]);
            self.state.subagents.retain(|&running| running != id);
        }
    }

    /// States what is known of the session as a whole.
    pub(super) fn session(&self, workspace: &Workspace, sink: &mut dyn Sink) {
        let state = &self.state;
        let rank = |hint: &Option<ProjectHint>| hint.as_ref().map(|hint| hint.rank);
        let project = match rank(&workspace.project) > rank(&state.project) {
            true => &workspace.project,
            false => &state.project,
        };
        let fact = SessionFact {
            started: state.started,
            project: project.clone(),
            surface: workspace.surface,
            model: state.auto_resolved.clone().or(match &state.leg_models {
                LegModels::One(model) if is_model(model) => Some(model.clone()),
                _ => None,
            }),
            providers: state
                .providers
                .iter()
                .map(|(model, provider)| (model.clone(), provider.clone()))
                .collect(),
        };
        if fact != SessionFact::default() {
            let id = Key::of("session of events", &[self.session]);
            self.observe(id, Fact::Session(fact), sink);
        }
    }
}
