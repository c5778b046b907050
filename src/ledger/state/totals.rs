//! Series, their counters and those of the stores as bytes.

use std::collections::BTreeMap;
use std::sync::Arc;

use prost::Message;

use super::Damaged;
use super::codes::Code;
use crate::ledger::counters::StoreCounters;
use crate::ledger::labels::Labels;
use crate::ledger::series::{Counter, Counters, Release};
use crate::usage::{Measure, Project, Provider, Slot, Surface, Timestamp};

#[derive(Clone, PartialEq, Message)]
struct StoredLabels {
    /// Absent for Copilot.
    #[prost(string, optional, tag = "1")]
    own_provider: Option<String>,
    #[prost(string, tag = "2")]
    model: String,
    #[prost(string, tag = "3")]
    project: String,
    #[prost(uint32, tag = "4")]
    surface: u32,
    #[prost(string, optional, tag = "5")]
    user: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
struct StoredAmount {
    #[prost(uint64, tag = "1")]
    low: u64,
    #[prost(uint64, tag = "2")]
    high: u64,
}

#[derive(Clone, PartialEq, Message)]
struct StoredCounter {
    #[prost(uint32, tag = "1")]
    measure: u32,
    #[prost(message, required, tag = "2")]
    truth: StoredAmount,
    #[prost(message, required, tag = "3")]
    published: StoredAmount,
    #[prost(message, required, tag = "4")]
    baseline: StoredAmount,
    #[prost(int64, tag = "5")]
    born: i64,
    #[prost(bool, tag = "6")]
    released: bool,
    #[prost(int64, optional, tag = "7")]
    held_since: Option<i64>,
}

#[derive(Clone, PartialEq, Message)]
struct StoredSeries {
    #[prost(message, repeated, tag = "1")]
    counters: Vec<StoredCounter>,
    /// The first slot with a call.
    #[prost(uint32, tag = "2")]
    first: u32,
    #[prost(int64, optional, tag = "3")]
    last_call: Option<i64>,
}

#[derive(Clone, PartialEq, Message)]
struct StoredReason {
    #[prost(string, tag = "1")]
    reason: String,
    #[prost(uint64, tag = "2")]
    records: u64,
}

#[derive(Clone, PartialEq, Message)]
struct StoredStore {
    #[prost(uint64, tag = "1")]
    bytes_read: u64,
    #[prost(uint64, tag = "2")]
    duplicates: u64,
    #[prost(message, repeated, tag = "3")]
    parse_errors: Vec<StoredReason>,
    #[prost(message, repeated, tag = "4")]
    skipped: Vec<StoredReason>,
}

pub(super) fn encode_labels(labels: &Labels) -> Vec<u8> {
    StoredLabels {
        own_provider: match &labels.provider {
            Provider::Copilot => None,
            Provider::Own(name) => Some(name.to_string()),
        },
        model: labels.model.to_string(),
        project: labels.project.as_str().to_owned(),
        surface: labels.surface.code(),
        user: labels.user.as_deref().map(str::to_owned),
    }
    .encode_to_vec()
}

pub(super) fn decode_labels(bytes: &[u8]) -> Result<Labels, Damaged> {
    let stored = StoredLabels::decode(bytes).map_err(|_| Damaged)?;
    Ok(Labels {
        provider: match stored.own_provider {
            None => Provider::Copilot,
            Some(name) => Provider::own(&name),
        },
        model: Arc::from(stored.model),
        project: Project::named(&stored.project).ok_or(Damaged)?,
        surface: Surface::of(stored.surface).ok_or(Damaged)?,
        user: stored.user.map(Arc::from),
    })
}

pub(super) fn encode_counters(counters: &Counters) -> Vec<u8> {
    StoredSeries {
        counters: counters
            .by_measure
            .iter()
            .map(|(&measure, counter)| StoredCounter {
                measure: measure.code(),
                truth: encode_amount(counter.truth),
                published: encode_amount(counter.published),
                baseline: encode_amount(counter.baseline),
                born: counter.born.0,
                released: counter.release == Release::Released,
                held_since: match counter.release {
                    Release::Held(since) => Some(since.0),
                    Release::Unpublished | Release::Released => None,
                },
            })
            .collect(),
        first: counters.first.0,
        last_call: counters.last_call.map(|time| time.0),
    }
    .encode_to_vec()
}

pub(super) fn decode_counters(bytes: &[u8]) -> Result<Counters, Damaged> {
    let stored = StoredSeries::decode(bytes).map_err(|_| Damaged)?;
    let by_measure = stored
        .counters
        .iter()
        .map(|counter| {
            let measure = Measure::of(counter.measure).ok_or(Damaged)?;
            let release = match (counter.released, counter.held_since) {
                (true, _) => Release::Released,
                (false, Some(since)) => Release::Held(Timestamp(since)),
                (false, None) => Release::Unpublished,
            };
            let counter = Counter {
                truth: decode_amount(&counter.truth),
                published: decode_amount(&counter.published),
                baseline: decode_amount(&counter.baseline),
                born: Timestamp(counter.born),
                release,
                shown_in: 0,
            };
            Ok((measure, counter))
        })
        .collect::<Result<_, Damaged>>()?;
    Ok(Counters {
        by_measure,
        first: Slot(stored.first),
        last_call: stored.last_call.map(Timestamp),
        dirty: false,
    })
}

pub(super) fn encode_store(counters: &StoreCounters) -> Vec<u8> {
    let reasons = |counts: &BTreeMap<&'static str, u64>| {
        counts
            .iter()
            .map(|(&reason, &records)| StoredReason {
                reason: reason.to_owned(),
                records,
            })
            .collect()
    };
    StoredStore {
        bytes_read: counters.bytes_read,
        duplicates: counters.duplicates,
        parse_errors: reasons(&counters.parse_errors),
        skipped: reasons(&counters.skipped),
    }
    .encode_to_vec()
}

pub(super) fn decode_store(bytes: &[u8]) -> Result<StoreCounters, Damaged> {
    let stored = StoredStore::decode(bytes).map_err(|_| Damaged)?;
    // Reasons are fixed words of the readers, so what is leaked is bounded by their number.
    let reasons = |counts: Vec<StoredReason>| {
        counts
            .into_iter()
            .map(|count| (&*count.reason.leak(), count.records))
            .collect()
    };
    Ok(StoreCounters {
        bytes_read: stored.bytes_read,
        duplicates: stored.duplicates,
        parse_errors: reasons(stored.parse_errors),
        skipped: reasons(stored.skipped),
        ..StoreCounters::default()
    })
}

fn encode_amount(amount: u128) -> StoredAmount {
    StoredAmount {
        low: amount as u64,
        high: (amount >> 64) as u64,
    }
}

fn decode_amount(stored: &StoredAmount) -> u128 {
    u128::from(stored.high) << 64 | u128::from(stored.low)
}
