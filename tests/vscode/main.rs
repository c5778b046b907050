//! VS Code's stores, through the whole exporter.

mod figures;
mod genuine;
mod rules;
#[path = "../support/mod.rs"]
mod support;
