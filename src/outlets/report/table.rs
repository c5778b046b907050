//! A report as an aligned table, with a footer that says how sure its numbers are.

use std::io::{self, Write};

use super::decimal::Decimal;
use super::figures::{credits, estimated, failures, premium_requests};
use super::rows::Report;
use crate::usage::{Credits, Measure, Measures, Slot, TokenType, printable};

/// Before a number: wholly or in part an estimate.
const ESTIMATE: &str = "~";
/// Before a number: a lower bound, since some of it is unknown.
const AT_LEAST: &str = "≥";
/// Instead of a number.
const UNKNOWN: &str = "?";
/// Instead of a number, where there is nothing that could have one.
const NOTHING: &str = "–";

/// The longest text of a key column.
const MOST_CHARS: usize = 48;

/// Decimals of money and credits.
const DECIMALS: u32 = 4;

struct Column {
    title: &'static str,
    cell: fn(&Measures) -> String,
    /// Left out where all of it is unknown or 0.
    optional: Option<Measure>,
}

const COLUMNS: [Column; 8] = [
    Column::always("calls", |m| Decimal::whole(m.calls()).rounded(0)),
    Column::always("input", |m| tokens(m, TokenType::Input)),
    Column::always("cache read", |m| tokens(m, TokenType::CacheRead)),
    Column::always("cache write", |m| tokens(m, TokenType::CacheWrite)),
    Column::always("output", |m| tokens(m, TokenType::Output)),
    Column {
        title: "credits",
        cell: |m| number(m, credits(m), DECIMALS, ""),
        optional: Some(Measure::Credits),
    },
    Column {
        title: "premium",
        cell: |m| number(m, premium_requests(m), 2, ""),
        optional: Some(Measure::PremiumRequests),
    },
    Column::always("cost USD", cost),
];

impl Column {
    const fn always(title: &'static str, cell: fn(&Measures) -> String) -> Self {
        Self {
            title,
            cell,
            optional: None,
        }
    }
}

pub(super) fn write(
    report: &Report,
    unattributed: Credits,
    out: &mut impl Write,
) -> io::Result<()> {
    let rows = report.rows();
    if rows.is_empty() {
        writeln!(out, "No usage in this period.")?;
        writeln!(
            out,
            "What was looked for, and found: copilot-exporter stores"
        )?;
    } else {
        grid(report, out)?;
        writeln!(out)?;
    }
    footer(report, unattributed, out)
}

fn grid(report: &Report, out: &mut impl Write) -> io::Result<()> {
    let keys = report.by.columns();
    let known = |measure: &Option<Measure>| {
        measure.is_none_or(|measure| report.total.get(measure).is_some_and(|sum| sum > 0))
    };
    let columns: Vec<&Column> = COLUMNS.iter().filter(|c| known(&c.optional)).collect();
    let line = |key: Vec<String>, measures: &Measures| -> Vec<String> {
        let cells = columns.iter().map(|column| (column.cell)(measures));
        key.iter()
            .map(|text| shortened(&printable(text)))
            .chain(cells)
            .collect()
    };
    let head: Vec<String> = keys
        .iter()
        .copied()
        .chain(columns.iter().map(|column| column.title))
        .map(str::to_owned)
        .collect();
    let mut body: Vec<Vec<String>> = report
        .rows()
        .into_iter()
        .map(|row| line(row.key, &row.measures))
        .collect();
    let mut total = vec![String::new(); keys.len()];
    total[0] = "total".to_owned();
    body.push(line(total, &report.total));

    let mut widths: Vec<usize> = head.iter().map(|text| text.chars().count()).collect();
    for cells in &body {
        for (width, text) in widths.iter_mut().zip(cells) {
            *width = (*width).max(text.chars().count());
        }
    }
    let print = |cells: &[String]| -> String {
        let padded = cells.iter().zip(&widths).enumerate();
        let texts: Vec<String> = padded
            .map(|(at, (text, &width))| match at < keys.len() {
                true => format!("{text:<width$}"),
                false => format!("{text:>width$}"),
            })
            .collect();
        texts.join("  ").trim_end().to_owned()
    };
    let rule = "─".repeat(widths.iter().sum::<usize>() + 2 * (widths.len() - 1));
    writeln!(out, "{}", print(&head))?;
    writeln!(out, "{rule}")?;
    let (total, rows) = body
        .split_last()
        .map_or((None, &[][..]), |(t, r)| (Some(t), r));
    for cells in rows {
        writeln!(out, "{}", print(cells))?;
    }
    writeln!(out, "{rule}")?;
    total.map_or(Ok(()), |cells| writeln!(out, "{}", print(cells)))
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MOST_CHARS - 1) {
        Some((at, last)) if text.len() > at + last.len_utf8() => format!("{}…", &text[..at]),
        _ => text.to_owned(),
    }
}

