//! Copilot in VS Code and its kin.

mod journal;
mod lean;
mod roots;
mod skim;
mod workspace;
