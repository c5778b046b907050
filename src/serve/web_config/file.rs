//! The file's keys and what they may say.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hyper::header::{HeaderName, HeaderValue};
use serde::Deserialize;

use super::{RateLimit, Settings, Users, WebConfigError, tls};

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    tls_server_config: Tls,
    http_server_config: Http,
    basic_auth_users: BTreeMap<String, String>,
    rate_limit: Rate,
}

#[derive(Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Tls {
    pub(super) cert: Option<String>,
    pub(super) key: Option<String>,
    pub(super) cert_file: Option<PathBuf>,
    pub(super) key_file: Option<PathBuf>,
    pub(super) client_ca: Option<String>,
    pub(super) client_ca_file: Option<PathBuf>,
    pub(super) client_auth_type: Option<String>,
    pub(super) client_allowed_sans: Vec<String>,
    pub(super) cipher_suites: Vec<String>,
    pub(super) curve_preferences: Vec<String>,
    pub(super) min_version: Option<String>,
    pub(super) max_version: Option<String>,
    pub(super) prefer_server_cipher_suites: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Http {
    /// HTTP/2 is an offer that no client depends on: HTTP/1.1 is what is spoken.
    #[serde(rename = "http2")]
    _http2: Option<bool>,
    headers: BTreeMap<String, String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Rate {
    interval: Option<String>,
    burst: u32,
}

/// The settings that `text`, the file at `path`, says. Errors name keys, never a value that is secret.
pub(super) fn settings(path: &Path, text: &str) -> Result<Settings, WebConfigError> {
    let invalid = |reason: String| WebConfigError::Invalid {
        path: path.to_owned(),
        reason,
    };
    let file = parse(text).map_err(invalid)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut sources = vec![path.to_owned()];
    let tls = match file.tls_server_config {
        none if none == Tls::default() => None,
        some => Some(tls::server_config(some, folder, &mut sources).map_err(invalid)?),
    };
    Ok(Settings {
        tls,
        users: users(file.basic_auth_users).map_err(invalid)?,
        headers: headers(file.http_server_config.headers).map_err(invalid)?,
        rate_limit: rate_limit(&file.rate_limit).map_err(invalid)?,
        sources,
    })
}

fn parse(text: &str) -> Result<File, String> {
    // Without snippets, which would put keys and hashes into the log.
    let options = serde_saphyr::options! { with_snippet: false };
    // A file that says nothing is null.
    serde_saphyr::from_str_with_options::<Option<File>>(text, options)
        .map(Option::unwrap_or_default)
        .map_err(|error| error.to_string())
}

fn users(hashes: BTreeMap<String, String>) -> Result<Option<Users>, String> {
    for (user, hash) in &hashes {
        if hash.parse::<bcrypt::HashParts>().is_err() {
            return Err(format!(
                "basic_auth_users: the password of {user:?} is no bcrypt hash"
            ));
        }
    }
    Ok((!hashes.is_empty()).then(|| Users::new(hashes)))
}

/// The headers that can be set, and the values that they can have (none: any).
const HEADERS: [(&str, &[&str]); 5] = [
    ("Strict-Transport-Security", &[]),
    ("X-Content-Type-Options", &["nosniff"]),
    ("X-Frame-Options", &["deny", "sameorigin"]),
    ("X-XSS-Protection", &[]),
    ("Content-Security-Policy", &[]),
];

fn headers(wanted: BTreeMap<String, String>) -> Result<Vec<(HeaderName, HeaderValue)>, String> {
    let header = |(name, value): (String, String)| {
        let Some((_, allowed)) = HEADERS.iter().find(|(known, _)| *known == name) else {
            return Err(format!("the header {name:?} can't be configured"));
        };
        if !allowed.is_empty() && !allowed.contains(&value.as_str()) {
            return Err(format!("the header {name:?} must be one of {allowed:?}"));
        }
        let bad = || format!("the header {name:?} has no valid value");
        let value = HeaderValue::from_str(&value).map_err(|_| bad())?;
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
        Ok((name, value))
    };
    wanted.into_iter().map(header).collect()
}

fn rate_limit(rate: &Rate) -> Result<Option<RateLimit>, String> {
    let Some(text) = &rate.interval else {
        return Ok(None);
    };
    let interval = duration(text).ok_or_else(|| format!("rate_limit: {text:?} is no duration"))?;
    if interval.is_zero() {
        return Ok(None);
    }
    if rate.burst == 0 {
        return Err("rate_limit: burst must be at least 1".to_owned());
    }
    Ok(Some(RateLimit::new(interval, rate.burst)))
}

/// A duration as Go writes it: `1s`, `1m30s`, `250ms`.
fn duration(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let mut rest = text;
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, from) = rest.split_at(end);
        let end = from
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(from.len());
        let (unit, after) = from.split_at(end);
        let unit = match unit {
            "h" => 3_600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 1e-3,
            "us" | "µs" => 1e-6,
            "ns" => 1e-9,
            _ => return None,
        };
        seconds += number.parse::<f64>().ok()? * unit;
        rest = after;
    }
    (!text.is_empty())
        .then(|| Duration::try_from_secs_f64(seconds).ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        for (text, want) in [
            ("0", Some(0)),
            ("1s", Some(1_000)),
            ("1m30s", Some(90_000)),
            ("1.5h", Some(5_400_000)),
            ("250ms", Some(250)),
            ("", None),
            ("5", None),
            ("s", None),
            ("1d", None),
            ("-1s", None),
        ] {
            assert_eq!(duration(text), want.map(Duration::from_millis), "{text}");
        }
    }

    #[test]
    fn errors_hold_no_secret() {
        let text = "basic_auth_users:\n  ann: hunter2\n";
        let error = settings(Path::new("web.yml"), text).unwrap_err();
        assert!(!error.to_string().contains("hunter2"), "{error}");
        let text = "basic_auth_users:\n  ann: [hunter2]\n";
        let error = settings(Path::new("web.yml"), text).unwrap_err();
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }

    #[test]
    fn a_file_that_says_nothing_is_valid() {
        for text in ["", "# nothing\n", "tls_server_config: {}\n", "---\n# x\n"] {
            let settings = settings(Path::new("web.yml"), text).unwrap();
            assert!(
                settings.tls.is_none() && settings.users.is_none(),
                "{text:?}"
            );
        }
    }
}
