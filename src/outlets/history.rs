//! `history`: the counters as they would have been scraped, had somebody scraped them, for
//! `promtool tsdb create-blocks-from openmetrics`.
//!
//! The stores tell when calls happened, to the slot: a call counts from the end of its slot on. Samples lie
//! close enough together for `increase()` to be right, which sparse ones would not be.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::lines;
use super::period::Period;
use crate::ledger::{Amount, SeriesLabels, Snapshot};
use crate::metrics::{self, ConstantLabels, Counter, Sample};
use crate::usage::{Measure, Slot, Timestamp};

/// The time between two samples of a series: whole slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step(u32);

impl Default for Step {
    /// One slot: Prometheus shows a sample for five minutes.
    fn default() -> Self {
        Self(1)
    }
}

impl std::str::FromStr for Step {
    type Err = String;

    /// `5m`, `15m`, `1h`: up to a day.
    fn from_str(text: &str) -> Result<Self, String> {
        let minutes =
            |(count, minutes): (&str, u32)| count.parse::<u32>().ok()?.checked_mul(minutes);
        let unit = |suffix, length| text.strip_suffix(suffix).map(|count| (count, length));
        unit("m", 1)
            .or(unit("h", 60))
            .and_then(minutes)
            .filter(|minutes| minutes.is_multiple_of(5) && (5..=1_440).contains(minutes))
            .map(|minutes| Self(minutes / 5))
            .ok_or_else(|| "a multiple of 5m, at most 24h, such as 5m or 1h".to_owned())
    }
}

/// What was counted when, by series.
#[derive(Debug, Default)]
pub struct History(BTreeMap<SeriesLabels, BTreeMap<Measure, Vec<(Slot, u64)>>>);

/// One counter over time.
struct Timeline<'a> {
    /// Its increases, ascending.
    increases: &'a [(Slot, u64)],
    /// What it shows now.
    live: u128,
}

impl History {
    /// Adds an amount; in any order.
    pub fn add(&mut self, amount: Amount<'_>) {
        if !self.0.contains_key(amount.labels) {
            self.0.insert(amount.labels.clone(), BTreeMap::new());
        }
        if let Some(measures) = self.0.get_mut(amount.labels) {
            let increases = measures.entry(amount.measure).or_default();
            let same = increases
                .last_mut()
                .filter(|(slot, _)| *slot == amount.slot);
            let sum = same.and_then(|(_, sum)| {
                *sum = sum.checked_add(amount.amount)?;
                Some(())
            });
            if sum.is_none() {
                increases.push((amount.slot, amount.amount));
            }
        }
    }

    /// Writes every counter of `live`, from the beginning of `period` or a 0 before its first increase to the
    /// end of `period` or the live value.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(
        mut self,
        live: &Snapshot,
        constant: &ConstantLabels,
        period: Period,
        step: Step,
        out: &mut impl Write,
    ) -> io::Result<()> {
        for series in &live.series {
            let measures = self.0.entry(series.labels.clone()).or_default();
            for &measure in series.values.keys() {
                measures.entry(measure).or_default();
            }
        }
        let shown: BTreeMap<(&SeriesLabels, Measure), u128> = live
            .series
            .iter()
            .flat_map(|series| {
                let values = series.values.iter();
                values.map(|(&measure, value)| ((&series.labels, measure), value.amount))
            })
            .collect();
        for increases in self.0.values_mut().flat_map(BTreeMap::values_mut) {
            increases.sort_unstable();
        }
        let mut families: BTreeMap<&str, Vec<(Counter, Timeline<'_>)>> = BTreeMap::new();
        for (labels, measures) in &self.0 {
            for (&measure, increases) in measures {
                let timeline = Timeline {
                    increases,
                    live: shown.get(&(labels, measure)).copied().unwrap_or(0),
                };
                if let Some(counter) = metrics::counter(labels, measure, constant) {
                    let family = families.entry(counter.entry.name).or_default();
                    family.push((counter, timeline));
                }
            }
        }
        let grid = Grid {
            step,
            period,
            now: live.taken,
        };
        for entry in metrics::reference() {
            let Some(family) = families.get(entry.name) else {
                continue;
            };
            let name = entry.name.strip_suffix("_total").unwrap_or(entry.name);
            writeln!(out, "# TYPE {name} counter\n# HELP {name} {}", entry.help)?;
            for (counter, timeline) in family {
                let mut series = entry.name.to_owned();
                let sample = Sample::gauge(counter.labels.clone(), 0.0);
                lines::labels(&mut series, &sample, None);
                timeline.write(&series, counter.units, &grid, out)?;
            }
        }
        writeln!(out, "# EOF")
    }
}

/// The times at which there are samples.
struct Grid {
    step: Step,
    period: Period,
    now: Timestamp,
}

