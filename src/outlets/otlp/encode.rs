//! Families → OTLP requests, such that the standard OTLP-to-Prometheus translation gives the scrape's names.

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value};
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint,
    ResourceMetrics, ScopeMetrics, Sum, metric, number_data_point,
};
use opentelemetry_proto::tonic::resource::v1::Resource;

use super::delta::Watermark;
use crate::metrics::{Family, HistogramValue, Kind, Sample, SampleValue};
use crate::usage::Timestamp;

/// Points in one request: far below the 4 MiB that gRPC servers take by default.
const MOST_POINTS: usize = 4_000;

/// What all requests of one push share.
#[derive(Debug, Clone)]
pub(super) struct Batch<'a> {
    pub(super) resource: Resource,
    pub(super) taken: Timestamp,
    /// When the process started: the start of what has no time of its own.
    pub(super) started: Timestamp,
    /// What was acknowledged so far, for delta temporality; `None`: cumulative.
    pub(super) watermark: Option<&'a Watermark>,
}

/// A resource with these attributes.
pub(super) fn resource(attributes: impl IntoIterator<Item = (String, String)>) -> Resource {
    Resource {
        attributes: attributes
            .into_iter()
            .map(|(name, value)| attribute(&name, &value))
            .collect(),
        ..Resource::default()
    }
}

/// The requests that carry `families`, in chunks that every receiver takes.
pub(super) fn requests(batch: &Batch<'_>, families: &[Family]) -> Vec<ExportMetricsServiceRequest> {
    let mut requests = Vec::new();
    let mut metrics = Vec::new();
    let mut points = 0;
    for family in families.iter().filter(|family| !family.samples.is_empty()) {
        for samples in family.samples.chunks(MOST_POINTS) {
            if points + samples.len() > MOST_POINTS && points > 0 {
                requests.push(request(batch, std::mem::take(&mut metrics)));
                points = 0;
            }
            points += samples.len();
            metrics.push(metric(batch, family, samples));
        }
    }
    if !metrics.is_empty() {
        requests.push(request(batch, metrics));
    }
    requests
}

fn request(batch: &Batch<'_>, metrics: Vec<Metric>) -> ExportMetricsServiceRequest {
    let scope = InstrumentationScope {
        name: env!("CARGO_PKG_NAME").to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..InstrumentationScope::default()
    };
    ExportMetricsServiceRequest {
        resource_metrics: vec![ResourceMetrics {
            resource: Some(batch.resource.clone()),
            scope_metrics: vec![ScopeMetrics {
                scope: Some(scope),
                metrics,
                ..ScopeMetrics::default()
            }],
            ..ResourceMetrics::default()
        }],
    }
}

fn metric(batch: &Batch<'_>, family: &Family, samples: &[Sample]) -> Metric {
    let temporality = match batch.watermark {
        Some(_) => AggregationTemporality::Delta,
        None => AggregationTemporality::Cumulative,
    } as i32;
    let data = match family.kind {
        Kind::Counter => metric::Data::Sum(Sum {
            data_points: samples
                .iter()
                .map(|sample| number(batch, family, sample))
                .collect(),
            aggregation_temporality: temporality,
            is_monotonic: true,
        }),
        Kind::Gauge | Kind::Info => metric::Data::Gauge(Gauge {
            data_points: samples
                .iter()
                .map(|sample| number(batch, family, sample))
                .collect(),
        }),
        Kind::Histogram => metric::Data::Histogram(Histogram {
            data_points: samples
                .iter()
                .filter_map(|sample| histogram(batch, family, sample))
                .collect(),
            aggregation_temporality: temporality,
        }),
    };
    Metric {
        name: family.otlp_name(),
        description: family.help.to_owned(),
        unit: family.otlp_unit.to_owned(),
        data: Some(data),
        ..Metric::default()
    }
}

fn number(batch: &Batch<'_>, family: &Family, sample: &Sample) -> NumberDataPoint {
    let value = match &sample.value {
        SampleValue::Number(value) => *value,
        SampleValue::Histogram(histogram) => histogram.sum,
    };
    let (value, start) = match (family.kind, batch.watermark) {
        (Kind::Counter, Some(watermark)) => {
            let (sent, since) = watermark.number(family.name, sample);
            ((value - sent).max(0.0), since.unwrap_or(batch.started))
        }
        (Kind::Counter, None) => (value, start(batch, sample)),
        _ => (value, Timestamp(0)),
    };
    NumberDataPoint {
        attributes: attributes(sample),
        start_time_unix_nano: nanos(start),
        time_unix_nano: nanos(batch.taken),
        value: Some(number_data_point::Value::AsDouble(value)),
        ..NumberDataPoint::default()
    }
}

