//! `report`: usage and its cost, for people and for programs.

mod decimal;
mod export;
mod figures;
mod rows;
mod table;

use std::io::{self, Write};

pub use rows::Report;

use crate::usage::Credits;

/// What the rows of a report are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum By {
    Day,
    Project,
    Model,
    Surface,
    Session,
}

impl By {
    fn as_str(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Project => "project",
            Self::Model => "model",
            Self::Surface => "surface",
            Self::Session => "session",
        }
    }

    /// The names of the columns that say what a row is of.
    fn columns(self) -> &'static [&'static str] {
        match self {
            Self::Day => &["day"],
            Self::Project => &["project"],
            Self::Model => &["model"],
            Self::Surface => &["surface"],
            Self::Session => &["started", "surface", "project", "session"],
        }
    }
}

/// How a report is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// An aligned table with a footer that says how sure its numbers are.
    #[default]
    Table,
    Json,
    Csv,
}

impl Report {
    /// Writes the report. `unattributed` are credits that Copilot reported without a model: they are in
    /// no row.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(
        &self,
        format: Format,
        unattributed: Credits,
        out: &mut impl Write,
    ) -> io::Result<()> {
        match format {
            Format::Table => table::write(self, unattributed, out),
            Format::Json => export::json(self, unattributed, out),
            Format::Csv => export::csv(self, out),
        }
    }
}

#[cfg(test)]
mod tests;
