//! What a config must fulfil beyond its shape.

use std::collections::BTreeSet;

use super::{Budget, Config, PlanConfig, PriceOverride};
use crate::metrics::ConstantLabels;
use crate::usage::Surface;

/// Everything that is wrong with `config`, in plain words.
pub(super) fn problems(config: &Config) -> Vec<String> {
    let mut problems = Vec::new();
    if config.scan.interval_seconds == 0 {
        problems.push("scan.interval_seconds must be at least 1".to_owned());
    }
    if config.max_projects == 0 {
        problems.push("max_projects must be at least 1".to_owned());
    }
    if config.web.listen.is_empty() {
        problems.push("web.listen must name at least one address".to_owned());
    }
    if config.web.max_requests == 0 {
        problems.push("web.max_requests must be at least 1".to_owned());
    }
    if !config.web.telemetry_path.starts_with('/') {
        problems.push("web.telemetry_path must begin with /".to_owned());
    }
    if ["/-/healthy", "/-/ready"].contains(&config.web.telemetry_path.as_str()) {
        problems.push("web.telemetry_path must not be a path of the health checks".to_owned());
    }
    for home in &config.homes {
        if let Err(error) = glob::Pattern::new(home) {
            problems.push(format!("homes: {home:?} is no pattern: {}", error.msg));
        }
    }
    if config.otlp.interval_seconds == Some(0) || config.otlp.timeout_seconds == Some(0) {
        problems
            .push("otlp.interval_seconds and otlp.timeout_seconds must be at least 1".to_owned());
    }
    if let Some(name) = config
        .otlp
        .compression
        .as_deref()
        .filter(|name| !["gzip", "none"].contains(name))
    {
        problems.push(format!(
            "otlp.compression must be \"gzip\" or \"none\", not {name:?}"
        ));
    }
    if config.otlp.client_certificate_file.is_some() != config.otlp.client_key_file.is_some() {
        problems
            .push("otlp.client_certificate_file and otlp.client_key_file go together".to_owned());
    }
    time_zone("time_zone", config.time_zone.as_deref(), &mut problems);
    if let Err(error) = ConstantLabels::new(&config.labels) {
        problems.push(format!("labels: {error}"));
    }
    plan(&config.plan, &mut problems);
    let mut names = BTreeSet::new();
    for one in &config.budgets {
        if !names.insert(one.name.as_str()) {
            problems.push(format!("budget {:?} is there twice", one.name));
        }
        budget(one, &mut problems);
    }
    for price in &config.prices {
        own_price(price, &mut problems);
    }
    problems
}

fn plan(plan: &PlanConfig, problems: &mut Vec<String>) {
    if plan.name.is_some() && plan.credits.is_some() {
        problems.push("plan: give name or credits, not both".to_owned());
    }
    if plan.seats.is_some() && plan.name.is_none() {
        problems.push("plan.seats needs plan.name".to_owned());
    }
    if plan.seats == Some(0) {
        problems.push("plan.seats must be at least 1".to_owned());
    }
    if plan.credits.is_some_and(|n| !is_amount(n)) {
        problems.push("plan.credits must be a positive number".to_owned());
    }
}

fn budget(budget: &Budget, problems: &mut Vec<String>) {
    let name = &budget.name;
    if name.trim().is_empty() {
        problems.push("a budget needs a name".to_owned());
    }
    match (budget.usd, budget.credits) {
        (Some(n), None) | (None, Some(n)) if is_amount(n) => {}
        (Some(_), Some(_)) => {
            problems.push(format!("budget {name:?}: give usd or credits, not both"))
        }
        _ => problems.push(format!(
            "budget {name:?} needs a positive amount in usd or credits"
        )),
    }
    if let Some(surface) = &budget.surface
        && !Surface::ALL.iter().any(|known| known.as_str() == surface)
    {
        problems.push(format!(
            "budget {name:?}: surface {surface:?} is none of {}",
            Surface::ALL.map(Surface::as_str).join(", ")
        ));
    }
    time_zone(
        &format!("budget {name:?}: time_zone"),
        budget.time_zone.as_deref(),
        problems,
    );
}

fn own_price(price: &PriceOverride, problems: &mut Vec<String>) {
    let rates = [
        Some(price.input),
        Some(price.output),
        price.cache_read,
        price.cache_write,
    ];
    // A million dollars for a million tokens is beyond any price and keeps sums within their range.
    if rates
        .into_iter()
        .flatten()
        .any(|rate| !(0.0..=1e6).contains(&rate))
    {
        problems.push(format!(
            "price of {:?}: rates are USD per million tokens, from 0 to 1000000",
            price.model
        ));
    }
    if let Some(day) = &price.valid_from
        && day.parse::<jiff::civil::Date>().is_err()
    {
        problems.push(format!(
            "price of {:?}: valid_from {day:?} is no date (YYYY-MM-DD)",
            price.model
        ));
    }
}

fn time_zone(key: &str, name: Option<&str>, problems: &mut Vec<String>) {
    if let Some(name) = name
        && jiff::tz::TimeZone::get(name).is_err()
    {
        problems.push(format!(
            "{key} {name:?} is no known time zone (such as \"Europe/Berlin\")"
        ));
    }
}

fn is_amount(n: f64) -> bool {
    n.is_finite() && n > 0.0 && n <= 1e12
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems_of(text: &str) -> Vec<String> {
        problems(&toml::from_str(text).unwrap())
    }

    #[test]
    fn each_mistake_is_told() {
        for (text, word) in [
            ("[scan]\ninterval_seconds = 0", "interval_seconds"),
            ("time_zone = 'Mars/Olympus'", "time zone"),
            ("[labels]\nmodel = 'x'", "own"),
            ("[labels]\n'a-b' = 'x'", "label name"),
            ("[plan]\nname = 'business'\ncredits = 5.0", "not both"),
            ("[plan]\nseats = 5", "plan.name"),
            (
                "[[budgets]]\nname = 'a'\nwindow = 'month'",
                "positive amount",
            ),
            (
                "[[budgets]]\nname = 'a'\nusd = 1.0\ncredits = 1.0\nwindow = 'day'",
                "not both",
            ),
            (
                "[[budgets]]\nname = 'a'\nusd = nan\nwindow = 'day'",
                "positive amount",
            ),
            (
                "[[prices]]\nmodel = 'm'\ninput = -1.0\noutput = 1.0",
                "USD per million",
            ),
            (
                "[[prices]]\nmodel = 'm'\ninput = 1.0\noutput = 1.0\nvalid_from = 'soon'",
                "no date",
            ),
            (
                "[[budgets]]\nname = 'a'\nusd = 1.0\nwindow = 'day'\nsurface = 'vs code'",
                "vscode",
            ),
            ("[otlp]\ncompression = 'zip'", "gzip"),
            ("[web]\ntelemetry_path = 'metrics'", "begin with /"),
            ("[web]\ntelemetry_path = '/-/ready'", "health checks"),
            ("homes = ['/home/[a-']", "no pattern"),
        ] {
            let found = problems_of(text);
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            assert!(found[0].contains(word), "{text}: {found:?}");
        }
    }

    #[test]
    fn two_budgets_of_one_name() {
        let one = "[[budgets]]\nname = 'a'\nusd = 1.0\nwindow = 'day'\n";
        assert_eq!(problems_of(&one.repeat(2)).len(), 1);
        assert!(problems_of(one).is_empty());
    }
}
