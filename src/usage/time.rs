//! Points in time.

use serde::{Deserialize, Serialize};

/// Milliseconds since 1970-01-01T00:00:00Z.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// 2021-01-01: before Copilot existed. An earlier time in a store is a broken time.
    const EARLIEST: i64 = 1_609_459_200_000;
    /// 2100-01-01.
    const LATEST: i64 = 4_102_444_800_000;

    pub fn now() -> Self {
        Self(jiff::Timestamp::now().as_millisecond())
    }

    /// A time from a store: `None` (unknown) unless it can be the time of a call.
    pub fn plausible(millis: i64) -> Option<Self> {
        (Self::EARLIEST..Self::LATEST)
            .contains(&millis)
            .then_some(Self(millis))
    }

    /// By magnitude: nanoseconds, microseconds, milliseconds or seconds (formats, agent-traces.db).
    pub fn from_magnitude(n: f64) -> Option<Self> {
        let millis = match n {
            n if !n.is_finite() => return None,
            n if n > 1e17 => n / 1e6,
            n if n > 1e14 => n / 1e3,
            n if n > 1e11 => n,
            n => n * 1e3,
        };
        Self::plausible(millis as i64)
    }

    /// ISO 8601 (`T` or a blank, fraction optional, `Z` or an offset; without one it is UTC; a bare date
    /// is midnight UTC). Anything else is unknown.
    pub fn parse_iso(text: &str) -> Option<Self> {
        let text = text.trim();
        let utc = || -> Option<jiff::Timestamp> {
            let at: jiff::civil::DateTime = text.parse().ok()?;
            at.to_zoned(jiff::tz::TimeZone::UTC)
                .ok()
                .map(|zoned| zoned.timestamp())
        };
        let at = text.parse::<jiff::Timestamp>().ok().or_else(utc)?;
        Self::plausible(at.as_millisecond())
    }

    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e3
    }

    pub fn slot(self) -> Slot {
        Slot(u32::try_from(self.0.div_euclid(Slot::MILLIS)).unwrap_or(0))
    }
}

/// Five minutes of UTC time: the grain at which totals over time are kept.
///
/// Every time zone's offset is a multiple of it, so days and months of any zone are whole slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Slot(pub u32);

impl Slot {
    pub const MILLIS: i64 = 300_000;

    pub fn start(self) -> Timestamp {
        Timestamp(i64::from(self.0) * Self::MILLIS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iso_in_all_spellings() {
        let want = Timestamp(1_786_125_398_000);
        for text in [
            "2026-08-07T17:56:38Z",
            "2026-08-07 17:56:38",
            "2026-08-07T19:56:38+02:00",
            "2026-08-07T17:56:38.000Z",
        ] {
            assert_eq!(Timestamp::parse_iso(text), Some(want), "{text}");
        }
        assert_eq!(
            Timestamp::parse_iso("2026-01-03"),
            Some(Timestamp(1_767_398_400_000))
        );
        for text in ["", "yesterday", "1970-01-01T00:00:00Z"] {
            assert_eq!(Timestamp::parse_iso(text), None, "{text}");
        }
    }

    #[test]
    fn magnitudes() {
        for n in [1_790_000_000.0, 1.79e12, 1.79e15, 1.79e18] {
            assert_eq!(
                Timestamp::from_magnitude(n),
                Some(Timestamp(1_790_000_000_000)),
                "{n}"
            );
        }
        assert_eq!(Timestamp::from_magnitude(0.0), None);
        assert_eq!(Timestamp::from_magnitude(-5.0), None);
    }
}
