//! A scope as bytes.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use prost::Message;

use super::messages::StoredStatement;
use super::texts::Texts;
use super::{Damaged, cells};
use crate::ledger::cells::Cells;
use crate::ledger::intake::SourceId;
use crate::ledger::scope::{Scope, Statement};
use crate::usage::{Slot, Surface, Timestamp, Usd};

/// Everything of a scope but its name and cells. Field numbers are never reused.
#[derive(Clone, PartialEq, Message)]
struct StoredScope {
    #[prost(string, optional, tag = "1")]
    user: Option<String>,
    #[prost(int64, tag = "2")]
    first_seen: i64,
    #[prost(int64, tag = "3")]
    touched: i64,
    #[prost(int64, optional, tag = "4")]
    newest: Option<i64>,
    #[prost(int64, optional, tag = "5")]
    folded_until: Option<i64>,
    #[prost(uint64, tag = "6")]
    duplicates: u64,
    #[prost(uint64, tag = "7")]
    pass: u64,
    #[prost(string, repeated, tag = "8")]
    texts: Vec<String>,
    #[prost(fixed64, repeated, tag = "9")]
    sources: Vec<u64>,
    #[prost(message, repeated, tag = "10")]
    statements: Vec<StoredStatement>,
    #[prost(bytes = "vec", tag = "11")]
    base: Vec<u8>,
    /// Absent: the same as the cells.
    #[prost(bytes = "vec", optional, tag = "12")]
    anchor: Option<Vec<u8>>,
    #[prost(fixed64, repeated, tag = "13")]
    priced: Vec<u64>,
    /// Picodollars plus 1, in the order of `priced`; 0 is unpriced.
    #[prost(uint64, repeated, tag = "14")]
    prices: Vec<u64>,
    #[prost(bytes = "vec", optional, tag = "15")]
    base_truth: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "16")]
    unbacked: Option<Vec<u8>>,
}

/// A scope as its columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ScopeRow {
    pub(super) name: String,
    /// The newest slot of its cells.
    pub(super) newest_slot: Slot,
    pub(super) last_call: Option<Timestamp>,
    pub(super) surface: Option<Surface>,
    /// Its newest statement, if there are statements to fold.
    pub(super) foldable: Option<Timestamp>,
    pub(super) touched: Timestamp,
    pub(super) facts: Vec<u8>,
    pub(super) cells: Vec<u8>,
    /// Absent: the same as the cells.
    pub(super) truth: Option<Vec<u8>>,
}

impl ScopeRow {
    /// The cells that the statements say.
    pub(super) fn truth(&self) -> &[u8] {
        self.truth.as_ref().unwrap_or(&self.cells)
    }
}

pub(super) fn encode(scope: &Scope) -> ScopeRow {
    let mut texts = Texts::default();
    let mut sources: Vec<u64> = Vec::new();
    let mut places: HashMap<SourceId, u32> = HashMap::new();
    let statements = scope
        .statements
        .iter()
        .map(|statement| {
            let place = *places.entry(statement.source).or_insert_with(|| {
                sources.push(statement.source.0);
                sources.len() as u32 - 1
            });
            StoredStatement::encode(&statement.observation, place, &scope.name, &mut texts)
        })
        .collect();
    let stored = StoredScope {
        user: scope.user.as_deref().map(str::to_owned),
        first_seen: scope.first_seen.0,
        touched: scope.touched.0,
        newest: scope.newest.map(|time| time.0),
        folded_until: scope.folded_until.map(|time| time.0),
        duplicates: scope.duplicates,
        pass: scope.pass,
        statements,
        texts: texts.into_stored(),
        sources,
        base: cells::encode(&scope.base),
        anchor: (scope.anchor != scope.cells).then(|| cells::encode(&scope.anchor)),
        priced: scope.prices.keys().copied().collect(),
        prices: scope
            .prices
            .values()
            .map(|&price| encode_price(price))
            .collect(),
        base_truth: scope.base_truth.as_ref().map(cells::encode),
        unbacked: (scope.unbacked != Cells::default()).then(|| cells::encode(&scope.unbacked)),
    };
    ScopeRow {
        name: scope.name.clone(),
        // Amounts that move keep their time.
        newest_slot: scope.cells.iter().last().map_or(Slot(0), |cell| cell.slot),
        last_call: scope.last_call,
        surface: scope.surface,
        foldable: scope.newest.filter(|_| !scope.statements.is_empty()),
        touched: scope.touched,
        facts: stored.encode_to_vec(),
        cells: cells::encode(&scope.cells),
        truth: scope.truth.as_ref().map(cells::encode),
    }
}

pub(super) fn decode(row: &ScopeRow) -> Result<Scope, Damaged> {
    let stored = StoredScope::decode(row.facts.as_slice()).map_err(|_| Damaged)?;
    let statements = stored
        .statements
        .iter()
        .map(|statement| {
            let source = stored
                .sources
                .get(statement.source as usize)
                .ok_or(Damaged)?;
            Ok(Statement {
                source: SourceId(*source),
                observation: statement.decode(&row.name, &stored.texts)?,
            })
        })
        .collect::<Result<_, Damaged>>()?;
    let cells = cells::decode(&row.cells)?;
    if stored.priced.len() != stored.prices.len() {
        return Err(Damaged);
    }
    let prices: BTreeMap<u64, Option<Usd>> = stored
        .priced
        .into_iter()
        .zip(stored.prices.into_iter().map(decode_price))
        .collect();
    Ok(Scope {
        name: row.name.clone(),
        user: stored.user.map(Arc::from),
        first_seen: Timestamp(stored.first_seen),
        touched: Timestamp(stored.touched),
        newest: stored.newest.map(Timestamp),
        statements,
        folded_until: stored.folded_until.map(Timestamp),
        base: cells::decode(&stored.base)?,
        anchor: match stored.anchor {
            Some(anchor) => cells::decode(&anchor)?,
            None => cells.clone(),
        },
        cells,
        truth: row.truth.as_deref().map(cells::decode).transpose()?,
        base_truth: stored
            .base_truth
            .as_deref()
            .map(cells::decode)
            .transpose()?,
        unbacked: match stored.unbacked {
            Some(unbacked) => cells::decode(&unbacked)?,
            None => Cells::default(),
        },
        pass: stored.pass,
        prices,
        duplicates: stored.duplicates,
        last_call: row.last_call,
        surface: row.surface,
    })
}

fn encode_price(price: Option<Usd>) -> u64 {
    price.map_or(0, |usd| {
        u64::try_from(usd.0).unwrap_or(u64::MAX).saturating_add(1)
    })
}

fn decode_price(stored: u64) -> Option<Usd> {
    stored.checked_sub(1).map(|pico| Usd(u128::from(pico)))
}
