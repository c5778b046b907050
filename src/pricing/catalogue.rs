//! The price table in use: the shipped one, with the user's own prices and aliases before it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use super::names::{self, ModelId};
use super::rates::{Period, Rates, Timeline};
use super::shipped;
use crate::config::PriceOverride;
use crate::usage::{Timestamp, TokenType, Tokens, Usd};

/// Model names and prices. Cheap to clone.
#[derive(Clone)]
pub struct Catalogue(Arc<Inner>);

struct Inner {
    /// Exact spellings: ids and declared aliases.
    names: HashMap<String, ModelId>,
    timelines: BTreeMap<ModelId, Timeline>,
    /// Names as seen lately → id, so that a scan of a million calls normalises each name once.
    recent: Mutex<HashMap<String, ModelId>>,
    /// Models whose want of a price was told.
    told: Mutex<HashSet<ModelId>>,
}

/// How many names are remembered; a hostile store can mint any number of them.
const MOST_RECENT: usize = 1_024;
/// How many models without a price are told.
const MOST_TOLD: usize = 100;

/// Why the user's own prices can't be used.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum CatalogueError {
    #[error(
        "prices: the entry of {model:?} has a price that is negative, not finite or above 1,000,000 USD per million tokens"
    )]
    Price { model: String },
    #[error("prices: valid_from of {model:?} is not a day such as 2026-07-01")]
    Day { model: String },
    #[error("prices: {model:?} names no model")]
    Model { model: String },
    #[error("prices: {model:?} has two entries that begin on the same day")]
    Twice { model: String },
    #[error("model_aliases: {alias:?} = {target:?} must name a model on both sides")]
    Alias { alias: String, target: String },
}

/// Which rates a call took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tier {
    Base,
    LongContext,
    /// A sum over several calls, large enough that some of them may have been long: base rates, so
    /// a lower bound.
    Undecided,
}

/// What tokens cost by the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ListPrice {
    pub(super) usd: Usd,
    pub(super) tier: Tier,
}

impl Catalogue {
    /// The shipped table, with the user's own prices (USD per million tokens) and aliases (name as seen →
    /// id) before it.
    ///
    /// # Errors
    /// Names the entry of the config that can't be used.
    pub fn new(
        prices: &[PriceOverride],
        aliases: &BTreeMap<String, String>,
    ) -> Result<Self, CatalogueError> {
        let mut inner = Inner::shipped();
        inner.add_aliases(aliases)?;
        inner.add_prices(prices)?;
        Ok(Self(Arc::new(inner)))
    }

    /// The canonical model id for a name as a store spells it; `None`, `auto`, `copilot` and the like
    /// are `unknown`.
    pub fn canonical(&self, name: Option<&str>) -> ModelId {
        let Some(name) = name else {
            return ModelId::unknown();
        };
        let mut recent = self.0.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(id) = recent.get(name) {
            return id.clone();
        }
        let id = self.0.canonical(name);
        if name.len() <= 256 {
            if recent.len() >= MOST_RECENT {
                recent.clear();
            }
            recent.insert(name.to_owned(), id.clone());
        }
        id
    }

    /// What `tokens` cost at list price. `calls` tells how many calls they are of: the long-context tier
    /// shows only for one. `None`: no price is known, which is not free.
    pub fn list_price(
        &self,
        model: &ModelId,
        time: Timestamp,
        tokens: &Tokens,
        calls: u64,
    ) -> Option<Usd> {
        let price = self.price(model, time, tokens, calls)?;
        if price.tier == Tier::Undecided {
            tracing::debug!(
                "{calls} calls of {model} are priced at base rates: their sum doesn't tell which were long"
            );
        }
        Some(price.usd)
    }

    /// Like [`Self::list_price`], with the tier that was used.
    pub(super) fn price(
        &self,
        model: &ModelId,
        time: Timestamp,
        tokens: &Tokens,
        calls: u64,
    ) -> Option<ListPrice> {
        let period = self.0.period(model, time)?;
        let known = |class: TokenType| tokens.get(class);
        if !TokenType::ALL.iter().any(|&class| known(class).is_some()) {
            return None;
        }
        // Of an input that is known in part, the part alone can show the tier.
        let prompt = [
            TokenType::Input,
            TokenType::CacheRead,
            TokenType::CacheWrite,
        ];
        let gross: u64 = prompt.into_iter().filter_map(known).sum();
        let (rates, tier) = match &period.long_context {
            Some(long) if gross > long.threshold && calls == 1 => (&long.rates, Tier::LongContext),
            Some(long) if gross > long.threshold => (&period.base, Tier::Undecided),
            _ => (&period.base, Tier::Base),
        };
        Some(ListPrice {
            usd: rates.cost(tokens),
            tier,
        })
    }

