//! `check`: validates the config file.

use super::serve::Environment;
use super::{CommandError, runtime};
use crate::config::{ConfigSource, default_path};
use crate::ledger::Settings;
use crate::outlets::otlp;
use crate::scan::missing_homes;

pub(super) fn run(source: &ConfigSource, environment: Environment) -> Result<(), CommandError> {
    let config = source.load()?;
    Settings::new(&config).map_err(|error| CommandError::usage(error.to_string()))?;
    crate::serve::check(&config.web)?;
    let push = otlp::Settings::resolve(&config.otlp, &environment)
        .map_err(|error| CommandError::usage(error.to_string()))?;
    if let Some(settings) = &push {
        runtime()?
            .block_on(otlp::check(settings))
            .map_err(|error| CommandError::usage(format!("OTLP: {error}")))?;
    }
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
    if let Some(push) = &push {
        println!(
            "pushes OTLP to {} every {} s",
            push.shown_url(),
            push.interval.as_secs_f64()
        );
    }
    for home in missing_homes(&config.homes) {
        println!("note: home {home} is no folder on this machine");
    }
    Ok(())
}
