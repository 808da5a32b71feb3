//! Activations quantised to 8 bits, for products with weights in blocks of a few bits each.

use super::tiles::{Rounded, VECTORS};

/// Values per block, which share a scale.
pub(super) const BLOCK: usize = 256;
/// Groups of four values per block.
pub(super) const GROUPS: usize = BLOCK / 4;
/// Weights of 256 values for each output of a panel, a byte each: group after group, in each the four
/// weights of every output.
pub(super) type Bytes = [[[u8; 32]; VECTORS]; GROUPS];
/// Values per partial sum: those whose 4-bit weights share a scale and a minimum. 6-bit weights share
/// a scale with half as many.
const PART: usize = 32;

/// 256 values of a row, `scale * values`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Q8Block {
    /// Four neighbouring values in the bytes of each word.
    pub(super) values: [i32; BLOCK / 4],
    /// Sums of 32 values, two neighbouring ones in the halves of each word.
    pub(super) sums: [i32; BLOCK / PART / 2],
    /// Sums of 16 values, likewise.
    pub(super) half_sums: [i32; BLOCK / PART],
    pub(super) scale: f32,
}

impl Rounded for Q8Block {
    const LEN: usize = BLOCK;
    const ZERO: Self = Self {
        values: [0; BLOCK / 4],
        sums: [0; BLOCK / PART / 2],
        half_sums: [0; BLOCK / PART],
        scale: 0.0,
    };

    /// The value furthest from zero becomes -128, so that all 256 steps are used. A block with a
    /// number that is not finite has no finite scale, and neither have the products with it.
    fn new(numbers: &[f32]) -> Self {
        /// Adding 1.5 * 2^23 leaves the nearest whole number in the low bits.
        const ROUND: f32 = 12_582_912.0;
        let mut padded = [0.0_f32; BLOCK];
        padded[..numbers.len()].copy_from_slice(numbers);
        let (mut low, mut high, mut nan) = (0.0_f32, 0.0_f32, 0.0_f32);
        for x in &padded {
            low = if *x < low { *x } else { low };
            high = if *x > high { *x } else { high };
            nan += *x * 0.0;
        }
        let furthest = if high > -low { high } else { low };
        if furthest == 0.0 {
            return Self { scale: nan, ..Self::ZERO };
        }
        let inverse = -128.0 / furthest;
        let mut bytes = [0_i8; BLOCK];
        for (byte, x) in bytes.iter_mut().zip(&padded) {
            *byte = ((x * inverse).min(127.0) + ROUND).to_bits() as i8;
        }
        let mut block = Self { scale: furthest / -128.0 + nan, ..Self::ZERO };
        for (word, bytes) in block.values.iter_mut().zip(bytes.as_chunks::<4>().0) {
            *word = i32::from_le_bytes(bytes.map(i8::cast_unsigned));
        }
        let mut sums = [0_i32; 2 * BLOCK / PART];
        for (sum, part) in sums.iter_mut().zip(bytes.as_chunks::<{ PART / 2 }>().0) {
            *sum = part.iter().map(|q| i32::from(*q)).sum();
        }
        for (word, pair) in block.half_sums.iter_mut().zip(sums.as_chunks().0) {
            *word = halves(*pair);
        }
        for (word, four) in block.sums.iter_mut().zip(sums.as_chunks::<4>().0) {
            *word = halves([four[0] + four[1], four[2] + four[3]]);
        }
        block
    }
}

/// Two 16-bit numbers in the halves of a word, the first one in the lower.
fn halves([first, second]: [i32; 2]) -> i32 {
    (second << 16) | (first & 0xffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unpack(block: &Q8Block) -> Vec<f32> {
        let bytes = block.values.iter().flat_map(|word| word.to_le_bytes());
        bytes.map(|byte| f32::from(byte.cast_signed()) * block.scale).collect()
    }

    #[test]
    fn numbers_come_back_within_half_a_step() {
        let numbers: [f32; BLOCK] = std::array::from_fn(|i| (i as f32 * 0.7).sin() * 3.0 - 0.5);
        let block = Q8Block::new(&numbers);
        for (found, x) in unpack(&block).iter().zip(numbers) {
            assert!((found - x).abs() <= block.scale.abs() * 0.51);
        }
        for (part, numbers) in unpack(&block).chunks_exact(PART).enumerate() {
            let word = block.sums[part / 2];
            let sum = if part % 2 == 0 { word as i16 } else { (word >> 16) as i16 };
            let expected: f32 = numbers.iter().sum();
            assert!((f32::from(sum) * block.scale - expected).abs() < 1e-3);
            let half = block.half_sums[part];
            assert_eq!(i32::from(half as i16) + (half >> 16), i32::from(sum));
        }
    }

    #[test]
    fn zeros_stay_zeros_and_numbers_that_are_not_finite_are_not_hidden() {
        assert_eq!(Q8Block::new(&[0.0; BLOCK]).scale, 0.0);
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut numbers = [1.0; BLOCK];
            numbers[7] = bad;
            assert!(!Q8Block::new(&numbers).scale.is_finite());
        }
    }
}
