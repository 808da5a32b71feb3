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
use rayon::prelude::*;

use super::{Finish, PANEL, PANELS, Sums, by_slabs, by_strips};

/// Values per block, which share a scale.
const BLOCK: usize = 128;
/// Pairs of values per block.
const PAIRS: usize = BLOCK / 2;
/// The largest rounded value: 128 products of two such values stay below `2^31`.
const LARGEST: f32 = 4095.0;
/// Vectors that hold one pair of values for each output of a panel.
const VECTORS: usize = PANEL / 8;
/// Rows of a register block: with two vectors of columns its sums take twelve of sixteen registers.
const ROWS: usize = 6;

/// 128 values, `scale * values`.
#[derive(Debug, Clone, Copy)]
struct Block {
    /// Two neighbouring values in the halves of each word.
    values: [i32; PAIRS],
    scale: f32,
}

impl Block {
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
struct Tile {
    values: [[[i32; 8]; VECTORS]; PAIRS],
    scales: [[f32; 8]; VECTORS],
}

impl Tile {
    const ZERO: Self = Self { values: [[[0; 8]; VECTORS]; PAIRS], scales: [[0.0; 8]; VECTORS] };

    /// Stores the block of one output.
    fn set(&mut self, lane: usize, block: &Block) {
        for (words, value) in self.values.iter_mut().zip(block.values) {
            words.as_flattened_mut()[lane] = value;
        }
        self.scales.as_flattened_mut()[lane] = block.scale;
    }
}

/// A matrix `[output, input]`, kept as panels of [`PANEL`] outputs.
#[derive(Debug)]
pub(crate) struct FixedMatrix {
    /// For each panel one tile after the other along the input.
    tiles: Vec<Tile>,
    input: usize,
    output: usize,
    simd: V3,
}

impl FixedMatrix {
    /// Bytes that a packed matrix of that shape takes.
    pub(super) const fn bytes_of(output: usize, input: usize) -> usize {
        output.div_ceil(PANEL) * input.div_ceil(BLOCK) * size_of::<Tile>()
    }

    /// Whether the processor has the instructions (AVX2 and FMA).
    pub(super) fn runs() -> bool {
        V3::try_new().is_some()
    }

    /// Packs a row-major matrix whose rows have `input` values; `None` if the processor lacks the
    /// instructions.
    pub(super) fn pack(weights: &[f32], input: usize) -> Option<Self> {
        let simd = V3::try_new()?;
        let output = weights.len().checked_div(input).unwrap_or(0);
        let depth = input.div_ceil(BLOCK);
        let mut tiles = vec![Tile::ZERO; output.div_ceil(PANEL) * depth];
        if input > 0 {
            let rows = weights.par_chunks(PANEL * input);
            tiles.par_chunks_mut(depth).zip(rows).for_each(|(panel, rows)| {
                for (lane, row) in rows.chunks_exact(input).enumerate() {
                    for (tile, numbers) in panel.iter_mut().zip(row.chunks(BLOCK)) {
                        tile.set(lane, &Block::new(numbers));
                    }
                }
            });
        }
        Some(Self { tiles, input, output, simd })
    }

    /// The numbers of outputs and inputs.
    pub(super) fn shape(&self) -> (usize, usize) {
        (self.output, self.input)
    }

    /// Bytes the packed matrix takes.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(self.tiles.as_slice())
    }

    /// `x W^T` for rows of `input` values, completed by `finish`.
    pub(super) fn product(&self, x: &[f32], finish: Finish<'_>) -> Vec<f32> {
        by_slabs(x, self.shape(), finish, |x, out, finish| {
            let rows = x.len() / self.input;
            let blocks = rounded(x, self.input);
            let sum = |strip: usize, start: usize, sums: &mut Sums| {
                self.simd.vectorize(
                    #[inline(always)]
                    || self.strip(&blocks, rows, (strip, start), sums),
                );
            };
            by_strips(out, self.output, sum, finish);
        })
    }

    #[inline(always)]
    fn strip(
        &self,
        blocks: &[Block],
        rows: usize,
        (strip, start): (usize, usize),
        sums: &mut Sums,
    ) {
        let depth = self.input.div_ceil(BLOCK);
        let panels = self.tiles.chunks_exact(depth).skip(strip * PANELS).take(PANELS);
        for at in 0..depth {
            let blocks = &blocks[at * rows + start..][..sums.rows];
            for (panel, tiles) in panels.clone().enumerate() {
                for (index, blocks) in blocks.chunks(ROWS).enumerate() {
                    let (tile, lines) = (&tiles[at], sums.from(panel, index * ROWS));
                    match blocks.len() {
                        1 => accumulate::<1>(self.simd, tile, blocks, lines),
                        2 => accumulate::<2>(self.simd, tile, blocks, lines),
                        3 => accumulate::<3>(self.simd, tile, blocks, lines),
                        4 => accumulate::<4>(self.simd, tile, blocks, lines),
                        5 => accumulate::<5>(self.simd, tile, blocks, lines),
                        _ => accumulate::<ROWS>(self.simd, tile, blocks, lines),
                    }
                }
            }
        }
    }
}

/// Blocks of rows of activations; those at one depth of all rows lie together.
fn rounded(x: &[f32], input: usize) -> Vec<Block> {
    let rows = x.len() / input;
    let mut blocks = vec![Block::ZERO; rows * input.div_ceil(BLOCK)];
    blocks.par_chunks_mut(rows).enumerate().for_each(|(at, blocks)| {
        let part = at * BLOCK..((at + 1) * BLOCK).min(input);
        for (block, row) in blocks.iter_mut().zip(x.chunks_exact(input)) {
            *block = Block::new(&row[part.clone()]);
        }
    });
    blocks
}

/// Adds the products of `R` blocks of activations with a tile to `R` lines of sums.
#[inline(always)]
fn accumulate<const R: usize>(simd: V3, tile: &Tile, blocks: &[Block], lines: &mut [[f32; PANEL]]) {
    let (Some(blocks), Some(lines)) = (blocks.first_chunk::<R>(), lines.first_chunk_mut::<R>())
    else {
        return;
    };
    let (avx, avx2, fma) = (simd.avx, simd.avx2, simd.fma);
    let mut sums = [[avx._mm256_setzero_si256(); VECTORS]; R];
    for pair in 0..PAIRS {
        let weights: [__m256i; VECTORS] = cast(tile.values[pair]);
        for r in 0..R {
            let values = avx._mm256_set1_epi32(blocks[r].values[pair]);
            for v in 0..VECTORS {
                let products = avx2._mm256_madd_epi16(weights[v], values);
                sums[r][v] = avx2._mm256_add_epi32(sums[r][v], products);
            }
        }
    }
    let scales: [__m256; VECTORS] = cast(tile.scales);
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
        Some(FixedMatrix::pack(weights, input)?.product(x, &|_, _, _| {}))
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
