//! Cells as bytes: per slot and series the measures with their amounts, all as varints.

use prost::encoding::{decode_varint, encode_varint};

use super::Damaged;
use super::codes::Code;
use crate::ledger::cells::{Cell, Cells, SeriesId};
use crate::usage::{Measure, Slot};

/// `(slot − slot before, series, measures, (code, amount) × measures)*`.
pub(super) fn encode(cells: &Cells) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(cells.iter().len() * 5);
    let mut before = Slot(0);
    for (slot, series, group) in cells.groups_since(before) {
        encode_varint(u64::from(slot.0 - before.0), &mut bytes);
        before = slot;
        encode_varint(u64::from(series.0), &mut bytes);
        encode_varint(group.len() as u64, &mut bytes);
        for cell in group {
            encode_varint(u64::from(cell.measure.code()), &mut bytes);
            encode_varint(cell.amount, &mut bytes);
        }
    }
    bytes
}

pub(super) fn decode(mut bytes: &[u8]) -> Result<Cells, Damaged> {
    let mut cells = Vec::with_capacity(bytes.len() / 4);
    let mut slot = 0u32;
    while !bytes.is_empty() {
        slot = slot.checked_add(small(&mut bytes)?).ok_or(Damaged)?;
        let series = SeriesId(small(&mut bytes)?);
        for _ in 0..small(&mut bytes)? {
            let measure = Measure::of(small(&mut bytes)?).ok_or(Damaged)?;
            let amount = decode_varint(&mut bytes).map_err(|_| Damaged)?;
            cells.push(Cell {
                slot: Slot(slot),
                series,
                measure,
                amount,
            });
        }
    }
    Ok(cells.into_iter().collect())
}

fn small(bytes: &mut &[u8]) -> Result<u32, Damaged> {
    let number = decode_varint(bytes).map_err(|_| Damaged)?;
    u32::try_from(number).map_err(|_| Damaged)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usage::TokenType;

    #[test]
    fn cells_survive_and_damage_is_seen() {
        let cell = |slot, series, measure, amount| Cell {
            slot: Slot(slot),
            series: SeriesId(series),
            measure,
            amount,
        };
        let cells: Cells = [
            cell(5_900_000, 1, Measure::Sessions, 1),
            cell(5_900_000, 1, Measure::Tokens(TokenType::Input), 0),
            cell(5_900_000, 70_000, Measure::CostReported, u64::MAX),
            cell(u32::MAX, 2, Measure::UnpricedCalls, 3),
        ]
        .into_iter()
        .collect();
        let bytes = encode(&cells);
        assert_eq!(decode(&bytes), Ok(cells));
        assert_eq!(decode(&[]), Ok(Cells::default()));
        assert_eq!(decode(&bytes[..bytes.len() - 1]), Err(Damaged));
        assert_eq!(decode(&[1, 1, 1, 31, 1]), Err(Damaged));
    }
}