fn histogram(batch: &Batch<'_>, family: &Family, sample: &Sample) -> Option<HistogramDataPoint> {
    let SampleValue::Histogram(total) = &sample.value else {
        return None;
    };
    let (value, start) = match batch.watermark {
        Some(watermark) => {
            let (sent, since) = watermark.histogram(family.name, sample);
            (
                difference(total, sent.as_ref()),
                since.unwrap_or(batch.started),
            )
        }
        None => (total.clone(), start(batch, sample)),
    };
    Some(HistogramDataPoint {
        attributes: attributes(sample),
        start_time_unix_nano: nanos(start),
        time_unix_nano: nanos(batch.taken),
        count: value.count(),
        sum: Some(value.sum),
        bucket_counts: value
            .buckets
            .iter()
            .map(|&(_, n)| n)
            .chain([value.overflow])
            .collect(),
        explicit_bounds: value.buckets.iter().map(|&(bound, _)| bound).collect(),
        ..HistogramDataPoint::default()
    })
}

fn difference(total: &HistogramValue, sent: Option<&HistogramValue>) -> HistogramValue {
    let Some(sent) = sent.filter(|sent| sent.buckets.len() == total.buckets.len()) else {
        return total.clone();
    };
    HistogramValue {
        buckets: total
            .buckets
            .iter()
            .zip(&sent.buckets)
            .map(|(&(bound, n), &(_, was))| (bound, n.saturating_sub(was)))
            .collect(),
        overflow: total.overflow.saturating_sub(sent.overflow),
        sum: (total.sum - sent.sum).max(0.0),
    }
}

/// A series' own durable start: a restart is no reset, and what is older than the process did not happen
/// since the process started.
fn start(batch: &Batch<'_>, sample: &Sample) -> Timestamp {
    sample.born.unwrap_or(batch.started).min(batch.taken)
}

fn attributes(sample: &Sample) -> Vec<KeyValue> {
    sample
        .labels
        .iter()
        .map(|(name, value)| attribute(name, value))
        .collect()
}

fn attribute(name: &str, value: &str) -> KeyValue {
    KeyValue {
        key: name.to_owned(),
        value: Some(AnyValue {
            value: Some(any_value::Value::StringValue(value.to_owned())),
        }),
        ..KeyValue::default()
    }
}

fn nanos(time: Timestamp) -> u64 {
    u64::try_from(time.0).unwrap_or(0).saturating_mul(1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn family(
        name: &'static str,
        kind: Kind,
        otlp_unit: &'static str,
        samples: Vec<Sample>,
    ) -> Family {
        Family {
            name,
            help: "h",
            kind,
            unit: "",
            otlp_unit,
            own: false,
            samples,
        }
    }

    fn sample(value: f64, born: i64) -> Sample {
        Sample {
            labels: vec![("model".into(), "m".into())],
            value: SampleValue::Number(value),
            born: Some(Timestamp(born)),
            baseline: SampleValue::Number(0.0),
        }
    }

    fn batch() -> Batch<'static> {
        Batch {
            resource: resource([]),
            taken: Timestamp(2_000),
            started: Timestamp(1_000),
            watermark: None,
        }
    }

    #[test]
    fn a_counter_carries_its_own_start() {
        let requests = requests(
            &batch(),
            &[family(
                "copilot_calls_total",
                Kind::Counter,
                "{call}",
                vec![sample(7.0, 500)],
            )],
        );
        let metric = &requests[0].resource_metrics[0].scope_metrics[0].metrics[0];
        let Some(metric::Data::Sum(sum)) = &metric.data else {
            panic!("a sum")
        };
        assert!(sum.is_monotonic);
        assert_eq!(sum.data_points[0].start_time_unix_nano, 500_000_000);
        assert_eq!(sum.data_points[0].time_unix_nano, 2_000_000_000);
        assert_eq!(
            sum.data_points[0].value,
            Some(number_data_point::Value::AsDouble(7.0))
        );
    }

    #[test]
    fn many_points_go_in_several_requests_and_none_is_lost() {
        let samples = (0..2 * MOST_POINTS + 5)
            .map(|n| sample(n as f64, 1))
            .collect();
        let requests = requests(
            &batch(),
            &[
                family("copilot_calls_total", Kind::Counter, "", samples),
                family("copilot_x_total", Kind::Counter, "", vec![sample(1.0, 1)]),
            ],
        );
        let points: usize = requests
            .iter()
            .flat_map(|request| &request.resource_metrics[0].scope_metrics[0].metrics)
            .map(|metric| match &metric.data {
                Some(metric::Data::Sum(sum)) => sum.data_points.len(),
                _ => 0,
            })
            .sum();
        assert_eq!(points, 2 * MOST_POINTS + 6);
        assert_eq!(requests.len(), 3);
    }
}
