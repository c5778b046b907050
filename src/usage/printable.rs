//! Which characters of other people's text may be shown.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Whether `c` only adds itself to what is seen: control characters command a terminal, and those that change
/// the direction of writing or have no width make one text look like another.
///
/// The two joiners stay: scripts and emoji need them.
pub fn is_printable(c: char) -> bool {
    !c.is_control()
        && !matches!(
            c,
            '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}'
        )
}

/// `text` for a terminal or a line of a log: what isn't printable is written as `\u{…}`.
pub fn printable(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_printable) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match is_printable(c) {
            true => shown.push(c),
            false => {
                let _ = write!(shown, "{}", c.escape_unicode());
            }
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_commands_a_terminal_or_hides_is_escaped() {
        assert_eq!(
            printable("naïve – 漢字 👩\u{200d}💻"),
            "naïve – 漢字 👩\u{200d}💻"
        );
        assert_eq!(
            printable("a\u{1b}[2J\nb\u{202e}c\u{9b}"),
            r"a\u{1b}[2J\u{a}b\u{202e}c\u{9b}"
        );
    }
}
