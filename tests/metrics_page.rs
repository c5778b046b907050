//! `docs/metrics.md` is written from the catalogue. `UPDATE_DOCS=1 cargo test --test metrics_page` writes it.

use std::fmt::Write;
use std::path::Path;

use copilot_exporter::metrics::{COMMON_LABELS, Entry, Family, Kind, reference};

const HEAD: &str = "# Metrics

Written from the catalogue in `src/metrics/catalogue.rs`, which every outlet renders: `/metrics` in all formats,
files, OTLP and history. Over OTLP the names are the dotted ones, and the standard translation to Prometheus
yields the others.

What is unknown is absent, never 0. Counters never fall while the ledger lives
(`copilot_exporter_ledger_epoch_timestamp_seconds` says since when), and a new series is first shown at 0.
";

#[test]
fn the_page_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/metrics.md");
    let page = page();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page,
        "docs/metrics.md is not current: UPDATE_DOCS=1 cargo test --test metrics_page"
    );
}

fn page() -> String {
    let mut page = HEAD.to_owned();
    let common = COMMON_LABELS.map(|label| format!("`{label}`")).join(", ");
    let usage = format!(
        "Labels: {common}, then those of the table; `user` where several homes are read; and the constant ones of \
         `[labels]`. `project` is absent with `[privacy] project = \"off\"`."
    );
    let is_process = |entry: &Entry| entry.name.starts_with("process_");
    section(&mut page, "Usage", &usage, |entry| entry.common);
    section(
        &mut page,
        "Budgets, models, sessions",
        "Without the common labels.",
        |entry| !entry.common && !entry.own,
    );
    section(
        &mut page,
        "The exporter itself",
        "Left out with `--web.disable-exporter-metrics`.",
        |entry| entry.own && !is_process(entry),
    );
    section(
        &mut page,
        "The process",
        "On Linux; not in the output of `once`, since node_exporter has these names for itself.",
        is_process,
    );
    page
}

fn section(page: &mut String, title: &str, about: &str, wanted: impl Fn(&Entry) -> bool) {
    write!(page, "\n## {title}\n\n{about}\n\n").unwrap();
    page.push_str("| metric | type | labels | OTLP name, unit | what |\n|---|---|---|---|---|\n");
    for entry in reference().iter().filter(|entry| wanted(entry)) {
        let kind = match entry.kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Info => "info",
            Kind::Histogram => "histogram",
        };
        let labels: Vec<String> = entry.labels.iter().map(|l| format!("`{l}`")).collect();
        let unit = match entry.otlp_unit {
            "" => String::new(),
            unit => format!(", `{unit}`"),
        };
        writeln!(
            page,
            "| `{}` | {kind} | {} | `{}`{unit} | {} |",
            entry.name,
            labels.join(", "),
            otlp_name(entry),
            entry.help
        )
        .unwrap();
    }
}

fn otlp_name(entry: &Entry) -> String {
    let family = Family {
        name: entry.name,
        help: entry.help,
        kind: entry.kind,
        unit: entry.unit,
        otlp_unit: entry.otlp_unit,
        own: entry.own,
        samples: Vec::new(),
    };
    family.otlp_name()
}
