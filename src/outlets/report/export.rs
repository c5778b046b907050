//! A report for programs: JSON and CSV, with all digits.

use std::io::{self, Write};

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::decimal::Decimal;
use super::figures::figures;
use super::rows::{Report, Row};
use crate::usage::{Credits, Measures, Slot, printable};

#[derive(Serialize)]
struct Document<'a> {
    by: &'static str,
    time_zone: Option<&'a str>,
    since: Option<String>,
    until: Option<String>,
    rows: Vec<JsonRow<'a>>,
    total: JsonFigures<'a>,
    models_of_unpriced_calls: Vec<&'a str>,
    /// Reported without a model, and so in no row.
    unattributed_ai_credits: Decimal,
}

struct JsonRow<'a> {
    columns: &'static [&'static str],
    row: &'a Row,
}

struct JsonFigures<'a>(&'a Measures);

impl Serialize for JsonRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (column, text) in self.columns.iter().zip(&self.row.key) {
            map.serialize_entry(column, text)?;
        }
        for (name, value) in figures(&self.row.measures) {
            map.serialize_entry(name, &value)?;
        }
        map.end()
    }
}

impl Serialize for JsonFigures<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(figures(self.0))
    }
}

pub(super) fn json(report: &Report, unattributed: Credits, out: &mut impl Write) -> io::Result<()> {
    let columns = report.by.columns();
    let rows = report.rows();
    let document = Document {
        by: report.by.as_str(),
        time_zone: report.zone.iana_name(),
        since: report.period.since.and_then(instant),
        until: report.period.until.and_then(instant),
        rows: rows.iter().map(|row| JsonRow { columns, row }).collect(),
        total: JsonFigures(&report.total),
        models_of_unpriced_calls: report.unpriced_models.iter().map(String::as_str).collect(),
        unattributed_ai_credits: Decimal::new(u128::from(unattributed.0), 9),
    };
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}

fn instant(slot: Slot) -> Option<String> {
    let start = jiff::Timestamp::from_millisecond(slot.start().0).ok()?;
    Some(start.to_string())
}

/// RFC 4180, but with plain line feeds; unknown values are empty. A name that a spreadsheet would take for a
/// formula begins with an apostrophe, which it takes for text.
pub(super) fn csv(report: &Report, out: &mut impl Write) -> io::Result<()> {
    let names = figures(&report.total).map(|(name, _)| name);
    let columns = report.by.columns();
    writeln!(out, "{},{}", columns.join(","), names.join(","))?;
    for row in report.rows() {
        let texts = row.key.iter().map(|text| quoted(text));
        let numbers = figures(&row.measures).map(|(_, value)| value.map(|n| n.to_string()));
        let fields: Vec<String> = texts
            .chain(numbers.into_iter().map(Option::unwrap_or_default))
            .collect();
        writeln!(out, "{}", fields.join(","))?;
    }
    Ok(())
}

fn quoted(text: &str) -> String {
    let mut text = printable(text).into_owned();
    if text.starts_with(['=', '+', '-', '@']) {
        text.insert(0, '\'');
    }
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    }
}
