//! Budgets of the config: what counts towards one, and where its window will end up.

use jiff::tz::TimeZone;

use super::labels::Labels;
use super::{BudgetStatus, Window, window};
use crate::config;
use crate::pricing::{Catalogue, ModelId};
use crate::usage::{Credits, Provider, Timestamp, Usd};

/// An amount of money for a window of time and a part of the usage.
#[derive(Debug, Clone)]
pub struct Budget {
    name: String,
    amount: Usd,
    window: Window,
    zone: TimeZone,
    provider: Option<String>,
    model: Option<ModelId>,
    project: Option<String>,
    surface: Option<String>,
}

impl Budget {
    /// From a valid config. Months are UTC's unless the budget names a zone, since GitHub bills by those;
    /// days and weeks are those of `zone`. A budget in credits is about Copilot unless it names a provider.
    pub fn new(budget: &config::Budget, zone: &TimeZone, catalogue: &Catalogue) -> Self {
        let credits = budget.credits.and_then(Credits::from_credits);
        let copilot = || {
            credits
                .is_some()
                .then(|| Provider::Copilot.as_str().to_owned())
        };
        let zone = match (&budget.time_zone, budget.window) {
            (Some(name), _) => window::zone(Some(name)),
            (None, config::BudgetWindow::Month) => TimeZone::UTC,
            (None, _) => zone.clone(),
        };
        Self {
            name: budget.name.clone(),
            amount: credits
                .map(Credits::usd)
                .or(budget.usd.and_then(Usd::from_dollars))
                .unwrap_or_default(),
            window: budget.window.into(),
            zone,
            provider: budget.provider.clone().or_else(copilot),
            model: budget
                .model
                .as_deref()
                .map(|name| catalogue.canonical(Some(name))),
            project: budget.project.clone(),
            surface: budget.surface.clone(),
        }
    }

    /// Whether what is counted under `labels` counts towards the budget. Projects go by their names, however
    /// they are shown.
    pub(super) fn covers(&self, labels: &Labels) -> bool {
        let is = |wanted: Option<&str>, have: &str| wanted.is_none_or(|wanted| wanted == have);
        is(self.provider.as_deref(), labels.provider.as_str())
            && is(self.model.as_ref().map(ModelId::as_str), &labels.model)
            && is(self.project.as_deref(), labels.project.as_str())
            && is(self.surface.as_deref(), labels.surface.as_str())
    }

    /// The window that is open at `now`.
    pub fn span(&self, now: Timestamp) -> Option<window::Span> {
        window::span(self.window, now, &self.zone)
    }

    /// The budget's state at `now`, when `used` was spent in its window.
    pub fn status(&self, used: Usd, now: Timestamp) -> BudgetStatus {
        let forecast = self.span(now).and_then(|span| forecast(used, span, now));
        BudgetStatus {
            name: self.name.clone(),
            amount: self.amount,
            used,
            forecast,
        }
    }
}

/// The share of a window (one in this many parts) that must have passed before it tells its end.
const FEWEST_PARTS: u128 = 20;

