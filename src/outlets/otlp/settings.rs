//! From the config file and the standard `OTEL_*` variables to one value.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::config::{OtlpConfig, OtlpProtocol, Temporality};

/// How and where to push. A key of the config file wins over the variable of its name, and a variable of the
/// metrics signal (`OTEL_EXPORTER_OTLP_METRICS_…`) over the general one.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// HTTP: the full URL that is posted to. gRPC: scheme and authority.
    pub url: String,
    pub protocol: OtlpProtocol,
    /// Lower-case names.
    pub headers: Vec<(String, String)>,
    pub gzip: bool,
    pub timeout: Duration,
    pub interval: Duration,
    pub temporality: Temporality,
    pub ca_file: Option<PathBuf>,
    /// Certificate and key.
    pub client_identity: Option<(PathBuf, PathBuf)>,
    /// What the user added to the resource.
    pub resource: BTreeMap<String, String>,
}

/// A setting can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("OTLP: {0}")]
pub struct SettingsError(String);

impl Settings {
    /// `None`: nothing names an endpoint, or `OTEL_SDK_DISABLED` or `OTEL_METRICS_EXPORTER=none` is set.
    pub fn resolve(
        config: &OtlpConfig,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, SettingsError> {
        let env = |name: &str| {
            env(name)
                .map(|value| value.trim().to_owned())
                .filter(|value| !value.is_empty())
        };
        let signal = |name: &str| {
            env(&format!("OTEL_EXPORTER_OTLP_METRICS_{name}"))
                .or_else(|| env(&format!("OTEL_EXPORTER_OTLP_{name}")))
        };
        if config.endpoint.is_none()
            && (env("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"))
                || env("OTEL_METRICS_EXPORTER").is_some_and(|value| value == "none"))
        {
            return Ok(None);
        }
        let protocol = match config.protocol {
            Some(protocol) => protocol,
            None => match signal("PROTOCOL").as_deref() {
                None | Some("http/protobuf") => OtlpProtocol::HttpProtobuf,
                Some("grpc") => OtlpProtocol::Grpc,
                Some(other) => {
                    return Err(SettingsError(format!(
                        "protocol {other:?} is not supported: use grpc or http/protobuf"
                    )));
                }
            },
        };
        let insecure = signal("INSECURE").is_some_and(|value| value.eq_ignore_ascii_case("true"));
        let Some(url) = endpoint(config, protocol, insecure, &env)? else {
            return Ok(None);
        };
        let compression = config.compression.clone().or_else(|| signal("COMPRESSION"));
        let gzip = match compression.as_deref() {
            None | Some("none") => false,
            Some("gzip") => true,
            Some(other) => {
                return Err(SettingsError(format!(
                    "compression {other:?} is not supported: use gzip or none"
                )));
            }
        };
        let mut headers = signal("HEADERS")
            .map(|text| pairs("headers", &text))
            .transpose()?
            .unwrap_or_default();
        headers.extend(config.headers.clone());
        let mut resource = env("OTEL_RESOURCE_ATTRIBUTES")
            .map(|text| pairs("resource attributes", &text))
            .transpose()?
            .unwrap_or_default();
        if let Some(name) = env("OTEL_SERVICE_NAME") {
            resource.insert("service.name".to_owned(), name);
        }
        resource.extend(config.resource_attributes.clone());
        let certificate = config
            .client_certificate_file
            .clone()
            .or_else(|| signal("CLIENT_CERTIFICATE").map(PathBuf::from));
        let key = config
            .client_key_file
            .clone()
            .or_else(|| signal("CLIENT_KEY").map(PathBuf::from));
        let client_identity = match (certificate, key) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            _ => {
                return Err(SettingsError(
                    "a client certificate and its key go together".to_owned(),
                ));
            }
        };
        Ok(Some(Self {
            url,
            protocol,
            headers: headers
                .into_iter()
                .map(|(name, value)| (name.to_lowercase(), value))
                .collect(),
            gzip,
            timeout: duration(config.timeout_seconds, signal("TIMEOUT"), 10_000)?,
            interval: duration(
                config.interval_seconds,
                env("OTEL_METRIC_EXPORT_INTERVAL"),
                60_000,
            )?,
            temporality: temporality(config, &env)?,
            ca_file: config
                .ca_file
                .clone()
                .or_else(|| signal("CERTIFICATE").map(PathBuf::from)),
            client_identity,
            resource,
        }))
    }

    /// The URL without its query, which may hold a key.
    pub fn shown_url(&self) -> &str {
        self.url.split(['?', '#']).next().unwrap_or_default()
    }
}

