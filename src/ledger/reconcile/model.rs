//! Names of models, as stores spell them.

use std::collections::HashMap;

use crate::usage::Key;

/// A model's name, and what its spellings in different stores have in common: `vendor/` before it, the date
/// of its release after it, dots for dashes and capitals don't matter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Model<'a> {
    pub(super) name: &'a str,
    pub(super) key: Key,
}

impl<'a> Model<'a> {
    pub(super) fn of(name: &'a str) -> Self {
        let last = name.rsplit('/').next().unwrap_or(name);
        let common: String = last
            .chars()
            .map(|c| {
                if c == '.' {
                    '-'
                } else {
                    c.to_ascii_lowercase()
                }
            })
            .collect();
        let key = Key::of("model", &[without_date(&common)]);
        Self { name, key }
    }
}

/// The names that were met: a session has few.
#[derive(Debug, Default)]
pub(super) struct Models<'a>(HashMap<&'a str, Model<'a>>);

impl<'a> Models<'a> {
    pub(super) fn of(&mut self, name: &'a str) -> Model<'a> {
        *self.0.entry(name).or_insert_with(|| Model::of(name))
    }
}

/// Without `-20260305` or `-2026-03-05` at the end.
fn without_date(name: &str) -> &str {
    let is_digits =
        |text: &str, count| text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts = name.rsplitn(4, '-');
    let last = parts.next().unwrap_or_default();
    if is_digits(last, 8) {
        let rest = name.strip_suffix(last);
        return rest.and_then(|rest| rest.strip_suffix('-')).unwrap_or(name);
    }
    match (parts.next(), parts.next(), parts.next()) {
        (Some(month), Some(year), Some(rest))
            if is_digits(last, 2) && is_digits(month, 2) && is_digits(year, 4) =>
        {
            rest
        }
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_told_by_what_their_spellings_have_in_common() {
        for (a, b) in [
            ("claude-haiku-4.5", "claude-haiku-4-5-20251001"),
            ("gpt-5.4", "GPT-5.4-2026-03-05"),
            ("copilot/gpt-5-mini", "gpt-5-mini"),
            ("customendpoint/Fake/demo-large", "demo-large"),
        ] {
            assert_eq!(Model::of(a).key, Model::of(b).key, "{a} {b}");
        }
        for (a, b) in [
            ("claude-opus-4.6", "claude-opus-4"),
            ("gpt-5.4", "gpt-5.4-mini"),
            ("20260305", ""),
        ] {
            assert_ne!(Model::of(a).key, Model::of(b).key, "{a} {b}");
        }
    }
}
