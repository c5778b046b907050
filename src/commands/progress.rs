//! How far a long pass is, for a person at a terminal.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use crate::scan::Progress;

/// Nothing is shown before this much time, nor more often.
const QUIET: Duration = Duration::from_millis(500);

/// A line on stderr that counts files and bytes, if stderr is a terminal.
pub(super) fn on_terminal() -> impl FnMut(Progress) + Send + 'static {
    let terminal = std::io::stderr().is_terminal();
    let mut shown = Instant::now();
    move |progress: Progress| {
        if terminal && shown.elapsed() >= QUIET {
            shown = Instant::now();
            let mut out = std::io::stderr().lock();
            // The carriage return lets the next line, of whatever kind, write over this one.
            let _ = write!(
                out,
                "\rreading: {} files, {} MB \r",
                progress.files,
                progress.bytes / 1_000_000
            );
            let _ = out.flush();
        }
    }
}
