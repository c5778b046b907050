//! Sample lines, which text 0.0.4 and OpenMetrics have in common.

use std::fmt::Write;

use crate::metrics::{HistogramValue, Sample, SampleValue};

/// The line of a sample; the lines of a histogram.
pub(super) fn sample(out: &mut String, name: &str, sample: &Sample) {
    match &sample.value {
        SampleValue::Number(value) => {
            out.push_str(name);
            labels(out, sample, None);
            value_and_end(out, *value);
        }
        SampleValue::Histogram(histogram) => histogram_lines(out, name, sample, histogram),
    }
}

fn histogram_lines(out: &mut String, name: &str, sample: &Sample, histogram: &HistogramValue) {
    let mut line = |suffix: &str, le: Option<&str>, value: f64| {
        out.push_str(name);
        out.push_str(suffix);
        labels(out, sample, le);
        value_and_end(out, value);
    };
    let mut cumulative = 0;
    for &(bound, count) in &histogram.buckets {
        cumulative += count;
        line("_bucket", Some(&bucket_bound(bound)), cumulative as f64);
    }
    line("_bucket", Some("+Inf"), histogram.count() as f64);
    line("_sum", None, histogram.sum);
    line("_count", None, histogram.count() as f64);
}

/// A bound as OpenMetrics wants it (`1.0`, not `1`), in every text format: else one bucket would be two
/// series for a server that changes the format.
fn bucket_bound(bound: f64) -> String {
    let mut text = String::new();
    number(&mut text, bound);
    if !text.contains(['.', 'e', 'I', 'N']) {
        text.push_str(".0");
    }
    text
}

/// `{name="value",…}`, or nothing where there are no labels.
pub(super) fn labels(out: &mut String, sample: &Sample, le: Option<&str>) {
    let mut open = '{';
    let mut label = |name: &str, value: &str| {
        out.push(open);
        open = ',';
        out.push_str(name);
        out.push_str("=\"");
        escape(out, value, true);
        out.push('"');
    };
    for (name, value) in &sample.labels {
        label(name, value);
    }
    if let Some(le) = le {
        label("le", le);
    }
    if open == ',' {
        out.push('}');
    }
}

fn value_and_end(out: &mut String, value: f64) {
    out.push(' ');
    number(out, value);
    out.push('\n');
}

/// Appends `text` with backslashes, line feeds and, where asked, quotation marks escaped.
pub(super) fn escape(out: &mut String, text: &str, quotes: bool) {
    let special = |c: char| c == '\\' || c == '\n' || (quotes && c == '"');
    let mut rest = text;
    while let Some(at) = rest.find(special) {
        let (plain, from) = rest.split_at(at);
        out.push_str(plain);
        let mut chars = from.chars();
        match chars.next() {
            Some('\n') => out.push_str("\\n"),
            Some(c) => out.extend(['\\', c]),
            None => {}
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
}

/// Appends a number so that reading it yields the same `f64`.
pub(super) fn number(out: &mut String, value: f64) {
    /// Integers up to here are exact, and their plain digits are the shortest spelling.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let _ = if value.is_nan() {
        out.write_str("NaN")
    } else if value.is_infinite() {
        out.write_str(if value > 0.0 { "+Inf" } else { "-Inf" })
    } else if value.fract() == 0.0 && value.abs() <= EXACT {
        write!(out, "{}", value as i64)
    } else if (1e-5..1e17).contains(&value.abs()) {
        write!(out, "{value}")
    } else {
        write!(out, "{value:e}")
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(value: f64) -> String {
        let mut out = String::new();
        number(&mut out, value);
        out
    }

    #[test]
    fn numbers() {
        for (value, want) in [
            (0.0, "0"),
            (1.0, "1"),
            (-2.0, "-2"),
            (0.33, "0.33"),
            (1e21, "1e21"),
            (2.5e-9, "2.5e-9"),
            (9_007_199_254_740_992.0, "9007199254740992"),
            (f64::INFINITY, "+Inf"),
            (f64::NEG_INFINITY, "-Inf"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(written(value), want);
        }
    }

    #[test]
    fn bounds_are_spelt_as_floats() {
        for (bound, want) in [(0.25, "0.25"), (1.0, "1.0"), (300.0, "300.0")] {
            assert_eq!(bucket_bound(bound), want);
        }
    }

    /// Reads a line as the format's rules say: name, labels, value.
    fn parse(line: &str) -> (String, Vec<(String, String)>, f64) {
        let mut chars = line.chars();
        let name: String = chars.by_ref().take_while(|&c| c != '{').collect();
        let mut labels = Vec::new();
        loop {
            let label: String = chars.by_ref().take_while(|&c| c != '=').collect();
            assert_eq!(chars.next(), Some('"'));
            let mut value = String::new();
            loop {
                match chars.next().expect("a closing quotation mark") {
                    '"' => break,
                    '\\' => value.push(match chars.next() {
                        Some('n') => '\n',
                        Some(c @ ('\\' | '"')) => c,
                        other => panic!("no escape: {other:?}"),
                    }),
                    c => value.push(c),
                }
            }
            labels.push((label, value));
            match chars.next() {
                Some(',') => {}
                Some('}') => break,
                other => panic!("neither , nor }}: {other:?}"),
            }
        }
        let value = chars.as_str().strip_prefix(' ').expect("a blank");
        (name, labels, value.parse().expect("a number"))
    }

    proptest::proptest! {
        #[test]
        fn hostile_values_stay_in_their_label(
            values in proptest::collection::vec("[\\PC\n\r\t\\\\\"{},= \u{0}]{0,20}", 1..4),
            number in proptest::num::f64::NORMAL,
        ) {
            let names = ["model", "project", "surface"];
            let labels = names.iter().zip(&values);
            let one = Sample::gauge(
                labels.clone().map(|(&n, v)| (n.into(), v.clone().into())).collect(),
                number,
            );
            let mut out = String::new();
            sample(&mut out, "m", &one);
            let (line, rest) = out.split_once('\n').unwrap();
            proptest::prop_assert_eq!(rest, "");
            let want = labels.map(|(&n, v)| (n.to_owned(), v.clone())).collect();
            proptest::prop_assert_eq!(parse(line), ("m".to_owned(), want, number));
        }

        #[test]
        fn numbers_survive(value in proptest::num::f64::NORMAL | proptest::num::f64::SUBNORMAL) {
            assert_eq!(written(value).parse::<f64>().unwrap(), value);
        }
    }
}
