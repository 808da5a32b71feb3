//! Products of 6-bit weights (`Q6K`) with 8-bit activations, for processors with AVX2.
//!
//! A block of 256 weights of an output has sixteen parts of 16; weight `i` of part `s` is
//! `d a_s (q_i - 32)` with 6-bit `q`, 8-bit `a` and one `d` for the block. Against activations `f y_i`
//! the block adds `f d sum_s a_s (sum_i q_i y_i - 32 sum_i y_i)`: all sums are whole numbers and exact,
//! and only their combination is rounded.

#![allow(
    clippy::inline_always,
    reason = "the body must be compiled inside the closure that enables the vector instructions"
)]

use std::arch::x86_64::{__m256, __m256i};

use pulp::cast;
use pulp::x86::V3;

use super::PANEL;
use super::q8::{BLOCK, Bytes, GROUPS, Q8Block};
use super::tiles::{FileTile, Tile, VECTORS, Words};

/// Parts per block, each with its own scale.
const PARTS: usize = 16;
/// Groups of four weights that share a part's scale.
const STEPS: usize = GROUPS / PARTS;
/// The binary logarithm of what is subtracted from a stored weight.
const OFFSET_BITS: i32 = 5;
/// Where a block's high bits, scales and factor begin in the file format.
const HIGH: usize = BLOCK / 2;
const SCALES: usize = HIGH + BLOCK / 4;
const FACTOR: usize = SCALES + PARTS;

/// One `Q6K` block of every output of a panel.
#[derive(Debug, Clone)]
pub(crate) struct Q6kTile {
    /// Four bits of group `g` of all outputs in the low halves, of group `g + 32` in the high halves.
    low: [[[u8; 32]; VECTORS]; GROUPS / 2],
    /// The two bits above them of groups `g`, `g + 16`, `g + 32` and `g + 48`, from the lowest on.
    high: [[[u8; 32]; VECTORS]; GROUPS / 4],
    scales: [[i8; PANEL]; PARTS],
    d: [f32; PANEL],
}

/// A tile expanded to the layout the kernel reads.
#[derive(Clone)]
#[repr(align(32))]
pub(crate) struct Spread {
    weights: Bytes,
    /// Scale of each output in both halves of a word, for one part after the other.
    scales: [Words; PARTS],
    /// Scales of two neighbouring parts in the halves of a word for each output.
    pairs: [Words; PARTS / 2],
    d: [[f32; 8]; VECTORS],
}

/// Weight `i` of a block in file format, 0 to 63. Half a block has four quarters of 32 weights: the
/// low bits of the first two in the low halves of 64 bytes, of the others in the high halves; the
/// high bits of all four in each of 32 bytes.
fn weight(block: &[u8], i: usize) -> u8 {
    let (half, quarter, j) = (i / 128, i % 128 / 32, i % 32);
    let low = block[half * 64 + quarter % 2 * 32 + j] >> (quarter / 2 * 4) & 15;
    let high = block[HIGH + half * 32 + j] >> (quarter * 2) & 3;
    low | (high << 4)
}

impl Tile for Q6kTile {
    const ZERO: Self = Self {
        low: [[[0; 32]; VECTORS]; GROUPS / 2],
        high: [[[0; 32]; VECTORS]; GROUPS / 4],
        scales: [[0; PANEL]; PARTS],
        d: [0.0; PANEL],
    };
    const ROWS: usize = 4;
    type Activations = Q8Block;
    type Spread = Spread;

    #[inline(always)]
    fn blank() -> Spread {
        Spread {
            weights: [[[0; 32]; VECTORS]; GROUPS],
            scales: [[[0; 8]; VECTORS]; PARTS],
            pairs: [[[0; 8]; VECTORS]; PARTS / 2],
            d: [[0.0; 8]; VECTORS],
        }
    }

    #[inline(always)]
    fn spread(&self, simd: V3, out: &mut Spread) {
        const QUARTER: usize = GROUPS / 4;
        let (avx, avx2) = (simd.avx, simd.avx2);
        let (nibble, bits) = (avx._mm256_set1_epi8(15), avx._mm256_set1_epi8(0x30));
        for group in 0..QUARTER {
            for v in 0..VECTORS {
                let first: __m256i = cast(self.low[group][v]);
                let second: __m256i = cast(self.low[group + QUARTER][v]);
                let high: __m256i = cast(self.high[group][v]);
                let join = |low: __m256i, high: __m256i| -> [u8; 32] {
                    let low = avx2._mm256_and_si256(low, nibble);
                    cast(avx2._mm256_or_si256(low, avx2._mm256_and_si256(high, bits)))
                };
                let upper = |low: __m256i| avx2._mm256_srli_epi16::<4>(low);
                let places = &mut out.weights;
                places[group][v] = join(first, avx2._mm256_slli_epi16::<4>(high));
                places[group + QUARTER][v] = join(second, avx2._mm256_slli_epi16::<2>(high));
                places[group + 2 * QUARTER][v] = join(upper(first), high);
                places[group + 3 * QUARTER][v] =
                    join(upper(second), avx2._mm256_srli_epi16::<2>(high));
            }
        }
        let half_word = |scale: i8| u32::from(i16::from(scale).cast_unsigned());
        for (words, scales) in out.scales.iter_mut().zip(&self.scales) {
            for (word, scale) in words.as_flattened_mut().iter_mut().zip(scales) {
                *word = half_word(*scale) * 0x1_0001;
            }
        }
        for (words, [first, second]) in out.pairs.iter_mut().zip(self.scales.as_chunks().0) {
            for (word, (first, second)) in
                words.as_flattened_mut().iter_mut().zip(first.iter().zip(second))
            {
                *word = half_word(*first) | (half_word(*second) << 16);
            }
        }
        out.d = cast(self.d);
    }

