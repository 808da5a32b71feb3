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
use rayon::prelude::*;

use super::q8::{BLOCK, Q8Block, Q8Rows};
use super::{Finish, PANEL, PANELS, Sums, by_slabs, by_strips};

/// Bytes of a block of 256 weights in the file format: `d` and `e` in half precision, scales and
/// minima in 12 bytes, weights.
const FILE_BLOCK: usize = 144;
/// Parts per block, each with its own scale and minimum.
const PARTS: usize = 8;
/// Groups of four weights per block.
const GROUPS: usize = BLOCK / 4;
/// Groups of four weights that share a part's scale and minimum.
const STEPS: usize = GROUPS / PARTS;
/// Vectors of 32 bytes that hold one group for each output of a panel.
const VECTORS: usize = PANEL * 4 / 32;
/// Rows of a register block.
const ROWS: usize = 4;

/// One block of every output of a panel.
#[derive(Debug, Clone)]
struct Tile {
    /// Group `g` of all outputs in the low halves, group `g + 32` in the high halves.
    weights: [[[u8; 32]; VECTORS]; GROUPS / 2],
    scales: [[u8; PANEL]; PARTS],
    minima: [[u8; PANEL]; PARTS],
    d: [f32; PANEL],
    e: [f32; PANEL],
}

impl Tile {
    const ZERO: Self = Self {
        weights: [[[0; 32]; VECTORS]; GROUPS / 2],
        scales: [[0; PANEL]; PARTS],
        minima: [[0; PANEL]; PARTS],
        d: [0.0; PANEL],
        e: [0.0; PANEL],
    };

