//! From a model's name as a store spells it to its canonical id.
//!
//! The steps are those of the formats' page on models: after each one the catalogue is asked, and the
//! first hit ends it. A version is never shortened to find a price.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// A canonical model id, such as `claude-opus-4-5`; a name that the catalogue doesn't know, cleaned; or
/// [`ModelId::UNKNOWN`]. Made by [`super::Catalogue::canonical`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModelId(Arc<str>);

impl ModelId {
    /// No store named a model.
    pub const UNKNOWN: &'static str = "unknown";

    pub(super) fn new(id: &str) -> Self {
        Self(Arc::from(id))
    }

    pub(super) fn unknown() -> Self {
        Self::new(Self::UNKNOWN)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn is_unknown(&self) -> bool {
        &*self.0 == Self::UNKNOWN
    }
}

impl fmt::Display for ModelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The longest id, in characters.
const MOST_CHARS: usize = 200;

/// Spellings that leave the choice of a model to Copilot, and so name none.
const NO_MODEL: [&str; 6] = [
    "",
    "auto",
    "copilot",
    "resumed",
    "copilot-openai-auto",
    "copilot-anthropic-auto",
];

/// Copilot's own routing prefixes.
const ROUTES: [&str; 3] = ["copilot/", "github_copilot/", "github-copilot/"];

const VENDOR_PREFIXES: [&str; 5] = ["openai/", "anthropic/", "google/", "xai/", "models/"];

/// Reasoning efforts and context sizes that clients append. `-fast` is none of them: it has a price of
/// its own or none.
const VARIANTS: [&str; 11] = [
    "-minimal",
    "-low",
    "-medium",
    "-high",
    "-xhigh",
    "-max",
    "-none",
    "-thinking",
    "-thought",
    "-1m",
    "-200k",
];

/// The canonical id of `name`; `known` looks an exact spelling up.
pub(super) fn canonical(name: &str, known: impl Fn(&str) -> Option<ModelId>) -> ModelId {
    let cleaned = clean(name);
    let unplaced = without_routes(&cleaned);
    if names_no_model(unplaced) {
        return ModelId::unknown();
    }
    place(&cleaned, &known)
        .or_else(|| place(unplaced, &known))
        .unwrap_or_else(|| ModelId::new(unplaced))
}

fn place(cleaned: &str, known: &impl Fn(&str) -> Option<ModelId>) -> Option<ModelId> {
    let as_seen = known(cleaned);
    if as_seen.is_some() {
        return as_seen;
    }
    let spelling = from_display_name(cleaned);
    let mut name: Cow<'_, str> = Cow::Borrowed(&spelling);
    let steps: [fn(&str) -> Cow<'_, str>; 5] = [
        |name| Cow::Borrowed(name),
        |name| Cow::Borrowed(without_prefix(name)),
        |name| Cow::Borrowed(without_release(name)),
        claude_order,
        |name| Cow::Borrowed(strip_one_suffix(name)),
    ];
    for step in steps {
        name = Cow::Owned(step(&name).into_owned());
        let hit = known(&name);
        if hit.is_some() {
            return hit;
        }
        if names_no_model(&name) {
            return Some(ModelId::unknown());
        }
    }
    None
}

/// What a name is shown as when nothing more is known of it.
pub(super) fn clean(name: &str) -> String {
    let kept: String = name
        .trim()
        .chars()
        .filter(|c| !c.is_control())
        .take(MOST_CHARS)
        .collect();
    let lower: String = kept.trim().to_lowercase();
    let bounded: String = lower.chars().take(MOST_CHARS).collect();
    bounded.trim_end().to_owned()
}

/// Whether a cleaned name leaves the choice to Copilot.
pub(super) fn names_no_model(name: &str) -> bool {
    name == ModelId::UNKNOWN || NO_MODEL.contains(&name)
}

/// `claude opus 4.8 (fast mode) (preview)` → `claude-opus-4.8-fast`.
fn from_display_name(name: &str) -> String {
    let marked = name.replace("(fast mode)", " fast");
    let plain = without_groups(&without_groups(&marked, "(", ')'), "[^", ']');
    plain
        .split(|c: char| c.is_whitespace() || c == '_')
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join("-")
}

/// Drops each group from `open` to `close`; an unclosed one stays.
fn without_groups(text: &str, open: &str, close: char) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, from)) = rest.split_once(open) {
        let Some((_, after)) = from.split_once(close) else {
            break;
        };
        kept.push_str(before);
        rest = after;
    }
    kept.push_str(rest);
    kept
}

