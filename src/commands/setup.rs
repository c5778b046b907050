//! What every command that reads stores begins with: config, ledger, scanner.

use std::path::PathBuf;

use super::CommandError;
use crate::config::{Config, ConfigSource, default_state_dir};
use crate::ledger::{Ledger, LedgerError, Settings};
use crate::scan::{Scanner, missing_homes};
use crate::usage::Timestamp;

/// A loaded config and what follows from it.
#[derive(Debug)]
pub(super) struct Setup {
    pub(super) source: ConfigSource,
    pub(super) config: Config,
    pub(super) settings: Settings,
    /// `None`: no ledger on disk.
    pub(super) state_dir: Option<PathBuf>,
}

impl Setup {
    pub(super) fn load(source: ConfigSource, no_state: bool) -> Result<Self, CommandError> {
        let config = source.load()?;
        let settings =
            Settings::new(&config).map_err(|error| CommandError::usage(error.to_string()))?;
        let state_dir = match (
            no_state,
            config.state_dir.clone().or_else(default_state_dir),
        ) {
            (true, _) => None,
            (false, Some(dir)) => Some(dir),
            (false, None) => {
                return Err(CommandError::failed(
                    "no folder for the ledger is known: name one with --state-dir, or use --no-state".to_owned(),
                ));
            }
        };
        Ok(Self {
            source,
            config,
            settings,
            state_dir,
        })
    }

    /// Homes that are named and aren't there: a slip, if they are all, for a command that looks only once.
    pub(super) fn with_homes(self) -> Result<Self, CommandError> {
        let missing = missing_homes(&self.config.homes);
        if !missing.is_empty() && missing.len() == self.config.homes.len() {
            let names = missing.join(", ");
            return Err(CommandError::usage(format!("no such home folder: {names}")));
        }
        for home in missing {
            tracing::warn!(home, "no such folder");
        }
        Ok(self)
    }

    pub(super) fn scanner(&self) -> Result<Scanner, CommandError> {
        let ledger = Ledger::open(
            self.state_dir.as_deref(),
            self.settings.clone(),
            Timestamp::now(),
        )?;
        Ok(Scanner::new(&self.config, ledger))
    }

    /// A scanner for commands that only ask: where a running exporter keeps the ledger, what it holds is
    /// looked at, and nothing of it is changed.
    ///
    /// Where there is no ledger yet, none is begun: what the exporter finds at its first start is history, and
    /// must not become a rise because somebody asked before.
    pub(super) fn asking_scanner(&self) -> Result<Scanner, CommandError> {
        if let Some(dir) = self.state_dir.as_ref().filter(|dir| !Ledger::is_in(dir)) {
            tracing::debug!(dir = %dir.display(), "no ledger yet; the stores alone are asked");
            let ledger = Ledger::open(None, self.settings.clone(), Timestamp::now())?;
            return Ok(Scanner::new(&self.config, ledger));
        }
        match (self.scanner(), &self.state_dir) {
            (Err(CommandError::Ledger(LedgerError::Locked { .. })), Some(dir)) => {
                let ledger = Ledger::view(dir, self.settings.clone(), Timestamp::now())?;
                Ok(Scanner::new(&self.config, ledger))
            }
            (scanner, _) => scanner,
        }
    }
}
