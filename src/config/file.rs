//! The config file (TOML): every key, its meaning and its default.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

/// The whole configuration.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Home folders to examine (globs allowed); empty: the current user's.
    pub homes: Vec<String>,
    /// Further VS Code user-data folders (`--user-data-dir`, portable installs).
    pub vscode_user_data_dirs: Vec<PathBuf>,
    /// Further OTel files that Copilot writes (what `COPILOT_OTEL_FILE_EXPORTER_PATH` names is found anyway).
    pub otel_files: Vec<PathBuf>,
    /// Where the ledger lies; default: `copilot-exporter` in the user's state folder.
    pub state_dir: Option<PathBuf>,
    /// IANA time zone of windows and reports; default: the system's.
    pub time_zone: Option<String>,
    pub scan: ScanConfig,
    pub web: WebConfig,
    pub otlp: OtlpConfig,
    /// Constant labels on every usage series: `team`, `host`, …
    pub labels: BTreeMap<String, String>,
    pub privacy: PrivacyConfig,
    /// How many projects get series of their own; the others are counted as `__other__`.
    pub max_projects: usize,
    /// Count tool calls, too (`copilot_tool_calls_total`): those that are read from then on.
    pub tool_calls: bool,
    pub plan: PlanConfig,
    pub budgets: Vec<Budget>,
    /// Own prices, before the shipped ones.
    pub prices: Vec<PriceOverride>,
    /// Own model aliases: name as seen → canonical id.
    pub model_aliases: BTreeMap<String, String>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            homes: Vec::new(),
            vscode_user_data_dirs: Vec::new(),
            otel_files: Vec::new(),
            state_dir: None,
            time_zone: None,
            scan: ScanConfig::default(),
            web: WebConfig::default(),
            otlp: OtlpConfig::default(),
            labels: BTreeMap::new(),
            privacy: PrivacyConfig::default(),
            max_projects: 200,
            tool_calls: false,
            plan: PlanConfig::default(),
            budgets: Vec::new(),
            prices: Vec::new(),
            model_aliases: BTreeMap::new(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScanConfig {
    /// Seconds between timed rescans (the watcher sees most changes at once).
    pub interval_seconds: u64,
    /// Watch folders for changes.
    pub watch: bool,
    /// How long a new series waits at 0 for a scrape, at most.
    pub zero_hold_seconds: u64,
}

impl Default for ScanConfig {
    fn default() -> Self {
        Self {
            interval_seconds: 30,
            watch: true,
            zero_hold_seconds: 120,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WebConfig {
    /// `127.0.0.1:19850`, `[::1]:19850`, `:19850`, `unix:/path`.
    pub listen: Vec<String>,
    /// Listen on the sockets that systemd passes on, instead of `listen`.
    pub systemd_socket: bool,
    pub telemetry_path: String,
    /// Prometheus' web config file: TLS and basic auth.
    pub config_file: Option<PathBuf>,
    /// Host names, besides the loopback ones, under which a loopback exporter may be asked.
    pub allowed_hosts: Vec<String>,
    /// Scrapes at the same time.
    pub max_requests: usize,
    /// Leave out the exporter's own metrics.
    pub disable_exporter_metrics: bool,
    /// Add `_created` to OpenMetrics.
    pub openmetrics_created: bool,
}

impl Default for WebConfig {
    fn default() -> Self {
        Self {
            listen: vec!["127.0.0.1:19850".to_owned()],
            systemd_socket: false,
            telemetry_path: "/metrics".to_owned(),
            config_file: None,
            allowed_hosts: Vec::new(),
            max_requests: 40,
            disable_exporter_metrics: false,
            openmetrics_created: false,
        }
    }
}

/// OTLP push. Each key wins over the standard `OTEL_EXPORTER_OTLP_*` variable of its name.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OtlpConfig {
    /// Push is on if this or the environment names an endpoint. For HTTP the base URL.
    pub endpoint: Option<String>,
    pub protocol: Option<OtlpProtocol>,
    pub headers: BTreeMap<String, String>,
    /// `gzip` or `none`.
    pub compression: Option<String>,
    pub timeout_seconds: Option<u64>,
    pub interval_seconds: Option<u64>,
    pub temporality: Option<Temporality>,
    pub ca_file: Option<PathBuf>,
    pub client_certificate_file: Option<PathBuf>,
    pub client_key_file: Option<PathBuf>,
    pub resource_attributes: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum OtlpProtocol {
    #[serde(rename = "grpc")]
    Grpc,
    #[serde(rename = "http/protobuf")]
    HttpProtobuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Temporality {
    Cumulative,
    Delta,
}

#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PrivacyConfig {
    pub project: ProjectLabel,
}

/// How projects are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProjectLabel {
    #[default]
    Name,
    /// A keyed hash; the key lies in the state folder.
    Hash,
    Off,
}

/// The plan, for allowances.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PlanConfig {
    pub name: Option<PlanName>,
    pub seats: Option<u64>,
    /// Credits a month, instead of a plan's name.
    pub credits: Option<f64>,
    /// Bill premium requests (annual plans) as well.
    pub premium_requests: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PlanName {
    Pro,
    #[serde(rename = "pro+")]
    ProPlus,
    Max,
    Business,
    Enterprise,
}

/// A budget: exactly one of `usd` and `credits`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    pub name: String,
    pub usd: Option<f64>,
    pub credits: Option<f64>,
    pub window: BudgetWindow,
    /// IANA name; default: UTC for months (as GitHub bills), else the configured zone.
    pub time_zone: Option<String>,
    pub provider: Option<String>,
    pub model: Option<String>,
    pub project: Option<String>,
    pub surface: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BudgetWindow {
    Day,
    Week,
    Month,
}

/// An own price, USD per million tokens.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceOverride {
    pub model: String,
    pub input: f64,
    pub output: f64,
    pub cache_read: Option<f64>,
    pub cache_write: Option<f64>,
    /// First day, UTC (`2026-07-01`); default: ever.
    pub valid_from: Option<String>,
}
