//! Families for the outlets' tests.

use std::borrow::Cow;

use crate::metrics::{Family, HistogramValue, Kind, Sample, SampleValue};
use crate::usage::Timestamp;

/// One family of each kind, among them a label value that needs every escape.
pub(super) fn families() -> Vec<Family> {
    let counter = |labels: &[(&'static str, &'static str)], value| Sample {
        born: Some(Timestamp(1_790_000_000_250)),
        ..sample(labels, value)
    };
    vec![
        family(
            "copilot_tokens_total",
            Kind::Counter,
            "tokens",
            vec![
                counter(&[("model", "a"), ("project", "say \"hi\"\\\n")], 12_345.0),
                counter(&[("model", "b"), ("project", "é")], 0.0),
            ],
        ),
        family(
            "copilot_budget_used_ratio",
            Kind::Gauge,
            "ratio",
            vec![sample(&[("budget", "team")], 0.5)],
        ),
        family(
            "copilot_model_info",
            Kind::Info,
            "",
            vec![sample(&[("model", "a")], 1.0)],
        ),
        family(
            "copilot_call_duration_seconds",
            Kind::Histogram,
            "seconds",
            vec![Sample {
                value: SampleValue::Histogram(HistogramValue {
                    buckets: vec![(0.25, 1), (1.0, 2)],
                    overflow: 1,
                    sum: 7.5,
                }),
                ..counter(&[("model", "a")], 0.0)
            }],
        ),
        family(
            "copilot_exporter_held_series",
            Kind::Gauge,
            "",
            vec![sample(&[], 3.0)],
        ),
    ]
}

pub(super) fn family(
    name: &'static str,
    kind: Kind,
    unit: &'static str,
    samples: Vec<Sample>,
) -> Family {
    Family {
        name,
        help: "A \"help\" with a \\ and\na line feed.",
        kind,
        unit,
        otlp_unit: "",
        own: false,
        samples,
    }
}

pub(super) fn sample(labels: &[(&'static str, &'static str)], value: f64) -> Sample {
    let labels = labels
        .iter()
        .map(|&(name, value)| (Cow::Borrowed(name), Cow::Borrowed(value)));
    Sample::gauge(labels.collect(), value)
}
