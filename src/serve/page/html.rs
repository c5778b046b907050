//! HTML that is written, never pasted together: what comes from outside can only be added escaped.

use std::fmt::{self, Display, Write};

/// A document in the making.
#[derive(Debug, Default)]
pub(super) struct Html(String);

impl Html {
    /// Markup, which only this program's source can hold.
    pub(super) fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Text, also within a quoted attribute.
    pub(super) fn text(&mut self, text: impl Display) -> &mut Self {
        // Writing to a String can't fail.
        let _ = write!(Escape(&mut self.0), "{text}");
        self
    }

    /// A name from outside, whose writing direction must not reach what is around it.
    pub(super) fn name(&mut self, name: &str) -> &mut Self {
        self.raw("<bdi>").text(name).raw("</bdi>")
    }

    pub(super) fn finish(self) -> String {
        self.0
    }
}

struct Escape<'a>(&'a mut String);

impl Write for Escape<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                c => self.0.push(c),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn text_can_not_become_markup(text in "[\\PC<>&\"']{0,40}") {
            let mut html = Html::default();
            html.text(&text);
            let html = html.finish();
            proptest::prop_assert!(!html.contains(['<', '>', '"', '\'']));
            let back = html
                .replace("&lt;", "<")
                .replace("&gt;", ">")
                .replace("&quot;", "\"")
                .replace("&#39;", "'")
                .replace("&amp;", "&");
            proptest::prop_assert_eq!(back, text);
        }
    }
}
