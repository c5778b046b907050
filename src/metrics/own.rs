//! The exporter's own metrics.

use std::collections::BTreeMap;

use super::catalogue::{self as cat, Entry};
use super::{Family, Labels, Process, Sample};
use crate::build;
use crate::ledger::{Snapshot, StoreStatus};
use crate::stores::{PARSE_ERRORS, StoreKind};
use crate::usage::{Credits, Timestamp};

/// What the exporter knows of itself, beside the snapshot.
#[derive(Debug, Clone, Default)]
pub struct Exporter {
    pub started: Timestamp,
    /// Requests answered, by handler and status code.
    pub http: BTreeMap<(&'static str, u16), u64>,
    pub config: ConfigStatus,
    /// `None`: nothing is pushed.
    pub otlp: Option<OtlpStatus>,
    pub process: Option<Process>,
}

/// What became of the last attempt to load the config.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ConfigStatus {
    /// A newer config than the one in force was refused.
    pub refused: bool,
    /// When the one in force was loaded.
    pub loaded: Timestamp,
}

/// The pushes so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OtlpStatus {
    pub succeeded: u64,
    pub failed: u64,
    pub last_success: Option<Timestamp>,
}

/// The exporter's own families; those without a sample are left out.
pub fn own(snapshot: &Snapshot, exporter: &Exporter) -> Vec<Family> {
    let started = exporter.started;
    let seconds = |time: Timestamp| time.as_secs_f64();
    let mut families = Families(Vec::new());

    let build = labelled(
        [
            ("version", build::VERSION),
            ("revision", build::REVISION),
            ("rustc", build::RUSTC),
            ("target", build::TARGET),
        ],
        1.0,
    );
    families.gauges(&cat::BUILD, [build]);
    families.gauge(&cat::START_TIME, Some(seconds(started)));
    families.gauge(&cat::LEDGER_EPOCH, Some(seconds(snapshot.epoch)));
    stores(&mut families, snapshot);
    let credits = snapshot.unattributed_credits.0 as f64 / Credits::NANO as f64;
    families.counters(
        &cat::UNATTRIBUTED_CREDITS,
        snapshot.epoch,
        [labelled([], credits)],
    );
    let overflowed = snapshot.overflowed_projects as f64;
    families.gauge(&cat::OVERFLOWED_PROJECTS, Some(overflowed));
    families.gauge(&cat::HELD_SERIES, Some(snapshot.held_series as f64));

    let scan = &snapshot.scan;
    let outcomes = [
        ("success", scan.succeeded),
        ("partial", scan.partial),
        ("failure", scan.failed),
    ];
    families.counters(&cat::SCANS, started, by_outcome(&outcomes));
    families.gauge(
        &cat::SCAN_DURATION,
        scan.last.map(|_| scan.last_duration_seconds),
    );
    families.gauge(&cat::LAST_SCAN, scan.last.map(seconds));

    let in_force = f64::from(u8::from(!exporter.config.refused));
    families.gauge(&cat::CONFIG_RELOAD_SUCCESSFUL, Some(in_force));
    families.gauge(
        &cat::CONFIG_RELOAD_TIMESTAMP,
        Some(seconds(exporter.config.loaded)),
    );

    families.counters(
        &cat::HTTP_REQUESTS,
        started,
        exporter.http.iter().map(|(&(handler, code), &n)| {
            let (mut labels, value) = labelled([("handler", handler)], n as f64);
            labels.push(("code".into(), code.to_string().into()));
            (labels, value)
        }),
    );
    if let Some(otlp) = exporter.otlp {
        let outcomes = [("success", otlp.succeeded), ("failure", otlp.failed)];
        families.counters(&cat::OTLP_EXPORTS, started, by_outcome(&outcomes));
        families.gauge(&cat::OTLP_LAST_SUCCESS, otlp.last_success.map(seconds));
    }
    if let Some(process) = exporter.process {
        process_families(&mut families, process);
    }
    families.0
}

