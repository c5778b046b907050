//! Windows of time in a time zone, as whole slots. Everything is asked anew with the time that it is, so
//! that midnight, a daylight-saving change or a laptop's sleep need no event to be noticed.

use jiff::civil::{Date, Weekday};
use jiff::tz::TimeZone;
use jiff::{ToSpan, Zoned};

use super::Window;
use crate::config::BudgetWindow;
use crate::usage::{Slot, Timestamp};

/// Whole slots, `start` inclusive and `end` exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub start: Slot,
    pub end: Slot,
}

impl Span {
    pub fn contains(&self, slot: Slot) -> bool {
        (self.start..self.end).contains(&slot)
    }

    /// The slots of `first` and the days after it, up to `end` (exclusive).
    fn days(first: Date, end: Date, zone: &TimeZone) -> Option<Self> {
        Some(Self {
            start: midnight(first, zone)?,
            end: midnight(end, zone)?,
        })
    }
}

/// The day, week (from Monday) or month in which `at` lies. `None`: `at` is beyond any calendar.
pub fn span(window: Window, at: Timestamp, zone: &TimeZone) -> Option<Span> {
    let today = zoned(at, zone)?.date();
    let (first, length) = match window {
        Window::Today => (today, 1.day()),
        Window::Week => {
            let past = today.weekday().since(Weekday::Monday);
            (today.checked_sub(i64::from(past).days()).ok()?, 1.week())
        }
        Window::Month => (today.first_of_month(), 1.month()),
    };
    Span::days(first, first.checked_add(length).ok()?, zone)
}

/// The last `count` days up to the one in which `at` lies, oldest first.
pub fn last_days(count: u16, at: Timestamp, zone: &TimeZone) -> Vec<(Date, Span)> {
    let Some(today) = zoned(at, zone).map(|now| now.date()) else {
        return Vec::new();
    };
    let day = |back: u16| {
        let date = today.checked_sub(i64::from(back).days()).ok()?;
        let span = Span::days(date, date.tomorrow().ok()?, zone)?;
        Some((date, span))
    };
    (0..count).rev().filter_map(day).collect()
}

/// The day of a slot.
pub fn date(slot: Slot, zone: &TimeZone) -> Option<Date> {
    zoned(slot.start(), zone).map(|start| start.date())
}

/// The first slot of a day. Where a clock change skips midnight, the day begins after the gap; where it
/// repeats midnight, with the first.
pub fn midnight(date: Date, zone: &TimeZone) -> Option<Slot> {
    let start = date.to_zoned(zone.clone()).ok()?;
    Some(Timestamp(start.timestamp().as_millisecond()).slot())
}

/// The zone of an IANA name, else the system's.
pub fn zone(name: Option<&str>) -> TimeZone {
    name.and_then(|name| TimeZone::get(name).ok())
        .unwrap_or_else(TimeZone::system)
}

fn zoned(at: Timestamp, zone: &TimeZone) -> Option<Zoned> {
    let at = jiff::Timestamp::from_millisecond(at.0).ok()?;
    Some(at.to_zoned(zone.clone()))
}

