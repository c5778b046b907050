//! `once`: one pass, and the metrics on stdout or in a file.

use super::{CommandError, Setup, print, progress};
use crate::cli::OnceArgs;
use crate::metrics::{ConstantLabels, Exporter, Recorder, families};
use crate::outlets::{Format, textfile};

pub(super) fn run(setup: &Setup, args: &OnceArgs) -> Result<(), CommandError> {
    let labels = ConstantLabels::new(&setup.config.labels)
        .map_err(|error| CommandError::failed(error.to_string()))?;
    let recorder = Recorder::new();
    let mut scanner = setup.scanner()?;
    let snapshot = scanner.pass(&mut progress::on_terminal());
    if snapshot.scan.failed > 0 {
        let text = "the ledger can't be written (see above): what isn't kept would fall again, so nothing is shown; \
                    --no-state shows what the stores hold now";
        return Err(CommandError::failed(text));
    }
    // Not `process_*`: node_exporter, which reads the file, has these names for itself.
    let exporter = (!setup.config.web.disable_exporter_metrics).then(|| Exporter {
        process: None,
        ..recorder.exporter()
    });
    let text = Format::Text.render(&families(&snapshot, &labels, exporter.as_ref()));
    match &args.output {
        Some(path) => textfile::replace(path, &text).map_err(|error| {
            CommandError::failed(format!("cannot write {}: {error}", path.display()))
        })?,
        None => print(&text)?,
    }
    // What was shown at 0 has been seen: the next run may show it at its value.
    snapshot.mark_seen();
    scanner.ledger_mut().remember_seen();
    Ok(())
}
