//! Which series a scope's amounts are counted under, once some of them have been published elsewhere.

use std::collections::BTreeMap;

use super::cells::{Cell, Cells, SeriesId};
use crate::usage::{Histogram, Measure, TokenType};

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
    ToolCalls,
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
            Measure::ToolCalls(_) => Self::ToolCalls,
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
/// Amounts keep the time that the statements give them. What moves is what most probably was published: of
/// the same model where there is some, so that a corrected project takes nothing from other models.
///
/// `None`: nothing has to move.
pub(super) fn attribute(
    derived: &Cells,
    anchor: &Cells,
    same_model: impl Fn(SeriesId, SeriesId) -> bool,
) -> Option<Attributed> {
    let moves = Moves::needed(derived, anchor);
    if moves.short.is_empty() {
        return None;
    }
    Some(moves.apply(derived, anchor, same_model))
}

/// What is counted where.
#[derive(Debug, PartialEq)]
pub(super) struct Attributed {
    pub(super) cells: Cells,
    /// What was published and no statement backs any more. What comes later is counted there first, or it
    /// would be shown in addition.
    pub(super) unbacked: Cells,
}

/// What an amount that moves has in common with what was published.
#[derive(Debug, Clone, Copy)]
struct Likeness {
    time: bool,
    model: bool,
    measure: bool,
}

/// The likeliest first.
const LIKENESSES: [Likeness; 6] = [
    Likeness::new(true, true, true),
    Likeness::new(false, true, true),
    Likeness::new(true, true, false),
    Likeness::new(false, true, false),
    Likeness::new(true, false, false),
    Likeness::new(false, false, false),
];

impl Likeness {
    const fn new(time: bool, model: bool, measure: bool) -> Self {
        Self {
            time,
            model,
            measure,
        }
    }
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

    fn apply(
        mut self,
        derived: &Cells,
        anchor: &Cells,
        same_model: impl Fn(SeriesId, SeriesId) -> bool,
    ) -> Attributed {
        // A known 0 has nothing to move, and stays known.
        let (mut cells, zeros): (Vec<Cell>, Vec<Cell>) =
            derived.iter().partition(|cell| cell.amount > 0);
        let mut moved = Vec::new();
        for likeness in LIKENESSES {
            let is_like = |place: Place, cell: &Cell| {
                (!likeness.model || same_model(place.0, cell.series))
                    && (!likeness.measure || place.1 == cell.measure)
            };
            if likeness.time {
                for published in anchor.iter() {
                    let place = (published.series, published.measure);
                    let slot = published.slot;
                    let begin = cells.partition_point(|cell| cell.slot < slot);
                    let end = cells.partition_point(|cell| cell.slot <= slot);
                    let at_its_time = &mut cells[begin..end];
                    self.fill(place, published.amount, at_its_time, is_like, &mut moved);
                }
            } else {
                for (place, wanted) in self.short.clone() {
                    self.fill(place, wanted, &mut cells, is_like, &mut moved);
                }
            }
        }
        cells.retain(|cell| cell.amount > 0);
        Attributed {
            cells: cells.into_iter().chain(zeros).chain(moved).collect(),
            unbacked: self.unbacked(anchor),
        }
    }

    /// What is short still, with the times of what was published.
    fn unbacked(mut self, anchor: &Cells) -> Cells {
        let part = |published: &Cell| {
            let short = self.short.get_mut(&(published.series, published.measure))?;
            let amount = published.amount.min(*short);
            *short -= amount;
            (amount > 0).then_some(Cell {
                amount,
                ..*published
            })
        };
        anchor.iter().filter_map(part).collect()
    }

