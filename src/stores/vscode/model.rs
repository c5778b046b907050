//! The names under which VS Code files a model.

use crate::usage::Provider;

/// A model's name as a store spells it, without Copilot's own prefix; `auto` and the like are no models
/// (formats, models-and-prices.md §1).
pub(super) fn model_name(text: &str) -> Option<String> {
    let name = text.trim();
    let name = name.strip_prefix("copilot/").unwrap_or(name);
    let lower = name.to_lowercase();
    let none = matches!(
        lower.as_str(),
        "" | "auto" | "copilot" | "resumed" | "unknown" | "default"
    ) || (lower.starts_with("copilot-") && lower.ends_with("-auto"));
    (!none).then(|| name.to_owned())
}

/// Who bills the calls of a `modelId` (`vendor/id`, or `vendor/group/id` for the user's own), and its model.
/// The provider is unknown where no vendor is named.
pub(super) fn split_model_id(id: &str) -> (Option<Provider>, Option<String>) {
    match id.trim().split_once('/') {
        None => (None, model_name(id)),
        Some((vendor, model)) if vendor.to_lowercase().starts_with("copilot") => {
            (Some(Provider::Copilot), model_name(model))
        }
        Some((vendor, model)) => {
            let last = model.rsplit('/').next().unwrap_or(model);
            (Some(Provider::own(vendor)), model_name(last))
        }
    }
}

/// A `modelId` without the group between vendor and model, which its user may have named; it reads the same.
pub(super) fn plain_model_id(id: &str) -> String {
    match id.trim().split_once('/') {
        Some((vendor, model)) if !vendor.to_lowercase().starts_with("copilot") => {
            let last = model.rsplit('/').next().unwrap_or(model);
            format!("{vendor}/{last}")
        }
        _ => id.trim().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edge_122_auto_is_no_model() {
        for name in [
            "copilot/auto",
            "auto",
            "copilot",
            "",
            " ",
            "copilot-openai-auto",
            "Auto",
        ] {
            assert_eq!(model_name(name), None, "{name}");
        }
        assert_eq!(model_name("copilot/gpt-5.4").as_deref(), Some("gpt-5.4"));
    }

    #[test]
    fn edge_123_the_vendor_is_who_bills() {
        let split = |id| {
            let (provider, model) = split_model_id(id);
            let provider = provider.map(|provider| provider.as_str().to_owned());
            (provider, model)
        };
        let some = |a: &str, b: &str| (Some(a.to_owned()), Some(b.to_owned()));
        assert_eq!(split("copilot/gpt-5.4"), some("copilot", "gpt-5.4"));
        assert_eq!(split("copilot/auto"), (Some("copilot".to_owned()), None));
        assert_eq!(
            split("anthropic/claude-sonnet-4.5"),
            some("anthropic", "claude-sonnet-4.5")
        );
        assert_eq!(
            split("customendpoint/Fake/demo-large"),
            some("customendpoint", "demo-large")
        );
        assert_eq!(split("gpt-4o"), (None, Some("gpt-4o".to_owned())));
    }
}
