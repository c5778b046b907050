//! The catalogue of metric families: names, help, types, units and labels, in one place. Every outlet
//! renders [`Family`]s; none knows a metric by name.

mod catalogue;
mod constant;
mod family;
mod own;
mod process;
mod recorder;
mod usage;

pub use catalogue::{COMMON_LABELS, Entry, reference};
pub use constant::{ConstantLabels, LabelError};
pub use family::{Family, HistogramValue, Kind, Labels, Sample, SampleValue};
pub use own::{ConfigStatus, Exporter, OtlpStatus, own};
pub use process::Process;
pub use recorder::Recorder;
pub use usage::{Counter, counter, usage};

use crate::ledger::Snapshot;

/// Everything there is to expose, in the order of the catalogue. Without `exporter` the exporter's own
/// metrics are left out.
pub fn families(
    snapshot: &Snapshot,
    constant: &ConstantLabels,
    exporter: Option<&Exporter>,
) -> Vec<Family> {
    let mut families = usage(snapshot, constant);
    families.extend(exporter.into_iter().flat_map(|e| own(snapshot, e)));
    families
}
