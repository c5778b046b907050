//! The exposition formats.

use super::{openmetrics, protobuf, text};
use crate::metrics::Family;

/// A format of exposition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// Prometheus text 0.0.4.
    Text,
    /// OpenMetrics 1.0; with `created`, counters and histograms carry `_created` samples.
    OpenMetrics { created: bool },
    /// Length-delimited `io.prometheus.client.MetricFamily` messages.
    Protobuf,
}

impl Format {
    /// All of `families`, as one whole exposition.
    pub fn render(self, families: &[Family]) -> Vec<u8> {
        let mut out = self.part(families);
        out.extend_from_slice(self.end());
        out
    }

    /// Some families. An exposition is any number of parts with distinct families, then [`Self::end`].
    pub fn part(self, families: &[Family]) -> Vec<u8> {
        match self {
            Self::Text => text::render(families).into_bytes(),
            Self::OpenMetrics { created } => openmetrics::render(families, created).into_bytes(),
            Self::Protobuf => protobuf::render(families),
        }
    }

    /// What ends an exposition.
    pub fn end(self) -> &'static [u8] {
        match self {
            Self::OpenMetrics { .. } => b"# EOF\n",
            Self::Text | Self::Protobuf => b"",
        }
    }
}
