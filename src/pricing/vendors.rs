//! Who made a model, by its canonical id. Who bills a call is another thing: its provider.

use super::ModelId;

const FAMILIES: [(&str, &str); 14] = [
    ("claude", "anthropic"),
    ("gpt", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
    ("codex", "openai"),
    ("gemini", "google"),
    ("grok", "xai"),
    ("mai", "microsoft"),
    ("raptor", "github"),
    ("goldeneye", "github"),
    ("kimi", "moonshot"),
    ("qwen", "alibaba"),
    ("deepseek", "deepseek"),
];

/// The vendor of a model, if the first word of its id names a known family.
pub fn vendor(model: &ModelId) -> Option<&'static str> {
    let family = model.as_str().split('-').next()?;
    FAMILIES.iter().find_map(|&(prefix, vendor)| {
        let rest = family.strip_prefix(prefix)?;
        // Qwen's version follows its name at once: `qwen3`, `qwen2.5`.
        let fits = rest.is_empty() || prefix == "qwen";
        fits.then_some(vendor)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vendors_by_family() {
        for (model, want) in [
            ("claude-opus-4-5", Some("anthropic")),
            ("gpt-5.6-sol", Some("openai")),
            ("o3", Some("openai")),
            ("o4-mini", Some("openai")),
            ("codex-mini", Some("openai")),
            ("gemini-3.1-pro", Some("google")),
            ("grok-code-fast-1", Some("xai")),
            ("mai-code-1-flash", Some("microsoft")),
            ("raptor-mini", Some("github")),
            ("goldeneye", Some("github")),
            ("kimi-k3", Some("moonshot")),
            ("qwen3-coder", Some("alibaba")),
            ("deepseek-v3", Some("deepseek")),
            ("o10", None),
            ("maiden-1", None),
            ("oswe-vscode-prime", None),
            ("unknown", None),
        ] {
            assert_eq!(vendor(&ModelId::new(model)), want, "{model}");
        }
    }
}
