//! What a plan includes each month (UTC), by GitHub's published figures.

use crate::config::{PlanConfig, PlanName};
use crate::usage::Credits;

/// The credits a month of the configured plan: its own number of credits, else those of the named plan,
/// pooled over the seats of an organisation (one, unless the config tells). `None`: nothing configured.
pub fn monthly_credits(plan: &PlanConfig) -> Option<Credits> {
    if let Some(credits) = plan.credits {
        return Credits::from_credits(credits);
    }
    let each = match plan.name? {
        PlanName::Pro => 1_500,
        PlanName::ProPlus => 7_000,
        PlanName::Max => 20_000,
        PlanName::Business => 1_900,
        PlanName::Enterprise => 3_900,
    };
    Some(Credits(
        times_seats(each, plan).saturating_mul(Credits::NANO),
    ))
}

fn times_seats(each: u64, plan: &PlanConfig) -> u64 {
    let seats = match plan.name {
        Some(PlanName::Business | PlanName::Enterprise) => plan.seats.unwrap_or(1),
        _ => 1,
    };
    each.saturating_mul(seats)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(name: PlanName, seats: Option<u64>) -> PlanConfig {
        PlanConfig {
            name: Some(name),
            seats,
            ..PlanConfig::default()
        }
    }

    #[test]
    fn allowances_of_the_plans() {
        for (name, seats, want) in [
            (PlanName::Pro, None, 1_500),
            (PlanName::Pro, Some(3), 1_500),
            (PlanName::ProPlus, None, 7_000),
            (PlanName::Max, None, 20_000),
            (PlanName::Business, None, 1_900),
            (PlanName::Business, Some(40), 76_000),
            (PlanName::Enterprise, Some(10), 39_000),
        ] {
            let want = Some(Credits(want * Credits::NANO));
            assert_eq!(monthly_credits(&plan(name, seats)), want, "{name:?}");
        }
        assert_eq!(monthly_credits(&PlanConfig::default()), None);
    }

    #[test]
    fn a_number_wins_over_the_plan() {
        let own = PlanConfig {
            credits: Some(2_500.5),
            ..plan(PlanName::Business, Some(40))
        };
        assert_eq!(monthly_credits(&own), Some(Credits(2_500_500_000_000)));
    }
}
