//! Money and what Copilot bills in, as exact integers.

use serde::{Deserialize, Serialize};

/// US dollars in picodollars (1e-12 USD).
///
/// A price per million tokens with six decimals is a whole number of picodollars per token, and one
/// nano-AIU is exactly ten: sums are exact whatever their order.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct Usd(pub u128);

impl Usd {
    pub const PICO: u128 = 1_000_000_000_000;

    pub fn as_f64(self) -> f64 {
        self.0 as f64 / Self::PICO as f64
    }

    /// From a decimal number of dollars. Only finite, non-negative and sane numbers are money.
    pub fn from_dollars(dollars: f64) -> Option<Self> {
        (0.0..=1e12)
            .contains(&dollars)
            .then(|| Self((dollars * Self::PICO as f64).round() as u128))
    }
}

/// AI credits in nano-AIU: 1e9 = 1 credit = 0.01 USD.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct Credits(pub u64);

impl Credits {
    pub const NANO: u64 = 1_000_000_000;

    /// What the credits cost: nano-AIU is the charge and is never multiplied by anything else.
    pub fn usd(self) -> Usd {
        Usd(u128::from(self.0) * 10)
    }

    /// From a decimal number of credits, such as VS Code's `copilotCredits`. Only finite, non-negative
    /// and sane numbers are credits.
    pub fn from_credits(credits: f64) -> Option<Self> {
        (credits.is_finite() && (0.0..=1e9).contains(&credits))
            .then(|| Self((credits * Self::NANO as f64).round() as u64))
    }
}

/// Premium requests in millionths: multipliers such as 0.33 stay exact in sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct PremiumRequests(pub u64);

impl PremiumRequests {
    pub const MICRO: u64 = 1_000_000;

    pub fn from_multiplier(multiplier: f64) -> Option<Self> {
        (multiplier.is_finite() && (0.0..=1e6).contains(&multiplier))
            .then(|| Self((multiplier * Self::MICRO as f64).round() as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credit_is_a_cent() {
        assert_eq!(Credits(Credits::NANO).usd().as_f64(), 0.01);
        assert_eq!(Credits::from_credits(1.6), Some(Credits(1_600_000_000)));
        assert_eq!(Credits::from_credits(f64::NAN), None);
        assert_eq!(Credits::from_credits(-1.0), None);
    }

    #[test]
    fn edge_245_absurd_numbers_are_no_money() {
        for number in [
            -1.0,
            -0.1,
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            1e300,
        ] {
            assert_eq!(Credits::from_credits(number), None, "{number}");
            assert_eq!(PremiumRequests::from_multiplier(number), None, "{number}");
            assert_eq!(Usd::from_dollars(number), None, "{number}");
        }
    }
}
