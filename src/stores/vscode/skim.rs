//! A pull parser for JSON that decodes what is asked for and passes over the rest at nearly the speed of
//! memory, however long a value is: chat sessions are mostly text that nobody here may look at.

use std::io::{self, BufRead};

use memchr::{memchr, memchr2, memchr3};

/// The most bytes of a string that are kept; the rest of a longer one is dropped.
pub(super) const LONGEST_TEXT: usize = 1024;
/// The most bytes that [`Skim::take_value`] sets aside.
const LONGEST_ASIDE: usize = 8 << 20;

/// Why a value can't be read.
#[derive(Debug)]
pub(super) enum Fault {
    Io(io::Error),
    /// The text ends inside of the value: it may be half-written.
    Ended,
    /// This is no JSON.
    Broken,
}

pub(super) type Result<T> = std::result::Result<T, Fault>;

/// Reads JSON from `input`, value by value.
pub(super) struct Skim<R> {
    input: R,
    consumed: u64,
    /// A line end ends the text: no value reaches over it.
    by_line: bool,
    /// What is consumed is kept here as well, while a value is set aside.
    aside: Option<Vec<u8>>,
    left_out: u64,
    longest_text: usize,
}

/// A member's name, if it is short enough to be one that anybody asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Name {
    bytes: [u8; Self::LONGEST],
    len: u8,
}

impl Name {
    const LONGEST: usize = 32;

    pub(super) fn new(text: &str) -> Self {
        let mut name = Self {
            bytes: [0; Self::LONGEST],
            len: 0,
        };
        if let Some(bytes) = name.bytes.get_mut(..text.len()) {
            bytes.copy_from_slice(text.as_bytes());
            name.len = text.len() as u8;
        }
        name
    }

    /// Empty for a name that is too long.
    pub(super) fn as_str(&self) -> &str {
        let bytes = self.bytes.get(..usize::from(self.len)).unwrap_or_default();
        std::str::from_utf8(bytes).unwrap_or_default()
    }
}

/// A value that isn't a container.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Scalar {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
}

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    Object,
    List,
    Text,
    Scalar,
}

/// Walks over the members of an object or the items of a list.
pub(super) struct Walk {
    first: bool,
    close: u8,
}

impl<R: BufRead> Skim<R> {
    /// For a text that is one document.
    pub(super) fn document(input: R) -> Self {
        Self {
            input,
            consumed: 0,
            by_line: false,
            aside: None,
            left_out: 0,
            longest_text: LONGEST_TEXT,
        }
    }

    /// For a document of what was kept: it is given back as it is. A text that just fitted may be longer by
    /// its escapes.
    pub(super) fn of_kept(input: R) -> Self {
        Self {
            longest_text: usize::MAX,
            ..Self::document(input)
        }
    }

    /// For a text of one value a line.
    pub(super) fn lines(input: R) -> Self {
        Self {
            by_line: true,
            ..Self::document(input)
        }
    }

    /// How many bytes have been read.
    pub(super) fn consumed(&self) -> u64 {
        self.consumed
    }

