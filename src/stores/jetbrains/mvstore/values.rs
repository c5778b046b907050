//! H2's self-describing values: a tag, then what the tag says. Only the lengths matter here, and the
//! serialised Java objects in between.

use super::super::bytes::{Bytes, Malformed};
use super::page::Leaf;
use super::strings;

/// The deepest nesting of arrays.
const DEEPEST: u8 = 64;

/// Gives the serialised Java objects among the values of a leaf.
pub(super) fn java_objects<'l>(
    leaf: &'l Leaf<'_>,
    visit: &mut dyn FnMut(&'l [u8]),
) -> Result<(), Malformed> {
    let mut bytes = Bytes::new(&leaf.bytes);
    for _ in 0..leaf.count {
        value(&mut bytes, 0)?;
    }
    for _ in 0..leaf.count {
        if let Some(object) = value(&mut bytes, 0)? {
            visit(object);
        }
    }
    Ok(())
}

/// Reads one value; gives it if it is a serialised Java object.
fn value<'a>(bytes: &mut Bytes<'a>, depth: u8) -> Result<Option<&'a [u8]>, Malformed> {
    match bytes.u8()? {
        // null, booleans, and the numbers 0 and 1 of the larger types.
        0 | 1 | 32 | 37 | 38 | 40 | 41 | 43 | 44 | 46 | 47 | 64..=87 => {}
        2 => drop(bytes.u8()?),
        3 | 10 => drop(bytes.u16()?),
        34 | 42 => drop(bytes.u32()?),
        13 | 36 | 45 => drop(bytes.u64()?),
        12 => drop(bytes.take(16)?),
        4 | 5 | 7 | 8 | 33 | 35 | 39 | 48 => drop(bytes.var_u64()?),
        49 => {
            bytes.var_u32()?;
            bytes.var_u64()?;
        }
        6 => big(bytes)?,
        9 => {
            bytes.var_u32()?;
            big(bytes)?;
        }
        11 => {
            let count = bytes.count()?;
            strings::skip(bytes, count)?;
        }
        14 => array(bytes, depth)?,
        19 => {
            let length = bytes.count()?;
            return bytes.take(length).map(Some);
        }
        tag @ 88..=103 => strings::skip(bytes, usize::from(tag) - 88)?,
        tag @ 104..=119 => drop(bytes.take(usize::from(tag) - 104)?),
        _ => return Err(Malformed),
    }
    Ok(None)
}

fn big(bytes: &mut Bytes<'_>) -> Result<(), Malformed> {
    let length = bytes.count()?;
    bytes.take(length).map(drop)
}

/// The component's class (an index into H2's list of common ones, or 0xff and a name), the length, the items.
fn array(bytes: &mut Bytes<'_>, depth: u8) -> Result<(), Malformed> {
    if depth >= DEEPEST {
        return Err(Malformed);
    }
    let class = bytes.u8()?;
    if class == 0xff {
        let count = bytes.count()?;
        strings::skip(bytes, count)?;
    }
    let count = bytes.count()?;
    let width = match class {
        0 | 1 => 1,
        2 | 3 => 2,
        4 | 6 => 4,
        5 | 7 => 8,
        _ => {
            for _ in 0..count {
                value(bytes, depth + 1)?;
            }
            return Ok(());
        }
    };
    bytes
        .take(count.checked_mul(width).ok_or(Malformed)?)
        .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::borrow::Cow;

    /// Every kind of value, back to back.
    const ALL: &[&[u8]] = &[
        &[0],
        &[1],
        &[32],
        &[2, 9],
        &[3, 9, 9],
        &[4, 0xac, 0x02],
        &[33, 5],
        &[34, 0, 0, 0, 1],
        &[64],
        &[79],
        &[5, 0x80, 0x01],
        &[35, 1],
        &[36, 0, 0, 0, 0, 0, 0, 0, 1],
        &[80],
        &[87],
        &[7, 1],
        &[40],
        &[41],
        &[42, 0, 0, 0, 0],
        &[8, 1],
        &[43],
        &[44],
        &[45, 0, 0, 0, 0, 0, 0, 0, 0],
        &[6, 2, 1, 1],
        &[37],
        &[38],
        &[39, 3],
        &[9, 1, 2, 1, 1],
        &[46],
        &[47],
        &[48, 1],
        &[49, 1, 1],
        &[10, 0, 65],
        &[11, 2, 0xc3, 0x29, 65],
        &[88],
        &[90, 65, 66],
        &[12, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
        &[13, 0, 0, 0, 0, 0, 0, 0, 0],
        &[14, 4, 1, 0, 0, 0, 5],
        &[14, 19, 2, 88, 89, 65],
        &[14, 0xff, 1, 65, 1, 64],
        &[106, 1, 2],
        &[19, 3, 0xac, 0xed, 7],
    ];

    #[test]
    fn every_tag_has_its_length() {
        for (at, one) in ALL.iter().enumerate() {
            let mut bytes = Bytes::new(one);
            value(&mut bytes, 0).unwrap();
            assert_eq!(bytes.left(), 0, "value {at}");
        }
    }

    #[test]
    fn objects_are_found_behind_all_other_values() {
        let keys = ALL.concat();
        let bytes = [keys.clone(), keys].concat();
        let leaf = Leaf {
            count: ALL.len(),
            bytes: Cow::Owned(bytes),
        };
        let mut found = Vec::new();
        java_objects(&leaf, &mut |object| found.push(object.to_vec())).unwrap();
        assert_eq!(found, [[0xac, 0xed, 7]], "the key isn't a value");
    }

    #[test]
    fn nested_arrays_are_bounded() {
        let bytes = [14, 8, 1].repeat(10_000);
        assert_eq!(value(&mut Bytes::new(&bytes), 0), Err(Malformed));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, count in 0usize..20) {
            let leaf = Leaf { count, bytes: Cow::Owned(bytes) };
            let _ = java_objects(&leaf, &mut |_| {});
        }
    }
}
