//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::outlets::history::Step;
use crate::outlets::report::By;

/// What GitHub Copilot costs: a Prometheus and OpenTelemetry exporter for the stores that Copilot leaves
/// on disk.
///
/// Without a command it scans, watches and serves http://127.0.0.1:19850/metrics. It needs no login and no
/// proxy, never writes a file of Copilot's and never exports a prompt or a reply.
#[derive(Debug, Parser)]
#[command(name = "copilot-exporter", version, long_version = crate::build::LONG_VERSION, max_term_width = 100)]
#[command(after_help = "Exit status: 0 fine, 1 failed, 2 wrong usage or config.")]
pub struct Cli {
    #[command(flatten)]
    pub common: CommonArgs,

    #[command(flatten)]
    pub serve: ServeArgs,

    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Options of every command.
#[derive(Debug, Clone, Default, Args)]
pub struct CommonArgs {
    /// Config file (TOML) [default: copilot-exporter/config.toml in the user's config folder, if there]
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        env = "COPILOT_EXPORTER_CONFIG",
        help_heading = "Common options"
    )]
    pub config: Option<PathBuf>,

    /// Examine this home folder instead of the current user's (repeatable, globs allowed)
    ///
    /// Everything is looked for below DIR and the environment is left aside, so that a copied home can be
    /// examined anywhere. With several homes or a glob, series carry the label `user`.
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        help_heading = "Common options"
    )]
    pub home: Vec<String>,

    /// Folder of the ledger, which keeps totals over restarts
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        env = "COPILOT_EXPORTER_STATE_DIR",
        help_heading = "Common options"
    )]
    pub state_dir: Option<PathBuf>,

    /// Keep no ledger: totals are what the stores hold now
    #[arg(
        long,
        global = true,
        conflicts_with = "state_dir",
        help_heading = "Common options"
    )]
    pub no_state: bool,

    /// Least severe messages to log
    #[arg(
        long = "log.level",
        global = true,
        value_name = "LEVEL",
        default_value = "info",
        help_heading = "Common options"
    )]
    pub log_level: LogLevel,

    /// Format of the log on stderr
    #[arg(
        long = "log.format",
        global = true,
        value_name = "FORMAT",
        default_value = "text",
        help_heading = "Common options"
    )]
    pub log_format: LogFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum LogLevel {
    Debug,
    #[default]
    Info,
    Warn,
    Error,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum LogFormat {
    #[default]
    Text,
    Json,
}

/// Options of `serve`; each wins over its key in the config file.
#[derive(Debug, Clone, Default, Args)]
pub struct ServeArgs {
    /// Address to listen on: host:port, :port, [::1]:port or unix:/path (repeatable)
    /// [default: 127.0.0.1:19850]
    #[arg(
        long = "web.listen-address",
        value_name = "ADDRESS",
        help_heading = "Serve options"
    )]
    pub listen: Vec<String>,

    /// Listen on the sockets that systemd passes on instead (a .socket unit)
    #[arg(
        long = "web.systemd-socket",
        conflicts_with = "listen",
        help_heading = "Serve options"
    )]
    pub systemd_socket: bool,

    /// Path of the metrics [default: /metrics]
    #[arg(
        long = "web.telemetry-path",
        value_name = "PATH",
        help_heading = "Serve options"
    )]
    pub telemetry_path: Option<String>,

    /// Prometheus web config file (YAML): TLS and basic auth
    #[arg(
        long = "web.config.file",
        value_name = "FILE",
        help_heading = "Serve options"
    )]
    pub web_config: Option<PathBuf>,

    /// Scrapes served at the same time [default: 40]
    #[arg(
        long = "web.max-requests",
        value_name = "N",
        help_heading = "Serve options"
    )]
    pub max_requests: Option<usize>,

    /// Leave out the exporter's own metrics (copilot_exporter_*, process_*)
    #[arg(long = "web.disable-exporter-metrics", help_heading = "Serve options")]
    pub disable_exporter_metrics: bool,

    /// Add _created samples to OpenMetrics (older Prometheus servers store them as series)
    #[arg(long = "web.openmetrics-created", help_heading = "Serve options")]
    pub openmetrics_created: bool,

    /// Seconds between timed rescans [default: 30]
    #[arg(
        long = "scan.interval",
        value_name = "SECONDS",
        help_heading = "Serve options"
    )]
    pub scan_interval: Option<u64>,

    /// Push OTLP to this collector as well (base URL, such as http://localhost:4318)
    #[arg(
        long = "otlp.endpoint",
        value_name = "URL",
        help_heading = "Serve options"
    )]
    pub otlp_endpoint: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Scan, watch, serve /metrics, and push OTLP if configured (the default)
    Serve(ServeArgs),
    /// Scan once and print the metrics, or write them to a file for the textfile collector
    Once(OnceArgs),
    /// What was used and what it cost, by day, project, model, surface or session
    Report(ReportArgs),
    /// The counters with the times of the calls, for promtool tsdb create-blocks-from openmetrics
    History(HistoryArgs),
    /// What was looked for, what was found, what it holds and what is wrong with it
    Stores(StoresArgs),
    /// Serve a made-up team that works in real time, to see dashboards alive; your data stays untouched
    Demo(DemoArgs),
    /// Validate the config file
    Check,
    /// Print a completion script for a shell
    Completions { shell: clap_complete::Shell },
    /// Print the man page
    #[command(hide = true)]
    Man,
}