    fn fill(&mut self) -> Result<&[u8]> {
        loop {
            match self.input.fill_buf() {
                Ok(_) => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Fault::Io(error)),
            }
        }
        // Asked twice, since the first answer can't be returned out of a loop; it is in the buffer now.
        self.input.fill_buf().map_err(Fault::Io)
    }

    fn consume(&mut self, n: usize) {
        if let Some(aside) = &mut self.aside
            && let Ok(buffer) = self.input.fill_buf()
        {
            let room = LONGEST_ASIDE.saturating_sub(aside.len());
            aside.extend(buffer.iter().take(n.min(room)));
        }
        self.input.consume(n);
        self.consumed += n as u64;
    }

    /// The next byte that isn't blank; `None` at the end of the text (or of the line).
    fn peek(&mut self) -> Result<Option<u8>> {
        let by_line = self.by_line;
        loop {
            let buffer = self.fill()?;
            if buffer.is_empty() {
                return Ok(None);
            }
            let blank = |b: &u8| matches!(b, b' ' | b'\t' | b'\r') || (*b == b'\n' && !by_line);
            match buffer.iter().position(|b| !blank(b)) {
                Some(at) => {
                    let byte = buffer[at];
                    self.consume(at);
                    return Ok((byte != b'\n').then_some(byte));
                }
                None => {
                    let n = buffer.len();
                    self.consume(n);
                }
            }
        }
    }

    /// The next byte that isn't blank, where there must be one.
    fn need(&mut self) -> Result<u8> {
        match self.peek()? {
            Some(byte) => Ok(byte),
            // A line that ended is broken; a text that ended may go on later.
            None if self.fill()?.is_empty() => Err(Fault::Ended),
            None => Err(Fault::Broken),
        }
    }

    fn expect(&mut self, byte: u8) -> Result<()> {
        if self.need()? != byte {
            return Err(Fault::Broken);
        }
        self.consume(1);
        Ok(())
    }

    /// Whether nothing but blanks is left of the text (or of the line).
    pub(super) fn at_end(&mut self) -> Result<bool> {
        Ok(self.peek()?.is_none())
    }

    /// Passes over a byte order mark, if the text begins with one.
    pub(super) fn skip_mark(&mut self) -> Result<()> {
        if self.fill()?.starts_with(b"\xef\xbb\xbf") {
            self.consume(3);
        }
        Ok(())
    }

    /// Goes behind the next line end; `false` if there is none.
    pub(super) fn skip_line(&mut self) -> Result<bool> {
        loop {
            let buffer = self.fill()?;
            let (n, found) = match memchr(b'\n', buffer) {
                Some(at) => (at + 1, true),
                None => (buffer.len(), false),
            };
            self.consume(n);
            if found || n == 0 {
                return Ok(found);
            }
        }
    }

    /// What kind of value comes next.
    pub(super) fn next(&mut self) -> Result<Next> {
        Ok(match self.need()? {
            b'{' => Next::Object,
            b'[' => Next::List,
            b'"' => Next::Text,
            _ => Next::Scalar,
        })
    }

    /// Enters an object; [`Walk::member`] gives its members.
    pub(super) fn object(&mut self) -> Result<Walk> {
        self.expect(b'{')?;
        Ok(Walk {
            first: true,
            close: b'}',
        })
    }

    /// Enters a list; [`Walk::item`] tells whether there is another item.
    pub(super) fn list(&mut self) -> Result<Walk> {
        self.expect(b'[')?;
        Ok(Walk {
            first: true,
            close: b']',
        })
    }

    /// Reads text, a number, `true`, `false` or `null`.
    pub(super) fn scalar(&mut self) -> Result<Scalar> {
        if self.need()? == b'"' {
            return Ok(Scalar::Text(unescape(&self.raw_text()?)));
        }
        let mut word = Vec::new();
        self.word(|byte| {
            if word.len() < 64 {
                word.push(byte);
            }
        })?;
        match word.as_slice() {
            b"null" => Ok(Scalar::Null),
            b"true" => Ok(Scalar::Bool(true)),
            b"false" => Ok(Scalar::Bool(false)),
            [b'-' | b'0'..=b'9', ..] => std::str::from_utf8(&word)
                .ok()
                .and_then(|text| text.parse().ok())
                .map(Scalar::Number)
                .ok_or(Fault::Broken),
            _ => Err(Fault::Broken),
        }
    }

    /// The bytes of a number or a literal.
    fn word(&mut self, mut each: impl FnMut(u8)) -> Result<()> {
        let mut any = false;
        loop {
            let buffer = self.fill()?;
            if buffer.is_empty() {
                // A number at the very end may be the beginning of a longer one.
                return if any && !self.by_line {
                    Ok(())
                } else {
                    Err(Fault::Ended)
                };
            }
            let part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.');
            let n = buffer.iter().position(|b| !part(b));
            for &byte in &buffer[..n.unwrap_or(buffer.len())] {
                any = true;
                each(byte);
            }
            let end = n.is_some();
            let n = n.unwrap_or(buffer.len());
            self.consume(n);
            if end {
                return if any { Ok(()) } else { Err(Fault::Broken) };
            }
        }
    }

    /// A string's bytes between its quotes, escapes as they are, cut where it is too long.
    fn raw_text(&mut self) -> Result<Vec<u8>> {
        self.expect(b'"')?;
        let longest = self.longest_text;
        let mut raw = Vec::new();
        let mut escaped = false;
        loop {
            let buffer = self.fill()?;
            if buffer.is_empty() {
                return Err(Fault::Ended);
            }
            let (n, end) = string_end(buffer, &mut escaped)?;
            let text = if end { n - 1 } else { n };
            let room = longest.saturating_sub(raw.len());
            raw.extend_from_slice(&buffer[..text.min(room)]);
            self.consume(n);
            if end {
                return Ok(raw);
            }
        }
    }

    /// The length of a text in UTF-16 units, without keeping it.
    pub(super) fn text_units(&mut self) -> Result<u64> {
        self.expect(b'"')?;
        let mut units = Units::default();
        let mut escaped = false;
        loop {
            let buffer = self.fill()?;
            if buffer.is_empty() {
                return Err(Fault::Ended);
            }
            let (n, end) = string_end(buffer, &mut escaped)?;
            units.count(&buffer[..if end { n - 1 } else { n }]);
            self.consume(n);
            if end {
                return Ok(units.count);
            }
        }
    }

    /// Passes over a value of any kind and length.
    pub(super) fn skip_value(&mut self) -> Result<()> {
        match self.need()? {
            b'"' => {
                self.consume(1);
                self.skip_nested(0, true)
            }
            b'{' | b'[' => self.skip_nested(0, false),
            _ => self.word(|_| ()),
        }
    }

    /// Passes over strings and brackets until all that were opened are closed.
    fn skip_nested(&mut self, mut depth: u64, mut in_string: bool) -> Result<()> {
        let mut escaped = false;
        loop {
            let by_line = self.by_line;
            let buffer = self.fill()?;
            if buffer.is_empty() {
                return Err(Fault::Ended);
            }
            let mut at = 0;
            let mut done = false;
            while let Some(rest) = buffer.get(at..).filter(|rest| !rest.is_empty()) {
                if in_string {
                    let (n, end) = string_end(rest, &mut escaped)?;
                    at += n;
                    in_string = !end;
                } else {
                    at += 1;
                    match rest[0] {
                        b'"' => in_string = true,
                        b'{' | b'[' => depth += 1,
                        b'}' | b']' => depth -= 1,
                        b'\n' if by_line => return Err(Fault::Broken),
                        _ => {}
                    }
                }
                if depth == 0 && !in_string {
                    done = true;
                    break;
                }
            }
            self.consume(at);
            if done {
                return Ok(());
            }
        }
    }

    /// Passes over an item for which its list has no room.
    pub(super) fn leave_out(&mut self) -> Result<()> {
        self.left_out += 1;
        self.skip_value()
    }

    /// Takes over what another parser left out of a part of this text.
    pub(super) fn left_out_elsewhere(&mut self, items: u64) {
        self.left_out += items;
    }

    /// For how many items there was no room: whoever reads lists has to tell of them.
    pub(super) fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Passes over a value and gives its text, for a value that comes before what says how to read it.
    /// `None` if it is too long for that.
    pub(super) fn take_value(&mut self) -> Result<Option<Vec<u8>>> {
        self.need()?;
        self.aside = Some(Vec::new());
        let skipped = self.skip_value();
        let aside = self.aside.take();
        skipped?;
        Ok(aside.filter(|text| text.len() < LONGEST_ASIDE))
    }
}

