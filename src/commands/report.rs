//! `report`: usage and its cost on stdout.

use super::{CommandError, Setup, print, progress};
use crate::cli::ReportArgs;
use crate::ledger::window;
use crate::outlets::period::Period;
use crate::outlets::report::{Format, Report};
use crate::usage::Timestamp;

pub(super) fn run(setup: &Setup, args: &ReportArgs) -> Result<(), CommandError> {
    let zone = window::zone(setup.config.time_zone.as_deref());
    let (since, until) = (args.since.as_deref(), args.until.as_deref());
    let period = Period::parse(since, until, Timestamp::now(), &zone)
        .map_err(|error| CommandError::usage(error.to_string()))?;
    let mut scanner = setup.asking_scanner()?;
    let snapshot = scanner.pass(&mut progress::on_terminal());
    let mut report = Report::new(args.by, period, zone);
    scanner.ledger().amounts(|amount| report.add(amount))?;
    let format = match (args.json, args.csv) {
        (true, _) => Format::Json,
        (_, true) => Format::Csv,
        _ => Format::Table,
    };
    let mut text = Vec::new();
    report
        .write(format, snapshot.unattributed_credits, &mut text)
        .map_err(|error| CommandError::failed(format!("cannot write: {error}")))?;
    print(&text)
}
