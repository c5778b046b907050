//! What the ledger holds, amount by amount: for reports and history.

use std::collections::HashMap;

use super::cells::SeriesId;
use super::{Ledger, LedgerError, SeriesLabels};
use crate::usage::{Measure, Slot};

/// An amount of what is true, which what is published may be ahead of.
#[derive(Debug, Clone, Copy)]
pub struct Amount<'a> {
    /// As they are shown.
    pub labels: &'a SeriesLabels,
    /// The session's id; `None`: a call of no known session.
    pub session: Option<&'a str>,
    /// When the call happened.
    pub slot: Slot,
    pub measure: Measure,
    /// In the measure's own unit.
    pub amount: u64,
}

impl Ledger {
    /// Hands over every amount, in no particular order. Spend of no known model is not among them: that is
    /// `Snapshot::unattributed_credits`.
    ///
    /// # Errors
    /// The ledger can't be read.
    pub fn amounts(&self, mut each: impl FnMut(Amount<'_>)) -> Result<(), LedgerError> {
        let mut shown: HashMap<SeriesId, Option<SeriesLabels>> = HashMap::new();
        self.state.cells_since(Slot(0), &mut |of| {
            let session = (!of.scope.is_lone()).then_some(of.name.as_str());
            for cell in of.cells.iter() {
                let labels = shown.entry(cell.series).or_insert_with(|| {
                    let labels = self.sets.get(cell.series)?;
                    Some(self.privacy.show(labels))
                });
                let Some(labels) = labels else {
                    continue;
                };
                each(Amount {
                    labels,
                    session,
                    slot: cell.slot,
                    measure: cell.measure,
                    amount: cell.amount,
                });
            }
        })
    }
}