    /// Moves up to `wanted` to `place` from those of the cells that are like it.
    fn fill(
        &mut self,
        place: Place,
        mut wanted: u64,
        cells: &mut [Cell],
        is_like: impl Fn(Place, &Cell) -> bool,
        moved: &mut Vec<Cell>,
    ) {
        let Some(short) = self.short.get_mut(&place) else {
            return;
        };
        let quantity = Quantity::from(place.1);
        for cell in cells.iter_mut() {
            if *short == 0 || wanted == 0 {
                break;
            }
            if Quantity::from(cell.measure) != quantity || !is_like(place, cell) {
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

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::usage::{Initiator, Slot};

    /// All series are of one model.
    fn attribute(derived: Cells, anchor: &Cells) -> Cells {
        match super::attribute(&derived, anchor, |_, _| true) {
            Some(attributed) => attributed.cells,
            None => derived,
        }
    }

    const MEASURES: [Measure; 6] = [
        Measure::Calls(Initiator::User),
        Measure::Calls(Initiator::Unknown),
        Measure::CostReported,
        Measure::CostListPrice,
        Measure::Tokens(TokenType::Input),
        Measure::Tokens(TokenType::Output),
    ];

    fn cell(slot: u32, series: u32, measure: Measure, amount: u64) -> Cell {
        Cell {
            slot: Slot(slot),
            series: SeriesId(series),
            measure,
            amount,
        }
    }

    fn cells(cells: impl IntoIterator<Item = Cell>) -> Cells {
        cells.into_iter().collect()
    }

    fn any_cells() -> impl Strategy<Value = Cells> {
        let one = (0u32..4, 1u32..5, 0..MEASURES.len(), 0u64..50);
        vec(one, 0..24).prop_map(|all| {
            all.into_iter()
                .map(|(slot, series, measure, amount)| {
                    cell(slot, series, MEASURES[measure], amount)
                })
                .collect()
        })
    }

    fn sum(cells: &Cells, quantity: Quantity) -> u64 {
        cells
            .iter()
            .filter(|cell| Quantity::from(cell.measure) == quantity)
            .map(|cell| cell.amount)
            .sum()
    }

    proptest! {
        #[test]
        fn sums_are_those_of_the_statements(derived in any_cells(), anchor in any_cells()) {
            let result = attribute(derived.clone(), &anchor);
            for measure in MEASURES {
                let quantity = Quantity::from(measure);
                prop_assert_eq!(sum(&result, quantity), sum(&derived, quantity));
            }
        }

        #[test]
        fn no_more_leaves_a_place_than_the_truth_lacks(derived in any_cells(), anchor in any_cells()) {
            let result = by_place(&attribute(derived.clone(), &anchor));
            for measure in MEASURES {
                let quantity = Quantity::from(measure);
                let lost: u64 = by_place(&anchor)
                    .into_iter()
                    .filter(|(place, _)| Quantity::from(place.1) == quantity)
                    .map(|(place, amount)| amount.saturating_sub(result.get(&place).copied().unwrap_or(0)))
                    .sum();
                let lacking = sum(&anchor, quantity).saturating_sub(sum(&derived, quantity));
                prop_assert_eq!(lost, lacking);
            }
        }

        #[test]
        fn times_are_those_of_the_statements(derived in any_cells(), anchor in any_cells()) {
            let by_slot = |cells: &Cells| {
                let mut sums = BTreeMap::new();
                for cell in cells.iter().filter(|cell| cell.amount > 0) {
                    *sums.entry((cell.slot, Quantity::from(cell.measure))).or_insert(0) += cell.amount;
                }
                sums
            };
            prop_assert_eq!(by_slot(&attribute(derived.clone(), &anchor)), by_slot(&derived));
        }

        #[test]
        fn what_is_published_stays_published(derived in any_cells(), anchor in any_cells()) {
            let once = attribute(derived.clone(), &anchor);
            prop_assert_eq!(by_place(&attribute(derived, &once)), by_place(&once));
        }
    }

    #[test]
    fn edge_220_only_what_is_unpublished_moves() {
        let calls = Measure::Calls(Initiator::User);
        let anchor = cells([cell(7, 1, calls, 2)]);
        let derived = cells([cell(7, 2, calls, 2), cell(9, 2, calls, 1)]);
        let want = cells([cell(7, 1, calls, 2), cell(9, 2, calls, 1)]);
        assert_eq!(attribute(derived, &anchor), want);
    }

    #[test]
    fn what_moves_is_of_the_same_model() {
        let calls = Measure::Calls(Initiator::User);
        let anchor = cells([cell(7, 1, calls, 2)]);
        let derived = cells([cell(7, 3, calls, 3), cell(7, 5, calls, 2)]);
        let want = cells([cell(7, 1, calls, 2), cell(7, 3, calls, 3)]);
        let same_model = |a: SeriesId, b: SeriesId| a.0 % 4 == b.0 % 4;
        let attributed = super::attribute(&derived, &anchor, same_model);
        assert_eq!(attributed.unwrap().cells, want);
    }

    #[test]
    fn a_better_basis_adds_only_the_difference() {
        let anchor = cells([cell(7, 1, Measure::CostListPrice, 500)]);
        let derived = cells([cell(7, 1, Measure::CostReported, 600)]);
        let want = cells([
            cell(7, 1, Measure::CostListPrice, 500),
            cell(7, 1, Measure::CostReported, 100),
        ]);
        assert_eq!(attribute(derived, &anchor), want);
    }

    #[test]
    fn edge_219_lower_figures_lower_the_truth() {
        let output = Measure::Tokens(TokenType::Output);
        let anchor = cells([cell(7, 1, output, 90)]);
        let derived = cells([cell(7, 2, output, 40)]);
        let want = cells([cell(7, 1, output, 40)]);
        assert_eq!(attribute(derived, &anchor), want);
    }

    #[test]
    fn edge_231_explained_credits_stay_where_they_were_published() {
        let anchor = cells([cell(7, 0, Measure::Credits, 10)]);
        let derived = cells([cell(7, 3, Measure::Credits, 12)]);
        let want = cells([
            cell(7, 0, Measure::Credits, 10),
            cell(7, 3, Measure::Credits, 2),
        ]);
        assert_eq!(attribute(derived.clone(), &anchor), want);
        assert_eq!(attribute(derived.clone(), &Cells::default()), derived);
    }

    #[test]
    fn the_call_at_the_time_of_publication_moves_first() {
        let output = Measure::Tokens(TokenType::Output);
        let anchor = cells([cell(9, 1, output, 30)]);
        let derived = cells([cell(7, 2, output, 50), cell(9, 3, output, 30)]);
        let want = cells([cell(7, 2, output, 50), cell(9, 1, output, 30)]);
        assert_eq!(attribute(derived, &anchor), want);
    }

    #[test]
    fn a_known_zero_stays_known() {
        let derived = cells([
            cell(7, 1, Measure::Reasoning, 0),
            cell(7, 2, Measure::Reasoning, 5),
        ]);
        let anchor = cells([cell(7, 3, Measure::Reasoning, 5)]);
        let want = cells([
            cell(7, 1, Measure::Reasoning, 0),
            cell(7, 3, Measure::Reasoning, 5),
        ]);
        assert_eq!(attribute(derived, &anchor), want);
    }
}
