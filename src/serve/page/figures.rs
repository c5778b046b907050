//! Numbers as people read them.

use crate::usage::Usd;

/// `$1,234`, `$12.30`, `<$0.01`.
pub(super) fn dollars(cost: Usd) -> String {
    let usd = cost.as_f64();
    match usd {
        _ if cost.0 == 0 => "$0".to_owned(),
        ..0.005 => "<$0.01".to_owned(),
        ..999.995 => format!("${usd:.2}"),
        _ => format!("${}", grouped(usd.round() as u128)),
    }
}

/// Digits in groups of three: `12,345`.
pub(super) fn grouped(n: u128) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 file`, `12 files`.
pub(super) fn counted(n: u128, thing: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{} {thing}{plural}", grouped(n))
}

/// Three digits and a unit: `8.42M`.
pub(super) fn rounded(n: u128) -> String {
    const UNITS: [&str; 5] = ["", "k", "M", "G", "T"];
    let mut value = n as f64;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1e3;
        unit += 1;
    }
    let decimals = match value {
        _ if unit == 0 => 0,
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}{}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money() {
        for (micro, want) in [
            (0, "$0"),
            (1, "<$0.01"),
            (5_000, "$0.01"),
            (12_300_000, "$12.30"),
            (999_990_000, "$999.99"),
            (999_999_000, "$1,000"),
            (1_234_567_800_000, "$1,234,568"),
        ] {
            assert_eq!(dollars(Usd(micro * 1_000_000)), want);
        }
    }

    #[test]
    fn one_and_many() {
        assert_eq!(counted(1, "file"), "1 file");
        assert_eq!(counted(1_200, "call"), "1,200 calls");
    }

    #[test]
    fn counts() {
        for (n, short, long) in [
            (0, "0", "0"),
            (999, "999", "999"),
            (1_000, "1.00k", "1,000"),
            (12_345, "12.3k", "12,345"),
            (999_600, "1.00M", "999,600"),
            (8_420_000, "8.42M", "8,420,000"),
        ] {
            assert_eq!(rounded(n), short);
            assert_eq!(grouped(n), long);
        }
    }
}
