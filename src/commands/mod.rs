//! The subcommands, one file each.

mod check;
mod demo;
mod history;
mod once;
mod progress;
mod reload;
mod report;
mod serve;
mod setup;
mod shell;
mod stores;

use std::io::Write;
use std::process::ExitCode;

use crate::cli::{Cli, Command, ServeArgs};
use crate::config::{ConfigError, ConfigSource};
use crate::ledger::LedgerError;
use crate::serve::ServeError;
use setup::Setup;

/// Why a command failed, and so the exit status.
#[derive(Debug, thiserror::Error)]
enum CommandError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// An argument that the command line's own rules can't tell to be wrong.
    #[error("{0}")]
    Usage(String),
    #[error("{0}")]
    Failed(String),
}

impl CommandError {
    fn usage(message: impl Into<String>) -> Self {
        Self::Usage(message.into())
    }

    fn failed(message: impl Into<String>) -> Self {
        Self::Failed(message.into())
    }
}

/// Runs the command that `cli` names; the default is `serve`.
pub fn run(cli: Cli) -> ExitCode {
    match dispatch(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("copilot-exporter: {error}");
            match error {
                CommandError::Config(_)
                | CommandError::Usage(_)
                | CommandError::Serve(ServeError::Address(_) | ServeError::WebConfig(_)) => {
                    ExitCode::from(2)
                }
                CommandError::Ledger(_) | CommandError::Serve(_) | CommandError::Failed(_) => {
                    ExitCode::FAILURE
                }
            }
        }
    }
}

fn dispatch(cli: Cli) -> Result<(), CommandError> {
    let Cli {
        common,
        serve,
        command,
    } = cli;
    let load = |serve: &ServeArgs| Setup::load(ConfigSource::new(&common, serve), common.no_state);
    let plain = ServeArgs::default();
    match command.unwrap_or(Command::Serve(serve)) {
        Command::Serve(args) => serve::run(load(&args)?, environment),
        Command::Once(args) => once::run(&load(&plain)?.with_homes()?, &args),
        Command::Report(args) => report::run(&load(&plain)?.with_homes()?, &args),
        Command::History(args) => history::run(&load(&plain)?.with_homes()?, &args),
        Command::Stores(args) => {
            // What is there now, not what a ledger remembers.
            let setup = Setup::load(ConfigSource::new(&common, &plain), true)?;
            stores::run(&setup.with_homes()?, &args)
        }
        Command::Demo(args) => demo::run(&common, &args),
        Command::Check => check::run(&ConfigSource::new(&common, &plain), environment),
        Command::Completions { shell } => shell::completions(shell),
        Command::Man => shell::man(),
    }
}

fn runtime() -> Result<tokio::runtime::Runtime, CommandError> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| CommandError::failed(format!("cannot start: {error}")))
}

/// A variable of the environment, if it is set to a text.
fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Writes to stdout; a reader that had enough (`| head`) is no error.
fn print(text: impl AsRef<[u8]>) -> Result<(), CommandError> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_ref()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(CommandError::failed(format!("cannot write: {error}")))
        }
        _ => Ok(()),
    }
}
