//! A family of metrics with its samples: what every outlet renders.

use std::borrow::Cow;

use crate::usage::Timestamp;

/// The type of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Counter,
    Gauge,
    /// A gauge of value 1 whose labels are the information.
    Info,
    Histogram,
}

/// One family, with the samples of a snapshot.
#[derive(Debug, Clone, PartialEq)]
pub struct Family {
    /// The name as Prometheus text 0.0.4 has it: a counter ends in `_total`, an info in `_info`.
    pub name: &'static str,
    pub help: &'static str,
    pub kind: Kind,
    /// The unit of OpenMetrics: a suffix of the name (without `_total`), or empty.
    pub unit: &'static str,
    /// The unit of OTLP, such that the standard translation yields `name`: `{token}`, `s`, `By`, `1`, …
    pub otlp_unit: &'static str,
    /// The exporter's own metrics, which can be left out.
    pub own: bool,
    pub samples: Vec<Sample>,
}

impl Family {
    /// The name on OTLP: dotted, without what the translation to Prometheus adds again.
    pub fn otlp_name(&self) -> String {
        let base = self.name.strip_suffix("_total").unwrap_or(self.name);
        let translated = matches!(self.otlp_unit, "s" | "By" | "1");
        let base = match base.strip_suffix(self.unit) {
            Some(shorter) if translated => shorter.trim_end_matches('_'),
            _ => base,
        };
        base.replace('_', ".")
    }
}

/// Names and values. Names are unique: the catalogue's and, after those, the config's constant ones.
pub type Labels = Vec<(Cow<'static, str>, Cow<'static, str>)>;

#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    pub labels: Labels,
    pub value: SampleValue,
    /// Since when a counter or histogram counts.
    pub born: Option<Timestamp>,
    /// Of a counter's or histogram's value, what was there before it was born as history (first start).
    pub baseline: SampleValue,
}

impl Sample {
    /// A value without a past.
    pub fn gauge(labels: Labels, value: f64) -> Self {
        Self {
            labels,
            value: SampleValue::Number(value),
            born: None,
            baseline: SampleValue::Number(0.0),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum SampleValue {
    Number(f64),
    Histogram(HistogramValue),
}

/// A classic histogram.
#[derive(Debug, Clone, PartialEq)]
pub struct HistogramValue {
    /// Upper bounds and the counts of their own bucket (not cumulative), +Inf left out.
    pub buckets: Vec<(f64, u64)>,
    /// Above the last bound.
    pub overflow: u64,
    pub sum: f64,
}

impl HistogramValue {
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|&(_, n)| n).sum::<u64>() + self.overflow
    }
}
