//! Copilot's usage as families.

use std::borrow::Cow;

use super::catalogue::{self as cat, Entry};
use super::{ConstantLabels, Family, HistogramValue, Labels, Sample, SampleValue};
use crate::ledger::{Series, SeriesLabels, Snapshot, Value};
use crate::usage::{Credits, Histogram, Measure, PremiumRequests, Timestamp, Usd};

/// What `snapshot` knows of Copilot's usage; families without a sample are left out.
pub fn usage(snapshot: &Snapshot, constant: &ConstantLabels) -> Vec<Family> {
    let mut table = Table::new(constant);
    for series in &snapshot.series {
        counters(&mut table, series);
        for histogram in Histogram::ALL {
            histograms(&mut table, series, histogram);
        }
    }
    windows(&mut table, snapshot);
    summaries(&mut table, snapshot);
    table.families()
}

/// The samples so far, by the place of their family in the catalogue.
struct Table<'a> {
    constant: &'a ConstantLabels,
    samples: Vec<(Entry, Vec<Sample>)>,
}

impl<'a> Table<'a> {
    fn new(constant: &'a ConstantLabels) -> Self {
        let usage = cat::reference().iter().filter(|entry| !entry.own);
        Self {
            constant,
            samples: usage.map(|&entry| (entry, Vec::new())).collect(),
        }
    }

    fn push(&mut self, entry: &Entry, mut labels: Labels, sample: impl FnOnce(Labels) -> Sample) {
        labels.extend(self.constant.iter());
        let place = self.samples.iter_mut().find(|(e, _)| e.name == entry.name);
        if let Some((_, samples)) = place {
            samples.push(sample(labels));
        }
    }

    fn gauge(&mut self, entry: &Entry, labels: Labels, value: f64) {
        self.push(entry, labels, |labels| Sample::gauge(labels, value));
    }

    fn families(self) -> Vec<Family> {
        self.samples
            .into_iter()
            .filter(|(_, samples)| !samples.is_empty())
            .map(|(entry, samples)| entry.family(samples))
            .collect()
    }
}

/// Where a measure is shown: family, its own label, and units of the measure to one of the family.
type Place = (Entry, Option<(&'static str, &'static str)>, f64);

fn place(measure: Measure) -> Option<Place> {
    let place = match measure {
        Measure::Calls(who) => (cat::CALLS, Some(("initiator", who.as_str())), 1.0),
        Measure::Tokens(class) => (cat::TOKENS, Some(("token_type", class.as_str())), 1.0),
        Measure::Reasoning => (cat::REASONING_TOKENS, None, 1.0),
        Measure::EstimatedTokens(class) => (
            cat::ESTIMATED_TOKENS,
            Some(("token_type", class.as_str())),
            1.0,
        ),
        Measure::CostReported => (cat::COST, Some(("basis", "reported")), Usd::PICO as f64),
        Measure::CostListPrice => (cat::COST, Some(("basis", "list_price")), Usd::PICO as f64),
        Measure::Credits => (cat::AI_CREDITS, None, Credits::NANO as f64),
        Measure::PremiumRequests => (cat::PREMIUM_REQUESTS, None, PremiumRequests::MICRO as f64),
        Measure::UnpricedCalls => (cat::UNPRICED_CALLS, None, 1.0),
        Measure::PartialCalls => (cat::PARTIAL_CALLS, None, 1.0),
        Measure::Failures(why) => (cat::CALL_FAILURES, Some(("reason", why.as_str())), 1.0),
        Measure::ToolCalls(tool) => (cat::TOOL_CALLS, Some(("tool", tool.as_str())), 1.0),
        Measure::Sessions => (cat::SESSIONS, None, 1.0),
        Measure::Bucket(..) | Measure::HistogramSum(_) => return None,
    };
    Some(place)
}

/// Where a measure of a series is shown.
#[derive(Debug, Clone)]
pub struct Counter {
    pub entry: Entry,
    /// As they are exposed, constant ones too.
    pub labels: Labels,
    /// How many units of the measure are one of the family.
    pub units: f64,
}

/// The counter of a measure; `None`: it is a part of a histogram.
pub fn counter(
    series: &SeriesLabels,
    measure: Measure,
    constant: &ConstantLabels,
) -> Option<Counter> {
    let (entry, own, units) = place(measure)?;
    let mut labels = counter_labels(series, own);
    labels.extend(constant.iter());
    Some(Counter {
        entry,
        labels,
        units,
    })
}

fn counter_labels(series: &SeriesLabels, own: Option<(&'static str, &'static str)>) -> Labels {
    let mut labels = common(series);
    labels.extend(own.map(|(name, value)| (name.into(), value.into())));
    labels
}

