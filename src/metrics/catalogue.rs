//! The one table of all metric families. A name, a unit or a label that is not here is not exposed.

use super::{Family, Kind, Sample};

/// The labels that every usage series has, in this order; `user` follows where several homes are read.
pub const COMMON_LABELS: [&str; 4] = ["provider", "model", "project", "surface"];

/// A family as it is documented, without samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// As Prometheus text 0.0.4 has it: a counter ends in `_total`, an info in `_info`.
    pub name: &'static str,
    pub kind: Kind,
    /// The unit of OpenMetrics: a suffix of the name (without `_total`), or empty.
    pub unit: &'static str,
    /// The unit of OTLP, such that the standard translation yields `name`: units in braces are dropped,
    /// `s` becomes `_seconds`, `By` `_bytes`, and a gauge's `1` `_ratio`.
    pub otlp_unit: &'static str,
    /// The exporter's own, not Copilot's usage.
    pub own: bool,
    /// Has [`COMMON_LABELS`].
    pub common: bool,
    /// The labels after the common ones.
    pub labels: &'static [&'static str],
    pub help: &'static str,
}

impl Entry {
    pub(super) fn family(&self, samples: Vec<Sample>) -> Family {
        Family {
            name: self.name,
            help: self.help,
            kind: self.kind,
            unit: self.unit,
            otlp_unit: self.otlp_unit,
            own: self.own,
            samples,
        }
    }

    /// All label names, those that only some configurations have aside.
    pub fn all_labels(&self) -> impl Iterator<Item = &'static str> + '_ {
        let common: &[&str] = if self.common { &COMMON_LABELS } else { &[] };
        common.iter().chain(self.labels).copied()
    }
}

/// Every family that may be exposed, in the order of exposition.
pub fn reference() -> &'static [Entry] {
    TABLE
}

macro_rules! catalogue {
    ($( $id:ident: $scope:ident $kind:ident $name:literal [$($label:literal),*] $unit:literal $otlp:literal $help:literal )*) => {
        $(pub(super) const $id: Entry = Entry {
            name: $name,
            kind: Kind::$kind,
            unit: $unit,
            otlp_unit: $otlp,
            own: Scope::$scope.own(),
            common: Scope::$scope.common(),
            labels: &[$($label),*],
            help: $help,
        };)*
        const TABLE: &[Entry] = &[$($id),*];
    };
}

/// What a family speaks of.
enum Scope {
    /// Usage, by the common labels.
    Usage,
    /// Usage as a whole: budgets, models, sessions.
    Whole,
    /// The exporter itself.
    Own,
}

impl Scope {
    const fn own(self) -> bool {
        matches!(self, Self::Own)
    }

    const fn common(self) -> bool {
        matches!(self, Self::Usage)
    }
}

