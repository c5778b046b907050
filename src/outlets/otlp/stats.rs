//! What became of the pushes, for the exporter's own metrics.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use crate::metrics::OtlpStatus;
use crate::usage::Timestamp;

#[derive(Debug, Default)]
pub struct Stats {
    succeeded: AtomicU64,
    failed: AtomicU64,
    last_success: AtomicI64,
}

impl Stats {
    pub(super) fn succeeded(&self, at: Timestamp) {
        self.succeeded.fetch_add(1, Ordering::Relaxed);
        self.last_success.store(at.0, Ordering::Relaxed);
    }

    pub(super) fn failed(&self) {
        self.failed.fetch_add(1, Ordering::Relaxed);
    }

    pub fn status(&self) -> OtlpStatus {
        OtlpStatus {
            succeeded: self.succeeded.load(Ordering::Relaxed),
            failed: self.failed.load(Ordering::Relaxed),
            last_success: Some(Timestamp(self.last_success.load(Ordering::Relaxed)))
                .filter(|at| at.0 > 0),
        }
    }
}
