//! For delta temporality: what a receiver has acknowledged, kept over restarts, so that what happened while
//! the exporter was away arrives once.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::metrics::{Family, HistogramValue, Kind, Sample, SampleValue};
use crate::outlets::textfile;
use crate::usage::Timestamp;

/// The last acknowledged value of every counter and histogram.
#[derive(Debug, Default)]
pub(super) struct Watermark {
    /// `None`: kept in memory only.
    path: Option<PathBuf>,
    acknowledged: BTreeMap<String, Acknowledged>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Acknowledged {
    at: i64,
    value: f64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    buckets: Vec<(f64, u64)>,
    #[serde(default)]
    overflow: u64,
}

impl Watermark {
    /// The watermark that lies in `path`; one that can't be read begins anew, at the history's baseline.
    pub(super) fn open(path: Option<PathBuf>) -> Self {
        let read = |path: &PathBuf| serde_json::from_slice(&std::fs::read(path).ok()?).ok();
        let acknowledged = path.as_ref().and_then(read).unwrap_or_default();
        Self { path, acknowledged }
    }

    /// What was sent of a counter, and when. Of a series never sent, its history at first start counts as
    /// sent: it did not happen now.
    pub(super) fn number(&self, family: &str, sample: &Sample) -> (f64, Option<Timestamp>) {
        match self.acknowledged.get(&key(family, sample)) {
            Some(sent) => (sent.value, Some(Timestamp(sent.at))),
            None => match &sample.baseline {
                SampleValue::Number(history) => (*history, sample.born),
                SampleValue::Histogram(history) => (history.sum, sample.born),
            },
        }
    }

    pub(super) fn histogram(
        &self,
        family: &str,
        sample: &Sample,
    ) -> (Option<HistogramValue>, Option<Timestamp>) {
        match self.acknowledged.get(&key(family, sample)) {
            Some(sent) => {
                let value = HistogramValue {
                    buckets: sent.buckets.clone(),
                    overflow: sent.overflow,
                    sum: sent.value,
                };
                (Some(value), Some(Timestamp(sent.at)))
            }
            None => match &sample.baseline {
                SampleValue::Histogram(history) => (Some(history.clone()), sample.born),
                SampleValue::Number(_) => (None, sample.born),
            },
        }
    }

    /// The receiver has taken `families` as of `taken`. Errors of writing are told and cost exactness only
    /// over the next restart.
    pub(super) fn acknowledge(&mut self, families: &[Family], taken: Timestamp) {
        for family in families
            .iter()
            .filter(|family| matches!(family.kind, Kind::Counter | Kind::Histogram))
        {
            for sample in &family.samples {
                let (value, buckets, overflow) = match &sample.value {
                    SampleValue::Number(value) => (*value, Vec::new(), 0),
                    SampleValue::Histogram(histogram) => {
                        (histogram.sum, histogram.buckets.clone(), histogram.overflow)
                    }
                };
                self.acknowledged.insert(
                    key(family.name, sample),
                    Acknowledged {
                        at: taken.0,
                        value,
                        buckets,
                        overflow,
                    },
                );
            }
        }
        let Some(path) = &self.path else { return };
        let written = serde_json::to_vec(&self.acknowledged)
            .map_err(std::io::Error::from)
            .and_then(|bytes| textfile::replace(path, &bytes));
        if let Err(error) = written {
            tracing::warn!(path = %path.display(), %error, "cannot keep what was pushed; after a restart it may be pushed again");
        }
    }
}

fn key(family: &str, sample: &Sample) -> String {
    let mut key = family.to_owned();
    for (name, value) in &sample.labels {
        // Lengths keep label values of any text apart.
        key.push_str(&format!("\u{1}{name}\u{1}{}\u{1}{value}", value.len()));
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    fn families(value: f64) -> Vec<Family> {
        let sample = Sample {
            labels: vec![("model".into(), "m".into())],
            value: SampleValue::Number(value),
            born: Some(Timestamp(5)),
            baseline: SampleValue::Number(100.0),
        };
        vec![Family {
            name: "c_total",
            help: "h",
            kind: Kind::Counter,
            unit: "",
            otlp_unit: "",
            own: false,
            samples: vec![sample],
        }]
    }

    #[test]
    fn of_a_histogram_only_its_history_is_taken_for_sent() {
        let value = |n| HistogramValue {
            buckets: vec![(1.0, n)],
            overflow: 1,
            sum: n as f64 / 2.0,
        };
        let sample = Sample {
            labels: Vec::new(),
            value: SampleValue::Histogram(value(7)),
            born: Some(Timestamp(5)),
            baseline: SampleValue::Histogram(value(5)),
        };
        let (sent, since) = Watermark::default().histogram("h", &sample);
        assert_eq!((sent, since), (Some(value(5)), Some(Timestamp(5))));
    }

    #[test]
    fn history_is_not_sent_and_what_was_acknowledged_is_not_sent_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("watermark.json");
        let mut watermark = Watermark::open(Some(path.clone()));
        assert_eq!(
            watermark.number("c_total", &families(120.0)[0].samples[0]),
            (100.0, Some(Timestamp(5)))
        );
        watermark.acknowledge(&families(120.0), Timestamp(9));
        let again = Watermark::open(Some(path));
        assert_eq!(
            again.number("c_total", &families(150.0)[0].samples[0]),
            (120.0, Some(Timestamp(9)))
        );
    }
}