impl Walk {
    /// The next member's name; its value must be read or skipped before the next call.
    pub(super) fn member<R: BufRead>(&mut self, skim: &mut Skim<R>) -> Result<Option<Name>> {
        if !self.item(skim)? {
            return Ok(None);
        }
        let raw = skim.raw_text()?;
        skim.expect(b':')?;
        let name = match std::str::from_utf8(&raw) {
            Ok(text) if memchr(b'\\', &raw).is_none() => Name::new(text),
            _ => Name::new(&unescape(&raw)),
        };
        Ok(Some(name))
    }

    /// Whether another item follows; it must be read or skipped before the next call.
    pub(super) fn item<R: BufRead>(&mut self, skim: &mut Skim<R>) -> Result<bool> {
        let byte = skim.need()?;
        if byte == self.close {
            skim.consume(1);
            return Ok(false);
        }
        if !std::mem::take(&mut self.first) {
            skim.expect(b',')?;
        }
        Ok(true)
    }
}

/// How far a string reaches in `buffer`, and whether it ends there (then its quote is counted).
/// `escaped`: the byte before the buffer was a backslash that escapes the buffer's first byte.
fn string_end(buffer: &[u8], escaped: &mut bool) -> Result<(usize, bool)> {
    let mut at = 0;
    if std::mem::take(escaped) {
        // An escaped line end is none: lines are taken apart before anything is unescaped.
        if buffer.first() == Some(&b'\n') {
            return Err(Fault::Broken);
        }
        at = 1;
    }
    while let Some(found) = buffer
        .get(at..)
        .and_then(|rest| memchr3(b'"', b'\\', b'\n', rest))
    {
        at += found;
        match buffer[at] {
            b'"' => return Ok((at + 1, true)),
            b'\n' => return Err(Fault::Broken),
            _ => match buffer.get(at + 1) {
                Some(b'\n') => return Err(Fault::Broken),
                Some(_) => at += 2,
                None => *escaped = true,
            },
        }
        if *escaped {
            break;
        }
    }
    Ok((buffer.len(), false))
}

