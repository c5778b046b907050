//! JSON text that stands inside of JSON strings, read where it is.
//!
//! Most of a turn is passed over, and unescaping it all, level by level, is most of the work. But where a
//! string begins and ends can be seen as it is: inside of `depth` strings a quote is 2^depth − 1
//! backslashes and a quote, and a backslash is 2^depth of them.

use memchr::memchr;

/// The deepest nesting of lists and objects that are passed over.
const DEEPEST: usize = 128;

/// What is left of a JSON text inside of `depth` strings.
///
/// All methods give `None` where the text is not as expected: then another way has to be found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Nested<'a> {
    text: &'a str,
    depth: u32,
}

/// The inside of a string, escaped `times` times.
#[derive(Debug, Clone, Copy)]
pub(super) struct Escaped<'a> {
    pub(super) text: &'a str,
    times: u32,
}

impl Escaped<'_> {
    /// The text that the string stands for.
    pub(super) fn unescaped(self) -> Option<String> {
        self.at_once().or_else(|| self.level_by_level())
    }

    /// All levels in one go. `None`: something has to be looked at more closely.
    fn at_once(self) -> Option<String> {
        let mut text = String::with_capacity(self.text.len());
        let mut rest = self.text;
        while let Some(at) = memchr(b'\\', rest.as_bytes()) {
            text.push_str(plain(rest.get(..at)?)?);
            let escape = rest.get(at..)?;
            let slashes = escape.bytes().take_while(|&byte| byte == b'\\').count();
            let (slashes, escaped, length) = self.run(slashes, escape.as_bytes().get(slashes))?;
            text.extend(std::iter::repeat_n('\\', slashes));
            text.extend(escaped);
            rest = escape.get(length..)?;
        }
        text.push_str(plain(rest)?);
        Some(text)
    }

    /// What a run of backslashes and the byte behind them stand for: backslashes, a character if the byte is
    /// part of an escape, and how many bytes they take.
    fn run(self, run: usize, next: Option<&u8>) -> Option<(usize, Option<char>, usize)> {
        let mut slashes = run;
        for level in 1..=self.times {
            if slashes.is_multiple_of(2) {
                if next == Some(&b'"') {
                    return None;
                }
                slashes /= 2;
                continue;
            }
            let escaped = match next? {
                b'"' => '"',
                b'/' => '/',
                b'n' => '\n',
                b't' => '\t',
                b'r' => '\r',
                b'b' => '\u{8}',
                b'f' => '\u{c}',
                _ => return None,
            };
            slashes /= 2;
            // What stands for itself on one level may be an escape again on the next; the others may only
            // stand on the last.
            let is_last = level == self.times;
            match escaped {
                '/' if slashes == 0 => return Some((0, Some('/'), run + 1)),
                '"' if !is_last && slashes % 2 == 1 => {}
                _ if is_last => return Some((slashes, Some(escaped), run + 1)),
                _ => return None,
            }
        }
        Some((slashes, None, run))
    }

    fn level_by_level(self) -> Option<String> {
        let mut text = self.text.to_owned();
        for _ in 0..self.times {
            if !text.contains('\\') {
                break;
            }
            text = serde_json::from_str(&format!("\"{text}\"")).ok()?;
        }
        Some(text)
    }
}

/// The text, if it has nothing that has to be escaped in a string.
fn plain(text: &str) -> Option<&str> {
    // Without a branch for each byte, many are looked at at once.
    let bare = text
        .bytes()
        .fold(false, |bare, byte| bare | (byte < 0x20) | (byte == b'"'));
    (!bare).then_some(text)
}

impl<'a> Nested<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, depth: 0 }
    }

    /// How many characters a quote takes.
    fn quote(self) -> Option<usize> {
        1_usize.checked_shl(self.depth)
    }

    pub(super) fn skip_blanks(&mut self) {
        let is_blank = |byte: &u8| matches!(byte, b' ' | b'\n' | b'\t' | b'\r');
        let blanks = self.text.bytes().take_while(|byte| is_blank(byte)).count();
        self.text = self.text.get(blanks..).unwrap_or_default();
    }

    pub(super) fn is_at(&self, byte: u8) -> bool {
        self.text.as_bytes().first() == Some(&byte)
    }

    /// Passes over `byte` and the blanks behind it, if it comes next.
    pub(super) fn eats(&mut self, byte: u8) -> bool {
        let is_at = self.is_at(byte);
        if is_at {
            self.text = self.text.get(1..).unwrap_or_default();
            self.skip_blanks();
        }
        is_at
    }

    pub(super) fn is_at_string(&self) -> bool {
        let Some(quote) = self.quote() else {
            return false;
        };
        let mark = self.text.as_bytes().get(..quote);
        mark.and_then(<[u8]>::split_last)
            .is_some_and(|(last, slashes)| *last == b'"' && slashes.iter().all(|&b| b == b'\\'))
    }

    pub(super) fn string(&mut self) -> Option<Escaped<'a>> {
        let quote = self.quote()?;
        let body = self.after_quote()?;
        let bytes = body.as_bytes();
        let mut from = 0;
        loop {
            let at = from + memchr(b'"', bytes.get(from..)?)?;
            let before = bytes.get(from..at)?;
            let slashes = before
                .iter()
                .rev()
                .take_while(|&&byte| byte == b'\\')
                .count();
            // A whole number of backslashes of this level, and the quote's own.
            if (slashes + 1) % quote != 0 {
                return None;
            }
            let own = (slashes + 1) / quote - 1;
            if own % 2 == 0 {
                let text = body.get(..(at + 1).checked_sub(quote)?)?;
                self.text = body.get(at + 1..)?;
                self.skip_blanks();
                let times = self.depth + 1;
                return Some(Escaped { text, times });
            }
            from = at + 1;
        }
    }

    /// Reads the JSON text that a string holds.
    pub(super) fn within(&mut self, read: &mut dyn FnMut(&mut Self) -> Option<()>) -> Option<()> {
        let mut inner = Self {
            text: self.after_quote()?,
            depth: self.depth + 1,
        };
        read(&mut inner)?;
        self.text = inner.text;
        self.text = self.after_quote()?;
        self.skip_blanks();
        Some(())
    }

    /// What follows a quote of this level.
    fn after_quote(self) -> Option<&'a str> {
        self.text
            .get(self.quote().filter(|_| self.is_at_string())?..)
    }

    /// A number, `true`, `false` or `null`.
    pub(super) fn scalar(&mut self) -> Option<&'a str> {
        let end = self
            .text
            .find([',', '}', ']', ' ', '\n', '\t', '\r', '"', '\\'])
            .unwrap_or(self.text.len());
        let (scalar, rest) = self.text.split_at_checked(end)?;
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
    pub(super) fn is_at_word(&self, word: &str) -> bool {
        self.text.starts_with(word)
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.text.is_empty()
    }
}

/// The text of a string by either way.
#[cfg(test)]
pub(super) fn both(text: &str, times: u32) -> (Option<String>, Option<String>) {
    let escaped = Escaped { text, times };
    (escaped.at_once(), escaped.level_by_level())
}
