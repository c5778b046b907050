//! The token figures of the CLI's records: one meaning in its event log and in its store
//! (formats, copilot-cli.md §3).

use serde::Deserialize;

use crate::stores::json::{Figure, Text, lenient};
use crate::usage::{Credits, GrossInput, TokenType, Tokens};

/// Counts as a record has them; `input` is the whole prompt.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Counts {
    pub(super) input: Option<u64>,
    pub(super) cache_read: Option<u64>,
    pub(super) cache_write: Option<u64>,
    pub(super) output: Option<u64>,
    pub(super) reasoning: Option<u64>,
}

/// What is odd about a record's figures: counted, and nothing worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Oddity {
    /// Cache reads and writes exceed the prompt that should contain them.
    CacheAboveInput,
}

impl Oddity {
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::CacheAboveInput => "cache_above_input",
        }
    }
}

impl Counts {
    /// The disjoint classes. Where the billed details differ from the counts, the details win.
    pub(super) fn tokens(&self, details: &Details) -> (Tokens, Option<Oddity>) {
        let (tokens, oddity) = match (details.billed_input(), self.input) {
            (Some(input), _) => {
                let tokens = Tokens::default()
                    .with(TokenType::Input, Some(input))
                    .with(TokenType::CacheRead, details.cache_read.or(self.cache_read))
                    .with(
                        TokenType::CacheWrite,
                        details.cache_write.or(self.cache_write),
                    );
                (tokens, None)
            }
            (None, Some(gross)) => {
                let (tokens, split) = GrossInput(gross).split(self.cache_read, self.cache_write);
                (tokens, split.then_some(Oddity::CacheAboveInput))
            }
            // A provider that reports no usage still has its cache figures written, as 0.
            (None, None) => {
                let above_zero = |n: Option<u64>| n.filter(|&n| n > 0);
                let tokens = Tokens::default()
                    .with(TokenType::CacheRead, above_zero(self.cache_read))
                    .with(TokenType::CacheWrite, above_zero(self.cache_write));
                (tokens, None)
            }
        };
        let tokens = tokens
            .with(TokenType::Output, details.billed_output().or(self.output))
            .with_reasoning(self.reasoning);
        (tokens, oddity)
    }

    /// Every count that is there is 0: no call was billed.
    pub(super) fn is_zero(&self) -> bool {
        let counts = [
            self.input,
            self.cache_read,
            self.cache_write,
            self.output,
            self.reasoning,
        ];
        counts.iter().any(Option::is_some) && counts.iter().flatten().all(|&n| n == 0)
    }
}

/// The billed tokens of a call by type. `input` is the uncached part.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Details {
    input: Option<u64>,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
    output: Option<u64>,
}

/// An element of `tokenDetails` or `token_details_json`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Detail<'a> {
    #[serde(borrow, default, deserialize_with = "lenient")]
    token_type: Option<Text<'a>>,
    #[serde(default)]
    token_count: Figure,
}

impl Details {
    pub(super) fn of(list: &[Detail<'_>]) -> Self {
        let mut details = Self::default();
        for detail in list {
            let slot = match detail.token_type.as_ref().map(Text::as_str) {
                Some("input") => &mut details.input,
                Some("cache_read") => &mut details.cache_read,
                Some("cache_write") => &mut details.cache_write,
                Some("output") => &mut details.output,
                _ => continue,
            };
            if let Some(count) = detail.token_count.count() {
                *slot = Some(slot.unwrap_or(0).saturating_add(count));
            }
        }
        details
    }

    pub(super) fn of_json(json: &str) -> Self {
        match serde_json::from_str::<Vec<Detail<'_>>>(json) {
            Ok(list) => Self::of(&list),
            Err(_) => Self::default(),
        }
    }

    /// The uncached input, unless the details say nothing at all.
    fn billed_input(&self) -> Option<u64> {
        self.input.filter(|_| !self.is_blank())
    }

    fn billed_output(&self) -> Option<u64> {
        self.output.filter(|_| !self.is_blank())
    }

    pub(super) fn is_blank(&self) -> bool {
        let counts = [self.input, self.cache_read, self.cache_write, self.output];
        counts.iter().flatten().all(|&n| n == 0)
    }
}

/// The charge of a record with a status: `unavailable` is unknown, also when a number stands beside it.
pub(super) fn credits(nano_aiu: Option<u64>, status: Option<&str>) -> Option<Credits> {
    nano_aiu
        .filter(|_| status != Some("unavailable"))
        .map(Credits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stores::testing::classes;

    fn counts(input: u64, cache_read: u64, cache_write: u64, output: u64) -> Counts {
        Counts {
            input: Some(input),
            cache_read: Some(cache_read),
            cache_write: Some(cache_write),
            output: Some(output),
            reasoning: None,
        }
    }

    #[test]
    fn edge_046_the_prompt_contains_reads_and_writes() {
        let (tokens, odd) = counts(43_792, 42_698, 904, 7).tokens(&Details::default());
        assert_eq!(
            classes(&tokens),
            [Some(190), Some(42_698), Some(904), Some(7)]
        );
        assert_eq!(odd, None);
    }

    #[test]
    fn edge_247_details_win_where_they_differ() {
        let details = Details::of_json(
            r#"[{"tokenType":"input","tokenCount":3857},{"tokenType":"cache_write","tokenCount":12539}]"#,
        );
        let (tokens, _) = counts(16_396, 0, 0, 9).tokens(&details);
        assert_eq!(
            classes(&tokens),
            [Some(3_857), Some(0), Some(12_539), Some(9)]
        );
    }

    #[test]
    fn blank_or_broken_details_say_nothing() {
        for json in [
            r#"[{"tokenType":"input","tokenCount":0},{"tokenType":"output","tokenCount":0}]"#,
            "[]",
            "nonsense",
            r#"[{"tokenType":5,"tokenCount":"x"}]"#,
        ] {
            let (tokens, _) = counts(100, 60, 0, 9).tokens(&Details::of_json(json));
            assert_eq!(classes(&tokens), [Some(40), Some(60), Some(0), Some(9)]);
        }
    }

    #[test]
    fn edge_043_cache_figures_of_a_provider_without_usage_are_no_zeros() {
        let silent = Counts {
            cache_read: Some(0),
            cache_write: Some(0),
            ..Counts::default()
        };
        let (tokens, _) = silent.tokens(&Details::default());
        assert_eq!(classes(&tokens), [None; 4]);
    }

    #[test]
    fn edge_242_unavailable_is_unknown() {
        assert_eq!(credits(Some(0), Some("unavailable")), None);
        assert_eq!(credits(Some(5), Some("complete")), Some(Credits(5)));
        assert_eq!(credits(None, Some("complete")), None);
    }
}
