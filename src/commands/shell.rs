//! `completions` and `man`: made from the definition of the command line, for packages.

use clap::CommandFactory;
use clap_complete::Shell;

use super::{CommandError, print};
use crate::cli::Cli;

pub(super) fn completions(shell: Shell) -> Result<(), CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(
        shell,
        &mut Cli::command(),
        env!("CARGO_PKG_NAME"),
        &mut script,
    );
    print(script)
}

pub(super) fn man() -> Result<(), CommandError> {
    let mut page = Vec::new();
    clap_mangen::Man::new(Cli::command())
        .render(&mut page)
        .map_err(|error| CommandError::failed(format!("cannot write: {error}")))?;
    print(page)
}
