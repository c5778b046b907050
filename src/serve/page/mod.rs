//! The page for people at `/`: what the exporter sees right now. One document with its style sheet inside;
//! no script, nothing from elsewhere.

mod chart;
mod figures;
mod html;
mod spend;

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::build;
use crate::ledger::{BudgetStatus, SeriesLabels, Snapshot, StoreStatus, Window};
use crate::stores::StoreKind;
use crate::usage::{Project, Timestamp, Usd};
use figures::{counted, dollars, grouped, rounded};
use html::Html;
use spend::{Row, Sum};

const STYLE: &str = include_str!("style.css");

/// Rows of a table, before the rest becomes one row.
const ROWS: usize = 10;

/// How many problems of one store are shown.
const MOST_PROBLEMS: usize = 5;

/// Nothing is allowed but this very style sheet.
pub(super) fn content_security_policy() -> &'static str {
    static POLICY: LazyLock<String> = LazyLock::new(|| {
        let digest = ring::digest::digest(&ring::digest::SHA256, STYLE.as_bytes());
        let digest = STANDARD.encode(digest);
        format!(
            "default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
    });
    &POLICY
}

/// The document. `local`: only people at this machine can see it, so that file paths may be shown.
pub(super) fn render(snapshot: &Snapshot, telemetry_path: &str, local: bool) -> String {
    let mut html = Html::default();
    html.raw("<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">")
        .raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">")
        .raw("<meta name=\"color-scheme\" content=\"light dark\">");
    if !snapshot.ready {
        html.raw("<meta http-equiv=\"refresh\" content=\"3\">");
    }
    html.raw("<title>Copilot usage</title><style>")
        .raw(STYLE)
        .raw("</style></head><body><header><h1>Copilot usage</h1><p>");
    if snapshot.ready {
        html.raw("as of ").text(clock(snapshot.taken));
    } else {
        html.raw("the first scan is running …");
    }
    html.raw("</p></header><main>");
    tiles(&mut html, snapshot);
    if !snapshot.days.is_empty() {
        html.raw("<section class=\"card wide\"><h2>Last 30 days</h2>");
        chart::draw(&mut html, &snapshot.days);
        html.raw("</section>");
    }
    html.raw("<div class=\"column\">");
    let models = spend::by(&snapshot.windows, |labels| &labels.model, ROWS);
    table(&mut html, "By model", &models);
    budgets(&mut html, &snapshot.budgets);
    html.raw("</div>");
    // Without the label there is nothing to tell apart.
    let windows = &snapshot.windows;
    if windows.iter().any(|total| total.labels.project.is_some()) {
        table(&mut html, "By project", &spend::by(windows, project, ROWS));
    }
    stores(&mut html, snapshot, local);
    html.raw("</main><footer><nav><a href=\"")
        .text(telemetry_path)
        .raw("\">Metrics</a><a href=\"/-/ready\">Ready</a><a href=\"/-/healthy\">Healthy</a></nav><p>copilot-exporter ")
        .text(build::VERSION)
        .raw("</p></footer></body></html>\n");
    html.finish()
}

/// `2026-12-01 13:00:07 +01:00`, in this machine's zone.
fn clock(time: Timestamp) -> String {
    match jiff::Timestamp::from_millisecond(time.0) {
        Ok(at) => at
            .to_zoned(jiff::tz::TimeZone::system())
            .strftime("%Y-%m-%d %H:%M:%S %:z")
            .to_string(),
        Err(_) => "an unknown time".to_owned(),
    }
}

fn project(labels: &SeriesLabels) -> &str {
    labels.project.as_ref().map_or("unknown", Project::as_str)
}

fn title(window: Window) -> &'static str {
    match window {
        Window::Today => "Today",
        Window::Week => "This week",
        Window::Month => "This month",
    }
}

fn tiles(html: &mut Html, snapshot: &Snapshot) {
    let total = spend::total(&snapshot.windows);
    html.raw("<section class=\"tiles wide\">");
    for (window, sum) in Window::ALL.into_iter().zip(&total.sums) {
        html.raw("<div class=\"card tile\"><h2>")
            .raw(title(window))
            .raw("</h2><p class=\"figure\">");
        cost(html, sum);
        html.raw("</p><p class=\"detail\"><span>")
            .text(counted(sum.calls, "call"))
            .raw("</span><span>")
            .text(rounded(sum.tokens))
            .raw(" tokens</span>");
        if sum.unpriced > 0 {
            html.raw("<span>")
                .text(grouped(sum.unpriced))
                .raw(" unpriced</span>");
        }
        html.raw("</p></div>");
    }
    html.raw("</section>");
}

/// A cost, or that it is unknown, which is not nothing.
fn cost(html: &mut Html, sum: &Sum) {
    match sum.cost {
        Some(cost) => html.text(dollars(cost)),
        None if sum.calls == 0 => html.raw("<span class=\"none\">–</span>"),
        None => html.raw("<span class=\"none\">unpriced</span>"),
    };
}

