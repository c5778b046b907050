//! The price table that ships with the binary: `prices.json`.

use serde::Deserialize;

use super::rates::{LongContext, Period, Rates};
use crate::usage::Timestamp;

const PRICES: &str = include_str!("prices.json");

/// Other names of a model that no rule yields.
pub(super) const ALIASES: [(&str, &str); 2] = [
    ("mai-code-1-flash-picker", "mai-code-1-flash"),
    ("mai-code-1-flash-internal", "mai-code-1-flash"),
];

/// A row of the table: the price of a model from a day (inclusive) to another (exclusive), in UTC.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    model: String,
    #[serde(rename = "vendor")]
    _vendor: String,
    valid_from: String,
    valid_to: Option<String>,
    usd_per_million: Price,
    long_context: Option<LongRow>,
    #[serde(rename = "source")]
    _source: String,
    certainty: String,
    #[serde(rename = "note")]
    _note: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LongRow {
    threshold: u64,
    usd_per_million: Price,
    certainty: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Price {
    input: f64,
    cache_read: f64,
    /// `null`: the vendor makes no separate charge.
    cache_write: Option<f64>,
    output: f64,
}

impl Price {
    fn rates(&self) -> Option<Rates> {
        Rates::from_usd_per_million(
            self.input,
            Some(self.cache_read),
            self.cache_write,
            self.output,
        )
    }
}

/// Every model of the table with one of its periods. The table is a part of the program: that it can be
/// read is a test, and a row that couldn't be would leave its model unpriced.
pub(super) fn periods() -> Vec<(String, Period)> {
    let rows: Vec<Row> = serde_json::from_str(PRICES).unwrap_or_default();
    rows.into_iter().filter_map(period).collect()
}

fn period(row: Row) -> Option<(String, Period)> {
    let inferred = |certainty: &str| certainty.contains("inferred");
    let mut period = Period {
        from: day(&row.valid_from)?,
        to: match row.valid_to {
            Some(text) => Some(day(&text)?),
            None => None,
        },
        base: row.usd_per_million.rates()?,
        long_context: None,
        inferred: inferred(&row.certainty),
    };
    if let Some(long) = row.long_context {
        period.inferred |= long.certainty.as_deref().is_some_and(inferred);
        period.long_context = Some(LongContext {
            threshold: long.threshold,
            rates: long.usd_per_million.rates()?,
        });
    }
    Some((row.model, period))
}

/// 00:00 UTC of a day such as `2026-07-30`.
pub(super) fn day(text: &str) -> Option<Timestamp> {
    let date: jiff::civil::Date = text.trim().parse().ok()?;
    let midnight = date.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    Timestamp::plausible(midnight.timestamp().as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_table_is_read() {
        let rows: Vec<Row> = serde_json::from_str(PRICES).unwrap();
        assert!(rows.len() > 70);
        assert_eq!(periods().len(), rows.len());
    }

    #[test]
    fn every_price_is_a_whole_number_of_picodollars() {
        let rows: Vec<Row> = serde_json::from_str(PRICES).unwrap();
        for row in rows {
            let long = row.long_context.map(|long| long.usd_per_million);
            for price in std::iter::once(row.usd_per_million).chain(long) {
                let classes = [price.input, price.cache_read, price.output];
                for usd in classes.into_iter().chain(price.cache_write) {
                    let pico = usd * 1e6;
                    assert!((pico - pico.round()).abs() < 1e-3, "{}: {usd}", row.model);
                    assert!(usd > 0.0, "{}", row.model);
                }
            }
        }
    }

    #[test]
    fn days_are_utc() {
        assert_eq!(day("2026-06-01"), Some(Timestamp(1_780_272_000_000)));
        for text in ["", "1 June", "2026-13-01", "1970-01-01"] {
            assert_eq!(day(text), None, "{text}");
        }
    }
}