    /// Stores the block of one output.
    fn set(&mut self, lane: usize, block: &[u8; FILE_BLOCK]) {
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

/// A tile expanded to the layout the kernel reads.
#[derive(Clone)]
#[repr(align(32))]
struct Spread {
    weights: [[[u8; 32]; VECTORS]; GROUPS],
    /// Scale of each output in both halves of a word, for one part after the other.
    scales: [[[u32; 8]; VECTORS]; PARTS],
    /// Minima of two neighbouring parts in the halves of a word for each output.
    minima: [[[u32; 8]; VECTORS]; PARTS / 2],
    d: [[f32; 8]; VECTORS],
    e: [[f32; 8]; VECTORS],
}

impl Spread {
    const ZERO: Self = Self {
        weights: [[[0; 32]; VECTORS]; GROUPS],
        scales: [[[0; 8]; VECTORS]; PARTS],
        minima: [[[0; 8]; VECTORS]; PARTS / 2],
        d: [[0.0; 8]; VECTORS],
        e: [[0.0; 8]; VECTORS],
    };

    #[inline(always)]
    fn fill(&mut self, simd: V3, tile: &Tile) {
        let (avx2, mask) = (simd.avx2, simd.avx._mm256_set1_epi8(15));
        let (low, high) = self.weights.split_at_mut(GROUPS / 2);
        let (low, high) = (low.as_flattened_mut(), high.as_flattened_mut());
        for ((low, high), both) in low.iter_mut().zip(high).zip(tile.weights.as_flattened()) {
            let both: __m256i = cast(*both);
            *low = cast(avx2._mm256_and_si256(both, mask));
            *high = cast(avx2._mm256_and_si256(avx2._mm256_srli_epi16::<4>(both), mask));
        }
        for (words, scales) in self.scales.iter_mut().zip(&tile.scales) {
            for (word, scale) in words.as_flattened_mut().iter_mut().zip(scales) {
                *word = u32::from(*scale) * 0x1_0001;
            }
        }
        for (words, [first, second]) in self.minima.iter_mut().zip(tile.minima.as_chunks().0) {
            for (word, (first, second)) in
                words.as_flattened_mut().iter_mut().zip(first.iter().zip(second))
            {
                *word = u32::from(*first) | (u32::from(*second) << 16);
            }
        }
        self.d = cast(tile.d);
        self.e = cast(tile.e);
    }
}

/// A matrix `[output, input]`, kept as panels of [`PANEL`] outputs.
#[derive(Debug)]
pub(crate) struct Q4kMatrix {
    /// For each panel one tile after the other along the input.
    tiles: Vec<Tile>,
    input: usize,
    output: usize,
    simd: V3,
}

impl Q4kMatrix {
    /// Bytes that a packed matrix of that shape takes; `None` if the processor lacks the instructions.
    pub(super) fn bytes_of(output: usize, input: usize) -> Option<usize> {
        V3::try_new()?;
        Some(output.div_ceil(PANEL) * (input / BLOCK) * size_of::<Tile>())
    }

    /// Packs the blocks of a matrix in file format, row by row; `None` if the processor lacks the
    /// instructions, or if these are not the blocks of such a matrix.
    pub(super) fn pack(blocks: &[u8], (output, input): (usize, usize)) -> Option<Self> {
        let simd = V3::try_new()?;
        let (blocks, rest) = blocks.as_chunks::<FILE_BLOCK>();
        let depth = input / BLOCK;
        if !rest.is_empty() || depth * BLOCK != input || blocks.len() != output * depth {
            return None;
        }
        let mut tiles = vec![Tile::ZERO; output.div_ceil(PANEL) * depth];
        if depth > 0 {
            let rows = blocks.par_chunks(PANEL * depth);
            tiles.par_chunks_mut(depth).zip(rows).for_each(|(panel, rows)| {
                for (lane, row) in rows.chunks_exact(depth).enumerate() {
                    panel.iter_mut().zip(row).for_each(|(tile, block)| tile.set(lane, block));
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
            let rows = Q8Rows::new(x, self.input);
            let sum = |strip: usize, start: usize, sums: &mut Sums| {
                self.simd.vectorize(
                    #[inline(always)]
                    || self.strip(&rows, strip, start, sums),
                );
            };
            by_strips(out, self.output, sum, finish);
        })
    }

    #[inline(always)]
    fn strip(&self, rows: &Q8Rows, strip: usize, start: usize, sums: &mut Sums) {
        let depth = self.input / BLOCK;
        let panels = self.tiles.chunks_exact(depth).skip(strip * PANELS).take(PANELS);
        let mut spread = Spread::ZERO;
        // Hidden from the compiler, which would unroll the loop and run out of registers.
        let steps = std::hint::black_box(STEPS);
        for at in 0..depth {
            let blocks = rows.at(at, start, sums.rows);
            for (panel, tiles) in panels.clone().enumerate() {
                spread.fill(self.simd, &tiles[at]);
                for (index, blocks) in blocks.chunks(ROWS).enumerate() {
                    let (tile, lines) = (&spread, sums.from(panel, index * ROWS));
                    match blocks.len() {
                        1 => accumulate::<1>(self.simd, tile, blocks, lines, steps),
                        2 => accumulate::<2>(self.simd, tile, blocks, lines, steps),
                        3 => accumulate::<3>(self.simd, tile, blocks, lines, steps),
                        _ => accumulate::<ROWS>(self.simd, tile, blocks, lines, steps),
                    }
                }
            }
        }
    }
}

/// Adds the products of `R` blocks of activations with a tile to `R` lines of sums.
///
/// A product of a weight and an activation is at most `15 * 128`, so the sixteen of them that meet
/// in a 16-bit lane stay below `2^15`; a part times its scale is at most `32 * 15 * 128 * 63`, so
/// eight of them stay below `2^31`.
#[inline(always)]
fn accumulate<const R: usize>(
    simd: V3,
    tile: &Spread,
    blocks: &[Q8Block],
    lines: &mut [[f32; PANEL]],
    steps: usize,
) {
    let (Some(blocks), Some(lines)) = (blocks.first_chunk::<R>(), lines.first_chunk_mut::<R>())
    else {
        return;
    };
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

#[cfg(test)]
mod tests {
    use candle_core::quantized::{GgmlDType, QMatMul, QTensor};
    use candle_core::{Device, Module, Tensor};

    use super::*;

    /// Numbers between -2 and 2 that are the same on every run.
    fn noise(count: usize, seed: u32) -> Vec<f32> {
        let mut state = seed | 1;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / 4_194_304.0 - 2.0
        };
        (0..count).map(|_| next()).collect()
    }

    fn quantized(output: usize, input: usize) -> (QTensor, Q4kMatrix) {
        let weights = noise(output * input, 3);
        let weights = Tensor::from_vec(weights, (output, input), &Device::Cpu).unwrap();
        let weights = QTensor::quantize(&weights, GgmlDType::Q4K).unwrap();
        let packed = Q4kMatrix::pack(&weights.data().unwrap(), (output, input)).unwrap();
        (weights, packed)
    }

    fn numbers(t: &Tensor) -> Vec<f32> {
        t.flatten_all().unwrap().to_vec1().unwrap()
    }

    /// Whether this processor runs the kernel; says so if a test is skipped.
    fn has_kernel() -> bool {
        let found = V3::try_new().is_some();
        if !found {
            eprintln!("skipped: the kernel needs a processor with AVX2 and FMA");
        }
        found
    }

    /// Activations that 8 bits hold without loss leave nothing but the rounding of sums.
    #[test]
    fn every_size_agrees_with_the_dequantized_matrix() {
        if !has_kernel() {
            return;
        }
        for (rows, input, output) in
            [(1, 256, 1), (3, 512, 16), (4, 256, 70), (7, 768, 129), (199, 256, 33), (0, 256, 8)]
        {
            let (weights, packed) = quantized(output, input);
            let value =
                |i: usize| if i % 256 == 9 { -128.0 } else { (i * 37 % 251) as f32 - 124.0 };
            let x: Vec<f32> = (0..rows * input).map(value).collect();
            let found = packed.product(&x, &|_, _, _| {});
            assert_eq!(found.len(), rows * output);
            let weights = numbers(&weights.dequantize(&Device::Cpu).unwrap());
            for (at, found) in found.iter().enumerate() {
                let (row, column) = (at / output, at % output);
                let (x, w) = (&x[row * input..][..input], &weights[column * input..][..input]);
                let terms = x.iter().zip(w).map(|(x, w)| f64::from(*x) * f64::from(*w));
                let size: f64 = terms.clone().map(f64::abs).sum();
                assert!((f64::from(*found) - terms.sum::<f64>()).abs() < 1e-6 * size);
            }
        }
    }

    #[test]
    fn as_close_to_the_dequantized_matrix_as_candle() {
        if !has_kernel() {
            return;
        }
        let (rows, input, output) = (13, 1024, 48);
        let (weights, packed) = quantized(output, input);
        let x = noise(rows * input, 7);
        let x = Tensor::from_vec(x, (rows, input), &Device::Cpu).unwrap();
        let exact = x.matmul(&weights.dequantize(&Device::Cpu).unwrap().t().unwrap()).unwrap();
        let exact = numbers(&exact);
        let found = packed.product(&numbers(&x), &|_, _, _| {});
        let candle = QMatMul::from_qtensor(weights).unwrap().forward(&x).unwrap();
        let error = |values: &[f32]| -> f32 {
            values.iter().zip(&exact).map(|(v, e)| (v - e) * (v - e)).sum::<f32>().sqrt()
        };
        assert!(error(&found) <= 1.1 * error(&numbers(&candle)));
    }

    #[test]
    fn a_row_does_not_depend_on_the_others() {
        if !has_kernel() {
            return;
        }
        let (rows, input, output) = (101, 512, 40);
        let (_, packed) = quantized(output, input);
        let x = noise(rows * input, 5);
        let all = packed.product(&x, &|_, _, _| {});
        for row in [0, 3, 95, 96, 100] {
            let alone = packed.product(&x[row * input..][..input], &|_, _, _| {});
            assert_eq!(alone, all[row * output..][..output]);
        }
    }

    #[test]
    fn blocks_of_another_size_are_refused() {
        assert!(Q4kMatrix::pack(&[0; FILE_BLOCK], (1, 255)).is_none());
        assert!(Q4kMatrix::pack(&[0; FILE_BLOCK], (2, 256)).is_none());
        assert!(Q4kMatrix::pack(&[0; 7], (1, 256)).is_none());
    }
}
