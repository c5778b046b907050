//! OpenMetrics 1.0 text format.

use super::lines;
use crate::metrics::{Family, Kind, Sample};

/// Without the `# EOF` at the end. With `created`, `_created` samples follow those of a counter or histogram.
pub(super) fn render(families: &[Family], created: bool) -> String {
    let mut out = String::new();
    for family in families {
        let (kind, suffix) = match family.kind {
            Kind::Counter => ("counter", "_total"),
            Kind::Gauge => ("gauge", ""),
            Kind::Info => ("info", "_info"),
            Kind::Histogram => ("histogram", ""),
        };
        let name = family.name.strip_suffix(suffix).unwrap_or(family.name);
        out.extend(["# TYPE ", name, " ", kind, "\n"]);
        if !family.unit.is_empty() {
            out.extend(["# UNIT ", name, " ", family.unit, "\n"]);
        }
        out.extend(["# HELP ", name, " "]);
        lines::escape(&mut out, family.help, true);
        out.push('\n');
        // The samples of one metric must be together, so each is followed by its own `_created`.
        for sample in &family.samples {
            lines::sample(&mut out, family.name, sample);
            if created {
                created_line(&mut out, name, sample);
            }
        }
    }
    out
}

fn created_line(out: &mut String, name: &str, sample: &Sample) {
    if let Some(born) = sample.born {
        out.extend([name, "_created"]);
        lines::labels(out, sample, None);
        out.push(' ');
        lines::number(out, born.as_secs_f64());
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outlets::examples;

    const EXPECTED: &str = r#"# TYPE copilot_tokens counter
# UNIT copilot_tokens tokens
# HELP copilot_tokens A \"help\" with a \\ and\na line feed.
copilot_tokens_total{model="a",project="say \"hi\"\\\n"} 12345
copilot_tokens_total{model="b",project="é"} 0
# TYPE copilot_budget_used_ratio gauge
# UNIT copilot_budget_used_ratio ratio
# HELP copilot_budget_used_ratio A \"help\" with a \\ and\na line feed.
copilot_budget_used_ratio{budget="team"} 0.5
# TYPE copilot_model info
# HELP copilot_model A \"help\" with a \\ and\na line feed.
copilot_model_info{model="a"} 1
# TYPE copilot_call_duration_seconds histogram
# UNIT copilot_call_duration_seconds seconds
# HELP copilot_call_duration_seconds A \"help\" with a \\ and\na line feed.
copilot_call_duration_seconds_bucket{model="a",le="0.25"} 1
copilot_call_duration_seconds_bucket{model="a",le="1.0"} 3
copilot_call_duration_seconds_bucket{model="a",le="+Inf"} 4
copilot_call_duration_seconds_sum{model="a"} 7.5
copilot_call_duration_seconds_count{model="a"} 4
# TYPE copilot_exporter_held_series gauge
# HELP copilot_exporter_held_series A \"help\" with a \\ and\na line feed.
copilot_exporter_held_series 3
"#;

    #[test]
    fn each_kind() {
        assert_eq!(render(&examples::families(), false), EXPECTED);
    }

    #[test]
    fn created_follows_its_own_metric() {
        let text = render(&examples::families(), true);
        let created: Vec<&str> = text.lines().filter(|l| l.contains("_created")).collect();
        assert_eq!(
            created,
            [
                r#"copilot_tokens_created{model="a",project="say \"hi\"\\\n"} 1790000000.25"#,
                r#"copilot_tokens_created{model="b",project="é"} 1790000000.25"#,
                r#"copilot_call_duration_seconds_created{model="a"} 1790000000.25"#,
            ]
        );
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[3].starts_with(r#"copilot_tokens_total{model="a""#));
        assert_eq!(lines[4], created[0]);
    }
}
