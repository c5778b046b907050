//! Page positions and pages: nodes with the positions of their children, leaves with keys and values.

use std::borrow::Cow;
use std::io::Read;

use super::super::bytes::{Bytes, Malformed};
use super::{Format, LARGEST_PAGE, lzf, values};

/// Where a page lies: chunk id (26 bits), offset in the chunk (32), length code (5), type (1).
///
/// A page is never written again at the same place while its chunk lives, so that a position stands for
/// its contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(pub u64);

impl Position {
    /// The id of its chunk.
    pub fn chunk(self) -> u32 {
        (self.0 >> 38) as u32
    }

    pub(super) fn offset(self) -> u32 {
        (self.0 >> 6) as u32
    }

    pub(super) fn is_node(self) -> bool {
        self.0 & 1 == 1
    }

    /// Neither an empty map nor a removed page.
    pub(super) fn is_page(self) -> bool {
        self.0 > 1
    }

    /// The largest length that the page may have; `None`: the page itself says.
    pub fn largest(self) -> Option<usize> {
        match (self.0 >> 1) as usize & 31 {
            31 => None,
            code => Some((2 + (code & 1)) << ((code >> 1) + 4)),
        }
    }
}

/// A page's contents behind its header.
#[derive(Debug)]
pub(super) enum Page<'a> {
    Node(Vec<Position>),
    Leaf(Leaf<'a>),
}

/// A leaf page: keys, then values, in the encoding of the map's types.
#[derive(Debug)]
pub struct Leaf<'a> {
    /// How many keys there are, and as many values.
    pub count: usize,
    pub bytes: Cow<'a, [u8]>,
}

impl Leaf<'_> {
    /// Gives the serialised Java objects among the values; keys and other values are passed over.
    ///
    /// # Errors
    /// When the bytes derail: what was given before is sound.
    pub fn java_objects<'l>(&'l self, visit: &mut dyn FnMut(&'l [u8])) -> Result<(), Malformed> {
        values::java_objects(self, visit)
    }
}

/// The length that the first bytes of a page give.
pub(super) fn length(start: &[u8]) -> Result<usize, Malformed> {
    Ok(Bytes::new(start).u32()? as usize)
}

/// Reads the page at `position` from `bytes`, which begin with it and may go on behind it.
pub(super) fn read(
    bytes: &[u8],
    position: Position,
    format: Format,
    map: u32,
) -> Result<Page<'_>, Malformed> {
    let length = length(bytes)?;
    let mut page = Bytes::new(bytes.get(4..length).ok_or(Malformed)?);
    let check = page.u16()?;
    if check != check_value(position, length) {
        return Err(Malformed);
    }
    if format.has_page_numbers() {
        page.var_u32()?;
    }
    if page.var_u32()? != map {
        return Err(Malformed);
    }
    let count = page.var_u32()? as usize;
    let kind = page.u8()?;
    if (kind & 1 == 1) != position.is_node() {
        return Err(Malformed);
    }
    if position.is_node() {
        return children(page, count).map(Page::Node);
    }
    let bytes = match kind >> 1 & 3 {
        0 | 2 => Cow::Borrowed(page.rest()),
        compression => {
            let extra = page.var_u32()? as usize;
            let size = page.left().checked_add(extra).ok_or(Malformed)?;
            if size > LARGEST_PAGE {
                return Err(Malformed);
            }
            Cow::Owned(match compression {
                1 => lzf::expand(page.rest(), size)?,
                _ => inflate(page.rest(), size)?,
            })
        }
    };
    // A key and a value are at least one byte each.
    if count.saturating_mul(2) > bytes.len() {
        return Err(Malformed);
    }
    Ok(Page::Leaf(Leaf { count, bytes }))
}

fn children(mut page: Bytes<'_>, keys: usize) -> Result<Vec<Position>, Malformed> {
    let count = keys.checked_add(1).ok_or(Malformed)?;
    let size = count.checked_mul(8).ok_or(Malformed)?;
    let mut positions = Bytes::new(page.take(size)?);
    (0..count).map(|_| positions.u64().map(Position)).collect()
}

fn inflate(compressed: &[u8], size: usize) -> Result<Vec<u8>, Malformed> {
    // Deflate's best is about 1032 to 1: a larger claim is a lie, and isn't allocated.
    if size > compressed.len().saturating_mul(1033) {
        return Err(Malformed);
    }
    let mut bytes = vec![0; size];
    let mut decoder = flate2::read::ZlibDecoder::new(compressed);
    decoder.read_exact(&mut bytes).map_err(|_| Malformed)?;
    Ok(bytes)
}

fn check_value(position: Position, length: usize) -> u16 {
    let fold = |x: u32| ((x >> 16) ^ x) as u16;
    fold(position.chunk()) ^ fold(position.offset()) ^ fold(length as u32)
}

#[cfg(test)]
pub(super) fn check(chunk: u32, offset: u32, length: u32) -> u16 {
    let position = Position(u64::from(chunk) << 38 | u64::from(offset) << 6);
    check_value(position, length as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_position() {
        let position = Position(0x80_000a_1210);
        assert_eq!((position.chunk(), position.offset()), (2, 0x2848));
        assert_eq!(position.largest(), Some(512));
        assert!(!position.is_node());
        assert_eq!(Position(0x3e).largest(), None);
        assert_eq!(Position(0x3c).largest(), Some(2 << 19));
    }

    #[test]
    fn a_page_that_claims_too_much_is_refused() {
        let position = Position(1 << 38 | 0x3e);
        for bytes in [
            &[][..],
            &[0, 0, 0, 200, 0, 0],
            &[0, 0, 0, 3, 0, 0, 0, 0],
            &[0xff; 64],
        ] {
            assert!(read(bytes, position, Format::V3, 1).is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn deflate_gives_what_was_claimed_or_nothing() {
        let zeros = vec![0; 1 << 20];
        let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        std::io::Write::write_all(&mut packed, &zeros).unwrap();
        let packed = packed.finish().unwrap();
        // As dense as deflate gets, and still taken.
        assert!(zeros.len() / packed.len() > 1000);
        assert_eq!(inflate(&packed, zeros.len()), Ok(zeros));
        assert_eq!(inflate(&packed, 10).map(|bytes| bytes.len()), Ok(10));
        assert!(inflate(&packed, (1 << 20) + 1).is_err());
        assert!(inflate(&packed[..10], LARGEST_PAGE).is_err());
        assert!(inflate(&packed[1..], 10).is_err());
    }
}
