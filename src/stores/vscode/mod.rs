//! Copilot in VS Code and its kin.

mod chat_sessions;
mod journal;
mod layout;
mod lean;
mod mark;
mod model;
mod requests;
mod roots;
mod session;
mod skim;
#[cfg(test)]
mod testing;
mod workspace;

pub(crate) use chat_sessions::ChatSessions;
