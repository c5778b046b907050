//! Which series a scope's amounts are counted under, once some of them have been published elsewhere.

use std::collections::BTreeMap;

use super::cells::{Cell, Cells, SeriesId};
use crate::usage::{Histogram, Measure, Slot, TokenType};

/// What an amount is an amount of. Measures of one quantity differ in a label only, so that an amount of
/// it can be counted under one or the other, but not under both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Quantity {
    Calls,
    Tokens(TokenType),
    Reasoning,
    EstimatedTokens(TokenType),
    Cost,
    Credits,
    PremiumRequests,
    UnpricedCalls,
    PartialCalls,
    Failures,
    Sessions,
    Timed(Histogram),
    Time(Histogram),
}

impl From<Measure> for Quantity {
    fn from(measure: Measure) -> Self {
        match measure {
            Measure::Calls(_) => Self::Calls,
            Measure::Tokens(class) => Self::Tokens(class),
            Measure::Reasoning => Self::Reasoning,
            Measure::EstimatedTokens(class) => Self::EstimatedTokens(class),
            Measure::CostReported | Measure::CostListPrice => Self::Cost,
            Measure::Credits => Self::Credits,
            Measure::PremiumRequests => Self::PremiumRequests,
            Measure::UnpricedCalls => Self::UnpricedCalls,
            Measure::PartialCalls => Self::PartialCalls,
            Measure::Failures(_) => Self::Failures,
            Measure::Sessions => Self::Sessions,
            Measure::Bucket(histogram, _) => Self::Timed(histogram),
            Measure::HistogramSum(histogram) => Self::Time(histogram),
        }
    }
}

/// Where an amount of a quantity can be counted, time aside.
type Place = (SeriesId, Measure);

/// Reconciles what the scope's statements now say (`derived`) with what has been published of it
/// (`anchor`): published amounts stay where they are, the others follow the statements.
///
/// For every quantity the result's sum is that of `derived`. Where that is less than what was published,
/// the truth of some series falls below what they show; they show it until the truth has caught up.
/// Amounts keep the time that the statements give them.
pub(super) fn attribute(derived: Cells, anchor: &Cells) -> Cells {
    let moves = Moves::needed(&derived, anchor);
    if moves.short.is_empty() {
        return derived;
    }
    moves.apply(derived, anchor)
}

/// What has to move, in amounts by place.
struct Moves {
    /// Published here, but the statements now say it elsewhere.
    short: BTreeMap<Place, u64>,
    /// Stated here, and not published here yet.
    spare: BTreeMap<Place, u64>,
}

impl Moves {
    fn needed(derived: &Cells, anchor: &Cells) -> Self {
        let (derived, anchor) = (by_place(derived), by_place(anchor));
        let beyond = |these: &BTreeMap<Place, u64>, those: &BTreeMap<Place, u64>| {
            these
                .iter()
                .filter_map(|(place, &amount)| {
                    let excess = amount.saturating_sub(those.get(place).copied().unwrap_or(0));
                    (excess > 0).then_some((*place, excess))
                })
                .collect()
        };
        Self {
            short: beyond(&anchor, &derived),
            spare: beyond(&derived, &anchor),
        }
    }

    fn apply(mut self, derived: Cells, anchor: &Cells) -> Cells {
        // A known 0 has nothing to move, and stays known.
        let (mut cells, zeros): (Vec<Cell>, Vec<Cell>) =
            derived.into_iter().partition(|cell| cell.amount > 0);
        let mut moved = Vec::new();
        // First what lies at the time at which it was published, which is most probably the same call.
        for published in anchor.iter() {
            let place = (published.series, published.measure);
            let at_its_time = cells.partition_point(|cell| cell.slot < published.slot);
            let wanted = published.amount;
            self.fill(
                place,
                wanted,
                &mut cells[at_its_time..],
                |slot| slot == published.slot,
                &mut moved,
            );
        }
        for (place, wanted) in self.short.clone() {
            self.fill(place, wanted, &mut cells, |_| true, &mut moved);
        }
        cells.retain(|cell| cell.amount > 0);
        cells.into_iter().chain(zeros).chain(moved).collect()
    }

    /// Moves up to `wanted` to `place` from the cells, as long as their slots are `near`.
    fn fill(
        &mut self,
        place: Place,
        mut wanted: u64,
        cells: &mut [Cell],
        near: impl Fn(Slot) -> bool,
        moved: &mut Vec<Cell>,
    ) {
        let Some(short) = self.short.get_mut(&place) else {
            return;
        };
        let quantity = Quantity::from(place.1);
        for cell in cells.iter_mut().take_while(|cell| near(cell.slot)) {
            if *short == 0 || wanted == 0 {
                break;
            }
            if Quantity::from(cell.measure) != quantity {
                continue;
            }
            let Some(spare) = self.spare.get_mut(&(cell.series, cell.measure)) else {
                continue;
            };
            let amount = cell.amount.min(*spare).min(*short).min(wanted);
            if amount == 0 {
                continue;
            }
            cell.amount -= amount;
            *spare -= amount;
            *short -= amount;
            wanted -= amount;
            moved.push(Cell {
                slot: cell.slot,
                series: place.0,
                measure: place.1,
                amount,
            });
        }
    }
}

fn by_place(cells: &Cells) -> BTreeMap<Place, u64> {
    let mut sums = BTreeMap::new();
    for cell in cells.iter() {
        let sum: &mut u64 = sums.entry((cell.series, cell.measure)).or_default();
        *sum = sum.saturating_add(cell.amount);
    }
    sums
}
