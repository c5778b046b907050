//! What the running exporter counts of itself.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use super::{ConfigStatus, Exporter, OtlpStatus, Process};
use crate::usage::Timestamp;

/// Shared by those who count and those who show.
pub struct Recorder {
    started: Timestamp,
    http: Mutex<BTreeMap<(&'static str, u16), u64>>,
    config: Mutex<ConfigStatus>,
    otlp: Option<Box<dyn Fn() -> OtlpStatus + Send + Sync>>,
}

impl Recorder {
    /// Of an exporter that starts now.
    pub fn new() -> Self {
        let started = Timestamp::now();
        Self {
            started,
            http: Mutex::default(),
            config: Mutex::new(ConfigStatus {
                refused: false,
                loaded: started,
            }),
            otlp: None,
        }
    }

    /// `handler` answered `requests` more requests with `code`; 0 makes the counter known.
    pub fn http(&self, handler: &'static str, code: u16, requests: u64) {
        let mut http = self.http.lock().unwrap_or_else(PoisonError::into_inner);
        *http.entry((handler, code)).or_default() += requests;
    }

    /// A changed config was taken over, or refused.
    pub fn config_reloaded(&self, accepted: bool) {
        let mut config = self.config.lock().unwrap_or_else(PoisonError::into_inner);
        config.refused = !accepted;
        if accepted {
            config.loaded = Timestamp::now();
        }
    }

    /// Shows what `status` says of the pushes.
    #[must_use]
    pub fn with_otlp(mut self, status: impl Fn() -> OtlpStatus + Send + Sync + 'static) -> Self {
        self.otlp = Some(Box::new(status));
        self
    }

    /// All of it, as of now.
    pub fn exporter(&self) -> Exporter {
        Exporter {
            started: self.started,
            http: self
                .http
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone(),
            config: *self.config.lock().unwrap_or_else(PoisonError::into_inner),
            otlp: self.otlp.as_ref().map(|status| status()),
            process: Process::read(),
        }
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").finish_non_exhaustive()
    }
}

impl Default for Recorder {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_by_handler_and_code() {
        let recorder = Recorder::new();
        recorder.http("metrics", 200, 0);
        recorder.http("metrics", 503, 1);
        recorder.http("metrics", 503, 1);
        let exporter = recorder.exporter();
        assert_eq!(exporter.http[&("metrics", 200)], 0);
        assert_eq!(exporter.http[&("metrics", 503)], 2);
        assert_eq!(exporter.otlp, None);
        let recorder = recorder.with_otlp(OtlpStatus::default);
        assert_eq!(recorder.exporter().otlp, Some(OtlpStatus::default()));
    }
}
