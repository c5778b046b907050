//! A token bucket.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// At most `burst` requests at once, and one more for every interval that passes.
#[derive(Debug)]
pub(in crate::serve) struct RateLimit {
    interval: Duration,
    burst: f64,
    bucket: Mutex<(f64, Instant)>,
}

impl RateLimit {
    pub(super) fn new(interval: Duration, burst: u32) -> Self {
        let burst = f64::from(burst);
        Self {
            interval,
            burst,
            bucket: Mutex::new((burst, Instant::now())),
        }
    }

    pub(in crate::serve) fn allows(&self) -> bool {
        self.allows_at(Instant::now())
    }

    fn allows_at(&self, now: Instant) -> bool {
        let mut bucket = self.bucket.lock().unwrap_or_else(PoisonError::into_inner);
        let (tokens, since) = *bucket;
        let earned = now
            .saturating_duration_since(since)
            .div_duration_f64(self.interval);
        let tokens = (tokens + earned).min(self.burst);
        let allowed = tokens >= 1.0;
        *bucket = (if allowed { tokens - 1.0 } else { tokens }, now);
        allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_and_then_one_for_each_interval() {
        let limit = RateLimit::new(Duration::from_secs(2), 2);
        let start = Instant::now();
        let at = |seconds| limit.allows_at(start + Duration::from_secs(seconds));
        assert_eq!([at(0), at(0), at(0)], [true, true, false]);
        assert_eq!([at(1), at(2), at(2)], [false, true, false]);
        assert_eq!([at(60), at(60), at(60)], [true, true, false]);
    }
}
