//! Packed matrices in 16-bit fixed point and their product kernel, for processors with AVX2.
//!
//! 128 neighbouring weights of an output share a scale, and so do 128 activations of a row; both
//! are rounded to 13 bits. Products and sums of such a block are whole numbers and exact. That is
//! the precision of half-precision floats and takes half the instructions of f32.

#![allow(
    clippy::inline_always,
    reason = "the body must be compiled inside the closure that enables the vector instructions"
)]

use std::arch::x86_64::{__m256, __m256i};

use pulp::cast;
use pulp::x86::V3;

use super::PANEL;
use super::tiles::{Rounded, Tile, TiledMatrix, VECTORS};

/// Values per block, which share a scale.
const BLOCK: usize = 128;
/// Pairs of values per block.
pub(super) const PAIRS: usize = BLOCK / 2;
/// The largest rounded value: 128 products of two such values stay below `2^31`.
const LARGEST: f32 = 4095.0;

/// 128 values, `scale * values`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FixedBlock {
    /// Two neighbouring values in the halves of each word.
    pub(super) values: [i32; PAIRS],
    pub(super) scale: f32,
}

impl Rounded for FixedBlock {
    const LEN: usize = BLOCK;
    const ZERO: Self = Self { values: [0; PAIRS], scale: 0.0 };

    /// Rounds at most [`BLOCK`] values. A block with a value that is not finite gets a scale that is
    /// not finite, and so do products with it.
    fn new(numbers: &[f32]) -> Self {
        /// Adding 1.5 * 2^23 leaves the nearest whole number in the low bits.
        const ROUND: f32 = 12_582_912.0;
        let mut padded = [0.0_f32; BLOCK];
        padded[..numbers.len()].copy_from_slice(numbers);
        let (mut size, mut nan) = (0.0_f32, 0.0_f32);
        for x in padded {
            size = if x.abs() > size { x.abs() } else { size };
            nan += x * 0.0;
        }
        if size == 0.0 {
            return Self { scale: nan, ..Self::ZERO };
        }
        let inverse = LARGEST / size;
        let mut block = Self { scale: size / LARGEST + nan, ..Self::ZERO };
        for (word, pair) in block.values.iter_mut().zip(padded.as_chunks::<2>().0) {
            let [first, second] = pair.map(|x| (x * inverse + ROUND).to_bits());
            *word = ((first & 0xffff) | (second << 16)).cast_signed();
        }
        block
    }
}

/// One block of every output of a panel.
#[derive(Debug, Clone)]
#[repr(align(32))]
pub(crate) struct FixedTile {
    values: [[[i32; 8]; VECTORS]; PAIRS],
    scales: [[f32; 8]; VECTORS],
}

impl FixedTile {
    /// Stores the block of one output.
    fn set(&mut self, lane: usize, block: &FixedBlock) {
        for (words, value) in self.values.iter_mut().zip(block.values) {
            words.as_flattened_mut()[lane] = value;
        }
        self.scales.as_flattened_mut()[lane] = block.scale;
    }
}

impl TiledMatrix<FixedTile> {
    /// Whether the processor has the instructions (AVX2 and FMA).
    pub(super) fn runs() -> bool {
        V3::try_new().is_some()
    }

    /// Packs a row-major matrix whose rows have `input` values, rounded; `None` if the processor lacks
    /// the instructions.
    pub(super) fn round(weights: &[f32], input: usize) -> Option<Self> {
        let output = weights.len().checked_div(input).unwrap_or(0);
        Some(Self::build(V3::try_new()?, (output, input), |tile, lane, row, at| {
            let row = &weights[row * input..][..input];
            let part = at * BLOCK..((at + 1) * BLOCK).min(input);
            tile.set(lane, &FixedBlock::new(&row[part]));
        }))
    }
}

impl Tile for FixedTile {
    const ZERO: Self = Self { values: [[[0; 8]; VECTORS]; PAIRS], scales: [[0.0; 8]; VECTORS] };
    /// With two vectors of columns the sums take twelve of sixteen registers.
    const ROWS: usize = 6;
    type Activations = FixedBlock;
    /// The kernel reads the tile as it is.
    type Spread = ();

