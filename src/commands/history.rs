//! `history`: the counters over time on stdout, for `promtool tsdb create-blocks-from openmetrics`.

use std::io::{BufWriter, ErrorKind, Write};

use super::{CommandError, Setup, progress};
use crate::cli::HistoryArgs;
use crate::ledger::window;
use crate::metrics::ConstantLabels;
use crate::outlets::history::History;
use crate::outlets::period::Period;
use crate::usage::Timestamp;

pub(super) fn run(setup: &Setup, args: &HistoryArgs) -> Result<(), CommandError> {
    let zone = window::zone(setup.config.time_zone.as_deref());
    let (since, until) = (args.since.as_deref(), args.until.as_deref());
    let period = Period::parse(since, until, Timestamp::now(), &zone)
        .map_err(|error| CommandError::usage(error.to_string()))?;
    let mut labels = setup.config.labels.clone();
    labels.extend(args.label.iter().cloned());
    let labels =
        ConstantLabels::new(&labels).map_err(|error| CommandError::usage(error.to_string()))?;
    let mut scanner = setup.asking_scanner()?;
    let snapshot = scanner.pass(&mut progress::on_terminal());
    let mut history = History::default();
    scanner.ledger().amounts(|amount| history.add(amount))?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    let written = history
        .write(&snapshot, &labels, period, args.step, &mut out)
        .and_then(|()| out.flush());
    match written {
        // A reader that had enough (`| head`) is no error.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(CommandError::failed(format!("cannot write: {error}")))
        }
        _ => Ok(()),
    }
}
