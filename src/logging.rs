//! Logs go to stderr, and say nothing of what a store holds.

use std::io::IsTerminal;

use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::{EnvFilter, fmt};

use crate::cli::{CommonArgs, LogFormat, LogLevel};

/// Starts logging. Libraries speak from `warn` on: their lower levels may repeat what they were given.
pub fn start(args: &CommonArgs) {
    let level = match args.log_level {
        LogLevel::Debug => "debug",
        LogLevel::Info => "info",
        LogLevel::Warn => "warn",
        LogLevel::Error => "error",
    };
    let filter = EnvFilter::builder()
        .with_default_directive(LevelFilter::WARN.into())
        .parse_lossy(format!("warn,copilot_exporter={level}"));
    let builder = fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_target(false)
        .with_ansi(std::io::stderr().is_terminal());
    match args.log_format {
        LogFormat::Text => builder.init(),
        LogFormat::Json => builder.json().flatten_event(true).init(),
    }
    std::panic::set_hook(Box::new(|info| {
        // The message of a panic may quote data; its place never does.
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(place, "internal error; please report it");
    }));
}
