//! From the file and the command line to one validated config.

use std::path::{Path, PathBuf};

use super::{Config, validate};
use crate::cli::{CommonArgs, ServeArgs};

/// The config could not be used. Every problem is listed, so that one run shows them all.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("config file {path}: {source}")]
    Read {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("config file {path}: {message}")]
    Parse { path: PathBuf, message: String },
    #[error("config{}: {}", .path.as_ref().map(|p| format!(" file {}", p.display())).unwrap_or_default(), .problems.join("\n  "))]
    Invalid {
        path: Option<PathBuf>,
        problems: Vec<String>,
    },
}

/// Where the config comes from; kept, so that it can be loaded again on SIGHUP or when the file changes.
#[derive(Debug, Clone, Default)]
pub struct ConfigSource {
    /// The file, if one was named or the default one exists.
    pub path: Option<PathBuf>,
    common: CommonArgs,
    serve: ServeArgs,
}

impl ConfigSource {
    pub fn new(common: &CommonArgs, serve: &ServeArgs) -> Self {
        let path = common
            .config
            .clone()
            .or_else(|| default_path().filter(|path| path.is_file()));
        Self {
            path,
            common: common.clone(),
            serve: serve.clone(),
        }
    }

    /// Reads the file, puts the flags over it and validates the result.
    pub fn load(&self) -> Result<Config, ConfigError> {
        let mut config = match &self.path {
            Some(path) => read(path)?,
            None => Config::default(),
        };
        self.apply_flags(&mut config);
        let problems = validate::problems(&config);
        if problems.is_empty() {
            Ok(config)
        } else {
            Err(ConfigError::Invalid {
                path: self.path.clone(),
                problems,
            })
        }
    }

    fn apply_flags(&self, config: &mut Config) {
        let Self { common, serve, .. } = self;
        if !common.home.is_empty() {
            config.homes.clone_from(&common.home);
        }
        if let Some(dir) = &common.state_dir {
            config.state_dir = Some(dir.clone());
        }
        if !serve.listen.is_empty() {
            config.web.listen.clone_from(&serve.listen);
        }
        if let Some(path) = &serve.telemetry_path {
            config.web.telemetry_path.clone_from(path);
        }
        if let Some(file) = &serve.web_config {
            config.web.config_file = Some(file.clone());
        }
        if let Some(n) = serve.max_requests {
            config.web.max_requests = n;
        }
        if let Some(seconds) = serve.scan_interval {
            config.scan.interval_seconds = seconds;
        }
        if let Some(url) = &serve.otlp_endpoint {
            config.otlp.endpoint = Some(url.clone());
        }
        config.web.systemd_socket |= serve.systemd_socket;
        config.web.disable_exporter_metrics |= serve.disable_exporter_metrics;
        config.web.openmetrics_created |= serve.openmetrics_created;
    }
}

/// The file that is read when none is named.
pub fn default_path() -> Option<PathBuf> {
    dirs::config_dir().map(|dir| dir.join("copilot-exporter").join("config.toml"))
}

/// Where the ledger lies when nothing else is said: systemd's state folder, else the user's.
pub fn default_state_dir() -> Option<PathBuf> {
    if let Some(dir) = std::env::var_os("STATE_DIRECTORY").filter(|dir| !dir.is_empty()) {
        return Some(PathBuf::from(dir));
    }
    let base = dirs::state_dir().or_else(dirs::data_local_dir)?;
    Some(base.join("copilot-exporter"))
}

fn read(path: &Path) -> Result<Config, ConfigError> {
    let text = std::fs::read_to_string(path).map_err(|source| ConfigError::Read {
        path: path.to_owned(),
        source,
    })?;
    let mut config: Config = toml::from_str(&text).map_err(|error| ConfigError::Parse {
        path: path.to_owned(),
        message: told(&error, &text),
    })?;
    // Relative paths are relative to the file that names them, wherever the exporter was started.
    let base = path.parent().unwrap_or(Path::new(""));
    for named in [
        &mut config.state_dir,
        &mut config.web.config_file,
        &mut config.otlp.ca_file,
        &mut config.otlp.client_certificate_file,
        &mut config.otlp.client_key_file,
    ]
    .into_iter()
    .flatten()
    {
        *named = base.join(&named);
    }
    for named in config
        .vscode_user_data_dirs
        .iter_mut()
        .chain(&mut config.otel_files)
    {
        *named = base.join(&named);
    }
    Ok(config)
}

/// What is wrong and in which line. The line itself isn't shown: it may hold a secret.
fn told(error: &toml::de::Error, text: &str) -> String {
    let line = error.span().map(|span| {
        let before = text.get(..span.start).unwrap_or(text);
        format!("line {}: ", before.matches('\n').count() + 1)
    });
    let message = error.message();
    let is_value = ["invalid type: ", "invalid value: "]
        .iter()
        .any(|kind| message.starts_with(kind));
    // Of a value that doesn't fit, serde tells the value too.
    let message = match message.rsplit_once(", expected ").filter(|_| is_value) {
        Some((_, expected)) => format!("not what is expected here: {expected}"),
        None => message.to_owned(),
    };
    format!("{}{message}", line.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str, serve: &ServeArgs) -> Result<Config, ConfigError> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("c.toml");
        std::fs::write(&path, text).unwrap();
        let common = CommonArgs {
            config: Some(path),
            ..CommonArgs::default()
        };
        ConfigSource::new(&common, serve).load()
    }

    #[test]
    fn an_empty_file_is_the_default() {
        assert_eq!(load("", &ServeArgs::default()).unwrap(), Config::default());
    }

    #[test]
    fn flags_win_over_the_file() {
        let serve = ServeArgs {
            scan_interval: Some(5),
            ..ServeArgs::default()
        };
        let config = load("[scan]\ninterval_seconds = 60\nwatch = false", &serve).unwrap();
        assert_eq!(config.scan.interval_seconds, 5);
        assert!(!config.scan.watch);
    }

    #[test]
    fn an_unknown_key_is_an_error_that_names_file_and_key() {
        let error = load("[scan]\nintervall = 60", &ServeArgs::default())
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("c.toml") && error.contains("intervall"),
            "{error}"
        );
    }

    #[test]
    fn an_error_names_the_line_but_never_quotes_it() {
        for (text, line) in [
            (
                "\n[otlp.headers]\nauthorization = \"Bearer s3cr3t\nx = 1",
                "line 3: ",
            ),
            ("[otlp]\ninterval_seconds = \"s3cr3t\"", "line 2: "),
            ("[otlp]\ncompression = { s3cr3t = 1 }", "line 2: "),
        ] {
            let error = load(text, &ServeArgs::default()).unwrap_err().to_string();
            assert!(error.contains(line), "{error}");
            assert!(!error.contains("s3cr3t"), "{error}");
        }
    }

    #[test]
    fn relative_paths_follow_the_file() {
        let config = load("state_dir = 'ledger'", &ServeArgs::default()).unwrap();
        assert!(config.state_dir.unwrap().is_absolute());
    }
}