fn table(html: &mut Html, heading: &'static str, rows: &[Row]) {
    html.raw("<section class=\"card\"><h2>")
        .raw(heading)
        .raw("</h2>");
    if rows.is_empty() {
        html.raw("<p class=\"detail\">No calls this week or month.</p></section>");
        return;
    }
    let top = rows.iter().filter_map(|row| row.month().cost).max();
    html.raw("<table><thead><tr><th scope=\"col\">Name</th>");
    for window in Window::ALL {
        html.raw("<th scope=\"col\">")
            .raw(title(window))
            .raw("</th>");
    }
    html.raw("</tr></thead><tbody>");
    for row in rows {
        html.raw("<tr><th scope=\"row\">").name(&row.name);
        let share = match (row.month().cost, top) {
            (Some(cost), Some(top)) if top.0 > 0 => cost.0 as f64 / top.0 as f64,
            _ => 0.0,
        };
        meter(html, share, None, "");
        html.raw("</th>");
        for sum in &row.sums {
            html.raw("<td>");
            cost(html, sum);
            html.raw("</td>");
        }
        html.raw("</tr>");
    }
    html.raw("</tbody></table></section>");
}

/// A bar that is filled up to `share` of 1, with a mark.
fn meter(html: &mut Html, share: f64, mark: Option<f64>, class: &'static str) {
    let percent = |share: f64| (share * 100.0).clamp(0.0, 100.0);
    html.raw("<svg class=\"meter ")
        .raw(class)
        .raw("\" viewBox=\"0 0 100 1\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect class=\"track\" width=\"100\" height=\"1\"/><rect class=\"fill\" width=\"")
        .text(format_args!("{:.1}", percent(share)))
        .raw("\" height=\"1\"/>");
    if let Some(mark) = mark {
        html.raw("<rect class=\"mark\" x=\"")
            .text(format_args!("{:.1}", percent(mark).min(99.4)))
            .raw("\" width=\"0.6\" height=\"1\"/>");
    }
    html.raw("</svg>");
}

fn budgets(html: &mut Html, budgets: &[BudgetStatus]) {
    if budgets.is_empty() {
        return;
    }
    html.raw("<section class=\"card\"><h2>Budgets</h2><ul class=\"budgets\">");
    for budget in budgets {
        let part = |usd: Usd| match budget.amount.0 {
            0 => 0.0,
            amount => usd.0 as f64 / amount as f64,
        };
        let over = |usd: Usd| usd > budget.amount;
        let class = match budget.forecast {
            _ if over(budget.used) => "bad",
            Some(forecast) if over(forecast) => "warn",
            _ => "",
        };
        html.raw("<li><p><strong>")
            .name(&budget.name)
            .raw("</strong><span>")
            .text(dollars(budget.used))
            .raw(" of ")
            .text(dollars(budget.amount))
            .raw("</span></p>");
        meter(html, part(budget.used), budget.forecast.map(part), class);
        html.raw("<p class=\"detail\">")
            .text(format_args!("{:.0}", part(budget.used) * 100.0))
            .raw(" % used");
        if let Some(forecast) = budget.forecast {
            html.raw(" · at this pace ").text(dollars(forecast));
        }
        html.raw("</p></li>");
    }
    html.raw("</ul></section>");
}

fn stores(html: &mut Html, snapshot: &Snapshot, local: bool) {
    let (found, absent): (Vec<_>, Vec<_>) = snapshot
        .stores
        .iter()
        .partition(|(_, status)| status.up.is_some());
    html.raw("<section class=\"card wide\"><h2>Stores</h2>");
    if found.is_empty() {
        html.raw("<p class=\"detail\">")
            .raw(match snapshot.ready {
                true => "Nothing of Copilot was found. <code>copilot-exporter stores</code> says where it was looked for.",
                false => "They are being looked for.",
            })
            .raw("</p>");
    }
    html.raw("<ul class=\"stores\">");
    for (kind, status) in found {
        store(html, *kind, status, local);
    }
    html.raw("</ul>");
    if !absent.is_empty() {
        html.raw("<details><summary>")
            .text(absent.len())
            .raw(" not found</summary><ul class=\"stores\">");
        for (kind, status) in absent {
            store(html, *kind, status, local);
        }
        html.raw("</ul></details>");
    }
    html.raw("</section>");
}

fn store(html: &mut Html, kind: StoreKind, status: &StoreStatus, local: bool) {
    let (class, state) = match status.up {
        Some(true) => ("good", "read"),
        Some(false) => ("bad", "has a problem"),
        None => ("none", "not found"),
    };
    html.raw("<li><p><span class=\"dot ")
        .raw(class)
        .raw("\"></span><strong>")
        .text(kind.as_str())
        .raw("</strong><span>")
        .raw(state);
    if status.up.is_some() {
        html.raw(" · ").text(counted(status.files.into(), "file"));
        let broken: u64 = status.parse_errors.values().sum();
        if broken > 0 {
            html.raw(" · ")
                .text(counted(broken.into(), "record"))
                .raw(" not understood");
        }
    }
    html.raw("</span></p>");
    if status.up == Some(false)
        && let Some(time) = status.last_success
    {
        html.raw("<p class=\"detail\">last read whole ")
            .text(clock(time))
            .raw("</p>");
    }
    if local {
        for problem in status.problems.iter().take(MOST_PROBLEMS) {
            html.raw("<p class=\"problem\">").name(problem).raw("</p>");
        }
        if let Some(more @ 1..) = status.problems.len().checked_sub(MOST_PROBLEMS) {
            html.raw("<p class=\"problem\">and ")
                .text(counted(more as u128, "problem"))
                .raw(" more: <code>copilot-exporter stores --json</code> lists all.</p>");
        }
        if status.up.is_none() {
            for path in &status.looked_at {
                html.raw("<p class=\"detail\">")
                    .name(&path.to_string_lossy())
                    .raw("</p>");
            }
        }
    } else if !status.problems.is_empty() {
        html.raw("<p class=\"problem\"><code>copilot-exporter stores</code> says what it is.</p>");
    }
    html.raw("</li>");
}
