//! The last days as bars: an SVG that stretches, its labels around it in HTML.

use super::figures::{counted, dollars};
use super::html::Html;
use crate::ledger::DayTotal;
use crate::usage::Usd;

/// Width of a day and height of the whole, in units of the drawing.
const DAY: usize = 10;
const HEIGHT: f64 = 100.0;
/// What a day with calls shows at least, so that it can be told from a day without.
const LEAST: f64 = 1.5;

pub(super) fn draw(html: &mut Html, days: &[DayTotal]) {
    let costs = days.iter().filter_map(|day| day.cost);
    let top = costs.clone().max().unwrap_or_default();
    let sum = Usd(costs.map(|cost| cost.0).sum());
    html.raw("<figure class=\"chart\"><figcaption><span>")
        .text(dollars(sum))
        .raw(" in ")
        .text(days.len())
        .raw(" days</span><span>most in a day: ")
        .text(dollars(top))
        .raw("</span></figcaption><svg viewBox=\"0 0 ")
        .text(days.len() * DAY)
        .raw(" 100\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"Cost by day\">");
    for (at, day) in days.iter().enumerate() {
        bar(html, at, day, top);
    }
    html.raw("</svg><div class=\"dates\">");
    let middle = days.len() / 2;
    for day in [days.first(), days.get(middle), days.last()]
        .into_iter()
        .flatten()
    {
        html.raw("<span>")
            .text(day.date.strftime("%-d %b"))
            .raw("</span>");
    }
    html.raw("</div></figure>");
}

fn bar(html: &mut Html, at: usize, day: &DayTotal, top: Usd) {
    let share = match day.cost {
        Some(cost) if top.0 > 0 => cost.0 as f64 / top.0 as f64,
        _ => 0.0,
    };
    let height = match day.calls {
        0 => 0.0,
        _ => (share * HEIGHT).max(LEAST),
    };
    // The whole height reacts to the pointer, not only what is filled.
    html.raw("<g><rect class=\"day\" x=\"")
        .text(at * DAY)
        .raw("\" y=\"0\" width=\"10\" height=\"100\"/><rect class=\"")
        .raw(if day.cost.is_some() {
            "bar"
        } else {
            "bar unpriced"
        })
        .raw("\" x=\"")
        .text(at * DAY + 1)
        .raw("\" y=\"")
        .text(format_args!("{:.2}", HEIGHT - height))
        .raw("\" width=\"8\" height=\"")
        .text(format_args!("{height:.2}"))
        .raw("\"/><title>")
        .text(day.date.strftime("%a %-d %b"))
        .raw(": ");
    match (day.cost, day.calls) {
        (_, 0) => html.raw("nothing"),
        (Some(cost), _) => html.text(dollars(cost)),
        (None, _) => html.raw("cost unknown"),
    };
    html.raw(", ")
        .text(counted(day.calls, "call"))
        .raw("</title></g>");
}
