//! VS Code's stores, through the whole exporter.

mod figures;
mod genuine;
mod privacy;
mod rules;
#[path = "../support/mod.rs"]
mod support;