/// What a window will cost if it goes on as it began; `None` while too little of it has passed.
pub fn forecast(used: Usd, span: window::Span, now: Timestamp) -> Option<Usd> {
    let (start, end) = (span.start.start().0, span.end.start().0);
    let whole = u128::try_from(end.checked_sub(start)?).ok()?;
    let passed = u128::try_from(now.0.min(end).checked_sub(start)?).ok()?;
    if passed == 0 || passed.saturating_mul(FEWEST_PARTS) < whole {
        return None;
    }
    Some(Usd(used.0.saturating_mul(whole) / passed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::BudgetWindow;
    use crate::usage::{Project, Surface};

    fn at(text: &str) -> Timestamp {
        Timestamp::parse_iso(text).unwrap()
    }

    fn config(window: BudgetWindow) -> config::Budget {
        config::Budget {
            name: "team".to_owned(),
            usd: Some(100.0),
            credits: None,
            window,
            time_zone: None,
            provider: None,
            model: None,
            project: None,
            surface: None,
        }
    }

    fn budget(config: &config::Budget) -> Budget {
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        Budget::new(config, &zone, &Catalogue::default())
    }

    fn labels(provider: Provider) -> Labels {
        Labels {
            provider,
            model: "claude-opus-4-6".into(),
            project: Project::named("shop").unwrap(),
            surface: Surface::Cli,
            user: None,
        }
    }

    #[test]
    fn filters_all_have_to_fit() {
        let mine = labels(Provider::Copilot);
        assert!(budget(&config(BudgetWindow::Day)).covers(&mine));
        let full = config::Budget {
            provider: Some("copilot".to_owned()),
            model: Some("Claude Opus 4.6".to_owned()),
            project: Some("shop".to_owned()),
            surface: Some("cli".to_owned()),
            ..config(BudgetWindow::Day)
        };
        assert!(budget(&full).covers(&mine));
        let wrong = |change: fn(&mut config::Budget)| {
            let mut other = full.clone();
            change(&mut other);
            budget(&other).covers(&mine)
        };
        assert!(!wrong(|b| b.provider = Some("openai".to_owned())));
        assert!(!wrong(|b| b.model = Some("claude-opus-4".to_owned())));
        assert!(!wrong(|b| b.project = Some("shop2".to_owned())));
        assert!(!wrong(|b| b.surface = Some("vscode".to_owned())));
    }

    #[test]
    fn a_budget_in_credits_is_copilots() {
        let credits = budget(&config::Budget {
            usd: None,
            credits: Some(1_900.0),
            ..config(BudgetWindow::Month)
        });
        assert!(credits.covers(&labels(Provider::Copilot)));
        assert!(!credits.covers(&labels(Provider::own("openai"))));
        let status = credits.status(Usd::default(), at("2026-06-15"));
        assert_eq!(status.amount.as_f64(), 19.0);
        let dollars = budget(&config(BudgetWindow::Month));
        assert!(dollars.covers(&labels(Provider::own("openai"))));
        assert_eq!(
            dollars
                .status(Usd::default(), at("2026-06-15"))
                .amount
                .as_f64(),
            100.0
        );
    }

    #[test]
    fn edge_250_months_are_utc_unless_told() {
        let month = budget(&config(BudgetWindow::Month));
        let may = month.span(at("2026-05-31T23:59:59Z")).unwrap();
        let june = month.span(at("2026-06-01T00:00:00Z")).unwrap();
        assert_eq!(may.end, june.start);
        assert_eq!(june.start.start(), at("2026-06-01T00:00:00Z"));
        let own_zone = budget(&config::Budget {
            time_zone: Some("America/New_York".to_owned()),
            ..config(BudgetWindow::Month)
        });
        let still_may = own_zone.span(at("2026-06-01T00:00:00Z")).unwrap();
        assert_eq!(still_may.end.start(), at("2026-06-01T04:00:00Z"));
        let day = budget(&config(BudgetWindow::Day));
        let berlin = day.span(at("2026-06-01T00:00:00Z")).unwrap();
        assert_eq!(berlin.start.start(), at("2026-05-31T22:00:00Z"));
    }

    #[test]
    fn forecasts_are_linear_and_wait_for_a_start() {
        let month = budget(&config(BudgetWindow::Month));
        for (now, want) in [
            ("2026-06-01T00:00:00Z", None),
            ("2026-06-02T11:59:59Z", None),
            ("2026-06-02T12:00:00Z", Some(600.0)),
            ("2026-06-16T00:00:00Z", Some(60.0)),
            ("2026-06-30T23:59:59.999Z", Some(30.000_000_011)),
        ] {
            let status = month.status(Usd(30 * Usd::PICO), at(now));
            match (status.forecast.map(Usd::as_f64), want) {
                (Some(got), Some(want)) => assert!((got - want).abs() < 1e-8, "{now}: {got}"),
                (got, want) => assert_eq!(got, want, "{now}"),
            }
        }
    }

    #[test]
    fn a_day_of_23_hours_is_half_over_sooner() {
        let day = budget(&config(BudgetWindow::Day));
        let noon = at("2026-03-28T23:00:00Z").0 + 23 * 1_800_000;
        let status = day.status(Usd(Usd::PICO), Timestamp(noon));
        assert_eq!(status.forecast, Some(Usd(2 * Usd::PICO)));
    }
}