    /// The base rates of a model at a time; `None`: unpriced.
    pub fn rates(&self, model: &ModelId, time: Timestamp) -> Option<&Rates> {
        self.0.period(model, time).map(|period| &period.base)
    }

    /// Some rate of the model at that time was not published but concluded from others.
    pub fn is_inferred(&self, model: &ModelId, time: Timestamp) -> bool {
        self.0
            .period(model, time)
            .is_some_and(|period| period.inferred)
    }

    /// Logs, once for each model, that its calls are unpriced for want of a price, and what to do about it.
    /// Returns whether it did.
    pub fn tell_unpriced(&self, model: &ModelId) -> bool {
        if model.is_unknown() || self.0.timelines.contains_key(model) {
            return false;
        }
        let mut told = self.0.told.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = told.len() < MOST_TOLD && told.insert(model.clone());
        if is_new {
            tracing::warn!(
                "no price of the model {model:?} is known: its calls are counted as unpriced. Give it one under \
                 [[prices]] in the config, or say under [model_aliases] which model it is: that holds for calls \
                 from then on",
                model = model.as_str(),
            );
        }
        is_new
    }

    #[cfg(test)]
    pub(super) fn timelines(&self) -> &BTreeMap<ModelId, Timeline> {
        &self.0.timelines
    }
}

impl Default for Catalogue {
    fn default() -> Self {
        Self(Arc::new(Inner::shipped()))
    }
}

impl fmt::Debug for Catalogue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Catalogue")
            .field("models", &self.0.timelines.len())
            .finish_non_exhaustive()
    }
}

impl Inner {
    fn shipped() -> Self {
        let mut inner = Self {
            names: HashMap::new(),
            timelines: BTreeMap::new(),
            recent: Mutex::default(),
            told: Mutex::default(),
        };
        for (model, period) in shipped::periods() {
            inner.timeline(&ModelId::new(&model)).add(period);
        }
        for (alias, model) in shipped::ALIASES {
            inner.names.insert(alias.to_owned(), ModelId::new(model));
        }
        inner
    }

    /// The timeline of a model, which becomes known by that.
    fn timeline(&mut self, model: &ModelId) -> &mut Timeline {
        self.names
            .entry(model.as_str().to_owned())
            .or_insert_with(|| model.clone());
        self.timelines.entry(model.clone()).or_default()
    }

    fn canonical(&self, name: &str) -> ModelId {
        names::canonical(name, |spelling| self.names.get(spelling).cloned())
    }

    fn period(&self, model: &ModelId, time: Timestamp) -> Option<&Period> {
        self.timelines.get(model)?.at(time)
    }

    fn add_aliases(&mut self, aliases: &BTreeMap<String, String>) -> Result<(), CatalogueError> {
        for (alias, target) in aliases {
            let id = self.canonical(target);
            let spelling = names::clean(alias);
            if id.is_unknown() || names::names_no_model(&spelling) {
                return Err(CatalogueError::Alias {
                    alias: alias.clone(),
                    target: target.clone(),
                });
            }
            self.names.insert(spelling, id);
        }
        Ok(())
    }

    fn add_prices(&mut self, prices: &[PriceOverride]) -> Result<(), CatalogueError> {
        let mut own: BTreeMap<ModelId, Vec<Period>> = BTreeMap::new();
        for price in prices {
            let (model, period) = self.own_period(price)?;
            let periods = own.entry(model).or_default();
            if periods.iter().any(|other| other.from == period.from) {
                return Err(CatalogueError::Twice {
                    model: price.model.clone(),
                });
            }
            periods.push(period);
        }
        for (model, periods) in own {
            let mut timeline = Timeline::default();
            for period in periods {
                timeline.add(period);
            }
            self.timeline(&model).override_with(timeline);
        }
        Ok(())
    }

    fn own_period(&self, price: &PriceOverride) -> Result<(ModelId, Period), CatalogueError> {
        let model = || price.model.clone();
        let id = self.canonical(&price.model);
        if id.is_unknown() {
            return Err(CatalogueError::Model { model: model() });
        }
        let from = match &price.valid_from {
            None => Timestamp(i64::MIN),
            Some(text) => {
                shipped::day(text).ok_or_else(|| CatalogueError::Day { model: model() })?
            }
        };
        let base = Rates::from_usd_per_million(
            price.input,
            price.cache_read,
            price.cache_write,
            price.output,
        )
        .ok_or_else(|| CatalogueError::Price { model: model() })?;
        let period = Period {
            from,
            to: None,
            base,
            long_context: None,
            inferred: false,
        };
        Ok((id, period))
    }
}
