//! The readers: one folder a product, one file a store. They observe and report; they price nothing,
//! merge nothing and render nothing.

mod copilot_cli;
mod files;
pub mod jetbrains;
mod json;
mod lines;
mod otel;
mod registry;
mod sqlite;
#[cfg(test)]
mod testing;
mod tool_requests;
mod visual_studio;
mod vscode;
mod xcode;

use std::path::{Path, PathBuf};

use serde::{Serialize, de::DeserializeOwned};

use crate::usage::{Observation, printable};

#[cfg(fuzzing)]
pub use copilot_cli::fuzzing as cli_fuzzing;
#[cfg(fuzzing)]
pub use vscode::fuzzing as vscode_fuzzing;

pub use registry::{StoreKind, readers};

/// A home folder that is examined, and the environment that says where things lie in it.
///
/// With `--home DIR` the environment is empty, so that a copied home can be examined anywhere: path rules
/// are pure functions of this value, for all three systems.
#[derive(Debug, Clone, Default)]
pub struct Home {
    pub dir: PathBuf,
    pub os: Os,
    /// Only set for the user's own home: `COPILOT_HOME`, `XDG_CONFIG_HOME`, `APPDATA`, …
    pub env: std::collections::BTreeMap<String, String>,
    /// The label `user`, where several homes are read.
    pub user: Option<String>,
    /// Configured user-data folders of VS Code, besides those that are found by rule.
    pub vscode_user_data_dirs: Vec<PathBuf>,
    /// Further OTel files, from the config.
    pub otel_files: Vec<PathBuf>,
    /// Tool calls are wanted, from the config; else readers leave them unread.
    pub tool_calls: bool,
}

impl Home {
    /// The user's own home: only there does the environment count. Another may be a copy from any system.
    pub fn is_own(&self) -> bool {
        !self.env.is_empty()
    }

    /// An environment variable that is set and not empty.
    pub fn var(&self, name: &str) -> Option<&str> {
        self.env
            .get(name)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }
}

/// The system whose path conventions apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Os {
    #[default]
    Linux,
    MacOs,
    Windows,
}

impl Os {
    pub fn current() -> Self {
        if cfg!(target_os = "macos") {
            Self::MacOs
        } else if cfg!(windows) {
            Self::Windows
        } else {
            Self::Linux
        }
    }
}

/// One file (or database) of a store.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Source {
    pub path: PathBuf,
    /// Files whose change is a change of this source: `-wal`, `workspace.yaml`, `workspace.json`.
    pub companions: Vec<PathBuf>,
}

impl Source {
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            companions: Vec::new(),
        }
    }
}

/// What a reader found below a home.
#[derive(Debug, Default)]
pub struct Discovery {
    pub sources: Vec<Source>,
    /// The places that were looked at, for people and for the watcher, whether they exist or not.
    pub looked_at: Vec<PathBuf>,
    pub problems: Vec<StoreError>,
}

/// A store could not be read (fully). The message never holds contents of the store.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", printable(&path.to_string_lossy()))]
pub struct StoreError {
    pub path: PathBuf,
    pub reason: Reason,
}

impl StoreError {
    pub fn new(path: &Path, reason: Reason) -> Self {
        Self {
            path: path.to_owned(),
            reason,
        }
    }
}

/// Why a store could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Reason {
    #[error("cannot be read: {0}")]
    Io(#[from] std::io::Error),
    #[error("the database is busy or locked; it is tried again at the next pass")]
    Busy,
    #[error("the database is corrupt ({0})")]
    Corrupt(String),
    #[error("not what this store holds: {0}")]
    Shape(String),
    /// Recognised, but this version can't read it.
    #[error("not supported: {0}")]
    Unsupported(String),
    /// Too damaged to be read as what it is; what its bytes still told was observed.
    #[error("damaged: {0}")]
    Salvaged(String),
}

/// How far a source was read: the reader's own state, opaque to everybody else.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cursor(pub Vec<u8>);

impl Cursor {
    /// The state, if it is one of this reader's present version; else the source is read anew, which
    /// counts nothing twice, since observations have identities.
    pub fn load<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_slice(&self.0).ok()
    }

    pub fn store<T: Serialize>(state: &T) -> Self {
        Self(serde_json::to_vec(state).unwrap_or_default())
    }
}

/// Every reason that a reader may give for a parse error, so that the counters of a store that was found can
/// begin at 0: an alert must see the first one.
pub const PARSE_ERRORS: [&str; 15] = [
    "cache_above_input",
    "contents",
    "document",
    "event",
    "initial",
    "json",
    "length",
    "line",
    "line_too_long",
    "not_an_object",
    "number",
    "page",
    "path",
    "too_many_items",
    "value_too_long",
];

/// Where a reader puts what it sees.
pub trait Sink {
    fn observe(&mut self, observation: Observation);

    /// Everything observed so far is all there is up to `cursor`: a long source may be committed in parts.
    fn checkpoint(&mut self, cursor: Cursor);

    /// A record that should have been understood was not (`reason` is one of [`PARSE_ERRORS`]).
    fn parse_error(&mut self, reason: &'static str);

    /// A record was left out on purpose (`reason` is a short fixed word).
    fn skipped(&mut self, reason: &'static str);

    fn bytes_read(&mut self, bytes: u64);
}

/// A kind of store.
pub trait Reader: Send + Sync {
    fn kind(&self) -> StoreKind;

    /// Finds this store's sources below `home`. Cheap: it lists folders and reads no contents.
    fn discover(&self, home: &Home) -> Discovery;

    /// Reads what is new since `cursor` (empty: everything) and returns how far it came.
    ///
    /// Called only for a source whose size, time or identity changed. What was observed before an error
    /// stays observed.
    fn read(
        &self,
        home: &Home,
        source: &Source,
        cursor: &Cursor,
        sink: &mut dyn Sink,
    ) -> Result<Cursor, StoreError>;
}
