//! Premium requests by GitHub's published multipliers, for prompts of which no store tells them.

use super::ModelId;
use crate::usage::{PremiumRequests, Timestamp};

/// 2025-06-18: premium requests begin.
const BEGIN: Timestamp = Timestamp(1_750_204_800_000);
/// 2026-06-01: Copilot bills tokens in credits; only annual plans stay on premium requests.
pub const CREDITS_BEGIN: Timestamp = Timestamp(1_780_272_000_000);
/// 2026-05-01: Opus 4.7 at its full multiplier.
const MAY: Timestamp = Timestamp(1_777_593_600_000);

/// Model, multiplier before June 2026, multiplier of annual plans since; in millionths.
const MULTIPLIERS: [(&str, u64, Option<u64>); 30] = [
    ("gpt-4.1", 0, Some(1_000_000)),
    ("gpt-4o", 0, Some(330_000)),
    ("gpt-4o-mini", 0, Some(330_000)),
    ("gpt-5-mini", 0, Some(330_000)),
    ("raptor-mini", 0, Some(330_000)),
    ("gpt-5.4-nano", 250_000, None),
    ("grok-code-fast-1", 250_000, Some(330_000)),
    ("claude-haiku-4-5", 330_000, Some(330_000)),
    ("gemini-3-flash", 330_000, Some(330_000)),
    ("gpt-5.1-codex-mini", 330_000, Some(330_000)),
    ("gpt-5.4-mini", 330_000, Some(6_000_000)),
    ("claude-sonnet-4", 1_000_000, Some(1_000_000)),
    ("gemini-2.5-pro", 1_000_000, Some(1_000_000)),
    ("claude-sonnet-4-5", 1_000_000, Some(6_000_000)),
    ("claude-sonnet-4-6", 1_000_000, Some(9_000_000)),
    ("gpt-5.1", 1_000_000, Some(3_000_000)),
    ("gpt-5.1-codex", 1_000_000, Some(3_000_000)),
    ("gpt-5.1-codex-max", 1_000_000, Some(3_000_000)),
    ("gpt-5.2", 1_000_000, Some(3_000_000)),
    ("gpt-5.2-codex", 1_000_000, Some(3_000_000)),
    ("gpt-5.3-codex", 1_000_000, Some(6_000_000)),
    ("gpt-5.4", 1_000_000, Some(6_000_000)),
    ("gemini-3-pro", 1_000_000, Some(6_000_000)),
    ("gemini-3.1-pro", 1_000_000, Some(6_000_000)),
    ("claude-opus-4-5", 3_000_000, Some(15_000_000)),
    ("claude-opus-4-6", 3_000_000, Some(27_000_000)),
    ("claude-opus-4-7", 15_000_000, Some(27_000_000)),
    ("gpt-5.5", 7_500_000, None),
    ("gemini-3.5-flash", 14_000_000, None),
    ("claude-opus-4-6-fast", 30_000_000, None),
];

/// The name of Opus 4.6 fast is in no price table, and so stays as the stores spell it.
const OPUS_FAST: (&str, &str) = ("claude-opus-4.6-fast", "claude-opus-4-6-fast");

/// What one prompt of a user counts as on a plan that is billed in premium requests; tool rounds and
/// sub-agents count nothing. What a store reports beats it. `None`: not billed that way, or not known.
pub fn premium_requests(model: &ModelId, time: Timestamp) -> Option<PremiumRequests> {
    let id = match model.as_str() {
        name if name == OPUS_FAST.0 => OPUS_FAST.1,
        name => name,
    };
    let &(_, spring, annual) = MULTIPLIERS.iter().find(|&&(name, ..)| name == id)?;
    let micro = if time < BEGIN {
        None
    } else if time >= CREDITS_BEGIN {
        annual
    } else if id == "claude-opus-4-7" && time < MAY {
        Some(7_500_000)
    } else {
        Some(spring)
    };
    micro.map(PremiumRequests)
}

#[cfg(test)]
mod tests {
    use super::super::shipped::day;
    use super::*;

    #[test]
    fn multipliers_of_their_dates() {
        for (model, date, want) in [
            ("gpt-4.1", "2025-06-17", None),
            ("gpt-4.1", "2025-06-18", Some(0)),
            ("gpt-4.1", "2026-05-31", Some(0)),
            ("gpt-4.1", "2026-06-01", Some(1_000_000)),
            ("claude-haiku-4-5", "2026-03-01", Some(330_000)),
            ("claude-opus-4-7", "2026-04-30", Some(7_500_000)),
            ("claude-opus-4-7", "2026-05-01", Some(15_000_000)),
            ("claude-opus-4-7", "2026-06-01", Some(27_000_000)),
            ("gpt-5.5", "2026-06-01", None),
            ("claude-opus-4.6-fast", "2026-05-01", Some(30_000_000)),
            ("unknown", "2026-05-01", None),
        ] {
            let got = premium_requests(&ModelId::new(model), day(date).unwrap());
            assert_eq!(got, want.map(PremiumRequests), "{model} {date}");
        }
    }

    #[test]
    fn the_days_are_those_of_the_table() {
        assert_eq!(day("2025-06-18"), Some(BEGIN));
        assert_eq!(day("2026-06-01"), Some(CREDITS_BEGIN));
        assert_eq!(day("2026-05-01"), Some(MAY));
    }
}
