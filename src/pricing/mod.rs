//! Model names and what tokens cost on the day of the call.

use crate::usage::{Timestamp, Tokens, Usd};

/// The price table: the shipped one, with the user's own prices and aliases before it.
#[derive(Debug, Clone, Default)]
pub struct Catalogue {}

impl Catalogue {
    /// The canonical model id for a name as a store spells it; `None`, `auto`, `copilot` and the like
    /// are `unknown`.
    pub fn canonical(&self, name: Option<&str>) -> String {
        name.unwrap_or("unknown").to_owned()
    }

    /// What `tokens` cost at list price. `calls` tells how many calls they are of: the long-context tier
    /// shows only for one. `None`: no price is known, which is not free.
    pub fn list_price(
        &self,
        model: &str,
        time: Timestamp,
        tokens: &Tokens,
        calls: u64,
    ) -> Option<Usd> {
        let _ = (model, time, tokens, calls);
        None
    }
}
