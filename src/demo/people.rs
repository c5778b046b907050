//! Who works in the made-up team: where, on what, with which models.

/// What a session is held with, and so which files it leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tool {
    /// `events.jsonl` of the CLI: every call, exact.
    Cli,
    /// A debug log of VS Code: every call, exact, failures too.
    VsCode,
    /// Only the chat journal of VS Code: turns, whose input is known in part.
    VsCodeJournal,
}

/// A model as the stores spell it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Model {
    pub(super) name: &'static str,
    /// Has its own charge for writing the prompt cache.
    pub(super) cache_writes: bool,
    pub(super) reasons: bool,
    /// Whose: `None` is Copilot's, else the user's own provider.
    pub(super) provider: Option<&'static str>,
}

const fn model(name: &'static str, cache_writes: bool, reasons: bool) -> Model {
    Model {
        name,
        cache_writes,
        reasons,
        provider: None,
    }
}

pub(super) const OPUS: Model = model("claude-opus-5.5", true, false);
const SONNET: Model = model("claude-sonnet-5.5", true, false);
const HAIKU: Model = model("claude-haiku-4.5", true, false);
const GPT: Model = model("gpt-6.2-sol", true, true);
const MINI: Model = model("gpt-6-luna", true, true);
const GEMINI: Model = model("gemini-3.8-flash", false, true);
/// Runs on somebody's own machine; nobody knows what it costs.
const LOCAL: Model = Model {
    name: "qwen3-coder-30b",
    cache_writes: false,
    reasons: false,
    provider: Some("ollama"),
};

/// One of the team.
#[derive(Debug)]
pub(super) struct Person {
    pub(super) name: &'static str,
    /// Hours east of UTC: the team is spread over the world, so that somebody is always at work.
    pub(super) utc_offset: i64,
    /// Sessions on a working day.
    pub(super) sessions: u64,
    /// Works nights and weekends too, evenly.
    pub(super) automaton: bool,
    pub(super) tools: &'static [(Tool, u32)],
    pub(super) projects: &'static [(&'static str, u32)],
    pub(super) models: &'static [(Model, u32)],
}

pub(super) const TEAM: &[Person] = &[
    Person {
        name: "ada",
        utc_offset: 1,
        sessions: 7,
        automaton: false,
        tools: &[(Tool::Cli, 3), (Tool::VsCode, 1)],
        projects: &[("checkout", 5), ("ledger-api", 2)],
        models: &[(OPUS, 4), (SONNET, 3), (HAIKU, 1)],
    },
    Person {
        name: "bruno",
        utc_offset: -3,
        sessions: 5,
        automaton: false,
        tools: &[(Tool::VsCode, 1)],
        projects: &[("storefront", 4), ("design-system", 2)],
        models: &[(SONNET, 4), (GEMINI, 2)],
    },
    Person {
        name: "chidi",
        utc_offset: 1,
        sessions: 6,
        automaton: false,
        tools: &[(Tool::Cli, 1), (Tool::VsCode, 2)],
        projects: &[("ledger-api", 3), ("data-pipeline", 3)],
        models: &[(GPT, 4), (MINI, 2), (HAIKU, 1)],
    },
    Person {
        name: "dana",
        utc_offset: -8,
        sessions: 6,
        automaton: false,
        tools: &[(Tool::Cli, 1)],
        projects: &[("infra", 4), ("data-pipeline", 1)],
        models: &[(OPUS, 1), (SONNET, 4), (LOCAL, 1)],
    },
    Person {
        name: "emi",
        utc_offset: 9,
        sessions: 6,
        automaton: false,
        tools: &[(Tool::VsCode, 3), (Tool::VsCodeJournal, 1)],
        projects: &[("mobile-app", 5), ("design-system", 1)],
        models: &[(GEMINI, 3), (SONNET, 3)],
    },
    Person {
        name: "farid",
        utc_offset: 5,
        sessions: 5,
        automaton: false,
        tools: &[(Tool::Cli, 2), (Tool::VsCodeJournal, 1)],
        projects: &[("search", 4), ("checkout", 1)],
        models: &[(GPT, 3), (OPUS, 1), (MINI, 1)],
    },
    Person {
        name: "grace",
        utc_offset: 11,
        sessions: 6,
        automaton: false,
        tools: &[(Tool::Cli, 3), (Tool::VsCode, 1)],
        projects: &[("search", 3), ("storefront", 2)],
        models: &[(SONNET, 3), (GPT, 2), (HAIKU, 1)],
    },
    Person {
        name: "ci-bot",
        utc_offset: 0,
        sessions: 24,
        automaton: true,
        tools: &[(Tool::Cli, 1)],
        projects: &[("infra", 1), ("storefront", 1), ("mobile-app", 1)],
        models: &[(HAIKU, 3), (MINI, 1)],
    },
];
