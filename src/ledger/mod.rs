//! The only place that decides: which statements speak of one call, which of them wins, what it cost and
//! what has been published.

pub mod budget;
pub mod reconcile;
mod snapshot;
pub mod window;

pub use snapshot::{
    BudgetStatus, DayTotal, ModelInfo, ScanStatus, Seen, Series, SeriesLabels, Snapshot,
    StoreStatus, Value, Window, WindowTotal,
};
