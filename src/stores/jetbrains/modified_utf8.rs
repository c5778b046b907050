//! Java's modified UTF-8: NUL as two bytes, supplementary characters as two surrogates of three bytes each.

use std::borrow::Cow;

/// The text of `bytes`. Surrogate pairs are joined; a lone surrogate, and a byte that fits nowhere, becomes
/// U+FFFD, so that the number of UTF-16 units of well-formed data stays what Java counts.
pub(super) fn decode(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(decode_slowly(bytes)),
    }
}

fn decode_slowly(mut bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    while !bytes.is_empty() {
        // All that is plain UTF-8 too goes over at once.
        let sound = match std::str::from_utf8(bytes) {
            Ok(rest) => rest.len(),
            Err(error) => error.valid_up_to(),
        };
        let (plain, rest) = bytes.split_at(sound);
        text.push_str(std::str::from_utf8(plain).unwrap_or_default());
        let (decoded, length) = match *rest {
            [] => return text,
            [0xc0, 0x80, ..] => ('\0', 2),
            [
                0xed,
                b1 @ 0xa0..=0xaf,
                b2 @ 0x80..=0xbf,
                0xed,
                b4 @ 0xb0..=0xbf,
                b5 @ 0x80..=0xbf,
                ..,
            ] => {
                let bits = |high: u8, low: u8| u32::from(high & 0xf) << 6 | u32::from(low & 0x3f);
                let scalar = 0x1_0000 + (bits(b1, b2) << 10 | bits(b4, b5));
                (
                    char::from_u32(scalar).unwrap_or(char::REPLACEMENT_CHARACTER),
                    6,
                )
            }
            [0xed, 0xa0..=0xbf, 0x80..=0xbf, ..] => (char::REPLACEMENT_CHARACTER, 3),
            _ => (char::REPLACEMENT_CHARACTER, 1),
        };
        text.push(decoded);
        bytes = &rest[length..];
    }
    text
}

#[cfg(test)]
pub(super) fn encode(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for unit in text.encode_utf16() {
        match unit {
            1..0x80 => bytes.push(unit as u8),
            0 | 0x80..0x800 => bytes.extend([0xc0 | (unit >> 6) as u8, 0x80 | (unit & 0x3f) as u8]),
            _ => bytes.extend([
                0xe0 | (unit >> 12) as u8,
                0x80 | (unit >> 6 & 0x3f) as u8,
                0x80 | (unit & 0x3f) as u8,
            ]),
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn edge_165_emoji_are_two_surrogates_and_nul_is_two_bytes() {
        let rocket = b"go \xed\xa0\xbd\xed\xba\x80 caf\xc3\xa9\xc0\x80!";
        assert_eq!(decode(rocket), "go \u{1f680} café\0!");
        assert_eq!(encode("go \u{1f680} café\0!"), rocket);
    }

    #[test]
    fn a_lone_surrogate_stays_one_unit() {
        assert_eq!(decode(b"a\xed\xa0\xbdb"), "a\u{fffd}b");
        assert_eq!(decode(b"\xed\xba\x80\xed\xa0\xbd"), "\u{fffd}\u{fffd}");
    }

    proptest! {
        #[test]
        fn any_text_comes_back(text in "(\\PC|\\x00|[\u{10000}-\u{10ffff}]){0,40}") {
            let bytes = encode(&text);
            prop_assert_eq!(decode(&bytes), text);
        }

        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            decode(&bytes);
        }
    }
}