/// Counts the UTF-16 units that a string's bytes stand for.
#[derive(Default)]
struct Units {
    count: u64,
    after_backslash: bool,
    /// Digits of a `\uXXXX` to come; the escape is counted already.
    digits: u8,
}

impl Units {
    fn count(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if std::mem::take(&mut self.after_backslash) {
                self.digits = if byte == b'u' { 4 } else { 0 };
            } else if self.digits > 0 {
                self.digits -= 1;
            } else {
                self.after_backslash = byte == b'\\';
                // One unit for each character's first byte, a second one for those beyond the BMP.
                self.count += u64::from(byte & 0xc0 != 0x80) + u64::from(byte >= 0xf0);
            }
        }
    }
}

/// The text that a string's bytes stand for. What can't be decoded (lone surrogates, bytes that are no
/// UTF-8) becomes U+FFFD: a figure on the same line must not be lost for it.
fn unescape(raw: &[u8]) -> String {
    let Some(_) = memchr2(b'\\', b'\\', raw) else {
        return String::from_utf8_lossy(raw).into_owned();
    };
    let mut text = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = memchr(b'\\', rest) {
        text.extend_from_slice(&rest[..at]);
        let escape = rest.get(at + 1).copied().unwrap_or(b'\\');
        rest = rest.get(at + 2..).unwrap_or_default();
        let plain = match escape {
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'u' => {
                let (decoded, used) = unicode(rest);
                rest = rest.get(used..).unwrap_or_default();
                decoded
            }
            other => char::from(other),
        };
        text.extend_from_slice(plain.encode_utf8(&mut [0; 4]).as_bytes());
    }
    text.extend_from_slice(rest);
    String::from_utf8_lossy(&text).into_owned()
}

