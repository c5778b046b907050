//! copilot-exporter: what GitHub Copilot costs, read from the stores it leaves on disk.
//!
//! The road of a call: [`stores`] observe, [`ledger`] decides, an immutable [`ledger::Snapshot`] is
//! published, [`metrics`] names what it holds, [`outlets`] and [`serve`] render it. `docs/architecture.md`
//! has the whole map.

#![deny(unsafe_code)]
#![warn(missing_debug_implementations, rust_2018_idioms, unreachable_pub)]

pub mod build;
pub mod cli;
pub mod commands;
pub mod config;
pub mod demo;
pub mod ledger;
pub mod logging;
pub mod metrics;
pub mod outlets;
pub mod pricing;
pub mod privileges;
pub mod scan;
pub mod serve;
pub mod stores;
pub mod usage;