    /// A product of a stored weight and an activation is at most `63 * 128`, so the four of them that
    /// meet in a 16-bit lane in two steps stay below `2^15`; a part times its scale is at most
    /// `16 * 63 * 128 * 128`, so sixteen of them stay below `2^31`, with what is subtracted.
    #[inline(always)]
    fn accumulate<const R: usize>(
        &self,
        simd: V3,
        tile: &Spread,
        blocks: &[Q8Block; R],
        lines: &mut [[f32; PANEL]; R],
        unit: usize,
    ) {
        // A length the compiler does not know: else it would unroll the loop and run out of registers.
        let parts = PARTS * unit;
        let (avx, avx2, fma) = (simd.avx, simd.avx2, simd.fma);
        let zero = avx._mm256_setzero_si256();
        let mut totals = [[zero; VECTORS]; R];
        let weights = tile.weights.as_chunks::<STEPS>().0;
        let values: [&[[i32; STEPS]]; R] =
            std::array::from_fn(|r| &blocks[r].values.as_chunks::<STEPS>().0[..parts]);
        for (part, (weights, scales)) in weights.iter().zip(&tile.scales).take(parts).enumerate() {
            for step in (0..STEPS).step_by(2) {
                for r in 0..R {
                    let [first, second] =
                        [0, 1].map(|at| avx._mm256_set1_epi32(values[r][part][step + at]));
                    for v in 0..VECTORS {
                        let (one, two) = (cast(weights[step][v]), cast(weights[step + 1][v]));
                        let sum = avx2._mm256_add_epi16(
                            avx2._mm256_maddubs_epi16(one, first),
                            avx2._mm256_maddubs_epi16(two, second),
                        );
                        let scaled = avx2._mm256_madd_epi16(sum, cast(scales[v]));
                        totals[r][v] = avx2._mm256_add_epi32(totals[r][v], scaled);
                    }
                }
            }
        }
        for r in 0..R {
            let scale = avx._mm256_set1_ps(blocks[r].scale);
            let mut line: [__m256; VECTORS] = cast(lines[r]);
            for v in 0..VECTORS {
                let mut offset = zero;
                for pair in 0..PARTS / 2 {
                    let sums = avx._mm256_set1_epi32(blocks[r].half_sums[pair]);
                    let product = avx2._mm256_madd_epi16(cast(tile.pairs[pair][v]), sums);
                    offset = avx2._mm256_add_epi32(offset, product);
                }
                let offset = avx2._mm256_slli_epi32::<OFFSET_BITS>(offset);
                let total = avx._mm256_cvtepi32_ps(avx2._mm256_sub_epi32(totals[r][v], offset));
                let value = avx._mm256_mul_ps(total, cast(tile.d[v]));
                line[v] = fma._mm256_fmadd_ps(value, scale, line[v]);
            }
            lines[r] = cast(line);
        }
    }
}

impl FileTile for Q6kTile {
    const FILE_WEIGHTS: usize = BLOCK;
    /// Weights, scales, and `d` in half precision.
    const FILE_BYTES: usize = FACTOR + 2;

    fn set(&mut self, lane: usize, block: &[u8]) {
        self.d[lane] = half::f16::from_le_bytes([block[FACTOR], block[FACTOR + 1]]).to_f32();
        for (scales, scale) in self.scales.iter_mut().zip(&block[SCALES..FACTOR]) {
            scales[lane] = scale.cast_signed();
        }
        for i in 0..BLOCK {
            let (group, at, weight) = (i / 4, lane * 4 + i % 4, weight(block, i));
            let low = &mut self.low[group % (GROUPS / 2)][at / 32][at % 32];
            *low |= (weight & 15) << (group / (GROUPS / 2) * 4);
            let high = &mut self.high[group % (GROUPS / 4)][at / 32][at % 32];
            *high |= (weight >> 4) << (group / (GROUPS / 4) * 2);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matmul::tiles::tests::check;

    #[test]
    fn products_agree_and_rows_are_independent() {
        check::<Q6kTile>(candle_core::quantized::GgmlDType::Q6K, 128);
    }
}