#[derive(Debug, Clone, Default, Args)]
pub struct OnceArgs {
    /// Write to FILE instead of stdout, atomically (for node_exporter's textfile collector: FILE.prom)
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Debug, Clone, Args)]
pub struct ReportArgs {
    /// What the rows are
    #[arg(long, value_enum, default_value = "day")]
    pub by: By,

    /// First day (2026-11-30), month (2026-11) or time (2026-11-30T18:00); today, yesterday; or how long
    /// ago (12h, 7d, 4w)
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,

    /// Last day or month, which counts whole, or time
    #[arg(long, value_name = "WHEN")]
    pub until: Option<String>,

    /// JSON, with all digits and null for what is unknown
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,

    /// CSV, with all digits and nothing for what is unknown
    #[arg(long)]
    pub csv: bool,
}

#[derive(Debug, Clone, Args)]
pub struct HistoryArgs {
    /// First day, month or time, or how long ago, as for report [default: the first call]
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,

    /// Last day, month or time [default: now]
    #[arg(long, value_name = "WHEN")]
    pub until: Option<String>,

    /// Time between two samples of a series, a multiple of 5m
    #[arg(long, value_name = "STEP", default_value = "5m")]
    pub step: Step,

    /// Label for all series, such as the job and instance of the live ones (repeatable)
    #[arg(long, value_name = "NAME=VALUE", value_parser = label)]
    pub label: Vec<(String, String)>,
}

fn label(text: &str) -> Result<(String, String), String> {
    text.split_once('=')
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .ok_or_else(|| "a name, an equals sign and a value, such as job=copilot".to_owned())
}

#[derive(Debug, Clone, Default, Args)]
pub struct StoresArgs {
    /// Machine-readable
    #[arg(long)]
    pub json: bool,
}

/// Options of `demo`. Config file, homes and ledger are the demo's own.
#[derive(Debug, Clone, Args)]
pub struct DemoArgs {
    /// Days of history to make up before the team goes on working
    #[arg(long, value_name = "N", default_value_t = 35, value_parser = clap::value_parser!(u32).range(..=365))]
    pub days: u32,

    /// Make up the history in DIR, which must be empty or new, and keep it [default: a temporary folder]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,

    #[command(flatten)]
    pub serve: ServeArgs,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn common_options_stand_before_or_after_the_command() {
        for line in [["x", "--no-state", "once"], ["x", "once", "--no-state"]] {
            let cli = Cli::try_parse_from(line).unwrap();
            assert!(cli.common.no_state, "{line:?}");
            assert!(matches!(cli.command, Some(Command::Once(_))), "{line:?}");
        }
    }

    #[test]
    fn state_and_no_state_exclude_each_other() {
        let error = Cli::try_parse_from(["x", "--no-state", "--state-dir", "d"]).unwrap_err();
        assert_eq!(error.exit_code(), 2);
    }
}
