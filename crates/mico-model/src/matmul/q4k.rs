//! Products of 4-bit weights (`Q4K`) with 8-bit activations, for processors with AVX2.
//!
//! A block of 256 weights of an output has eight parts of 32; weight `i` of part `s` is
//! `d a_s q_i - e b_s` with 4-bit `q`, 6-bit `a`, `b` and one pair `d`, `e` for the block. Against
//! activations `f y_i` the block adds `f (d sum_s a_s sum_i q_i y_i - e sum_s b_s sum_i y_i)`: all
//! sums are whole numbers and exact, and only their combination is rounded.

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

/// Parts per block, each with its own scale and minimum.
const PARTS: usize = 8;
/// Groups of four weights that share a part's scale and minimum.
const STEPS: usize = GROUPS / PARTS;

/// One `Q4K` block of every output of a panel.
#[derive(Debug, Clone)]
pub(crate) struct Q4kTile {
    /// Group `g` of all outputs in the low halves, group `g + 32` in the high halves.
    weights: [[[u8; 32]; VECTORS]; GROUPS / 2],
    scales: [[u8; PANEL]; PARTS],
    minima: [[u8; PANEL]; PARTS],
    d: [f32; PANEL],
    e: [f32; PANEL],
}

/// A tile expanded to the layout the kernel reads.
#[derive(Clone)]
#[repr(align(32))]
pub(crate) struct Spread {
    weights: Bytes,
    /// Scale of each output in both halves of a word, for one part after the other.
    scales: [Words; PARTS],
    /// Minima of two neighbouring parts in the halves of a word for each output.
    minima: [Words; PARTS / 2],
    d: [[f32; 8]; VECTORS],
    e: [[f32; 8]; VECTORS],
}

impl Tile for Q4kTile {
    const ZERO: Self = Self {
        weights: [[[0; 32]; VECTORS]; GROUPS / 2],
        scales: [[0; PANEL]; PARTS],
        minima: [[0; PANEL]; PARTS],
        d: [0.0; PANEL],
        e: [0.0; PANEL],
    };
    const ROWS: usize = 4;
    type Activations = Q8Block;
    type Spread = Spread;

    #[inline(always)]
    fn blank() -> Spread {
        Spread {
            weights: [[[0; 32]; VECTORS]; GROUPS],
            scales: [[[0; 8]; VECTORS]; PARTS],
            minima: [[[0; 8]; VECTORS]; PARTS / 2],
            d: [[0.0; 8]; VECTORS],
            e: [[0.0; 8]; VECTORS],
        }
    }

    #[inline(always)]
    fn spread(&self, simd: V3, out: &mut Spread) {
        let (avx2, mask) = (simd.avx2, simd.avx._mm256_set1_epi8(15));
        let (low, high) = out.weights.split_at_mut(GROUPS / 2);
        let (low, high) = (low.as_flattened_mut(), high.as_flattened_mut());
        for ((low, high), both) in low.iter_mut().zip(high).zip(self.weights.as_flattened()) {
            let both: __m256i = cast(*both);
            *low = cast(avx2._mm256_and_si256(both, mask));
            *high = cast(avx2._mm256_and_si256(avx2._mm256_srli_epi16::<4>(both), mask));
        }
        for (words, scales) in out.scales.iter_mut().zip(&self.scales) {
            for (word, scale) in words.as_flattened_mut().iter_mut().zip(scales) {
                *word = u32::from(*scale) * 0x1_0001;
            }
        }
        for (words, [first, second]) in out.minima.iter_mut().zip(self.minima.as_chunks().0) {
            for (word, (first, second)) in
                words.as_flattened_mut().iter_mut().zip(first.iter().zip(second))
            {
                *word = u32::from(*first) | (u32::from(*second) << 16);
            }
        }
        out.d = cast(self.d);
        out.e = cast(self.e);
    }

