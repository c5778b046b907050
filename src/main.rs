//! Parse, log, dispatch: no logic.

use std::process::ExitCode;

use clap::Parser;
use copilot_exporter::{cli::Cli, commands, logging};

fn main() -> ExitCode {
    let cli = Cli::parse();
    logging::start(&cli.common);
    commands::run(cli)
}
