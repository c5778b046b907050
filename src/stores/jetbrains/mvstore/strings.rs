//! H2's string encoding: a count of UTF-16 units, each of one to three bytes.

use super::super::bytes::{Bytes, Malformed};

/// Reads one string. A surrogate pair is joined; a lone surrogate becomes U+FFFD.
pub(super) fn read(bytes: &mut Bytes<'_>) -> Result<String, Malformed> {
    let count = bytes.count()?;
    units(bytes, count)
}

/// Reads `count` UTF-16 units.
pub(super) fn units(bytes: &mut Bytes<'_>, count: usize) -> Result<String, Malformed> {
    let plain = bytes.rest().get(..count).ok_or(Malformed)?;
    if plain.is_ascii() {
        bytes.take(count)?;
        return Ok(plain.iter().map(|&byte| char::from(byte)).collect());
    }
    let mut units = Vec::with_capacity(count);
    for _ in 0..count {
        units.push(unit(bytes)?);
    }
    Ok(String::from_utf16_lossy(&units))
}

/// Passes over `count` UTF-16 units.
pub(super) fn skip(bytes: &mut Bytes<'_>, count: usize) -> Result<(), Malformed> {
    for _ in 0..count {
        unit(bytes)?;
    }
    Ok(())
}

/// Unlike in UTF-8, the bytes that follow the first have no mark.
fn unit(bytes: &mut Bytes<'_>) -> Result<u16, Malformed> {
    let first = u16::from(bytes.u8()?);
    let mut low = || bytes.u8().map(|byte| u16::from(byte & 0x3f));
    Ok(match first {
        ..0x80 => first,
        0x80..0xe0 => (first & 0x1f) << 6 | low()?,
        _ => (first & 0x0f) << 12 | low()? << 6 | low()?,
    })
}

#[cfg(test)]
pub(super) fn write(out: &mut Vec<u8>, text: &str) {
    super::writer::var(out, text.encode_utf16().count() as u64);
    for unit in text.encode_utf16() {
        match unit {
            ..0x80 => out.push(unit as u8),
            0x80..0x800 => out.extend([0xc0 | (unit >> 6) as u8, (unit & 0x3f) as u8]),
            _ => out.extend([
                0xe0 | (unit >> 12) as u8,
                (unit >> 6 & 0x3f) as u8,
                (unit & 0x3f) as u8,
            ]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_text_comes_back(text: String) {
            let mut bytes = Vec::new();
            write(&mut bytes, &text);
            let mut read_bytes = Bytes::new(&bytes);
            prop_assert_eq!(read(&mut read_bytes), Ok(text));
            prop_assert_eq!(read_bytes.left(), 0);
        }

        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = read(&mut Bytes::new(&bytes));
        }
    }

    #[test]
    fn trailing_bytes_have_no_mark() {
        // "é" is 0xe9: 0xc3 0x29.
        assert_eq!(read(&mut Bytes::new(&[1, 0xc3, 0x29])), Ok("é".into()));
    }
}
