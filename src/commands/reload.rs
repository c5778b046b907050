//! Takes over a changed config: on SIGHUP, and when the file changed.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, SystemTime};

use crate::config::{Config, ConfigSource};
use crate::ledger::Settings;
use crate::metrics::Recorder;
use crate::scan::Wake;

/// How often the file is looked at.
const LOOK: Duration = Duration::from_secs(5);

/// Reloads for as long as the exporter runs. An invalid config is refused, and the old one stays in force.
pub(super) async fn run(
    source: ConfigSource,
    in_force: Config,
    scan: Sender<Wake>,
    recorder: Arc<Recorder>,
) {
    let mut in_force = in_force;
    let mut seen = modified(source.path.as_ref());
    let mut hangup = Hangup::new();
    loop {
        tokio::select! {
            () = hangup.recv() => {}
            () = tokio::time::sleep(LOOK) => {
                let now = modified(source.path.as_ref());
                if now == seen {
                    continue;
                }
                seen = now;
            }
        }
        let loaded = source
            .load()
            .map_err(|error| error.to_string())
            .and_then(|config| {
                let settings = Settings::new(&config).map_err(|error| error.to_string())?;
                Ok((config, settings))
            });
        match loaded {
            Ok((config, settings)) => {
                if needs_restart(&in_force, &config) {
                    tracing::warn!(
                        "config loaded; changes of [web], [otlp], [labels] and state_dir need a restart"
                    );
                } else {
                    tracing::info!("config loaded");
                }
                in_force = config.clone();
                recorder.config_reloaded(true);
                let _ = scan.send(Wake::Reload(Box::new((config, settings))));
            }
            Err(error) => {
                tracing::error!("config not loaded, the old one stays in force: {error}");
                recorder.config_reloaded(false);
            }
        }
    }
}

/// What is wired up once at start.
fn needs_restart(old: &Config, new: &Config) -> bool {
    old.web != new.web
        || old.otlp != new.otlp
        || old.labels != new.labels
        || old.state_dir != new.state_dir
}

fn modified(path: Option<&PathBuf>) -> Option<(SystemTime, u64)> {
    let metadata = std::fs::metadata(path?).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

/// SIGHUP, where there is one.
struct Hangup {
    #[cfg(unix)]
    signal: Option<tokio::signal::unix::Signal>,
}

impl Hangup {
    fn new() -> Self {
        Self {
            #[cfg(unix)]
            signal: tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup()).ok(),
        }
    }

    async fn recv(&mut self) {
        #[cfg(unix)]
        if let Some(signal) = &mut self.signal {
            signal.recv().await;
            return;
        }
        std::future::pending::<()>().await;
    }
}
