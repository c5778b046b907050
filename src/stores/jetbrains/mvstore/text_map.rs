//! MVStore's text maps, `key:value,key:value`, and the checksum that ends a header or footer.

use std::borrow::Cow;

/// The value of `key` in a text map. A quoted value (`"…"`, with backslash escapes) is unquoted.
pub(super) fn get<'a>(map: &'a str, key: &str) -> Option<Cow<'a, str>> {
    let mut rest = map;
    while !rest.is_empty() {
        let (name, tail) = rest.split_once(':')?;
        let (value, tail) = value(tail);
        if name == key {
            return Some(value);
        }
        rest = tail;
    }
    None
}

/// The value at the beginning of `text`, and what follows its comma.
fn value(text: &str) -> (Cow<'_, str>, &str) {
    let mut plain = String::new();
    let mut start = 0;
    let (mut quoted, mut quotes) = (false, false);
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            ',' if !quoted => {
                let rest = &text[at + 1..];
                if !quotes {
                    return (Cow::Borrowed(&text[..at]), rest);
                }
                plain.push_str(&text[start..at]);
                return (Cow::Owned(plain), rest);
            }
            '"' => {
                plain.push_str(&text[start..at]);
                start = at + 1;
                quotes = true;
                quoted = !quoted;
            }
            '\\' if quoted => {
                plain.push_str(&text[start..at]);
                start = at + 1;
                // The escaped character is kept as it is, also when it is a quote.
                chars.next();
            }
            _ => {}
        }
    }
    if !quotes {
        return (Cow::Borrowed(text), "");
    }
    plain.push_str(&text[start..]);
    (Cow::Owned(plain), "")
}

/// The value of `key`, written in hexadecimal digits.
pub(super) fn hex(map: &str, key: &str) -> Option<u64> {
    parse_hex(&get(map, key)?)
}

pub(super) fn parse_hex(text: &str) -> Option<u64> {
    // `from_str_radix` would take a sign.
    if text.starts_with(['+', '-']) {
        return None;
    }
    u64::from_str_radix(text, 16).ok()
}

/// A header or footer whose checksum is right: the text before `,fletcher:`.
pub(super) fn checked(block: &[u8]) -> Option<&str> {
    let text = text(block)?;
    let (map, sum) = text.rsplit_once(",fletcher:")?;
    let sum = u32::from_str_radix(sum, 16).ok()?;
    (fletcher(map.as_bytes()) == sum).then_some(map)
}

/// The text of a header: up to its line end, without the padding.
pub(super) fn text(block: &[u8]) -> Option<&str> {
    let end = memchr::memchr2(b'\n', 0, block).unwrap_or(block.len());
    std::str::from_utf8(&block[..end]).ok().map(str::trim)
}

/// Fletcher-32 as H2 computes it.
pub(super) fn fletcher(bytes: &[u8]) -> u32 {
    let fold = |x: u32| (x & 0xffff) + (x >> 16);
    let (mut s1, mut s2) = (0xffff_u32, 0xffff_u32);
    let words = bytes.chunks_exact(2);
    let odd = words.remainder().first().copied();
    for (at, word) in words.enumerate() {
        if at > 0 && at % 360 == 0 {
            (s1, s2) = (fold(s1), fold(s2));
        }
        s1 = s1.wrapping_add(u32::from(word[0]) << 8 | u32::from(word[1]));
        s2 = s2.wrapping_add(s1);
    }
    (s1, s2) = (fold(s1), fold(s2));
    if let Some(odd) = odd {
        s1 = s1.wrapping_add(u32::from(odd) << 8);
        s2 = s2.wrapping_add(s1);
    }
    (s1, s2) = (fold(s1), fold(s2));
    s2 << 16 | s1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_by_key() {
        let map = r#"chunk:12,name:"a,\"b\\",root:80000a1210,empty:"#;
        assert_eq!(get(map, "name").as_deref(), Some(r#"a,"b\"#));
        assert_eq!(hex(map, "chunk"), Some(0x12));
        assert_eq!(hex(map, "root"), Some(0x80_000a_1210));
        assert_eq!(get(map, "empty").as_deref(), Some(""));
        assert_eq!(get(map, "unk"), None);
        assert_eq!(hex("a:+1", "a"), None);
    }

    #[test]
    fn broken_maps_are_read_as_far_as_they_go() {
        assert_eq!(get("", "a"), None);
        assert_eq!(get("nocolon", "a"), None);
        assert_eq!(get(r#"a:"open"#, "a").as_deref(), Some("open"));
        assert_eq!(get("a:\"\\", "a").as_deref(), Some(""));
    }

    #[test]
    fn checksums_of_genuine_headers() {
        for header in [
            "H:2,block:1a,blockSize:1000,chunk:6,clean:1,created:1a22f6e0c5e,format:3,version:6,fletcher:58fbec27\n\0",
            "chunk:1,len:6,version:1,fletcher:aed3778c        \n",
            "H:2,blockSize:1000,created:1a22f6e191a,format:3,fletcher:4fdd647e\n",
        ] {
            assert!(checked(header.as_bytes()).is_some(), "{header}");
            assert_eq!(checked(header.replacen(':', ";", 1).as_bytes()), None);
        }
    }
}