/// For HTTP, a base URL gets `/v1/metrics`; only the variable of the metrics signal is taken as it is.
fn endpoint(
    config: &OtlpConfig,
    protocol: OtlpProtocol,
    insecure: bool,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<String>, SettingsError> {
    let base = config.endpoint.clone();
    let (text, whole) = match (
        base,
        env("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"),
        env("OTEL_EXPORTER_OTLP_ENDPOINT"),
    ) {
        (Some(base), _, _) => (base, false),
        (None, Some(whole), _) => (whole, true),
        (None, None, Some(base)) => (base, false),
        (None, None, None) => return Ok(None),
    };
    let text = match (text.contains("://"), protocol) {
        (true, _) => text,
        (false, OtlpProtocol::Grpc) if !insecure => format!("https://{text}"),
        (false, _) => format!("http://{text}"),
    };
    let uri: hyper::Uri = text
        .parse()
        .map_err(|_| SettingsError("the endpoint is no URL".to_owned()))?;
    if uri.host().is_none() || !matches!(uri.scheme_str(), Some("http" | "https")) {
        return Err(SettingsError(
            "the endpoint must be an http or https URL".to_owned(),
        ));
    }
    // Sent nowhere, and shown in logs: neither is what its user means it for.
    if uri
        .authority()
        .is_some_and(|host| host.as_str().contains('@'))
    {
        return Err(SettingsError(
            "the endpoint holds a user name or password: send them as a header, \
             such as authorization = \"Basic …\""
                .to_owned(),
        ));
    }
    let url = match protocol {
        OtlpProtocol::HttpProtobuf
            if whole || text.trim_end_matches('/').ends_with("/v1/metrics") =>
        {
            text
        }
        OtlpProtocol::HttpProtobuf => format!("{}/v1/metrics", text.trim_end_matches('/')),
        OtlpProtocol::Grpc => text,
    };
    Ok(Some(url))
}

fn temporality(
    config: &OtlpConfig,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<Temporality, SettingsError> {
    if let Some(temporality) = config.temporality {
        return Ok(temporality);
    }
    match env("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE")
        .map(|value| value.to_lowercase())
        .as_deref()
    {
        // `lowmemory` asks for delta only from synchronous instruments, of which there are none.
        None | Some("cumulative" | "lowmemory") => Ok(Temporality::Cumulative),
        Some("delta") => Ok(Temporality::Delta),
        Some(other) => Err(SettingsError(format!(
            "temporality {other:?} is not known: use cumulative or delta"
        ))),
    }
}

/// Seconds from the config, else milliseconds from the environment.
fn duration(
    seconds: Option<u64>,
    millis: Option<String>,
    default: u64,
) -> Result<Duration, SettingsError> {
    match (seconds, millis) {
        (Some(seconds), _) => Ok(Duration::from_secs(seconds)),
        (None, Some(text)) => match text.parse() {
            Ok(millis) if millis > 0 => Ok(Duration::from_millis(millis)),
            _ => Err(SettingsError(format!(
                "{text:?} is no positive number of milliseconds"
            ))),
        },
        (None, None) => Ok(Duration::from_millis(default)),
    }
}

/// `name=value,name=value`, values percent-encoded. An error never repeats a value: it may be a secret.
fn pairs(what: &str, text: &str) -> Result<BTreeMap<String, String>, SettingsError> {
    let mut pairs = BTreeMap::new();
    for (at, pair) in text
        .split(',')
        .enumerate()
        .filter(|(_, pair)| !pair.trim().is_empty())
    {
        let Some((name, value)) = pair.split_once('=') else {
            return Err(SettingsError(format!("{what}: entry {} has no =", at + 1)));
        };
        pairs.insert(name.trim().to_owned(), percent_decoded(value.trim()));
    }
    Ok(pairs)
}

fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let escaped = bytes
            .get(at + 1..at + 3)
            .filter(|_| byte == b'%')
            .and_then(|hex| std::str::from_utf8(hex).ok());
        match escaped.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(value) => {
                decoded.push(value);
                at += 3;
            }
            None => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(
        config: &OtlpConfig,
        vars: &[(&str, &str)],
    ) -> Result<Option<Settings>, SettingsError> {
        let vars: BTreeMap<String, String> = vars
            .iter()
            .map(|&(k, v)| (k.to_owned(), v.to_owned()))
            .collect();
        Settings::resolve(config, &|name| vars.get(name).cloned())
    }

    fn url(vars: &[(&str, &str)]) -> String {
        resolve(&OtlpConfig::default(), vars).unwrap().unwrap().url
    }

    #[test]
    fn nothing_is_pushed_unasked() {
        assert_eq!(resolve(&OtlpConfig::default(), &[]), Ok(None));
        let vars = [
            ("OTEL_SDK_DISABLED", "true"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318"),
        ];
        assert_eq!(resolve(&OtlpConfig::default(), &vars), Ok(None));
        assert_eq!(
            resolve(
                &OtlpConfig::default(),
                &[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")]
            ),
            Ok(None)
        );
    }

    #[test]
    fn no_secret_of_the_endpoint_is_shown() {
        let settings = |endpoint: &str| {
            let config = OtlpConfig {
                endpoint: Some(endpoint.to_owned()),
                ..OtlpConfig::default()
            };
            resolve(&config, &[])
        };
        for endpoint in [
            "https://me:s3cr3t@c",
            "ftp://s3cr3t",
            "https://s3cr3t c",
            "s3cr3t@c",
        ] {
            let error = settings(endpoint).unwrap_err().to_string();
            assert!(!error.contains("s3cr3t"), "{error}");
        }
        let whole = [(
            "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
            "https://c/v1/metrics?key=s3cr3t",
        )];
        let settings = resolve(&OtlpConfig::default(), &whole).unwrap().unwrap();
        assert_eq!(settings.shown_url(), "https://c/v1/metrics");
    }

    #[test]
    fn only_the_signal_variable_is_taken_as_it_is() {
        assert_eq!(
            url(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318/")]),
            "http://c:4318/v1/metrics"
        );
        assert_eq!(
            url(&[("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://c/own")]),
            "http://c/own"
        );
        let grpc = ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
        assert_eq!(
            url(&[grpc, ("OTEL_EXPORTER_OTLP_ENDPOINT", "c:4317")]),
            "https://c:4317"
        );
        let insecure = ("OTEL_EXPORTER_OTLP_INSECURE", "true");
        assert_eq!(
            url(&[grpc, insecure, ("OTEL_EXPORTER_OTLP_ENDPOINT", "c:4317")]),
            "http://c:4317"
        );
    }

    #[test]
    fn the_config_wins_and_the_signal_wins_over_the_general_variable() {
        let config = OtlpConfig {
            endpoint: Some("https://mine".to_owned()),
            timeout_seconds: Some(3),
            ..OtlpConfig::default()
        };
        let vars = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://other"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "9000"),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "none"),
            ("OTEL_EXPORTER_OTLP_METRICS_COMPRESSION", "gzip"),
            ("OTEL_METRIC_EXPORT_INTERVAL", "1500"),
        ];
        let settings = resolve(&config, &vars).unwrap().unwrap();
        assert_eq!(settings.url, "https://mine/v1/metrics");
        assert_eq!(settings.timeout, Duration::from_secs(3));
        assert_eq!(settings.interval, Duration::from_millis(1500));
        assert!(settings.gzip);
    }

    #[test]
    fn headers_and_attributes_are_percent_decoded() {
        let vars = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c"),
            (
                "OTEL_EXPORTER_OTLP_HEADERS",
                "Authorization=Bearer%20x, b=1=2",
            ),
            ("OTEL_RESOURCE_ATTRIBUTES", "team=a%2Cb,service.name=x"),
            ("OTEL_SERVICE_NAME", "named"),
        ];
        let settings = resolve(&OtlpConfig::default(), &vars).unwrap().unwrap();
        assert_eq!(
            settings.headers,
            [
                ("authorization".to_owned(), "Bearer x".to_owned()),
                ("b".to_owned(), "1=2".to_owned())
            ]
        );
        assert_eq!(settings.resource["team"], "a,b");
        assert_eq!(settings.resource["service.name"], "named");
    }

    #[test]
    fn mistakes_are_told_without_secrets() {
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c");
        for (vars, word) in [
            (vec![("OTEL_EXPORTER_OTLP_ENDPOINT", "ftp://c")], "http"),
            (
                vec![endpoint, ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")],
                "protocol",
            ),
            (
                vec![endpoint, ("OTEL_EXPORTER_OTLP_COMPRESSION", "zstd")],
                "compression",
            ),
            (
                vec![endpoint, ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon")],
                "milliseconds",
            ),
            (
                vec![endpoint, ("OTEL_EXPORTER_OTLP_CLIENT_KEY", "k")],
                "together",
            ),
            (
                vec![endpoint, ("OTEL_EXPORTER_OTLP_HEADERS", "secret")],
                "entry 1",
            ),
        ] {
            let error = resolve(&OtlpConfig::default(), &vars)
                .unwrap_err()
                .to_string();
            assert!(
                error.contains(word) && !error.contains("secret"),
                "{vars:?}: {error}"
            );
        }
    }
}
