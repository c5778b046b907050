//! Searches that mostly end after a few bytes: eight of them at a time, without a call.

use memchr::memchr;

/// So many words are looked at before a search is left to one that begins slower and goes on faster.
const NEAR: usize = 8;

/// The first place of `byte`.
pub(super) fn find(byte: u8, bytes: &[u8]) -> Option<usize> {
    const LOWEST: u64 = u64::from_ne_bytes([0x01; 8]);
    const HIGHEST: u64 = u64::from_ne_bytes([0x80; 8]);
    let (words, _) = bytes.as_chunks::<8>();
    let mut from = 0;
    for word in words.iter().take(NEAR) {
        let differs = u64::from_le_bytes(*word) ^ u64::from_ne_bytes([byte; 8]);
        // The highest bit of the first byte that is 0, and perhaps of some behind it.
        let zeros = differs.wrapping_sub(LOWEST) & !differs & HIGHEST;
        if zeros != 0 {
            return Some(from + zeros.trailing_zeros() as usize / 8);
        }
        from += 8;
    }
    memchr(byte, bytes.get(from..)?).map(|at| from + at)
}

const SLASHES: u64 = u64::from_ne_bytes([b'\\'; 8]);

/// How many backslashes the bytes begin with.
pub(super) fn slashes_at(bytes: &[u8]) -> usize {
    let mut count = 0;
    let mut rest = bytes;
    while let Some((word, behind)) = rest.split_first_chunk::<8>() {
        let differs = u64::from_le_bytes(*word) ^ SLASHES;
        if differs != 0 {
            return count + differs.trailing_zeros() as usize / 8;
        }
        count += 8;
        rest = behind;
    }
    count + rest.iter().take_while(|&&byte| byte == b'\\').count()
}

/// How many backslashes stand right before a place.
pub(super) fn slashes_before(bytes: &[u8], place: usize) -> usize {
    let mut before = bytes.get(..place).unwrap_or_default();
    let mut count = 0;
    while let Some((rest, word)) = before.split_last_chunk::<8>() {
        let differs = u64::from_le_bytes(*word) ^ SLASHES;
        if differs != 0 {
            return count + differs.leading_zeros() as usize / 8;
        }
        count += 8;
        before = rest;
    }
    let rest = before.iter().rev();
    count + rest.take_while(|&&byte| byte == b'\\').count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_found_is_what_a_plain_search_finds(bytes in "[\"#!\\\\a-z\u{80}-\u{ff}]{0,120}") {
            let bytes = bytes.as_bytes();
            for from in 0..bytes.len() {
                let rest = &bytes[from..];
                prop_assert_eq!(find(b'"', rest), rest.iter().position(|&byte| byte == b'"'));
            }
            for place in 0..=bytes.len() {
                let before = bytes[..place].iter().rev();
                let count = before.take_while(|&&byte| byte == b'\\').count();
                prop_assert_eq!(slashes_before(bytes, place), count);
                let behind = bytes[place..].iter();
                let count = behind.take_while(|&&byte| byte == b'\\').count();
                prop_assert_eq!(slashes_at(&bytes[place..]), count);
            }
        }

        #[test]
        fn long_runs_are_counted(count in 0usize..40, before in 0usize..20) {
            let bytes = [vec![b'x'; before], vec![b'\\'; count]].concat();
            prop_assert_eq!(slashes_before(&bytes, bytes.len()), count);
            let bytes = [vec![b'\\'; count], vec![b'x'; before]].concat();
            prop_assert_eq!(slashes_at(&bytes), count);
        }
    }
}
