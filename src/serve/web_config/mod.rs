//! Prometheus' web configuration file (`--web.config.file`): TLS, basic auth, response headers and a rate
//! limit, as the exporters of the Prometheus project have them.
//!
//! The file, and the certificates it names, are read again when they change. A change that can't be
//! loaded is logged once, and what was in force stays in force.

mod auth;
mod client_certs;
mod file;
mod rate;
mod tls;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use hyper::header::{HeaderName, HeaderValue};

pub(super) use auth::Users;
pub(super) use rate::RateLimit;

/// Why a web configuration can't be used.
#[derive(Debug, thiserror::Error)]
pub enum WebConfigError {
    #[error("{}: {error}", path.display())]
    Read {
        path: PathBuf,
        error: std::io::Error,
    },
    #[error("{}: {reason}", path.display())]
    Invalid { path: PathBuf, reason: String },
}

/// What is in force.
#[derive(Debug, Default)]
pub(super) struct Settings {
    pub(super) tls: Option<Arc<rustls::ServerConfig>>,
    pub(super) users: Option<Users>,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    pub(super) rate_limit: Option<RateLimit>,
    /// Every file that this came from.
    sources: Vec<PathBuf>,
}

impl Settings {
    fn load(path: &Path) -> Result<Self, WebConfigError> {
        let text = fs::read_to_string(path).map_err(|error| WebConfigError::Read {
            path: path.to_owned(),
            error,
        })?;
        file::settings(path, &text)
    }
}

/// The web configuration, always as its files are.
#[derive(Debug)]
pub(super) struct WebConfig {
    path: Option<PathBuf>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    settings: Arc<Settings>,
    checked: Instant,
    stamps: Vec<(PathBuf, Stamp)>,
}

/// What changes when a file does.
type Stamp = Option<(SystemTime, u64)>;

impl WebConfig {
    /// How long a look at the files is good for.
    const FRESH: Duration = Duration::from_millis(500);

    /// Of the file at `path`; `None` means plain HTTP for everybody.
    pub(super) fn load(path: Option<&Path>) -> Result<Self, WebConfigError> {
        let settings = match path {
            Some(path) => Settings::load(path)?,
            None => Settings::default(),
        };
        Ok(Self {
            path: path.map(Path::to_owned),
            state: Mutex::new(State {
                stamps: stamps(&settings.sources),
                settings: Arc::new(settings),
                checked: Instant::now(),
            }),
        })
    }

    /// What is in force now.
    pub(super) fn settings(&self) -> Arc<Settings> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(path) = &self.path
            && state.checked.elapsed() >= Self::FRESH
        {
            state.refresh(path);
        }
        state.settings.clone()
    }
}

impl State {
    fn refresh(&mut self, path: &Path) {
        self.checked = Instant::now();
        let current = stamps(self.stamps.iter().map(|(path, _)| path));
        if current == self.stamps {
            return;
        }
        self.stamps = current;
        match Settings::load(path) {
            Ok(settings) if settings.tls.is_some() != self.settings.tls.is_some() => {
                tracing::error!(
                    file = %path.display(),
                    "TLS can't be turned on or off while the exporter runs; the former web configuration stays in force"
                );
            }
            Ok(settings) => {
                // Taken before the files were read, the stamps of those known already can be too old,
                // never too new.
                let known = std::mem::take(&mut self.stamps);
                self.stamps = stamps(&settings.sources);
                for stamp in &mut self.stamps {
                    if let Some(before) = known.iter().find(|(path, _)| *path == stamp.0) {
                        stamp.1 = before.1;
                    }
                }
                self.settings = Arc::new(settings);
                tracing::info!(file = %path.display(), "web configuration read again");
            }
            Err(error) => {
                tracing::error!(%error, "the former web configuration stays in force");
            }
        }
    }
}

fn stamps<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Vec<(PathBuf, Stamp)> {
    let stamp = |path: &Path| {
        let metadata = fs::metadata(path).ok()?;
        Some((metadata.modified().ok()?, metadata.len()))
    };
    let paths = paths.into_iter();
    paths
        .map(|path| (path.as_ref().to_owned(), stamp(path.as_ref())))
        .collect()
}