/// The character of `XXXX` (or `XXXX\uXXXX`), and how many bytes that took.
fn unicode(text: &[u8]) -> (char, usize) {
    let unit = |at: usize| -> Option<u16> {
        let digits = std::str::from_utf8(text.get(at..at + 4)?).ok()?;
        u16::from_str_radix(digits, 16).ok()
    };
    let Some(first) = unit(0) else {
        return (char::REPLACEMENT_CHARACTER, 0);
    };
    let second = (text.get(4..6) == Some(b"\\u")).then(|| unit(6)).flatten();
    match char::decode_utf16([Some(first), second].into_iter().flatten()).next() {
        Some(Ok(decoded)) if decoded.len_utf16() == 2 => (decoded, 10),
        Some(Ok(decoded)) => (decoded, 4),
        _ => (char::REPLACEMENT_CHARACTER, 4),
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use proptest::prelude::*;

    use super::*;

    /// Through a buffer of a few bytes, so that every construct meets a buffer's end.
    fn skim(text: &str) -> Skim<BufReader<&[u8]>> {
        Skim::document(BufReader::with_capacity(3, text.as_bytes()))
    }

    fn text_of(json: &str) -> String {
        match skim(json).scalar() {
            Ok(Scalar::Text(text)) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn scalars() {
        for (json, want) in [
            ("null", Scalar::Null),
            (" true ", Scalar::Bool(true)),
            ("-1.5e3", Scalar::Number(-1500.0)),
            ("0", Scalar::Number(0.0)),
        ] {
            assert_eq!(skim(json).scalar().unwrap(), want, "{json}");
        }
        for json in ["nul", "+1", "}", ",", "NaN", "'x'"] {
            assert!(matches!(skim(json).scalar(), Err(Fault::Broken)), "{json}");
        }
    }

    #[test]
    fn text_is_unescaped_and_lone_surrogates_are_replaced() {
        assert_eq!(text_of(r#""a\"b\\c\n\u00e9""#), "a\"b\\c\né");
        assert_eq!(text_of(r#""\ud83d\ude00""#), "😀");
        assert_eq!(text_of(r#""x\ud83dy\ude00z""#), "x\u{fffd}y\u{fffd}z");
        assert_eq!(text_of(r#""\ud83d\n""#), "\u{fffd}\n");
        assert_eq!(text_of(r#""\u12""#), "\u{fffd}12");
    }

    #[test]
    fn a_long_text_is_cut() {
        let json = format!("\"{}\"", "x".repeat(LONGEST_TEXT + 100));
        assert_eq!(text_of(&json).len(), LONGEST_TEXT);
    }

    #[test]
    fn edge_165_lengths_are_of_the_text_in_utf_16_units() {
        for (json, want) in [
            (r#""""#, 0),
            (r#""hello world""#, 11),
            (r#""a\"\\\n\u00e9é""#, 6),
            (r#""😀\ud83d\ude00""#, 4),
            (r#""\ud83d""#, 1),
        ] {
            assert_eq!(skim(json).text_units().unwrap(), want, "{json}");
        }
    }

    #[test]
    fn half_a_value_has_ended_and_a_line_end_breaks_it() {
        for json in ["{\"a\":1", "[1,", "\"x", "\"x\\", "{\"a\"", "[{\"b\":[\"}"] {
            assert!(
                matches!(skim(json).skip_value(), Err(Fault::Ended)),
                "{json}"
            );
            let broken = format!("{json}\n1");
            let mut lines = Skim::lines(broken.as_bytes());
            assert!(matches!(lines.skip_value(), Err(Fault::Broken)), "{json}");
            assert!(lines.skip_line().unwrap(), "{json}");
            assert_eq!(
                lines.scalar().err().map(|_| ()),
                Some(()),
                "a number may go on"
            );
        }
    }

    #[test]
    fn members_and_items() {
        let mut skim = skim(r#" {"a" : [1,"}]",{"x":"\\"}], "" :null,"\u0062":2} "#);
        let mut walk = skim.object().unwrap();
        assert_eq!(walk.member(&mut skim).unwrap().unwrap().as_str(), "a");
        let mut items = skim.list().unwrap();
        let mut n = 0;
        while items.item(&mut skim).unwrap() {
            skim.skip_value().unwrap();
            n += 1;
        }
        assert_eq!(n, 3);
        assert_eq!(walk.member(&mut skim).unwrap().unwrap().as_str(), "");
        assert_eq!(skim.scalar().unwrap(), Scalar::Null);
        assert_eq!(walk.member(&mut skim).unwrap().unwrap().as_str(), "b");
        assert_eq!(skim.take_value().unwrap().unwrap(), b"2");
        assert!(walk.member(&mut skim).unwrap().is_none());
        assert!(skim.at_end().unwrap());
    }

    proptest! {
        #[test]
        fn any_value_is_passed_over_exactly(text in ".{0,40}", more in ".{0,10}", n in any::<f64>()) {
            let value = serde_json::json!({"a": [text, {"b": n}], more.clone(): [[], {}, null, true]});
            let json = format!("{value} 7");
            let mut skim = skim(&json);
            skim.skip_value().unwrap();
            prop_assert_eq!(skim.scalar().unwrap(), Scalar::Number(7.0));
        }

        #[test]
        fn any_text_is_decoded(text in any::<String>()) {
            prop_assume!(text.len() < 100);
            let json = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(skim(&json).text_units().unwrap(), text.encode_utf16().count() as u64);
            prop_assert_eq!(text_of(&json), text);
        }

        #[test]
        fn anything_is_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut skim = Skim::lines(bytes.as_slice());
            let _ = skim.skip_value();
            let _ = skim.scalar();
            let _ = skim.skip_line();
        }
    }
}
