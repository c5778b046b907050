//! Copilot in VS Code and its kin.

mod agent_traces;
mod chat_sessions;
mod debug_logs;
#[cfg(any(fuzzing, test))]
#[cfg_attr(
    not(fuzzing),
    expect(unreachable_pub, reason = "public for fuzz targets only")
)]
pub mod fuzzing;
mod journal;
mod layout;
mod lean;
mod mark;
mod model;
mod otel_outfile;
mod reduce;
mod requests;
mod roots;
mod session;
mod session_store;
mod skim;
mod span_tables;
#[cfg(test)]
mod testing;
mod transcripts;
mod workspace;

pub(crate) use agent_traces::AgentTraces;
pub(crate) use chat_sessions::ChatSessions;
pub(crate) use debug_logs::DebugLogs;
pub(crate) use otel_outfile::OtelOutfile;
pub(crate) use session_store::SessionStore;
pub(crate) use transcripts::Transcripts;
