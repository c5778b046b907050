//! The subcommands, one file each.

mod check;

use std::process::ExitCode;

use crate::cli::{Cli, Command, ServeArgs};
use crate::config::{ConfigError, ConfigSource};

/// Why a command failed, and so the exit status.
#[derive(Debug, thiserror::Error)]
#[allow(dead_code)]
pub(crate) enum CommandError {
    #[error("{0}")]
    Config(#[from] ConfigError),
    #[error("{0}")]
    Failed(String),
}

/// Runs the command that `cli` names.
pub fn run(cli: Cli) -> ExitCode {
    let serve = match &cli.command {
        Some(Command::Serve(args)) => args.clone(),
        None => cli.serve.clone(),
        Some(_) => ServeArgs::default(),
    };
    let source = ConfigSource::new(&cli.common, &serve);
    let result = match cli.command {
        Some(Command::Check) => check::run(&source),
        _ => Ok(()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("copilot-exporter: {error}");
            match error {
                CommandError::Config(_) => ExitCode::from(2),
                CommandError::Failed(_) => ExitCode::FAILURE,
            }
        }
    }
}
