//! JSON text that stands inside of JSON strings, read where it is.
//!
//! Most of a turn is passed over, and unescaping it all, level by level, is most of the work. But where a
//! string begins and ends can be seen as it is: inside of `depth` strings a quote is 2^depth − 1
//! backslashes and a quote, and a backslash is 2^depth of them.

mod bytes;

use bytes::{find, slashes_at, slashes_before};

/// The deepest nesting of lists and objects that are passed over.
const DEEPEST: usize = 128;

/// A quote with all the backslashes that it has inside of six strings, which is deeper than the plugin goes.
const QUOTE: [u8; 64] = {
    let mut quote = [b'\\'; 64];
    quote[63] = b'"';
    quote
};

/// What is left of a JSON text inside of some strings.
///
/// All methods give `None` where the text is not as expected: then another way has to be found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Nested<'a> {
    text: &'a [u8],
    /// What begins and ends a string there.
    quote: &'static [u8],
}

/// The inside of a string, escaped `times` times.
#[derive(Debug, Clone, Copy)]
pub(super) struct Escaped<'a> {
    pub(super) text: &'a [u8],
    times: u32,
}

impl Escaped<'_> {
    /// The text that the string stands for.
    pub(super) fn unescaped(self) -> Option<String> {
        self.at_once().or_else(|| self.level_by_level())
    }

    /// All levels in one go. `None`: something has to be looked at more closely.
    fn at_once(self) -> Option<String> {
        let mut text = Vec::with_capacity(self.text.len());
        let mut rest = self.text;
        while let Some(at) = find(b'\\', rest) {
            let (before, escape) = rest.split_at(at);
            text.extend(plain(before)?);
            let run = slashes_at(escape);
            let (slashes, escaped) = self.run(run, escape.get(run..)?)?;
            text.extend(std::iter::repeat_n(b'\\', slashes));
            let mut length = run;
            if let Some((escaped, taken)) = escaped {
                text.extend(escaped.encode_utf8(&mut [0; 4]).bytes());
                length += taken;
            }
            rest = escape.get(length..)?;
        }
        text.extend(plain(rest)?);
        String::from_utf8(text).ok()
    }

    /// What a run of backslashes and the bytes behind it stand for: backslashes, and a character if some of
    /// those bytes are part of an escape, with their number.
    fn run(self, run: usize, behind: &[u8]) -> Option<(usize, Option<(char, usize)>)> {
        let mut slashes = run;
        for level in 1..=self.times {
            if slashes.is_multiple_of(2) {
                if behind.first() == Some(&b'"') {
                    return None;
                }
                slashes /= 2;
                continue;
            }
            let escaped = escaped(behind)?;
            slashes /= 2;
            // What stands for itself on one level may be an escape again on the next; the others may only
            // stand on the last.
            let is_last = level == self.times;
            match escaped.0 {
                '"' if !is_last && slashes % 2 == 1 => {}
                _ if is_last => return Some((slashes, Some(escaped))),
                ..' ' | '"' | '\\' => return None,
                _ if slashes == 0 => return Some((0, Some(escaped))),
                _ => return None,
            }
        }
        Some((slashes, None))
    }

    fn level_by_level(self) -> Option<String> {
        let mut text = std::str::from_utf8(self.text).ok()?.to_owned();
        for _ in 0..self.times {
            if !text.contains('\\') {
                break;
            }
            text = serde_json::from_str(&format!("\"{text}\"")).ok()?;
        }
        Some(text)
    }
}

/// What the bytes behind a backslash stand for, and how many they are.
fn escaped(bytes: &[u8]) -> Option<(char, usize)> {
    let escaped = match bytes.first()? {
        b'"' => '"',
        b'/' => '/',
        b'n' => '\n',
        b't' => '\t',
        b'r' => '\r',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'u' => {
            let digits = bytes.get(1..5)?.iter();
            let mut digits = digits.map(|&digit| char::from(digit).to_digit(16));
            let number = digits.try_fold(0, |number, digit| Some(number << 4 | digit?))?;
            // One half of a pair is no character.
            return Some((char::from_u32(number)?, 5));
        }
        _ => return None,
    };
    Some((escaped, 1))
}

/// The text, if it has nothing that has to be escaped in a string.
fn plain(text: &[u8]) -> Option<&[u8]> {
    // Without a branch for each byte, many are looked at at once.
    let bare = text
        .iter()
        .fold(false, |bare, &byte| bare | (byte < 0x20) | (byte == b'"'));
    (!bare).then_some(text)
}

