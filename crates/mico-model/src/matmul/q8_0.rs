//! Products of 8-bit weights (`Q8_0`) with activations in 16-bit fixed point, for processors with AVX2.
//!
//! 32 neighbouring weights of an output share a scale, 128 activations of a row another one; products
//! and sums of 32 are whole numbers and exact. Activations are rounded as those of
//! [16-bit weights](super::fixed) are, so that nearly all of the error is the weights' own.

#![allow(
    clippy::inline_always,
    reason = "the body must be compiled inside the closure that enables the vector instructions"
)]

use std::arch::x86_64::{__m256, __m256i};

use half::f16;
use half::slice::HalfFloatSliceExt;
use pulp::cast;
use pulp::x86::V3;

use super::PANEL;
use super::fixed::{FixedBlock, PAIRS};
use super::tiles::{FileTile, Tile, VECTORS};

/// Weights that share a scale.
const PART: usize = 32;
/// Parts per tile.
const PARTS: usize = 2 * PAIRS / PART;
/// Pairs of weights that share a scale.
const STEPS: usize = PART / 2;

/// Four `Q8_0` blocks of every output of a panel.
#[derive(Debug, Clone)]
pub(crate) struct Q8_0Tile {
    /// Two neighbouring weights of every output.
    weights: [[[i8; 16]; VECTORS]; PAIRS],
    scales: [[f16; PANEL]; PARTS],
}

impl Tile for Q8_0Tile {
    const ZERO: Self =
        Self { weights: [[[0; 16]; VECTORS]; PAIRS], scales: [[f16::ZERO; PANEL]; PARTS] };
    const ROWS: usize = 4;
    type Activations = FixedBlock;
    /// The scales in f32; the weights are widened where they are read.
    type Spread = [[[f32; 8]; VECTORS]; PARTS];

    #[inline(always)]
    fn blank() -> Self::Spread {
        [[[0.0; 8]; VECTORS]; PARTS]
    }

    #[inline(always)]
    fn spread(&self, _: V3, out: &mut Self::Spread) {
        let wide = out.as_flattened_mut().as_flattened_mut();
        self.scales.as_flattened().convert_to_f32_slice(wide);
    }

    /// A product is at most `128 * 4095`, so that 32 of them stay below `2^31`.
    #[inline(always)]
    fn accumulate<const R: usize>(
        &self,
        simd: V3,
        scales: &Self::Spread,
        blocks: &[FixedBlock; R],
        lines: &mut [[f32; PANEL]; R],
        unit: usize,
    ) {
        // A length the compiler does not know: else it would unroll the loop and run out of registers.
        let steps = STEPS * unit;
        let (avx, avx2, fma) = (simd.avx, simd.avx2, simd.fma);
        let mut totals = [[avx._mm256_setzero_ps(); VECTORS]; R];
        for part in 0..PARTS {
            let mut sums = [[avx._mm256_setzero_si256(); VECTORS]; R];
            let weights = &self.weights[part * STEPS..][..steps];
            let values: [&[i32]; R] =
                std::array::from_fn(|r| &blocks[r].values[part * STEPS..][..steps]);
            for step in 0..steps {
                let weights: [__m256i; VECTORS] =
                    weights[step].map(|pairs| avx2._mm256_cvtepi8_epi16(cast(pairs)));
                for r in 0..R {
                    let values = avx._mm256_set1_epi32(values[r][step]);
                    for v in 0..VECTORS {
                        let products = avx2._mm256_madd_epi16(weights[v], values);
                        sums[r][v] = avx2._mm256_add_epi32(sums[r][v], products);
                    }
                }
            }
            for r in 0..R {
                for v in 0..VECTORS {
                    let sum = avx._mm256_cvtepi32_ps(sums[r][v]);
                    totals[r][v] = fma._mm256_fmadd_ps(sum, cast(scales[part][v]), totals[r][v]);
                }
            }
        }
        for r in 0..R {
            let scale = avx._mm256_set1_ps(blocks[r].scale);
            let mut line: [__m256; VECTORS] = cast(lines[r]);
            for v in 0..VECTORS {
                line[v] = fma._mm256_fmadd_ps(totals[r][v], scale, line[v]);
            }
            lines[r] = cast(line);
        }
    }
}

impl FileTile for Q8_0Tile {
    const FILE_WEIGHTS: usize = PART;
    /// The scale in half precision, weights.
    const FILE_BYTES: usize = 2 + PART;

    fn set(&mut self, lane: usize, blocks: &[u8]) {
        for (part, block) in blocks.chunks_exact(Self::FILE_BYTES).enumerate() {
            self.scales[part][lane] = f16::from_le_bytes([block[0], block[1]]);
            for (step, pair) in block[2..].as_chunks::<2>().0.iter().enumerate() {
                let place = self.weights[part * STEPS + step].as_flattened_mut();
                place[2 * lane..][..2].copy_from_slice(&pair.map(u8::cast_signed));
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
        check::<Q8_0Tile>(candle_core::quantized::GgmlDType::Q8_0, 4095);
    }
}
