//! The page for people at `/`.

use crate::ledger::Snapshot;

pub(super) fn render(_snapshot: &Snapshot, telemetry_path: &str) -> String {
    format!(
        "<!doctype html><title>copilot-exporter</title><a href=\"{telemetry_path}\">metrics</a>"
    )
}

pub(super) fn content_security_policy() -> &'static str {
    "default-src 'none'"
}
