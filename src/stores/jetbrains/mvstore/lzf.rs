//! LZF decompression.

use super::super::bytes::{Bytes, Malformed};

/// Decompresses to exactly `size` bytes.
pub(super) fn expand(compressed: &[u8], size: usize) -> Result<Vec<u8>, Malformed> {
    let mut input = Bytes::new(compressed);
    // One byte of a back reference stands for at most 132: a larger claim is a lie, and isn't allocated.
    if size > compressed.len().saturating_mul(132) {
        return Err(Malformed);
    }
    let mut out = Vec::with_capacity(size);
    while out.len() < size {
        let control = usize::from(input.u8()?);
        if control < 32 {
            out.extend_from_slice(input.take(control + 1)?);
            continue;
        }
        let mut length = control >> 5;
        if length == 7 {
            length += usize::from(input.u8()?);
        }
        length += 2;
        let distance = ((control & 31) << 8) + usize::from(input.u8()?) + 1;
        let start = out.len().checked_sub(distance).ok_or(Malformed)?;
        if length > size - out.len() {
            return Err(Malformed);
        }
        // The copied stretch may overlap with itself: then its bytes repeat.
        let mut copied = 0;
        while copied < length {
            let step = (length - copied).min(out.len() - start);
            out.extend_from_within(start..start + step);
            copied += step;
        }
    }
    if out.len() == size {
        Ok(out)
    } else {
        Err(Malformed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn literals_and_overlapping_copies() {
        // "abc", then 9 bytes from a distance of 3, then 2 + 7 + 1 from a distance of 1.
        let compressed = [2, b'a', b'b', b'c', 0xe0, 0, 2, 0xe0, 1, 0];
        assert_eq!(
            expand(&compressed, 22),
            Ok(b"abcabcabcabccccccccccc".to_vec())
        );
    }

    #[test]
    fn lies_are_refused() {
        assert_eq!(expand(&[0x20, 0], 3), Err(Malformed));
        assert_eq!(expand(&[2, b'a'], 3), Err(Malformed));
        assert_eq!(expand(&[0, b'a'], usize::MAX), Err(Malformed));
        assert_eq!(expand(&[1, b'a', b'b'], 1), Err(Malformed));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, size in 0usize..100_000) {
            if let Ok(out) = expand(&bytes, size) {
                prop_assert_eq!(out.len(), size);
            }
        }
    }
}
