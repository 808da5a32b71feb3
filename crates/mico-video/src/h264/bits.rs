//! Bit-level reader and writer for H.264 parameter sets.

use std::ops::Range;

/// Reads bits, most significant first; every method returns `None` at the end of the data.
#[derive(Debug)]
pub(super) struct Bits {
    bytes: Vec<u8>,
    at: usize,
}

impl Bits {
    /// Starts at the payload of a NAL unit, with emulation prevention bytes removed.
    pub(super) fn new(payload: &[u8]) -> Self {
        let mut bytes = Vec::with_capacity(payload.len());
        let mut zeros = 0;
        for &byte in payload {
            if zeros >= 2 && byte == 3 {
                zeros = 0;
                continue;
            }
            zeros = if byte == 0 { zeros + 1 } else { 0 };
            bytes.push(byte);
        }
        Self { bytes, at: 0 }
    }

    /// The number of bits read so far.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    fn bit(&self, at: usize) -> Option<bool> {
        let byte = self.bytes.get(at / 8)?;
        Some(byte >> (7 - at % 8) & 1 == 1)
    }

    pub(super) fn flag(&mut self) -> Option<bool> {
        let bit = self.bit(self.at)?;
        self.at += 1;
        Some(bit)
    }

    /// An unsigned number of `count` bits, at most 32.
    pub(super) fn number(&mut self, count: u32) -> Option<u32> {
        let mut value = 0;
        for _ in 0..count {
            value = value << 1 | u32::from(self.flag()?);
        }
        Some(value)
    }

    /// An unsigned number in Exp-Golomb code (`ue(v)` in the standard).
    pub(super) fn unsigned(&mut self) -> Option<u32> {
        let mut zeros = 0;
        while !self.flag()? {
            zeros += 1;
            if zeros > 31 {
                return None;
            }
        }
        let rest = u64::from(self.number(zeros)?);
        u32::try_from((1u64 << zeros) - 1 + rest).ok()
    }

    /// A signed number in Exp-Golomb code (`se(v)` in the standard).
    pub(super) fn signed(&mut self) -> Option<i64> {
        let code = i64::from(self.unsigned()?);
        Some(if code % 2 == 1 { (code + 1) / 2 } else { -(code / 2) })
    }
}

/// Writes bits, most significant first.
#[derive(Debug, Default)]
pub(super) struct BitWriter(Vec<bool>);

impl BitWriter {
    pub(super) fn flag(mut self, flag: bool) -> Self {
        self.0.push(flag);
        self
    }

    /// Writes an unsigned number of `count` bits.
    pub(super) fn number(mut self, value: u64, count: u32) -> Self {
        self.0.extend((0..count).rev().map(|bit| value >> bit & 1 == 1));
        self
    }

    /// Writes an unsigned number in Exp-Golomb code.
    pub(super) fn unsigned(self, value: u32) -> Self {
        let code = u64::from(value) + 1;
        let length = u64::BITS - code.leading_zeros();
        self.number(code, 2 * length - 1)
    }

    /// Copies a range of bits from a reader.
    pub(super) fn copy(mut self, bits: &Bits, range: Range<usize>) -> Self {
        self.0.extend(range.filter_map(|at| bits.bit(at)));
        self
    }

    /// The bits as a NAL unit with the given header byte and a stop bit at the end.
    pub(super) fn into_unit(self, header: u8) -> Vec<u8> {
        let bits = self.flag(true).0;
        let mut unit = vec![header];
        for eight in bits.chunks(8) {
            let byte = (0..8).fold(0, |byte, at| {
                byte << 1 | u8::from(eight.get(at).copied().unwrap_or_default())
            });
            // Inserts an emulation prevention byte, so that no start code appears in the payload.
            if unit.ends_with(&[0, 0]) && byte <= 3 {
                unit.push(3);
            }
            unit.push(byte);
        }
        unit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_golomb() {
        // 1 | 010 | 011 | 00100 | 00101
        let mut bits = Bits::new(&[0b1010_0110, 0b0100_0010, 0b1000_0000]);
        assert_eq!([0; 4].map(|_| bits.unsigned().unwrap()), [0, 1, 2, 3]);
        assert_eq!(bits.signed(), Some(-2));
        assert_eq!(Bits::new(&[0; 8]).unsigned(), None);
        assert_eq!(Bits::new(&[]).flag(), None);
    }

    #[test]
    fn bytes_that_keep_start_codes_out_are_dropped() {
        let mut bits = Bits::new(&[0, 0, 3, 1, 0, 0, 3, 0, 0, 3]);
        assert_eq!(bits.number(24), Some(1));
        assert_eq!(bits.number(32), Some(0));
        assert_eq!(bits.flag(), None);
    }

    #[test]
    fn what_is_written_is_read() {
        let numbers = [0, 1, 7, 255, 70_000, u32::MAX - 1];
        let writer = numbers.into_iter().fold(BitWriter::default(), BitWriter::unsigned);
        let unit = writer.number(0, 40).into_unit(0x67);
        assert!(!unit.windows(3).any(|three| matches!(three, [0, 0, 0..=2])));
        let mut bits = Bits::new(&unit[1..]);
        assert_eq!(numbers.map(|_| bits.unsigned().unwrap()), numbers);
        let copied = BitWriter::default().copy(&bits, 0..bits.position()).into_unit(0x67);
        assert!(unit.starts_with(&copied[..copied.len() - 1]));
    }
}
