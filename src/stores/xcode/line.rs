//! Figures and names in a line of a log, whatever its writer's style: `prompt_tokens=5`, `promptTokens: 5`,
//! `"prompt_tokens":5`, `prompt tokens: 5`.

use crate::stores::otel::is_model;
use crate::usage::Timestamp;

/// What a line says.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Line<'a> {
    pub(super) time: Option<Timestamp>,
    pub(super) request: Option<&'a str>,
    pub(super) model: Option<&'a str>,
    pub(super) usage: Option<Usage>,
}

/// Token counts of an answer; the prompt has the cached part inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Usage {
    pub(super) prompt: u64,
    pub(super) completion: u64,
    pub(super) cached: Option<u64>,
}

/// Longer lines are no log records of ours.
const LONGEST: usize = 64 << 10;

impl<'a> Line<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Self {
        let text = std::str::from_utf8(bytes).unwrap_or_default();
        if text.len() > LONGEST {
            return Self::default();
        }
        let count = |name| field(text, name, &["tokens", "token"]).and_then(|n| n.parse().ok());
        let usage = count("prompt").zip(count("completion"));
        Self {
            time: time(text),
            request: field(text, "request", &["id"]).filter(|id| id.len() >= 8),
            model: field(text, "model", &["", "name", "id"]).filter(|name| is_name(name)),
            usage: usage.map(|(prompt, completion)| Usage {
                prompt,
                completion,
                cached: count("cached").or_else(|| count("cacheread")),
            }),
        }
    }
}

/// A model's name has a letter, and says which model it is.
fn is_name(name: &str) -> bool {
    let letters = name.contains(|c: char| c.is_ascii_alphabetic());
    letters && name.len() <= 128 && is_model(name) && !matches!(name, "null" | "nil" | "unknown")
}

/// The value of `name`, followed by one of `ends`, in any style.
fn field<'a>(text: &'a str, name: &str, ends: &[&str]) -> Option<&'a str> {
    let mut words = Words(text);
    while let Some((word, rest)) = words.next() {
        let mut plain: String = word.to_ascii_lowercase();
        plain.retain(|c| !matches!(c, '_' | '-' | '.'));
        let Some(end) = plain.strip_prefix(name) else {
            continue;
        };
        if ends.contains(&end)
            && let Some(value) = value(rest)
        {
            return Some(value);
        }
        // "prompt tokens: 5" has the rest of the name in a word of its own.
        let mut following = Words(rest);
        if end.is_empty()
            && let Some((next, rest)) = following.next()
            && rest.len() + next.len() + 1 == text_after_blank(words.0).len() + 1
            && ends.contains(&next.to_ascii_lowercase().as_str())
            && let Some(value) = value(rest)
        {
            return Some(value);
        }
    }
    None
}

/// What follows one blank.
fn text_after_blank(text: &str) -> &str {
    text.strip_prefix(' ').unwrap_or(text)
}

/// The words of a text, each with what follows it.
struct Words<'a>(&'a str);

impl<'a> Words<'a> {
    fn next(&mut self) -> Option<(&'a str, &'a str)> {
        let start = self.0.find(is_word)?;
        let text = self.0.get(start..)?;
        let end = text.find(|c| !is_word(c)).unwrap_or(text.len());
        let (word, rest) = text.split_at_checked(end)?;
        self.0 = rest;
        Some((word, rest))
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')
}

/// The value behind a name: after its closing quote, a colon or an equals sign, and an opening quote.
fn value(rest: &str) -> Option<&str> {
    let rest = rest.trim_start_matches(['"', '\'', ' ', '\\']);
    let rest = rest.strip_prefix([':', '='])?;
    let rest = rest.trim_start_matches(['"', '\'', ' ', '\\']);
    let end = rest
        .find(|c: char| !(is_word(c) || c == '/'))
        .unwrap_or(rest.len());
    rest.get(..end)
        .map(|value| value.trim_end_matches('.'))
        .filter(|value| !value.is_empty())
}

/// The first thing that looks like a date with a time.
fn time(text: &str) -> Option<Timestamp> {
    let start = text.find("20")?;
    let stamp = text.get(start..)?;
    let is_part =
        |c: char| c.is_ascii_digit() || matches!(c, '-' | ':' | '.' | 'T' | 'Z' | '+' | ' ');
    let end = stamp.find(|c| !is_part(c)).unwrap_or(stamp.len()).min(40);
    let mut stamp = stamp.get(..end)?.trim_end();
    // What follows the time may look like a part of it.
    while stamp.len() >= "2026-01-01 00:00".len() {
        if let Some(time) = Timestamp::parse_iso(stamp) {
            return Some(time);
        }
        stamp = stamp.get(..stamp.len() - 1)?.trim_end();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn figures_in_every_style() {
        for text in [
            "prompt_tokens=5000 completion_tokens=80 cached_tokens=4200",
            "promptTokens: 5000, completionTokens: 80, cachedTokens: 4200",
            r#"{"usage":{"completion_tokens":80,"prompt_tokens":5000,"prompt_tokens_details":{"cached_tokens":4200},"total_tokens":5080}}"#,
            "Prompt tokens: 5000; Completion tokens: 80; Cached tokens: 4200.",
            "[usage] prompt-tokens = '5000' completion-tokens = '80' cache_read_tokens = '4200'",
        ] {
            let want = Usage {
                prompt: 5_000,
                completion: 80,
                cached: Some(4_200),
            };
            assert_eq!(Line::read(text.as_bytes()).usage, Some(want), "{text}");
        }
    }

    #[test]
    fn half_of_the_figures_is_no_usage() {
        for text in [
            "prompt_tokens=5000",
            "the prompt is 5000, completion 80",
            "prompt_tokens=-5 completion_tokens=1",
            "prompt_tokens=1e9 completion_tokens=x",
            "prompt_tokens_limit=5 completion_tokens=1",
        ] {
            assert_eq!(Line::read(text.as_bytes()).usage, None, "{text}");
        }
    }

    #[test]
    fn models_and_times() {
        for (text, model) in [
            ("model: claude-opus-4.6", Some("claude-opus-4.6")),
            ("\"modelName\": \"gpt-5.6-sol\"", Some("gpt-5.6-sol")),
            ("model=auto", None),
            ("model = 5", None),
            ("a new model arrives", None),
        ] {
            assert_eq!(Line::read(text.as_bytes()).model, model, "{text}");
        }
        let want = Some(Timestamp(1_786_125_398_000));
        for text in [
            "2026-08-07T17:56:38Z x",
            "[2026-08-07 17:56:38.000] x",
            "2026-08-07T19:56:38+02:00 [info] 5",
            "2026-08-07 17:56:38 5 tokens",
        ] {
            assert_eq!(Line::read(text.as_bytes()).time, want, "{text}");
        }
        assert_eq!(Line::read(b"20 apples at 2000").time, None);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(text: String, bytes: Vec<u8>) {
            Line::read(text.as_bytes());
            Line::read(&bytes);
        }
    }
}
