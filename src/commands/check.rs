//! `check`: validates the config file.

use super::CommandError;
use crate::config::{ConfigSource, default_path};
use crate::ledger::Settings;

pub(super) fn run(source: &ConfigSource) -> Result<(), CommandError> {
    let config = source.load()?;
    Settings::new(&config).map_err(|error| CommandError::usage(error.to_string()))?;
    crate::serve::check(&config.web)?;
    match (&source.path, default_path()) {
        (Some(path), _) => println!("{}: fine", path.display()),
        (None, Some(path)) => println!(
            "no config file ({} is not there); the defaults are fine",
            path.display()
        ),
        (None, None) => println!("no config file; the defaults are fine"),
    }
    println!(
        "{} budgets, {} constant labels, {} own prices; rescan every {} s; listens on {}",
        config.budgets.len(),
        config.labels.len(),
        config.prices.len(),
        config.scan.interval_seconds,
        config.web.listen.join(", "),
    );
    Ok(())
}