fn counters(table: &mut Table<'_>, series: &Series) {
    for (&measure, value) in &series.values {
        let Some((entry, own, scale)) = place(measure) else {
            continue;
        };
        let labels = counter_labels(&series.labels, own);
        table.push(&entry, labels, |labels| Sample {
            labels,
            value: SampleValue::Number(value.amount as f64 / scale),
            born: Some(value.born),
            baseline: SampleValue::Number(value.baseline as f64 / scale),
        });
    }
}

fn histograms(table: &mut Table<'_>, series: &Series, histogram: Histogram) {
    let part = |measure: Measure| series.values.get(&measure);
    let last = Histogram::BOUNDS_MILLIS.len();
    let buckets: Vec<Option<&Value>> = (0..=last)
        .map(|n| part(Measure::Bucket(histogram, n as u8)))
        .collect();
    let sum = part(Measure::HistogramSum(histogram));
    let born: Option<Timestamp> = buckets.iter().flatten().chain(&sum).map(|v| v.born).min();
    let Some(born) = born else {
        return;
    };
    let of = |amount: fn(&Value) -> u128| {
        let count = |value: &Option<&Value>| {
            value.map_or(0, |v| u64::try_from(amount(v)).unwrap_or(u64::MAX))
        };
        let bounds = Histogram::BOUNDS_MILLIS.iter().map(|&ms| ms as f64 / 1e3);
        SampleValue::Histogram(HistogramValue {
            buckets: bounds.zip(buckets.iter().map(count)).collect(),
            overflow: buckets.last().map_or(0, count),
            sum: sum.map_or(0.0, |v| amount(v) as f64 / 1e3),
        })
    };
    let entry = match histogram {
        Histogram::Duration => cat::CALL_DURATION,
        Histogram::TimeToFirstToken => cat::TIME_TO_FIRST_TOKEN,
    };
    table.push(&entry, common(&series.labels), |labels| Sample {
        labels,
        value: of(|v| v.amount),
        born: Some(born),
        baseline: of(|v| v.baseline),
    });
}

fn windows(table: &mut Table<'_>, snapshot: &Snapshot) {
    for total in &snapshot.windows {
        let labels = || {
            let mut labels = common(&total.labels);
            labels.push(("window".into(), total.window.as_str().into()));
            labels
        };
        if let Some(cost) = total.cost {
            table.gauge(&cat::WINDOW_COST, labels(), cost.as_f64());
        }
        for (class, &tokens) in &total.tokens {
            let mut labels = labels();
            labels.push(("token_type".into(), class.as_str().into()));
            table.gauge(&cat::WINDOW_TOKENS, labels, tokens as f64);
        }
        table.gauge(&cat::WINDOW_CALLS, labels(), total.calls as f64);
    }
}

fn summaries(table: &mut Table<'_>, snapshot: &Snapshot) {
    for (surface, &sessions) in &snapshot.active_sessions {
        let labels = vec![("surface".into(), surface.as_str().into())];
        table.gauge(&cat::ACTIVE_SESSIONS, labels, sessions as f64);
    }
    for (provider, time) in &snapshot.last_call {
        let labels = vec![label("provider", provider.as_str())];
        table.gauge(&cat::LAST_CALL, labels, time.as_secs_f64());
    }
    for budget in &snapshot.budgets {
        let labels = || vec![label("budget", &budget.name)];
        let amount = budget.amount.as_f64();
        table.gauge(&cat::BUDGET, labels(), amount);
        if amount > 0.0 {
            table.gauge(&cat::BUDGET_USED, labels(), budget.used.as_f64() / amount);
        }
        if let Some(forecast) = budget.forecast {
            table.gauge(&cat::BUDGET_FORECAST, labels(), forecast.as_f64());
        }
    }
    if let Some(allowance) = snapshot.plan_allowance {
        let credits = allowance.0 as f64 / Credits::NANO as f64;
        table.gauge(&cat::PLAN_ALLOWANCE, Vec::new(), credits);
    }
    for model in &snapshot.models {
        let priced = match (model.usd_per_million.is_empty(), model.inferred) {
            (true, _) => "false",
            (false, true) => "inferred",
            (false, false) => "true",
        };
        let labels = vec![
            label("model", &model.model),
            label("vendor", model.vendor.as_deref().unwrap_or("unknown")),
            ("priced".into(), priced.into()),
        ];
        table.gauge(&cat::MODEL, labels, 1.0);
        for (class, &price) in &model.usd_per_million {
            let labels = vec![
                label("model", &model.model),
                ("token_type".into(), class.as_str().into()),
            ];
            table.gauge(&cat::MODEL_PRICE, labels, price);
        }
    }
}