/// Labels and value of a sample.
type Labelled = (Labels, f64);

fn labelled<const N: usize>(labels: [(&'static str, &'static str); N], value: f64) -> Labelled {
    let labels = labels.map(|(name, value)| (name.into(), value.into()));
    (labels.into(), value)
}

fn by_outcome(outcomes: &[(&'static str, u64)]) -> Vec<Labelled> {
    outcomes
        .iter()
        .map(|&(outcome, n)| labelled([("outcome", outcome)], n as f64))
        .collect()
}

fn stores(families: &mut Families, snapshot: &Snapshot) {
    let of = |kept: fn(&StoreStatus) -> bool| -> Vec<(StoreKind, &StoreStatus)> {
        let stores = snapshot.stores.iter().map(|(&kind, status)| (kind, status));
        stores.filter(|(_, status)| kept(status)).collect()
    };
    let found = of(|status| status.up.is_some());
    // The ledger keeps what was counted of a store that is gone.
    let counted = of(|status| {
        let counts = [&status.parse_errors, &status.skipped];
        status.up.is_some() || status.bytes_read > 0 || counts.iter().any(|c| !c.is_empty())
    });
    let born = snapshot.epoch;

    let each = |value: fn(&StoreStatus) -> Option<f64>| {
        found.iter().filter_map(move |(kind, status)| {
            value(status).map(|value| labelled([("store", kind.as_str())], value))
        })
    };
    families.gauges(
        &cat::STORE_UP,
        each(|s| s.up.map(|up| f64::from(u8::from(up)))),
    );
    families.gauges(&cat::STORE_FILES, each(|s| Some(s.files as f64)));
    families.gauges(
        &cat::STORE_LAST_SUCCESS,
        each(|s| s.last_success.map(Timestamp::as_secs_f64)),
    );

    let reasons = |counts: fn(&StoreStatus) -> &BTreeMap<&'static str, u64>| {
        counted.iter().flat_map(move |(kind, status)| {
            let store = kind.as_str();
            let sample = move |(&reason, &n): (&&'static str, &u64)| {
                labelled([("store", store), ("reason", reason)], n as f64)
            };
            counts(status).iter().map(sample)
        })
    };
    let bytes = counted
        .iter()
        .filter(|(kind, _)| !kind.is_database())
        .map(|(kind, status)| labelled([("store", kind.as_str())], status.bytes_read as f64));
    families.counters(&cat::STORE_BYTES_READ, born, bytes);
    let none_yet = found.iter().flat_map(|(kind, status)| {
        let absent = PARSE_ERRORS
            .into_iter()
            .filter(|reason| !status.parse_errors.contains_key(reason));
        absent.map(|reason| labelled([("store", kind.as_str()), ("reason", reason)], 0.0))
    });
    let errors = reasons(|s| &s.parse_errors).chain(none_yet);
    families.counters(&cat::PARSE_ERRORS, born, errors);
    families.counters(&cat::SKIPPED_RECORDS, born, reasons(|s| &s.skipped));
    let duplicates = counted.iter().map(|(kind, _)| {
        let n = snapshot.duplicate_observations.get(kind).copied();
        labelled([("store", kind.as_str())], n.unwrap_or(0) as f64)
    });
    families.counters(&cat::DUPLICATES, born, duplicates);
}

fn process_families(families: &mut Families, process: Process) {
    let started = Timestamp((process.start_time_seconds * 1e3) as i64);
    families.counters(
        &cat::PROCESS_CPU,
        started,
        [labelled([], process.cpu_seconds)],
    );
    families.gauge(&cat::PROCESS_OPEN_FDS, process.open_fds.map(|n| n as f64));
    families.gauge(&cat::PROCESS_MAX_FDS, process.max_fds.map(|n| n as f64));
    families.gauge(
        &cat::PROCESS_VIRTUAL_MEMORY,
        Some(process.virtual_memory_bytes as f64),
    );
    families.gauge(
        &cat::PROCESS_RESIDENT_MEMORY,
        Some(process.resident_memory_bytes as f64),
    );
    families.gauge(&cat::PROCESS_START_TIME, Some(process.start_time_seconds));
}

struct Families(Vec<Family>);

impl Families {
    fn gauge(&mut self, entry: &Entry, value: Option<f64>) {
        self.gauges(entry, value.map(|value| labelled([], value)));
    }

    fn gauges(&mut self, entry: &Entry, values: impl IntoIterator<Item = Labelled>) {
        self.push(entry, None, values);
    }

    fn counters(
        &mut self,
        entry: &Entry,
        born: Timestamp,
        values: impl IntoIterator<Item = Labelled>,
    ) {
        self.push(entry, Some(born), values);
    }

    fn push(
        &mut self,
        entry: &Entry,
        born: Option<Timestamp>,
        values: impl IntoIterator<Item = Labelled>,
    ) {
        let samples: Vec<Sample> = values
            .into_iter()
            .map(|(labels, value)| Sample {
                born,
                ..Sample::gauge(labels, value)
            })
            .collect();
        if !samples.is_empty() {
            self.0.push(entry.family(samples));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::SampleValue;

    fn value(families: &[Family], name: &str, label: &str) -> Option<f64> {
        let family = families.iter().find(|family| family.name == name)?;
        let wanted = |sample: &&Sample| sample.labels.iter().any(|(_, value)| value == label);
        match family.samples.iter().find(wanted)?.value {
            SampleValue::Number(n) => Some(n),
            SampleValue::Histogram(_) => None,
        }
    }

    #[test]
    fn a_failed_store_is_down_and_one_that_is_not_there_is_absent() {
        let mut snapshot = Snapshot::default();
        let failed = StoreStatus {
            up: Some(false),
            ..StoreStatus::default()
        };
        snapshot.stores.insert(StoreKind::CliStore, failed);
        snapshot
            .stores
            .insert(StoreKind::Xcode, StoreStatus::default());
        let families = own(&snapshot, &Exporter::default());
        let up = "copilot_exporter_store_up";
        assert_eq!(value(&families, up, "cli_store"), Some(0.0));
        assert_eq!(value(&families, up, "xcode"), None);
        // Known in advance, so there from the start.
        for outcome in ["success", "partial", "failure"] {
            let scans = "copilot_exporter_scans_total";
            assert_eq!(value(&families, scans, outcome), Some(0.0));
        }
        let duplicates = "copilot_exporter_duplicate_observations_total";
        assert_eq!(value(&families, duplicates, "cli_store"), Some(0.0));
        let errors = "copilot_exporter_parse_errors_total";
        assert_eq!(value(&families, errors, "number"), Some(0.0));
        assert_eq!(value(&families, errors, "xcode"), None);
    }

    #[test]
    fn what_the_ledger_counts_is_as_old_as_the_ledger() {
        let mut snapshot = Snapshot {
            epoch: Timestamp(1_000),
            ..Snapshot::default()
        };
        let gone = StoreStatus {
            bytes_read: 7,
            parse_errors: BTreeMap::from([("shape", 2)]),
            ..StoreStatus::default()
        };
        snapshot.stores.insert(StoreKind::Xcode, gone);
        let exporter = Exporter {
            started: Timestamp(5_000),
            ..Exporter::default()
        };
        let families = own(&snapshot, &exporter);
        let born = |name: &str| {
            let family = families.iter().find(|family| family.name == name);
            family.and_then(|family| family.samples[0].born)
        };
        for name in [
            "copilot_exporter_store_bytes_read_total",
            "copilot_exporter_parse_errors_total",
            "copilot_exporter_duplicate_observations_total",
        ] {
            assert_eq!(born(name), Some(Timestamp(1_000)), "{name}");
        }
        assert_eq!(born("copilot_exporter_scans_total"), Some(Timestamp(5_000)));
        assert_eq!(value(&families, "copilot_exporter_store_up", "xcode"), None);
    }
}
