//! Bounded reading of big-endian data: every length is checked against what is left.

/// The data end before what they announce, or announce what cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("malformed data")]
pub struct Malformed;

/// What is left of some bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(super) fn left(&self) -> usize {
        self.0.len()
    }

    pub(super) fn rest(&self) -> &'a [u8] {
        self.0
    }

    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(Malformed)?;
        self.0 = rest;
        Ok(*taken)
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.0.first().copied()
    }

    pub(super) fn u8(&mut self) -> Result<u8, Malformed> {
        self.array().map(|[byte]| byte)
    }

    pub(super) fn u16(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_be_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_be_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_be_bytes)
    }

    /// Unsigned LEB128 of at most 64 bits.
    pub(super) fn var_u64(&mut self) -> Result<u64, Malformed> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Malformed)
    }

    /// A `var` of at most 32 bits.
    pub(super) fn var_u32(&mut self) -> Result<u32, Malformed> {
        u32::try_from(self.var_u64()?).map_err(|_| Malformed)
    }

    /// A `var` that counts things of at least one byte each, all of which must be left.
    pub(super) fn count(&mut self) -> Result<usize, Malformed> {
        let count = self.var_u32()? as usize;
        if count > self.left() {
            return Err(Malformed);
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variable_lengths() {
        let mut bytes = Bytes::new(&[0x05, 0xac, 0x02, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x80]);
        assert_eq!(bytes.var_u32(), Ok(5));
        assert_eq!(bytes.var_u32(), Ok(300));
        assert_eq!(bytes.var_u32(), Ok(u32::MAX));
        assert_eq!(bytes.var_u32(), Err(Malformed));
    }

    #[test]
    fn a_count_cannot_exceed_what_is_left() {
        assert_eq!(Bytes::new(&[3, 0, 0]).count(), Err(Malformed));
        assert_eq!(Bytes::new(&[2, 0, 0]).count(), Ok(2));
        assert_eq!(Bytes::new(&[0xff; 11]).var_u64(), Err(Malformed));
    }
}
