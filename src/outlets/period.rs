//! `--since` and `--until`, as people write them.

use jiff::ToSpan;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;

use crate::ledger::window;
use crate::usage::{Slot, Timestamp};

/// From a slot (inclusive) to another (exclusive); `None` is without limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Period {
    pub since: Option<Slot>,
    pub until: Option<Slot>,
}

/// Text that is no time.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum PeriodError {
    #[error(
        "{0:?} is no time: give a day (2026-11-30), a month (2026-11), a time (2026-11-30T18:00), today, \
         yesterday, or how long ago (12h, 7d, 4w)"
    )]
    NoTime(String),
    #[error("the period ends before it begins")]
    Empty,
}

impl Period {
    /// Days and times are those of `zone`. A day or month as `until` counts whole. Times are taken to the
    /// next slot outwards.
    ///
    /// # Errors
    /// If a text is no time, or the period would be empty.
    pub fn parse(
        since: Option<&str>,
        until: Option<&str>,
        now: Timestamp,
        zone: &TimeZone,
    ) -> Result<Self, PeriodError> {
        let parse = |text: &str| {
            Moment::parse(text.trim(), now, zone)
                .ok_or_else(|| PeriodError::NoTime(text.to_owned()))
        };
        let since = since.map(parse).transpose()?.map(|moment| moment.start);
        let until = until.map(parse).transpose()?.map(|moment| moment.end);
        match (since, until) {
            (Some(since), Some(until)) if since >= until => Err(PeriodError::Empty),
            _ => Ok(Self { since, until }),
        }
    }

    pub fn contains(&self, slot: Slot) -> bool {
        self.since.is_none_or(|since| since <= slot) && self.until.is_none_or(|until| slot < until)
    }
}

/// A point of time or a stretch of it, as slots.
struct Moment {
    start: Slot,
    end: Slot,
}

impl Moment {
    fn parse(text: &str, now: Timestamp, zone: &TimeZone) -> Option<Self> {
        let today = window::date(now.slot(), zone)?;
        match text {
            "today" => return Self::day(today, zone),
            "yesterday" => return Self::day(today.yesterday().ok()?, zone),
            _ => {}
        }
        if let Some(ago) = Self::ago(text, today, now, zone) {
            return Some(ago);
        }
        if let Ok(day) = text.parse::<Date>() {
            return match text.contains([':', 'T', ' ']) {
                true => Self::instant(text, zone),
                false => Self::day(day, zone),
            };
        }
        if let Ok(first) = format!("{text}-01").parse::<Date>() {
            let next = first.checked_add(1.month()).ok()?;
            return Self::days(first, next, zone);
        }
        Self::instant(text, zone)
    }

    /// `12h`, `7d`, `4w`.
    fn ago(text: &str, today: Date, now: Timestamp, zone: &TimeZone) -> Option<Self> {
        let unit = text.chars().last()?;
        let count: u32 = text.strip_suffix(unit)?.parse().ok()?;
        let days = match unit {
            'h' => return Some(Self::at(now.0.checked_sub(i64::from(count) * 3_600_000)?)),
            'd' => i64::from(count),
            'w' => i64::from(count) * 7,
            _ => return None,
        };
        let days = jiff::Span::new().try_days(days).ok()?;
        Self::day(today.checked_sub(days).ok()?, zone)
    }

    fn day(day: Date, zone: &TimeZone) -> Option<Self> {
        Self::days(day, day.tomorrow().ok()?, zone)
    }

    fn days(first: Date, end: Date, zone: &TimeZone) -> Option<Self> {
        Some(Self {
            start: window::midnight(first, zone)?,
            end: window::midnight(end, zone)?,
        })
    }

    /// With an offset, or of `zone`.
    fn instant(text: &str, zone: &TimeZone) -> Option<Self> {
        let local = || {
            let local: DateTime = text.parse().ok()?;
            Some(local.to_zoned(zone.clone()).ok()?.timestamp())
        };
        let instant = text.parse::<jiff::Timestamp>().ok().or_else(local)?;
        Some(Self::at(instant.as_millisecond()))
    }

    fn at(millis: i64) -> Self {
        let start = Timestamp(millis).slot();
        let exact = start.start().0 == millis;
        Self {
            start,
            end: if exact {
                start
            } else {
                Slot(start.0.saturating_add(1))
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-11-30T10:02:00Z";

    fn slot(text: &str) -> Slot {
        Timestamp::parse_iso(text).unwrap().slot()
    }

    fn parse(since: Option<&str>, until: Option<&str>) -> Result<Period, PeriodError> {
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        Period::parse(since, until, Timestamp::parse_iso(NOW).unwrap(), &zone)
    }

    #[test]
    fn times_as_people_write_them() {
        for (text, since, until) in [
            ("2026-11-30", "2026-11-29T23:00:00Z", "2026-11-30T23:00:00Z"),
            ("2026-10-25", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"),
            ("2026-02", "2026-01-31T23:00:00Z", "2026-02-28T23:00:00Z"),
            ("today", "2026-11-29T23:00:00Z", "2026-11-30T23:00:00Z"),
            ("yesterday", "2026-11-28T23:00:00Z", "2026-11-29T23:00:00Z"),
            ("0d", "2026-11-29T23:00:00Z", "2026-11-30T23:00:00Z"),
            ("7d", "2026-11-22T23:00:00Z", "2026-11-23T23:00:00Z"),
            ("1w", "2026-11-22T23:00:00Z", "2026-11-23T23:00:00Z"),
            ("2h", "2026-11-30T08:00:00Z", "2026-11-30T08:05:00Z"),
            (
                "2026-11-30T08:00",
                "2026-11-30T07:00:00Z",
                "2026-11-30T07:00:00Z",
            ),
            (
                "2026-11-30 08:01",
                "2026-11-30T07:00:00Z",
                "2026-11-30T07:05:00Z",
            ),
            (
                "2026-11-30T08:00:00Z",
                "2026-11-30T08:00:00Z",
                "2026-11-30T08:00:00Z",
            ),
            (
                "2026-11-30T08:00:00+05:30",
                "2026-11-30T02:30:00Z",
                "2026-11-30T02:30:00Z",
            ),
        ] {
            assert_eq!(
                parse(Some(text), None).unwrap().since,
                Some(slot(since)),
                "{text}"
            );
            assert_eq!(
                parse(None, Some(text)).unwrap().until,
                Some(slot(until)),
                "{text}"
            );
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "soon",
            "7",
            "-7d",
            "2026-13-01",
            "2026-02-30",
            "99999999999d",
            "4294967295w",
            "é",
        ] {
            let error = parse(Some(text), None).unwrap_err();
            assert_eq!(error, PeriodError::NoTime(text.to_owned()), "{text}");
        }
        assert_eq!(
            parse(Some("today"), Some("yesterday")),
            Err(PeriodError::Empty)
        );
    }

    #[test]
    fn one_day_is_that_day() {
        let day = parse(Some("2026-11-30"), Some("2026-11-30")).unwrap();
        assert!(day.contains(slot("2026-11-30T12:00:00Z")));
        assert!(!day.contains(slot("2026-11-30T23:00:00Z")));
        assert!(Period::default().contains(Slot(0)));
    }
}
