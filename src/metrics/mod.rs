//! The catalogue of metric families: names, help, types, units and labels, in one place. Every outlet
//! renders [`Family`]s; none knows a metric by name.

mod family;

pub use family::{Family, HistogramValue, Kind, Sample, SampleValue};
