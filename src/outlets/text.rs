//! Prometheus text format 0.0.4.

use super::lines;
use crate::metrics::{Family, Kind};

pub(super) fn render(families: &[Family]) -> String {
    let mut out = String::new();
    for family in families {
        let kind = match family.kind {
            Kind::Counter => "counter",
            Kind::Gauge | Kind::Info => "gauge",
            Kind::Histogram => "histogram",
        };
        out.extend(["# HELP ", family.name, " "]);
        lines::escape(&mut out, family.help, false);
        out.extend(["\n# TYPE ", family.name, " ", kind, "\n"]);
        for sample in &family.samples {
            lines::sample(&mut out, family.name, sample);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outlets::examples;

    const EXPECTED: &str = r#"# HELP copilot_tokens_total A "help" with a \\ and\na line feed.
# TYPE copilot_tokens_total counter
copilot_tokens_total{model="a",project="say \"hi\"\\\n"} 12345
copilot_tokens_total{model="b",project="é"} 0
# HELP copilot_budget_used_ratio A "help" with a \\ and\na line feed.
# TYPE copilot_budget_used_ratio gauge
copilot_budget_used_ratio{budget="team"} 0.5
# HELP copilot_model_info A "help" with a \\ and\na line feed.
# TYPE copilot_model_info gauge
copilot_model_info{model="a"} 1
# HELP copilot_call_duration_seconds A "help" with a \\ and\na line feed.
# TYPE copilot_call_duration_seconds histogram
copilot_call_duration_seconds_bucket{model="a",le="0.25"} 1
copilot_call_duration_seconds_bucket{model="a",le="1.0"} 3
copilot_call_duration_seconds_bucket{model="a",le="+Inf"} 4
copilot_call_duration_seconds_sum{model="a"} 7.5
copilot_call_duration_seconds_count{model="a"} 4
# HELP copilot_exporter_held_series A "help" with a \\ and\na line feed.
# TYPE copilot_exporter_held_series gauge
copilot_exporter_held_series 3
"#;

    #[test]
    fn each_kind() {
        assert_eq!(render(&examples::families()), EXPECTED);
    }
}