    /// A product of a weight and an activation is at most `15 * 128`, so the sixteen of them that meet
    /// in a 16-bit lane stay below `2^15`; a part times its scale is at most `32 * 15 * 128 * 63`, so
    /// eight of them stay below `2^31`.
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
        let steps = STEPS * unit;
        let (avx, avx2, fma) = (simd.avx, simd.avx2, simd.fma);
        let zero = avx._mm256_setzero_si256();
        let mut totals = [[zero; VECTORS]; R];
        for part in 0..PARTS {
            let mut sums = [[zero; VECTORS]; R];
            let weights = &tile.weights[part * STEPS..][..steps];
            let values: [&[i32]; R] =
                std::array::from_fn(|r| &blocks[r].values[part * STEPS..][..steps]);
            for step in 0..steps {
                let weights: [__m256i; VECTORS] = weights[step].map(cast);
                for r in 0..R {
                    let values = avx._mm256_set1_epi32(values[r][step]);
                    for v in 0..VECTORS {
                        let products = avx2._mm256_maddubs_epi16(weights[v], values);
                        sums[r][v] = avx2._mm256_add_epi16(sums[r][v], products);
                    }
                }
            }
            let scales: [__m256i; VECTORS] = tile.scales[part].map(cast);
            for r in 0..R {
                for v in 0..VECTORS {
                    let scaled = avx2._mm256_madd_epi16(sums[r][v], scales[v]);
                    totals[r][v] = avx2._mm256_add_epi32(totals[r][v], scaled);
                }
            }
        }
        for r in 0..R {
            let scale = avx._mm256_set1_ps(blocks[r].scale);
            let mut line: [__m256; VECTORS] = cast(lines[r]);
            for v in 0..VECTORS {
                let mut minima = zero;
                for pair in 0..PARTS / 2 {
                    let sums = avx._mm256_set1_epi32(blocks[r].sums[pair]);
                    let product = avx2._mm256_madd_epi16(cast(tile.minima[pair][v]), sums);
                    minima = avx2._mm256_add_epi32(minima, product);
                }
                let (d, e): (__m256, __m256) = (cast(tile.d[v]), cast(tile.e[v]));
                let minima = avx._mm256_mul_ps(avx._mm256_cvtepi32_ps(minima), e);
                let value = fma._mm256_fmsub_ps(avx._mm256_cvtepi32_ps(totals[r][v]), d, minima);
                line[v] = fma._mm256_fmadd_ps(value, scale, line[v]);
            }
            lines[r] = cast(line);
        }
    }
}

impl FileTile for Q4kTile {
    const FILE_WEIGHTS: usize = BLOCK;
    /// `d` and `e` in half precision, scales and minima in 12 bytes, weights.
    const FILE_BYTES: usize = 144;

    fn set(&mut self, lane: usize, block: &[u8]) {
        let half = |at: usize| half::f16::from_le_bytes([block[at], block[at + 1]]).to_f32();
        (self.d[lane], self.e[lane]) = (half(0), half(2));
        let packed = &block[4..16];
        for part in 0..4 {
            self.scales[part][lane] = packed[part] & 63;
            self.minima[part][lane] = packed[part + 4] & 63;
            self.scales[part + 4][lane] = (packed[part + 8] & 15) | (packed[part] >> 6 << 4);
            self.minima[part + 4][lane] = (packed[part + 8] >> 4) | (packed[part + 4] >> 6 << 4);
        }
        // 32 bytes hold two parts: the even one in their low halves, the odd one in the high ones.
        let weight = |i: usize| {
            let byte = block[16 + i / 64 * 32 + i % 32];
            if (i / 32).is_multiple_of(2) { byte & 15 } else { byte >> 4 }
        };
        for group in 0..GROUPS / 2 {
            for i in 0..4 {
                let at = lane * 4 + i;
                let (low, high) = (weight(group * 4 + i), weight(BLOCK / 2 + group * 4 + i));
                self.weights[group][at / 32][at % 32] = low | (high << 4);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matmul::tiles::tests::check;

    #[test]
    fn products_agree_and_rows_are_independent() {
        check::<Q4kTile>(candle_core::quantized::GgmlDType::Q4K, 128);
    }
}