fn label(name: &'static str, value: &str) -> (Cow<'static, str>, Cow<'static, str>) {
    (name.into(), value.to_owned().into())
}

fn common(labels: &SeriesLabels) -> Labels {
    let mut all = Vec::with_capacity(8);
    all.push(label("provider", labels.provider.as_str()));
    all.push(label("model", &labels.model));
    all.extend(
        labels
            .project
            .as_ref()
            .map(|p| label("project", p.as_str())),
    );
    all.push(("surface".into(), labels.surface.as_str().into()));
    all.extend(labels.user.as_deref().map(|user| label("user", user)));
    all
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::metrics::Kind;
    use crate::usage::{Initiator, Project, Provider, Surface, TokenType};

    fn series(values: &[(Measure, u128)]) -> Series {
        Series {
            labels: SeriesLabels {
                provider: Provider::Copilot,
                model: "gpt-5".to_owned(),
                project: Some(Project::unknown()),
                surface: Surface::Cli,
                user: None,
            },
            values: values
                .iter()
                .map(|&(measure, amount)| {
                    let value = Value {
                        amount,
                        born: Timestamp(1_000),
                        baseline: 0,
                    };
                    (measure, value)
                })
                .collect(),
        }
    }

    fn families(snapshot: &Snapshot, constant: &ConstantLabels) -> BTreeMap<&'static str, Family> {
        let families = usage(snapshot, constant).into_iter();
        families.map(|family| (family.name, family)).collect()
    }

    #[test]
    fn what_is_unknown_is_absent() {
        let snapshot = Snapshot {
            series: vec![series(&[(Measure::Calls(Initiator::User), 2)])],
            ..Snapshot::default()
        };
        let families = families(&snapshot, &ConstantLabels::default());
        assert_eq!(
            families.into_keys().collect::<Vec<_>>(),
            ["copilot_calls_total"]
        );
    }

    #[test]
    fn units_are_those_of_the_names() {
        let snapshot = Snapshot {
            series: vec![series(&[
                (Measure::Tokens(TokenType::CacheRead), 7),
                (Measure::CostReported, 2_500_000_000_000),
                (Measure::Credits, 250_000_000_000),
                (Measure::PremiumRequests, 330_000),
            ])],
            ..Snapshot::default()
        };
        let families = families(&snapshot, &ConstantLabels::default());
        for (name, want) in [
            ("copilot_tokens_total", 7.0),
            ("copilot_cost_usd_total", 2.5),
            ("copilot_ai_credits_total", 250.0),
            ("copilot_premium_requests_total", 0.33),
        ] {
            let sample = &families[name].samples[0];
            assert_eq!(sample.value, SampleValue::Number(want), "{name}");
            assert_eq!(sample.born, Some(Timestamp(1_000)));
        }
    }

    #[test]
    fn labels_in_the_order_of_the_catalogue_with_the_constant_ones_last() {
        let mut shown = series(&[(Measure::Tokens(TokenType::Output), 7)]);
        shown.labels.user = Some("ann".to_owned());
        let mut off = series(&[(Measure::Tokens(TokenType::Output), 7)]);
        off.labels.project = None;
        let snapshot = Snapshot {
            series: vec![shown, off],
            ..Snapshot::default()
        };
        let constant = BTreeMap::from([("team".to_owned(), "blue".to_owned())]);
        let families = families(&snapshot, &ConstantLabels::new(&constant).unwrap());
        let names = |n: usize| -> Vec<&str> {
            let sample = &families["copilot_tokens_total"].samples[n];
            sample.labels.iter().map(|(name, _)| &**name).collect()
        };
        assert_eq!(
            names(0),
            [
                "provider",
                "model",
                "project",
                "surface",
                "user",
                "token_type",
                "team"
            ]
        );
        assert_eq!(
            names(1),
            ["provider", "model", "surface", "token_type", "team"]
        );
    }

    #[test]
    fn histograms_are_put_together_from_their_buckets() {
        let snapshot = Snapshot {
            series: vec![series(&[
                (Measure::Bucket(Histogram::Duration, 1), 2),
                (Measure::Bucket(Histogram::Duration, 11), 1),
                (Measure::HistogramSum(Histogram::Duration), 400_800),
            ])],
            ..Snapshot::default()
        };
        let families = families(&snapshot, &ConstantLabels::default());
        let family = &families["copilot_call_duration_seconds"];
        assert_eq!(family.kind, Kind::Histogram);
        let SampleValue::Histogram(histogram) = &family.samples[0].value else {
            panic!("a histogram");
        };
        assert_eq!(histogram.buckets[1], (0.5, 2));
        assert_eq!((histogram.overflow, histogram.count()), (1, 3));
        assert_eq!(histogram.sum, 400.8);
    }
}
