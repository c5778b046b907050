//! Exact decimal numbers for people and for programs.

use std::fmt;

use serde::{Serialize, Serializer};

/// `amount` units of ten to the minus `places`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Decimal {
    amount: u128,
    places: u32,
}

impl Decimal {
    pub(super) const fn new(amount: u128, places: u32) -> Self {
        Self { amount, places }
    }

    pub(super) const fn whole(amount: u128) -> Self {
        Self::new(amount, 0)
    }

    /// With thousands separated and exactly `places` decimals, at most those it has; what is above zero
    /// but would be rounded to it is told to be less than the smallest step.
    pub(super) fn rounded(self, places: u32) -> String {
        let places = places.min(self.places);
        let step = 10_u128.pow(self.places - places);
        let rounded = (self.amount + step / 2) / step;
        if rounded == 0 && self.amount > 0 {
            return format!("<{}", Self::new(1, places).rounded(places));
        }
        let unit = 10_u128.pow(places);
        let whole = thousands(rounded / unit);
        match places {
            0 => whole,
            _ => format!(
                "{whole}.{:0width$}",
                rounded % unit,
                width = places as usize
            ),
        }
    }
}

/// All decimals that aren't trailing zeros.
impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = 10_u128.pow(self.places);
        let (whole, fraction) = (self.amount / unit, self.amount % unit);
        if fraction == 0 {
            return write!(f, "{whole}");
        }
        let digits = format!("{fraction:0width$}", width = self.places as usize);
        write!(f, "{whole}.{}", digits.trim_end_matches('0'))
    }
}

/// A JSON number with all its digits.
impl Serialize for Decimal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let number = serde_json::value::RawValue::from_string(self.to_string());
        number
            .map_err(serde::ser::Error::custom)?
            .serialize(serializer)
    }
}

fn thousands(number: u128) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_and_rounded() {
        for (amount, places, exact, rounded) in [
            (0, 12, "0", "0.0000"),
            (1_234_567, 0, "1234567", "1,234,567"),
            (150_021_750_000, 12, "0.15002175", "0.1500"),
            (1_000_000_000_000, 12, "1", "1.0000"),
            (1_234_999_950_000_000, 12, "1234.99995", "1,235.0000"),
            (1, 12, "0.000000000001", "<0.0001"),
            (330_000, 6, "0.33", "0.3300"),
        ] {
            let number = Decimal::new(amount, places);
            assert_eq!(number.to_string(), exact);
            assert_eq!(number.rounded(4), rounded);
        }
    }

    #[test]
    fn json_numbers_keep_their_digits() {
        let number = Decimal::new(123_456_789_012_345_678_901, 12);
        assert_eq!(
            serde_json::to_string(&number).unwrap(),
            "123456789.012345678901"
        );
    }
}
