//! The constant labels of the config's `[labels]`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::catalogue::reference;

/// Labels that every usage series carries: valid names that none of the catalogue's labels has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConstantLabels(Vec<(Cow<'static, str>, Cow<'static, str>)>);

/// A name that can't be a constant label.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LabelError {
    #[error(
        "{0:?} is no label name: letters, digits and underscores, not beginning with a digit or __"
    )]
    Name(String),
    #[error("the label {0:?} is one of the exporter's own")]
    Reserved(String),
}

impl ConstantLabels {
    /// Labels with an empty value are no labels and are left out.
    pub fn new(labels: &BTreeMap<String, String>) -> Result<Self, LabelError> {
        for name in labels.keys() {
            let mut chars = name.chars();
            let valid = chars
                .next()
                .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
                && chars.all(|c| c.is_ascii_alphanumeric() || c == '_');
            if !valid || name.starts_with("__") {
                return Err(LabelError::Name(name.clone()));
            }
            let reserved = ["user", "le", "quantile"];
            let own = reference().iter().flat_map(|entry| entry.all_labels());
            if reserved.into_iter().chain(own).any(|other| other == name) {
                return Err(LabelError::Reserved(name.clone()));
            }
        }
        Ok(Self(
            labels
                .iter()
                .filter(|(_, value)| !value.is_empty())
                .map(|(name, value)| (Cow::Owned(name.clone()), Cow::Owned(value.clone())))
                .collect(),
        ))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Cow<'static, str>, Cow<'static, str>)> + '_ {
        self.0.iter().cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str) -> Result<ConstantLabels, LabelError> {
        ConstantLabels::new(&BTreeMap::from([(name.to_owned(), "x".to_owned())]))
    }

    #[test]
    fn only_valid_names_that_are_free() {
        for name in ["team", "host", "_x1"] {
            assert!(of(name).is_ok(), "{name}");
        }
        for name in ["", "1a", "a-b", "__a", "größe", "a b"] {
            assert_eq!(of(name), Err(LabelError::Name(name.to_owned())));
        }
        for name in ["model", "user", "le", "token_type", "store"] {
            assert_eq!(of(name), Err(LabelError::Reserved(name.to_owned())));
        }
    }
}