catalogue! {
    CALLS: Usage Counter "copilot_calls_total" ["initiator"] "" "{call}"
        "Billed model calls found in Copilot's local stores, each counted once, by who caused them."
    TOKENS: Usage Counter "copilot_tokens_total" ["token_type"] "tokens" "{token}"
        "Tokens of model calls in disjoint classes: uncached input, cache reads, cache writes, and output with reasoning inside."
    REASONING_TOKENS: Usage Counter "copilot_reasoning_tokens_total" [] "tokens" "{token}"
        "Reasoning tokens, a part of the output tokens of copilot_tokens_total, where a store tells them."
    ESTIMATED_TOKENS: Usage Counter "copilot_estimated_tokens_total" ["token_type"] "tokens" "{token}"
        "The part of copilot_tokens_total that is estimated from text length, because the store has no token counts."
    COST: Usage Counter "copilot_cost_usd_total" ["basis"] "usd" "{USD}"
        "Cost of model calls in US dollars: as reported with the call (basis reported), else tokens at the list price of the call's day (basis list_price)."
    AI_CREDITS: Usage Counter "copilot_ai_credits_total" [] "credits" "{credit}"
        "AI credits that Copilot itself reported for model calls; one credit is 0.01 US dollars."
    PREMIUM_REQUESTS: Usage Counter "copilot_premium_requests_total" [] "" "{request}"
        "Premium requests that Copilot counted for calls that a user began, by the model's multiplier."
    UNPRICED_CALLS: Usage Counter "copilot_unpriced_calls_total" [] "" "{call}"
        "Model calls whose cost is unknown and not in copilot_cost_usd_total: neither reported nor of a model with a known price."
    PARTIAL_CALLS: Usage Counter "copilot_partial_calls_total" [] "" "{call}"
        "Model calls of which a store tells only some token classes, so that copilot_tokens_total is a lower bound."
    CALL_FAILURES: Usage Counter "copilot_call_failures_total" ["reason"] "" "{call}"
        "Requests to a model that failed and were not billed, by reason; they are not in copilot_calls_total."
    TOOL_CALLS: Usage Counter "copilot_tool_calls_total" ["tool"] "" "{call}"
        "Tool calls that models asked for, by tool, where a store tells them; only with tool_calls in the config. Tools that clients don't bring along are mcp or other."
    CALL_DURATION: Usage Histogram "copilot_call_duration_seconds" [] "seconds" "s"
        "Duration of model calls from request to end of reply, of the calls whose store tells it."
    TIME_TO_FIRST_TOKEN: Usage Histogram "copilot_time_to_first_token_seconds" [] "seconds" "s"
        "Time from request to the first token of the reply, of the calls whose store tells it."
    SESSIONS: Usage Counter "copilot_sessions_total" [] "" "{session}"
        "Conversations with at least one model call, under the labels of their first call."
    ACTIVE_SESSIONS: Whole Gauge "copilot_active_sessions" ["surface"] "" "{session}"
        "Conversations with a model call in the last minutes, as of the last scan."
    LAST_CALL: Whole Gauge "copilot_last_call_timestamp_seconds" ["provider"] "seconds" "s"
        "Unix time of the latest model call of a provider."
    WINDOW_COST: Usage Gauge "copilot_window_cost_usd" ["window"] "usd" "{USD}"
        "Cost of the model calls made today, this week and this month (local time zone) in US dollars, reported and list price together, as of the last scan."
    WINDOW_TOKENS: Usage Gauge "copilot_window_tokens" ["window", "token_type"] "tokens" "{token}"
        "Tokens of the model calls made today, this week and this month (local time zone), as of the last scan."
    WINDOW_CALLS: Usage Gauge "copilot_window_calls" ["window"] "" "{call}"
        "Model calls made today, this week and this month (local time zone), as of the last scan."
    BUDGET: Whole Gauge "copilot_budget_usd" ["budget"] "usd" "{USD}"
        "Amount of a configured budget for its whole window in US dollars."
    BUDGET_USED: Whole Gauge "copilot_budget_used_ratio" ["budget"] "ratio" "1"
        "Part of a configured budget that is spent in its current window, as of the last scan; above 1 when overspent."
    BUDGET_FORECAST: Whole Gauge "copilot_budget_forecast_usd" ["budget"] "usd" "{USD}"
        "Spend expected at the end of a budget's current window in US dollars, by linear extrapolation; absent while too little of the window has passed."
    PLAN_ALLOWANCE: Whole Gauge "copilot_plan_allowance_credits" [] "credits" "{credit}"
        "AI credits a month that the configured plan includes."
    MODEL: Whole Info "copilot_model_info" ["model", "vendor", "priced"] "" ""
        "Models seen in calls, their vendor, and whether a list price is known (true, false, or inferred where some of it was not published)."
    MODEL_PRICE: Whole Gauge "copilot_model_price_usd_per_million_tokens" ["model", "token_type"] "" "{USD}"
        "Today's list price of a model in US dollars per million tokens, from the shipped price table or the config."

    BUILD: Own Info "copilot_exporter_build_info" ["version", "revision", "rustc", "target"] "" ""
        "What this exporter was built from."
    START_TIME: Own Gauge "copilot_exporter_start_time_seconds" [] "seconds" "s"
        "Unix time at which the exporter started."
    LEDGER_EPOCH: Own Gauge "copilot_exporter_ledger_epoch_timestamp_seconds" [] "seconds" "s"
        "Unix time at which the ledger was born; a new value says that all totals began anew."
    STORE_UP: Own Gauge "copilot_exporter_store_up" ["store"] "" ""
        "Whether all files of a store could be read at the last scan; absent while nothing of the store is found."
    STORE_FILES: Own Gauge "copilot_exporter_store_files" ["store"] "" "{file}"
        "Files of a store that were found at the last scan."
    STORE_LAST_SUCCESS: Own Gauge "copilot_exporter_store_last_success_timestamp_seconds" ["store"] "seconds" "s"
        "Unix time of the last scan that read all files of a store."
    STORE_BYTES_READ: Own Counter "copilot_exporter_store_bytes_read_total" ["store"] "" "{byte}"
        "Bytes read from the files of a store since the ledger was born; absent for databases, of which it isn't known."
    PARSE_ERRORS: Own Counter "copilot_exporter_parse_errors_total" ["store", "reason"] "" "{record}"
        "Records of a store that should have been understood and were not, by reason."
    SKIPPED_RECORDS: Own Counter "copilot_exporter_skipped_records_total" ["store", "reason"] "" "{record}"
        "Records of a store that were left out on purpose, by reason."
    DUPLICATES: Own Counter "copilot_exporter_duplicate_observations_total" ["store"] "" "{record}"
        "Records of a store that spoke of a call already told by a better record, and so count nothing."
    UNATTRIBUTED_CREDITS: Own Counter "copilot_exporter_unattributed_ai_credits_total" [] "credits" "{credit}"
        "AI credits that Copilot reported as spent without saying on which model; they are not in copilot_ai_credits_total."
    OVERFLOWED_PROJECTS: Own Gauge "copilot_exporter_overflowed_projects" [] "" "{project}"
        "Projects that are counted under project __other__ because max_projects is reached."
    HELD_SERIES: Own Gauge "copilot_exporter_held_series" [] "" "{series}"
        "New series that wait at 0 until a scrape has seen them."
    SCANS: Own Counter "copilot_exporter_scans_total" ["outcome"] "" "{scan}"
        "Scans of all stores since the exporter started: success, partial (a store had a problem) or failure (nothing could be committed)."
    SCAN_DURATION: Own Gauge "copilot_exporter_scan_duration_seconds" [] "seconds" "s"
        "Duration of the last scan."
    LAST_SCAN: Own Gauge "copilot_exporter_last_scan_timestamp_seconds" [] "seconds" "s"
        "Unix time of the last scan's end."
    CONFIG_RELOAD_SUCCESSFUL: Own Gauge "copilot_exporter_config_last_reload_successful" [] "" ""
        "1 if the config in force is the newest one, 0 if a newer one was refused as invalid."
    CONFIG_RELOAD_TIMESTAMP: Own Gauge "copilot_exporter_config_last_reload_success_timestamp_seconds" [] "seconds" "s"
        "Unix time at which the config in force was loaded."
    HTTP_REQUESTS: Own Counter "copilot_exporter_http_requests_total" ["handler", "code"] "" "{request}"
        "HTTP requests answered since the exporter started, by handler and status code."
    OTLP_EXPORTS: Own Counter "copilot_exporter_otlp_exports_total" ["outcome"] "" "{export}"
        "OTLP pushes since the exporter started, by outcome after all retries."
    OTLP_LAST_SUCCESS: Own Gauge "copilot_exporter_otlp_last_success_timestamp_seconds" [] "seconds" "s"
        "Unix time of the last OTLP push that the backend accepted."

    PROCESS_CPU: Own Counter "process_cpu_seconds_total" [] "seconds" "s"
        "Total user and system CPU time spent in seconds."
    PROCESS_OPEN_FDS: Own Gauge "process_open_fds" [] "" "{file}"
        "Number of open file descriptors."
    PROCESS_MAX_FDS: Own Gauge "process_max_fds" [] "" "{file}"
        "Maximum number of open file descriptors."
    PROCESS_VIRTUAL_MEMORY: Own Gauge "process_virtual_memory_bytes" [] "bytes" "By"
        "Virtual memory size in bytes."
    PROCESS_RESIDENT_MEMORY: Own Gauge "process_resident_memory_bytes" [] "bytes" "By"
        "Resident memory size in bytes."
    PROCESS_START_TIME: Own Gauge "process_start_time_seconds" [] "seconds" "s"
        "Unix time at which the process started."
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_follow_the_conventions() {
        let mut names = BTreeSet::new();
        for entry in reference() {
            assert!(names.insert(entry.name), "{} is twice", entry.name);
            assert_eq!(
                entry.name.ends_with("_total"),
                entry.kind == Kind::Counter,
                "{}",
                entry.name
            );
            assert_eq!(
                entry.name.ends_with("_info"),
                entry.kind == Kind::Info,
                "{}",
                entry.name
            );
            let base = entry.name.strip_suffix("_total").unwrap_or(entry.name);
            if !entry.unit.is_empty() {
                assert!(base.ends_with(&format!("_{}", entry.unit)), "{base}");
            }
            assert!(entry.help.ends_with('.') && !entry.help.contains('\n'));
            let prefix = match entry.own {
                true if entry.name.starts_with("process_") => "process_",
                true => "copilot_exporter_",
                false => "copilot_",
            };
            assert!(entry.name.starts_with(prefix), "{}", entry.name);
            let labels: Vec<_> = entry.all_labels().collect();
            let distinct: BTreeSet<_> = labels.iter().collect();
            assert_eq!(labels.len(), distinct.len(), "{}", entry.name);
        }
    }

    /// The rules of the OpenTelemetry specification, "Prometheus and OpenMetrics compatibility".
    #[test]
    fn the_otlp_translation_yields_the_names() {
        for entry in reference() {
            let family = entry.family(Vec::new());
            let mut name = family.otlp_name().replace('.', "_");
            let suffix = match (entry.otlp_unit, entry.kind) {
                ("s", _) => "_seconds",
                ("By", _) => "_bytes",
                ("1", Kind::Gauge) => "_ratio",
                ("", _) => "",
                (unit, _) => {
                    assert!(unit.starts_with('{') && unit.ends_with('}'), "{unit}");
                    ""
                }
            };
            if !name.ends_with(suffix) {
                name.push_str(suffix);
            }
            if entry.kind == Kind::Counter {
                name.push_str("_total");
            }
            assert_eq!(name, entry.name);
        }
    }
}