    #[inline(always)]
    fn blank() {}

    #[inline(always)]
    fn spread(&self, _: V3, (): &mut ()) {}

    #[inline(always)]
    fn accumulate<const R: usize>(
        &self,
        simd: V3,
        (): &(),
        blocks: &[FixedBlock; R],
        lines: &mut [[f32; PANEL]; R],
        _: usize,
    ) {
        let (avx, avx2, fma) = (simd.avx, simd.avx2, simd.fma);
        let mut sums = [[avx._mm256_setzero_si256(); VECTORS]; R];
        for pair in 0..PAIRS {
            let weights: [__m256i; VECTORS] = cast(self.values[pair]);
            for r in 0..R {
                let values = avx._mm256_set1_epi32(blocks[r].values[pair]);
                for v in 0..VECTORS {
                    let products = avx2._mm256_madd_epi16(weights[v], values);
                    sums[r][v] = avx2._mm256_add_epi32(sums[r][v], products);
                }
            }
        }
        let scales: [__m256; VECTORS] = cast(self.scales);
        for r in 0..R {
            let scale = avx._mm256_set1_ps(blocks[r].scale);
            let mut line: [__m256; VECTORS] = cast(lines[r]);
            for v in 0..VECTORS {
                let value = avx._mm256_mul_ps(avx._mm256_cvtepi32_ps(sums[r][v]), scale);
                line[v] = fma._mm256_fmadd_ps(value, scales[v], line[v]);
            }
            lines[r] = cast(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(count: usize, seed: u32) -> Vec<f32> {
        let mut state = seed | 1;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / 8_388_608.0 - 1.0
        };
        (0..count).map(|_| next()).collect()
    }

    fn product(weights: &[f32], input: usize, x: &[f32]) -> Option<Vec<f32>> {
        Some(TiledMatrix::round(weights, input)?.product(x, &|_, _, _| {}))
    }

    #[test]
    fn products_are_as_close_as_half_precision() {
        for (rows, input, output) in
            [(1, 1, 1), (3, 127, 5), (7, 128, 16), (13, 129, 65), (100, 300, 70), (2, 1024, 33)]
        {
            let (weights, x) = (noise(output * input, 3), noise(rows * input, 5));
            let Some(found) = product(&weights, input, &x) else { return };
            assert_eq!(found.len(), rows * output);
            for (row, out) in x.chunks_exact(input).zip(found.chunks_exact(output)) {
                for (weights, out) in weights.chunks_exact(input).zip(out) {
                    let pairs = || row.iter().zip(weights);
                    let exact: f64 = pairs().map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
                    let size = |values: &[f32]| {
                        values.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt()
                    };
                    let error = (f64::from(*out) - exact).abs();
                    assert!(error <= 5e-4 * size(row) * size(weights), "{error} of {exact}");
                }
            }
        }
    }

    #[test]
    fn a_row_does_not_depend_on_the_others() {
        let (input, output, rows) = (260, 40, 29);
        let (weights, x) = (noise(output * input, 3), noise(rows * input, 5));
        let Some(all) = product(&weights, input, &x) else { return };
        for count in 1..=17 {
            assert_eq!(
                product(&weights, input, &x[..count * input]).unwrap(),
                all[..count * output]
            );
        }
        for row in [0, 5, 12, 28] {
            let alone = product(&weights, input, &x[row * input..][..input]).unwrap();
            assert_eq!(alone, all[row * output..][..output]);
        }
    }

    #[test]
    fn what_is_not_finite_stays_visible() {
        let weights = noise(4 * 130, 3);
        let mut x = noise(130, 5);
        x[129] = f32::NAN;
        let Some(found) = product(&weights, 130, &x) else { return };
        assert!(found.iter().all(|value| value.is_nan()));
        assert_eq!(product(&weights, 130, &[0.0; 130]).unwrap(), [0.0; 4]);
    }
}