fn tokens(measures: &Measures, class: TokenType) -> String {
    let is = |measure| measures.get(measure).is_some_and(|amount| amount > 0);
    let mark = if is(Measure::EstimatedTokens(class)) {
        ESTIMATE
    } else if is(Measure::PartialCalls) {
        AT_LEAST
    } else {
        ""
    };
    let count = measures.get(Measure::Tokens(class)).map(Decimal::whole);
    number(measures, count, 0, mark)
}

fn cost(measures: &Measures) -> String {
    let is = |measure| measures.get(measure).is_some_and(|amount| amount > 0);
    let is_priced_in_part = is(Measure::CostListPrice) && is(Measure::PartialCalls);
    let mark = if is(Measure::UnpricedCalls) || is_priced_in_part {
        AT_LEAST
    } else if is(Measure::CostListPrice) {
        ESTIMATE
    } else {
        ""
    };
    let cost = measures.cost().map(|pico| Decimal::new(pico, 12));
    number(measures, cost, DECIMALS, mark)
}

fn number(measures: &Measures, value: Option<Decimal>, places: u32, mark: &str) -> String {
    match value {
        Some(value) => format!("{mark}{}", value.rounded(places)),
        None if measures.calls() > 0 => UNKNOWN.to_owned(),
        None => NOTHING.to_owned(),
    }
}

fn footer(report: &Report, unattributed: Credits, out: &mut impl Write) -> io::Result<()> {
    let total = &report.total;
    let amount = |measure| total.get(measure).filter(|&amount| amount > 0);
    let mut line = |title: &str, text: String| writeln!(out, "{title:<12}{text}");
    line("period", period(report))?;
    let bases = [
        (
            Measure::CostReported,
            "reported",
            "",
            "as reported with the calls",
        ),
        (
            Measure::CostListPrice,
            "list price",
            ESTIMATE,
            "from tokens, at the price of their day",
        ),
    ];
    for (measure, title, mark, text) in bases {
        if let (Some(part), Some(cost)) = (total.get(measure), total.cost()) {
            let usd = Decimal::new(part, 12).rounded(DECIMALS);
            line(
                title,
                format!("{mark}{usd} USD{} {text}", share(part, cost)),
            )?;
        }
    }
    if report.before_credits {
        let text = "before 2026-06-01 an equivalent, not a bill: Copilot charged premium requests";
        line("", text.to_owned())?;
    }
    if let Some(calls) = amount(Measure::UnpricedCalls) {
        let calls = counted(calls, "call");
        let text =
            format!("{calls} in no cost: the model's price or the call's tokens are unknown");
        line("unpriced", text)?;
        line("", models(report))?;
        let text =
            "[[prices]] prices calls from then on; report --no-state prices all of them anew";
        line("", text.to_owned())?;
    }
    let guessed = estimated(total);
    if guessed > 0 {
        let all = Decimal::whole(total.tokens()).rounded(0);
        let guessed = Decimal::whole(guessed).rounded(0);
        line(
            "estimated",
            format!("{guessed} of {all} tokens, from the length of texts"),
        )?;
    }
    if let Some(calls) = amount(Measure::PartialCalls) {
        let calls = counted(calls, "call");
        line(
            "partial",
            format!("{calls} of which a store tells only some tokens"),
        )?;
    }
    let failed = failures(total);
    if failed > 0 {
        let requests = counted(failed, "request");
        line("failed", format!("{requests} that failed and cost nothing"))?;
    }
    if unattributed.0 > 0 {
        let credits = Decimal::new(u128::from(unattributed.0), 9).rounded(DECIMALS);
        let text = format!("{credits} credits in no row, of all time: Copilot named no model");
        line("no model", text)?;
    }
    if total.is_empty() {
        return Ok(());
    }
    let marks = [
        (ESTIMATE, "estimate"),
        (AT_LEAST, "lower bound"),
        (UNKNOWN, "unknown"),
        (NOTHING, "nothing to tell"),
    ];
    line(
        "",
        marks
            .map(|(mark, text)| format!("{mark} {text}"))
            .join("   "),
    )
}

fn period(report: &Report) -> String {
    let end = |slot: Option<Slot>, open: &str| {
        slot.map_or_else(|| open.to_owned(), |slot| report.time(slot))
    };
    let since = end(report.period.since, "the first call");
    let until = end(report.period.until, "now");
    match report.zone.iana_name() {
        Some(name) => format!("{since} to {until}, {name}"),
        None => format!("{since} to {until}"),
    }
}

/// The models of unpriced calls.
fn models(report: &Report) -> String {
    const MOST: usize = 8;
    let all = &report.unpriced_models;
    let named: Vec<&str> = all.iter().take(MOST).map(String::as_str).collect();
    match all.len().saturating_sub(MOST) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// ` (86.8 %)`.
fn share(part: u128, whole: u128) -> String {
    if whole == 0 {
        return String::new();
    }
    let per_mille = (part.saturating_mul(1_000) + whole / 2) / whole;
    format!(" ({} %)", Decimal::new(per_mille, 1).rounded(1))
}

fn counted(count: u128, one: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {one}{plural}", Decimal::whole(count).rounded(0))
}
