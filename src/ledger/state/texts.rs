//! The strings of a stored message, each once.

use std::collections::HashMap;

use super::Damaged;

/// Gathers strings while encoding.
#[derive(Debug, Default)]
pub(super) struct Texts {
    numbers: HashMap<String, u32>,
    texts: Vec<String>,
}

impl Texts {
    /// The string's number, from 1.
    pub(super) fn add(&mut self, text: &str) -> u32 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        self.texts.push(text.to_owned());
        let number = self.texts.len() as u32;
        self.numbers.insert(text.to_owned(), number);
        number
    }

    /// 0 for no string.
    pub(super) fn add_option(&mut self, text: Option<&str>) -> u32 {
        text.map_or(0, |text| self.add(text))
    }

    pub(super) fn into_stored(self) -> Vec<String> {
        self.texts
    }
}

/// The string of a number.
pub(super) fn text(texts: &[String], number: u32) -> Result<&str, Damaged> {
    option(texts, number)?.ok_or(Damaged)
}

/// The string of a number, or none for 0.
pub(super) fn option(texts: &[String], number: u32) -> Result<Option<&str>, Damaged> {
    let Some(at) = number.checked_sub(1) else {
        return Ok(None);
    };
    texts
        .get(at as usize)
        .map(|text| Some(text.as_str()))
        .ok_or(Damaged)
}