impl Grid {
    /// The last time of the grid that isn't after `slot`'s start.
    fn at_or_before(&self, slot: Slot) -> Slot {
        Slot(slot.0 - slot.0 % self.step.0)
    }

    /// Where a counter that first rises in `slot` begins.
    fn begin(&self, slot: Slot) -> Slot {
        let since = self.period.since.unwrap_or(Slot(0));
        self.at_or_before(slot.max(since))
    }

    /// The last time of the grid.
    fn end(&self) -> Slot {
        let now = self.now.slot();
        self.at_or_before(self.period.until.map_or(now, |until| until.min(now)))
    }

    /// The live value is shown last.
    fn reaches_now(&self) -> bool {
        self.period
            .until
            .is_none_or(|until| until.start() > self.now)
    }
}

impl Timeline<'_> {
    /// `series` is the name with the labels.
    fn write(&self, series: &str, units: f64, grid: &Grid, out: &mut impl Write) -> io::Result<()> {
        let known: u128 = self.increases.iter().map(|&(_, n)| u128::from(n)).sum();
        let mut line = String::with_capacity(series.len() + 48);
        let mut sample = |amount: u128, at: Timestamp| {
            line.clear();
            line.push_str(series);
            line.push(' ');
            lines::number(&mut line, amount as f64 / units);
            line.push(' ');
            push_time(&mut line, at);
            writeln!(out, "{line}")
        };
        // What is shown beyond the known increases is of a time that nobody knows: it was always there.
        let mut level = self.live.saturating_sub(known);
        if let Some(&(first, _)) = self.increases.first() {
            let mut rest = self.increases;
            let mut at = grid.begin(first);
            while at <= grid.end() && (at.start() < grid.now || !grid.reaches_now()) {
                let passed = rest.partition_point(|&(slot, _)| slot < at);
                let (before, after) = rest.split_at(passed);
                level += before.iter().map(|&(_, n)| u128::from(n)).sum::<u128>();
                rest = after;
                sample(level, at.start())?;
                at = Slot(at.0 + grid.step.0);
            }
        }
        match grid.reaches_now() {
            true => sample(self.live.max(known), grid.now),
            false => Ok(()),
        }
    }
}

