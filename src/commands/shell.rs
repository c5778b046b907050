//! `completions` and `man`: made from the definition of the command line, for packages.

use std::io::{self, Write};

use clap::{Arg, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;

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
    write_man(&mut page).map_err(|error| CommandError::failed(format!("cannot write: {error}")))?;
    print(page)
}

/// One page for the program and all of its commands.
fn write_man(page: &mut dyn Write) -> io::Result<()> {
    let mut program = Cli::command();
    program.build();
    let man = Man::new(program.clone());
    man.render_title(page)?;
    man.render_name_section(page)?;
    writeln!(
        page,
        ".SH SYNOPSIS\n.B copilot-exporter\n[\\fICOMMAND\\fR] [\\fIOPTIONS\\fR]"
    )?;
    man.render_description_section(page)?;
    writeln!(page, ".SH COMMANDS")?;
    for command in program.get_subcommands() {
        if command.is_hide_set() || command.get_name() == "help" {
            continue;
        }
        let own = command.clone().mut_args(|arg| match is_its_own(&arg) {
            true => arg,
            false => arg.hide(true),
        });
        writeln!(page, ".SS {}", command.get_name())?;
        if let Some(about) = command.get_about() {
            writeln!(page, "{about}.")?;
        }
        let mut options = Vec::new();
        Man::new(own).render_options_section(&mut options)?;
        // Without the heading, which would begin a section.
        let options = String::from_utf8_lossy(&options);
        let options = options.split_once(".SH OPTIONS\n");
        write!(page, "{}", options.map_or("", |(_, list)| list))?;
    }
    man.render_options_section(page)?;
    writeln!(
        page,
        ".SH \"EXIT STATUS\"\n0 fine, 1 failed, 2 wrong usage or config."
    )
}

/// Not one of the options that are listed once for all commands.
fn is_its_own(arg: &Arg) -> bool {
    arg.get_help_heading().is_none() && !["help", "version"].contains(&arg.get_id().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_man_page_has_each_option_once() {
        let mut page = Vec::new();
        write_man(&mut page).unwrap();
        let page = String::from_utf8(page).unwrap();
        for command in Cli::command().get_subcommands() {
            let heading = format!("\n.SS {}\n", command.get_name());
            assert_eq!(page.contains(&heading), !command.is_hide_set(), "{heading}");
        }
        // As roff spells it.
        for option in [
            "since",
            "step",
            "days",
            "home",
            "web.listen\\-address",
            "json",
        ] {
            let times = page.matches(&format!("\\-\\-{option}\\fR")).count();
            assert!((1..=2).contains(&times), "{option}: {times}");
        }
        assert_eq!(page.matches("\\-\\-log.level\\fR").count(), 1);
        assert_eq!(page.matches(".SH OPTIONS").count(), 1);
    }
}