fn without_prefix(name: &str) -> &str {
    let routed = strip_one(name, &ROUTES);
    if routed.len() < name.len() {
        return routed;
    }
    strip_one(name, &VENDOR_PREFIXES)
}

fn without_routes(name: &str) -> &str {
    let shorter = strip_one(name, &ROUTES).trim_start();
    if shorter.len() == name.len() {
        name
    } else {
        without_routes(shorter)
    }
}

fn strip_one<'a>(name: &'a str, prefixes: &[&str]) -> &'a str {
    prefixes
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix))
        .unwrap_or(name)
}

/// Drops what says which release of a model it is, not which model: `@…`, dates, `[…]`, `-preview`.
fn without_release(name: &str) -> &str {
    let mut name = name.split_once('@').map_or(name, |(name, _)| name);
    loop {
        let mut shorter = without_date(name);
        if let Some((before, _)) = shorter
            .strip_suffix(']')
            .and_then(|inside| inside.rsplit_once('['))
        {
            shorter = before;
        }
        shorter = shorter.strip_suffix("-preview").unwrap_or(shorter);
        if shorter.len() == name.len() {
            return name;
        }
        name = shorter;
    }
}

/// Drops a trailing `-YYYYMMDD` or `-YYYY-MM-DD`.
fn without_date(name: &str) -> &str {
    for shape in ["-dddddddd", "-dddd-dd-dd"] {
        let Some(at) = name.len().checked_sub(shape.len()) else {
            continue;
        };
        let (before, tail) = name.as_bytes().split_at(at);
        let fits = tail.iter().zip(shape.bytes()).all(|(&byte, want)| {
            if want == b'd' {
                byte.is_ascii_digit()
            } else {
                byte == want
            }
        });
        // The tail is ASCII, so `at` is a character boundary.
        if fits && !before.is_empty() {
            return &name[..at];
        }
    }
    name
}

/// Claude's names with dashes and the family first: `claude-3.7-sonnet` → `claude-sonnet-3-7`,
/// `claude-opus-41` → `claude-opus-4-1`.
fn claude_order(name: &str) -> Cow<'_, str> {
    let Some(rest) = name.strip_prefix("claude-") else {
        return Cow::Borrowed(name);
    };
    let dashed = rest.replace('.', "-");
    let words: Vec<&str> = dashed.split('-').collect();
    let is_number =
        |word: &&&str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    let leading = words.iter().take_while(is_number).count();
    let (family, version, tail): (&[&str], &[&str], &[&str]) = if leading == 0 {
        let numbers = words.iter().skip(1).take_while(is_number).count();
        let (head, tail) = words.split_at(1 + numbers);
        (&head[..1], &head[1..], tail)
    } else {
        let (version, after) = words.split_at(leading);
        let (family, tail) = after.split_at(after.len().min(1));
        (family, version, tail)
    };
    let version = match version {
        [run_together] if run_together.len() == 2 => {
            let (major, minor) = run_together.split_at(1);
            vec![major, minor]
        }
        _ => version.to_vec(),
    };
    let parts: Vec<&str> = ["claude"]
        .iter()
        .chain(family)
        .chain(&version)
        .chain(tail)
        .copied()
        .collect();
    Cow::Owned(parts.join("-"))
}

fn strip_one_suffix(name: &str) -> &str {
    VARIANTS
        .iter()
        .find_map(|variant| name.strip_suffix(variant))
        .unwrap_or(name)
}