/// Unix seconds, with milliseconds where there are any.
fn push_time(line: &mut String, at: Timestamp) {
    use std::fmt::Write;

    let (seconds, millis) = (at.0.div_euclid(1_000), at.0.rem_euclid(1_000));
    // Writing to a `String` can't fail.
    let _ = match millis {
        0 => write!(line, "{seconds}"),
        _ => write!(line, "{seconds}.{millis:03}"),
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{Series, Value};
    use crate::usage::{Initiator, Project, Provider, Surface};

    const CALLS: Measure = Measure::Calls(Initiator::User);

    fn labels() -> SeriesLabels {
        SeriesLabels {
            provider: Provider::Copilot,
            model: "gpt-5".to_owned(),
            project: Project::named("a\"b"),
            surface: Surface::Cli,
            user: None,
        }
    }

    fn at(text: &str) -> Timestamp {
        Timestamp::parse_iso(text).unwrap()
    }

    fn increase(labels: &SeriesLabels, slot: Slot, measure: Measure, amount: u64) -> Amount<'_> {
        Amount {
            labels,
            session: None,
            slot,
            measure,
            amount,
        }
    }

    fn live(values: &[(Measure, u128)]) -> Snapshot {
        let value = |amount| Value {
            amount,
            born: Timestamp(0),
            baseline: 0,
        };
        Snapshot {
            taken: at("2026-11-30T10:16:00.250Z"),
            series: vec![Series {
                labels: labels(),
                values: values.iter().map(|&(m, n)| (m, value(n))).collect(),
            }],
            ..Snapshot::default()
        }
    }

    fn written(
        increases: &[(&str, Measure, u64)],
        live: &Snapshot,
        period: Period,
        step: &str,
    ) -> String {
        let mut history = History::default();
        for &(time, measure, amount) in increases {
            history.add(increase(&labels(), at(time).slot(), measure, amount));
        }
        let mut out = Vec::new();
        let constant = BTreeMap::from([("job".to_owned(), "copilot".to_owned())]);
        let constant = ConstantLabels::new(&constant).unwrap();
        let step = step.parse().unwrap();
        history
            .write(live, &constant, period, step, &mut out)
            .unwrap();
        String::from_utf8(out).unwrap()
    }

    /// Value and time of each sample of the first series.
    fn samples(text: &str) -> Vec<(f64, Timestamp)> {
        text.lines()
            .filter(|line| !line.starts_with('#'))
            .map(|line| {
                let mut words = line.rsplit(' ');
                let seconds: f64 = words.next().unwrap().parse().unwrap();
                let value = words.next().unwrap().parse().unwrap();
                (value, Timestamp((seconds * 1e3).round() as i64))
            })
            .collect()
    }

    #[test]
    fn a_zero_then_each_slot_then_the_live_value() {
        let increases = [
            ("2026-11-30T10:07:00Z", CALLS, 2),
            ("2026-11-30T10:02:30Z", CALLS, 1),
            ("2026-11-30T10:15:00Z", CALLS, 4),
        ];
        let text = written(&increases, &live(&[(CALLS, 7)]), Period::default(), "5m");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn since_begins_at_the_level_of_then() {
        let increases = [
            ("2026-11-30T09:00:00Z", CALLS, 3),
            ("2026-11-30T10:00:00Z", CALLS, 4),
        ];
        let period = Period {
            since: Some(at("2026-11-30T10:00:00Z").slot()),
            until: Some(at("2026-11-30T10:10:00Z").slot()),
        };
        let text = written(&increases, &live(&[(CALLS, 7)]), period, "5m");
        assert_eq!(
            samples(&text),
            [
                (3.0, at("2026-11-30T10:00:00Z")),
                (7.0, at("2026-11-30T10:05:00Z")),
                (7.0, at("2026-11-30T10:10:00Z")),
            ]
        );
        assert!(text.ends_with("# EOF\n"));
    }

    #[test]
    fn coarser_steps_lose_nothing() {
        let increases = [
            ("2026-11-30T08:50:00Z", CALLS, 3),
            ("2026-11-30T09:55:00Z", CALLS, 4),
        ];
        let text = written(&increases, &live(&[(CALLS, 7)]), Period::default(), "1h");
        assert_eq!(
            samples(&text),
            [
                (0.0, at("2026-11-30T08:00:00Z")),
                (3.0, at("2026-11-30T09:00:00Z")),
                (7.0, at("2026-11-30T10:00:00Z")),
                (7.0, at("2026-11-30T10:16:00.250Z")),
            ]
        );
    }

    #[test]
    fn what_nobody_can_date_was_always_there() {
        let increases = [("2026-11-30T10:10:00Z", CALLS, 2)];
        let text = written(&increases, &live(&[(CALLS, 10)]), Period::default(), "5m");
        let values: Vec<f64> = samples(&text).iter().map(|&(value, _)| value).collect();
        assert_eq!(values, [8.0, 10.0, 10.0]);
        let text = written(&[], &live(&[(CALLS, 10)]), Period::default(), "5m");
        assert_eq!(samples(&text), [(10.0, at("2026-11-30T10:16:00.250Z"))]);
    }

    #[test]
    fn a_call_of_the_future_counts_now() {
        let increases = [
            ("2026-11-30T10:10:00Z", CALLS, 1),
            ("2027-01-01T00:00:00Z", CALLS, 1),
        ];
        // It is held at 0 until a scrape has seen that.
        let text = written(&increases, &live(&[(CALLS, 0)]), Period::default(), "5m");
        assert_eq!(samples(&text).last().map(|&(value, _)| value), Some(2.0));
    }

    #[test]
    fn steps() {
        for (text, slots) in [("5m", 1), ("15m", 3), ("1h", 12), ("24h", 288)] {
            assert_eq!(text.parse(), Ok(Step(slots)), "{text}");
        }
        for text in ["", "5", "0m", "7m", "25h", "4294967295h", "m", "-5m"] {
            assert!(text.parse::<Step>().is_err(), "{text}");
        }
    }

    proptest::proptest! {
        /// Whatever the increases: times ascend, values never fall, and the last is the live value.
        #[test]
        fn counters_in_time(
            increases in proptest::collection::vec((0_u32..400, 0_u64..1_000), 1..30),
            beyond in 0_u128..5,
            slots in 1_u32..50,
        ) {
            let first = at("2026-11-29T00:00:00Z").slot().0;
            let mut history = History::default();
            for &(offset, amount) in &increases {
                history.add(increase(&labels(), Slot(first + offset), CALLS, amount));
            }
            let total: u128 = increases.iter().map(|&(_, n)| u128::from(n)).sum();
            let live = live(&[(CALLS, total + beyond)]);
            let mut out = Vec::new();
            history
                .write(&live, &ConstantLabels::default(), Period::default(), Step(slots), &mut out)
                .unwrap();
            let samples = samples(&String::from_utf8(out).unwrap());
            proptest::prop_assert!(samples.windows(2).all(|two| two[0].0 <= two[1].0 && two[0].1 < two[1].1));
            proptest::prop_assert_eq!(samples[0].0, beyond as f64);
            let last = samples[samples.len() - 1];
            proptest::prop_assert_eq!(last, ((total + beyond) as f64, live.taken));
        }
    }
}
