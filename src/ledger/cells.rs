//! Amounts by series, time slot and measure: what a scope contributes to the totals.

use crate::usage::{Measure, Slot};

/// A series of the ledger; stable as long as the ledger lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct SeriesId(pub(super) u32);

impl SeriesId {
    /// Not a label set: real spend of no known model.
    pub(super) const UNATTRIBUTED: Self = Self(0);
}

/// One amount. A call can't cost more than `u64` picodollars (18 million USD); what a hostile file claims
/// beyond saturates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Cell {
    pub(super) slot: Slot,
    pub(super) series: SeriesId,
    pub(super) measure: Measure,
    pub(super) amount: u64,
}

impl Cell {
    fn place(&self) -> (Slot, SeriesId, Measure) {
        (self.slot, self.series, self.measure)
    }
}

/// Cells in the order of slot, series and measure, at most one for each.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Cells(Vec<Cell>);

impl Cells {
    pub(super) fn iter(&self) -> std::slice::Iter<'_, Cell> {
        self.0.iter()
    }

    /// The cells of each slot and series, from `since` on.
    pub(super) fn groups_since(
        &self,
        since: Slot,
    ) -> impl Iterator<Item = (Slot, SeriesId, &[Cell])> {
        let begin = self.0.partition_point(|cell| cell.slot < since);
        let recent = self.0.get(begin..).unwrap_or_default();
        recent
            .chunk_by(|a, b| (a.slot, a.series) == (b.slot, b.series))
            .filter_map(|group| group.first().map(|head| (head.slot, head.series, group)))
    }
}

/// Sums what lies in the same place.
impl FromIterator<Cell> for Cells {
    fn from_iter<I: IntoIterator<Item = Cell>>(cells: I) -> Self {
        let mut cells: Vec<Cell> = cells.into_iter().collect();
        cells.sort_unstable();
        cells.dedup_by(|next, kept| {
            let same = next.place() == kept.place();
            if same {
                kept.amount = kept.amount.saturating_add(next.amount);
            }
            same
        });
        Self(cells)
    }
}

impl IntoIterator for Cells {
    type Item = Cell;
    type IntoIter = std::vec::IntoIter<Cell>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}
