//! Chance that repeats itself: the same day looks the same at every run.

/// SplitMix64, a generator of 64-bit numbers from one seed.
#[derive(Debug)]
pub(super) struct Chance(u64);

impl Chance {
    pub(super) fn of(person: &str, day: i64) -> Self {
        let seed = format!("{person} {day}");
        Self(xxhash_rust::xxh3::xxh3_64(seed.as_bytes()))
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// From `low` to `high`, both included.
    pub(super) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }

    /// True once in `n` times.
    pub(super) fn once_in(&mut self, n: u64) -> bool {
        self.next().is_multiple_of(n)
    }

    /// One of the choices, each as often as its weight says.
    pub(super) fn pick<T: Copy>(&mut self, choices: &[(T, u32)]) -> Option<T> {
        let all: u64 = choices.iter().map(|&(_, weight)| u64::from(weight)).sum();
        let mut at = self.next() % all.max(1);
        for &(choice, weight) in choices {
            match at.checked_sub(u64::from(weight)) {
                None => return Some(choice),
                Some(rest) => at = rest,
            }
        }
        None
    }

    /// An identity in the usual form.
    pub(super) fn uuid(&mut self) -> String {
        let (a, b) = (self.next(), self.next());
        format!(
            "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
            a >> 32,
            (a >> 16) & 0xFFFF,
            a & 0xFFF,
            b >> 52,
            b & 0xFFFF_FFFF_FFFF
        )
    }
}