impl<'a> Nested<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text: text.as_bytes(),
            quote: &QUOTE[63..],
        }
    }

    pub(super) fn skip_blanks(&mut self) {
        while let [b' ' | b'\n' | b'\t' | b'\r', rest @ ..] = self.text {
            self.text = rest;
        }
    }

    pub(super) fn is_at(&self, byte: u8) -> bool {
        self.text.first() == Some(&byte)
    }

    /// Passes over `byte` and the blanks behind it, if it comes next.
    pub(super) fn eats(&mut self, byte: u8) -> bool {
        match self.text {
            [first, rest @ ..] if *first == byte => {
                self.text = rest;
                self.skip_blanks();
                true
            }
            _ => false,
        }
    }

    pub(super) fn is_at_string(&self) -> bool {
        self.after_quote().is_some()
    }

    /// What follows a quote of this level.
    fn after_quote(&self) -> Option<&'a [u8]> {
        // Of a known length, bytes are compared without a call.
        match self.quote.len() {
            1 => self.text.strip_prefix(QUOTE.last_chunk::<1>()?),
            2 => self.text.strip_prefix(QUOTE.last_chunk::<2>()?),
            4 => self.text.strip_prefix(QUOTE.last_chunk::<4>()?),
            8 => self.text.strip_prefix(QUOTE.last_chunk::<8>()?),
            _ => self.text.strip_prefix(self.quote),
        }
    }

    pub(super) fn string(&mut self) -> Option<Escaped<'a>> {
        let quote = self.quote.len();
        // The quote's length is 2^depth: a shift divides by it faster than a division.
        let depth = quote.ilog2();
        let body = self.after_quote()?;
        let mut from = 0;
        loop {
            let at = from + find(b'"', body.get(from..)?)?;
            let slashes = slashes_before(body, at);
            // A whole number of backslashes of this level, and the quote's own.
            if (slashes + 1) & (quote - 1) != 0 {
                return None;
            }
            let own = ((slashes + 1) >> depth) - 1;
            if own.is_multiple_of(2) {
                let text = body.get(..(at + 1).checked_sub(quote)?)?;
                self.text = body.get(at + 1..)?;
                self.skip_blanks();
                let times = depth + 1;
                return Some(Escaped { text, times });
            }
            from = at + 1;
        }
    }

    /// Reads the JSON text that a string holds.
    pub(super) fn within(&mut self, read: &mut dyn FnMut(&mut Self) -> Option<()>) -> Option<()> {
        let deeper = QUOTE.len().checked_sub(self.quote.len() * 2)?;
        let mut inner = Self {
            text: self.after_quote()?,
            quote: QUOTE.get(deeper..)?,
        };
        read(&mut inner)?;
        self.text = inner.text;
        self.text = self.after_quote()?;
        self.skip_blanks();
        Some(())
    }

    /// A number, `true`, `false` or `null`.
    pub(super) fn scalar(&mut self) -> Option<&'a [u8]> {
        let is_end = |byte: &u8| b",}] \n\t\r\"\\".contains(byte);
        let end = self.text.iter().position(is_end);
        let (scalar, rest) = self.text.split_at(end.unwrap_or(self.text.len()));
        self.text = rest;
        self.skip_blanks();
        (!scalar.is_empty()).then_some(scalar)
    }

    /// Passes over one value.
    pub(super) fn skip(&mut self) -> Option<()> {
        let mut open = 0;
        loop {
            if self.is_at_string() {
                self.string()?;
            } else if self.eats(b'{') || self.eats(b'[') {
                open += 1;
                if open > DEEPEST {
                    return None;
                }
            } else if open > 0 && (self.eats(b'}') || self.eats(b']')) {
                open -= 1;
            } else if open > 0 && (self.eats(b',') || self.eats(b':')) {
                continue;
            } else {
                self.scalar()?;
            }
            if open == 0 {
                return Some(());
            }
        }
    }

    /// Gives every key of an object with the place of its value, which `visit` has to pass over.
    pub(super) fn object(
        &mut self,
        visit: &mut dyn FnMut(Escaped<'a>, &mut Self) -> Option<()>,
    ) -> Option<()> {
        self.skip_blanks();
        if !self.eats(b'{') {
            return None;
        }
        if self.eats(b'}') {
            return Some(());
        }
        loop {
            let key = self.string()?;
            if !self.eats(b':') {
                return None;
            }
            visit(key, self)?;
            if self.eats(b'}') {
                return Some(());
            }
            if !self.eats(b',') {
                return None;
            }
        }
    }

    /// Whether the scalar `word` comes next.
    pub(super) fn is_at_word(&self, word: &[u8]) -> bool {
        self.text.starts_with(word)
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.text.is_empty()
    }
}

/// The text of a string by either way.
#[cfg(test)]
pub(super) fn both(text: &str, times: u32) -> (Option<String>, Option<String>) {
    let text = text.as_bytes();
    let escaped = Escaped { text, times };
    (escaped.at_once(), escaped.level_by_level())
}
