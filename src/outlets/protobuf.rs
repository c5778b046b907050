//! Length-delimited `io.prometheus.client.MetricFamily` messages.

use prost::Message;

use crate::metrics::{self, HistogramValue, Kind, SampleValue};
use crate::usage::Timestamp;

pub(super) fn render(families: &[metrics::Family]) -> Vec<u8> {
    let mut out = Vec::new();
    for family in families {
        let message = MetricFamily::from(family);
        // A Vec grows as it must, so that this can't fail.
        let _ = message.encode_length_delimited(&mut out);
    }
    out
}

// The part of `metrics.proto` of prometheus/client_model that is used here. It is proto2: a field that is
// 0 but present differs from one that is absent.

#[derive(Clone, PartialEq, Message)]
pub(super) struct MetricFamily {
    #[prost(string, optional, tag = "1")]
    pub(super) name: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub(super) help: Option<String>,
    #[prost(enumeration = "MetricType", optional, tag = "3")]
    pub(super) kind: Option<i32>,
    #[prost(message, repeated, tag = "4")]
    pub(super) metric: Vec<Metric>,
    #[prost(string, optional, tag = "5")]
    pub(super) unit: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, prost::Enumeration)]
#[repr(i32)]
pub(super) enum MetricType {
    Counter = 0,
    Gauge = 1,
    Histogram = 4,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Metric {
    #[prost(message, repeated, tag = "1")]
    pub(super) label: Vec<LabelPair>,
    #[prost(message, optional, tag = "2")]
    pub(super) gauge: Option<Gauge>,
    #[prost(message, optional, tag = "3")]
    pub(super) counter: Option<Counter>,
    #[prost(message, optional, tag = "7")]
    pub(super) histogram: Option<Histogram>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct LabelPair {
    #[prost(string, optional, tag = "1")]
    pub(super) name: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub(super) value: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Gauge {
    #[prost(double, optional, tag = "1")]
    pub(super) value: Option<f64>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Counter {
    #[prost(double, optional, tag = "1")]
    pub(super) value: Option<f64>,
    #[prost(message, optional, tag = "3")]
    pub(super) created: Option<ProtoTimestamp>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Histogram {
    #[prost(uint64, optional, tag = "1")]
    pub(super) sample_count: Option<u64>,
    #[prost(double, optional, tag = "2")]
    pub(super) sample_sum: Option<f64>,
    #[prost(message, repeated, tag = "3")]
    pub(super) bucket: Vec<Bucket>,
    #[prost(message, optional, tag = "15")]
    pub(super) created: Option<ProtoTimestamp>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Bucket {
    #[prost(uint64, optional, tag = "1")]
    pub(super) cumulative_count: Option<u64>,
    #[prost(double, optional, tag = "2")]
    pub(super) upper_bound: Option<f64>,
}

/// `google.protobuf.Timestamp`.
#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct ProtoTimestamp {
    #[prost(int64, tag = "1")]
    pub(super) seconds: i64,
    #[prost(int32, tag = "2")]
    pub(super) nanos: i32,
}

impl From<&metrics::Family> for MetricFamily {
    fn from(family: &metrics::Family) -> Self {
        let kind = match family.kind {
            Kind::Counter => MetricType::Counter,
            Kind::Gauge | Kind::Info => MetricType::Gauge,
            Kind::Histogram => MetricType::Histogram,
        };
        let metric = |sample| metric(family.kind, sample);
        Self {
            name: Some(family.name.to_owned()),
            help: Some(family.help.to_owned()),
            kind: Some(kind.into()),
            metric: family.samples.iter().map(metric).collect(),
            unit: (!family.unit.is_empty()).then(|| family.unit.to_owned()),
        }
    }
}

fn metric(kind: Kind, sample: &metrics::Sample) -> Metric {
    let label = sample.labels.iter().map(|(name, value)| LabelPair {
        name: Some(name.clone().into_owned()),
        value: Some(value.clone().into_owned()),
    });
    let mut metric = Metric {
        label: label.collect(),
        ..Metric::default()
    };
    let created = sample.born.map(ProtoTimestamp::from);
    match &sample.value {
        SampleValue::Number(value) if kind == Kind::Counter => {
            metric.counter = Some(Counter {
                value: Some(*value),
                created,
            });
        }
        SampleValue::Number(value) => {
            metric.gauge = Some(Gauge {
                value: Some(*value),
            });
        }
        SampleValue::Histogram(value) => metric.histogram = Some(histogram(value, created)),
    }
    metric
}

fn histogram(value: &HistogramValue, created: Option<ProtoTimestamp>) -> Histogram {
    let mut cumulative = 0;
    let finite = value.buckets.iter().map(|&(bound, count)| {
        cumulative += count;
        (bound, cumulative)
    });
    let bucket = finite
        .chain([(f64::INFINITY, value.count())])
        .map(|(bound, count)| Bucket {
            cumulative_count: Some(count),
            upper_bound: Some(bound),
        });
    Histogram {
        bucket: bucket.collect(),
        sample_count: Some(value.count()),
        sample_sum: Some(value.sum),
        created,
    }
}

impl From<Timestamp> for ProtoTimestamp {
    fn from(time: Timestamp) -> Self {
        Self {
            seconds: time.0.div_euclid(1_000),
            // Below 1e9 by the remainder.
            nanos: (time.0.rem_euclid(1_000) * 1_000_000) as i32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outlets::examples;

    fn decoded(families: &[metrics::Family]) -> Vec<MetricFamily> {
        let bytes = render(families);
        let mut rest = bytes.as_slice();
        let mut messages = Vec::new();
        while !rest.is_empty() {
            messages.push(MetricFamily::decode_length_delimited(&mut rest).unwrap());
        }
        messages
    }

    #[test]
    fn counters_keep_their_zero_and_their_birth() {
        let messages = decoded(&examples::families());
        let counter = messages[0].metric[1].counter.as_ref().unwrap();
        assert_eq!(messages[0].name.as_deref(), Some("copilot_tokens_total"));
        assert_eq!(counter.value, Some(0.0));
        assert_eq!(
            counter.created,
            Some(ProtoTimestamp {
                seconds: 1_790_000_000,
                nanos: 250_000_000
            })
        );
    }

    #[test]
    fn buckets_are_cumulative_and_end_with_infinity() {
        let messages = decoded(&examples::families());
        let family = messages.iter().find(|m| m.kind == Some(4)).unwrap();
        let histogram = family.metric[0].histogram.as_ref().unwrap();
        let counts: Vec<_> = histogram
            .bucket
            .iter()
            .map(|b| (b.upper_bound.unwrap(), b.cumulative_count.unwrap()))
            .collect();
        assert_eq!(counts, [(0.25, 1), (1.0, 3), (f64::INFINITY, 4)]);
        assert_eq!(histogram.sample_count, Some(4));
    }
}