impl From<BudgetWindow> for Window {
    fn from(window: BudgetWindow) -> Self {
        match window {
            BudgetWindow::Day => Self::Today,
            BudgetWindow::Week => Self::Week,
            BudgetWindow::Month => Self::Month,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse_iso(text).unwrap()
    }

    fn check(window: Window, name: &str, now: &str, start: &str, end: &str) {
        let span = span(window, at(now), &TimeZone::get(name).unwrap()).unwrap();
        assert_eq!(span.start.start(), at(start), "{name} {now}: start");
        assert_eq!(span.end.start(), at(end), "{name} {now}: end");
    }

    #[test]
    fn today_across_midnight_and_clock_changes() {
        for (zone, now, start, end) in [
            (
                "UTC",
                "2026-06-01T00:00:00Z",
                "2026-06-01T00:00:00Z",
                "2026-06-02T00:00:00Z",
            ),
            (
                "UTC",
                "2026-05-31T23:59:59.999Z",
                "2026-05-31T00:00:00Z",
                "2026-06-01T00:00:00Z",
            ),
            // 23 and 25 hours.
            (
                "Europe/Berlin",
                "2026-03-29T12:00:00Z",
                "2026-03-28T23:00:00Z",
                "2026-03-29T22:00:00Z",
            ),
            (
                "Europe/Berlin",
                "2026-10-25T12:00:00Z",
                "2026-10-24T22:00:00Z",
                "2026-10-25T23:00:00Z",
            ),
            (
                "America/New_York",
                "2026-11-01T05:30:00Z",
                "2026-11-01T04:00:00Z",
                "2026-11-02T05:00:00Z",
            ),
            // Offsets of half and quarter hours.
            (
                "Asia/Kolkata",
                "2026-06-30T18:29:59Z",
                "2026-06-29T18:30:00Z",
                "2026-06-30T18:30:00Z",
            ),
            (
                "Asia/Kathmandu",
                "2026-06-30T18:15:00Z",
                "2026-06-30T18:15:00Z",
                "2026-07-01T18:15:00Z",
            ),
            // A change of half an hour.
            (
                "Australia/Lord_Howe",
                "2026-04-05T00:00:00Z",
                "2026-04-04T13:00:00Z",
                "2026-04-05T13:30:00Z",
            ),
            // Midnight doesn't exist, and exists twice.
            (
                "Africa/Cairo",
                "2026-04-24T10:00:00Z",
                "2026-04-23T22:00:00Z",
                "2026-04-24T21:00:00Z",
            ),
            (
                "America/Havana",
                "2026-11-01T12:00:00Z",
                "2026-11-01T04:00:00Z",
                "2026-11-02T05:00:00Z",
            ),
        ] {
            check(Window::Today, zone, now, start, end);
        }
    }

    #[test]
    fn weeks_begin_on_monday() {
        for (zone, now, start, end) in [
            (
                "UTC",
                "2026-11-30T00:00:00Z",
                "2026-11-30T00:00:00Z",
                "2026-12-07T00:00:00Z",
            ),
            (
                "UTC",
                "2026-11-29T23:59:59Z",
                "2026-11-23T00:00:00Z",
                "2026-11-30T00:00:00Z",
            ),
            (
                "UTC",
                "2027-01-01T12:00:00Z",
                "2026-12-28T00:00:00Z",
                "2027-01-04T00:00:00Z",
            ),
            (
                "Europe/Berlin",
                "2026-03-25T12:00:00Z",
                "2026-03-22T23:00:00Z",
                "2026-03-29T22:00:00Z",
            ),
            (
                "Pacific/Auckland",
                "2026-11-29T11:00:00Z",
                "2026-11-29T11:00:00Z",
                "2026-12-06T11:00:00Z",
            ),
        ] {
            check(Window::Week, zone, now, start, end);
        }
    }

    #[test]
    fn months_of_all_lengths() {
        for (zone, now, start, end) in [
            (
                "UTC",
                "2028-02-29T12:00:00Z",
                "2028-02-01T00:00:00Z",
                "2028-03-01T00:00:00Z",
            ),
            (
                "UTC",
                "2026-12-31T23:59:59Z",
                "2026-12-01T00:00:00Z",
                "2027-01-01T00:00:00Z",
            ),
            (
                "Asia/Kolkata",
                "2026-05-31T18:30:00Z",
                "2026-05-31T18:30:00Z",
                "2026-06-30T18:30:00Z",
            ),
            (
                "America/Los_Angeles",
                "2026-06-01T06:59:59Z",
                "2026-05-01T07:00:00Z",
                "2026-06-01T07:00:00Z",
            ),
            (
                "America/Los_Angeles",
                "2026-03-15T12:00:00Z",
                "2026-03-01T08:00:00Z",
                "2026-04-01T07:00:00Z",
            ),
        ] {
            check(Window::Month, zone, now, start, end);
        }
    }

    #[test]
    fn days_join_without_gap() {
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        let days = last_days(30, at("2026-11-05T08:00:00Z"), &zone);
        assert_eq!(days.len(), 30);
        assert_eq!(days[29].0, jiff::civil::date(2026, 11, 5));
        for pair in days.windows(2) {
            assert_eq!(pair[0].1.end, pair[1].1.start);
        }
        for (day, span) in days {
            assert_eq!(date(span.start, &zone), Some(day));
            assert_eq!(date(Slot(span.end.0 - 1), &zone), Some(day));
        }
    }

    #[test]
    fn a_broken_clock_has_no_windows() {
        assert_eq!(
            span(Window::Today, Timestamp(i64::MAX), &TimeZone::UTC),
            None
        );
        assert!(last_days(3, Timestamp(i64::MIN), &TimeZone::UTC).is_empty());
    }
}
