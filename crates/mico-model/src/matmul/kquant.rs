//! Matrices in GGML's blocks of 256 weights, packed in panels, and their product with 8-bit
//! activations, for processors with AVX2. What a block holds is the concern of its [`Tile`].

#![allow(
    clippy::inline_always,
    reason = "the body must be compiled inside the closure that enables the vector instructions"
)]

use pulp::x86::V3;
use rayon::prelude::*;

use super::q8::{BLOCK, Q8Block, Q8Rows};
use super::{Finish, PANEL, PANELS, Sums, by_slabs, by_strips};

/// Groups of four weights per block.
pub(super) const GROUPS: usize = BLOCK / 4;
/// Vectors of 32 bytes that hold one group for each output of a panel.
pub(super) const VECTORS: usize = PANEL * 4 / 32;
/// Rows of a register block.
const ROWS: usize = 4;

/// A word for each output of a panel.
pub(crate) type Words = [[u32; 8]; VECTORS];
/// The weights of a tile, a byte each: group after group, in each the four weights of every output.
pub(crate) type Bytes = [[[u8; 32]; VECTORS]; GROUPS];

/// One block of every output of a panel, in a format of GGML.
pub(crate) trait Tile: Clone + Send + Sync {
    /// A tile whose weights are all zero.
    const ZERO: Self;
    /// Bytes of a block of 256 weights in the file format.
    const FILE_BLOCK: usize;
    /// A tile expanded to the layout its kernel reads.
    type Spread;

    /// A spread tile to be filled.
    fn blank() -> Self::Spread;

    /// Stores the block of one output, [`Self::FILE_BLOCK`] bytes.
    fn set(&mut self, lane: usize, block: &[u8]);

    /// Expands the tile, once for all rows.
    fn spread(&self, simd: V3, out: &mut Self::Spread);

    /// Adds the products of `R` blocks of activations with a tile to `R` lines of sums. `unit` is 1,
    /// hidden from the compiler.
    fn accumulate<const R: usize>(
        simd: V3,
        spread: &Self::Spread,
        blocks: &[Q8Block; R],
        lines: &mut [[f32; PANEL]; R],
        unit: usize,
    );
}

/// A matrix `[output, input]`, kept as panels of [`PANEL`] outputs.
#[derive(Debug)]
pub(crate) struct KMatrix<T> {
    /// For each panel one tile after the other along the input.
    tiles: Vec<T>,
    input: usize,
    output: usize,
    simd: V3,
}

impl<T: Tile> KMatrix<T> {
    /// Packs the blocks of a matrix in file format, row by row; `None` if the processor lacks the
    /// instructions, or if these are not the blocks of such a matrix.
    pub(super) fn pack(blocks: &[u8], (output, input): (usize, usize)) -> Option<Self> {
        let simd = V3::try_new()?;
        let depth = input / BLOCK;
        let row = depth * T::FILE_BLOCK;
        if depth * BLOCK != input || blocks.len() != output * row {
            return None;
        }
        let mut tiles = vec![T::ZERO; output.div_ceil(PANEL) * depth];
        if depth > 0 {
            let rows = blocks.par_chunks(PANEL * row);
            tiles.par_chunks_mut(depth).zip(rows).for_each(|(panel, rows)| {
                for (lane, row) in rows.chunks_exact(row).enumerate() {
                    let blocks = row.chunks_exact(T::FILE_BLOCK);
                    panel.iter_mut().zip(blocks).for_each(|(tile, block)| tile.set(lane, block));
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
        let mut spread = T::blank();
        let unit = std::hint::black_box(1);
        for at in 0..depth {
            let blocks = rows.at(at, start, sums.rows);
            for (panel, tiles) in panels.clone().enumerate() {
                tiles[at].spread(self.simd, &mut spread);
                for (index, blocks) in blocks.chunks(ROWS).enumerate() {
                    let lines = sums.from(panel, index * ROWS);
                    match blocks.len() {
                        1 => self.rows::<1>(&spread, blocks, lines, unit),
                        2 => self.rows::<2>(&spread, blocks, lines, unit),
                        3 => self.rows::<3>(&spread, blocks, lines, unit),
                        _ => self.rows::<ROWS>(&spread, blocks, lines, unit),
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn rows<const R: usize>(
        &self,
        spread: &T::Spread,
        blocks: &[Q8Block],
        lines: &mut [[f32; PANEL]],
        unit: usize,
    ) {
        let (blocks, lines) = (blocks.first_chunk::<R>(), lines.first_chunk_mut::<R>());
        if let (Some(blocks), Some(lines)) = (blocks, lines) {
            T::accumulate(self.simd, spread, blocks, lines, unit);
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
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

    fn quantized<T: Tile>(kind: GgmlDType, output: usize, input: usize) -> (QTensor, KMatrix<T>) {
        let weights = noise(output * input, 3);
        let weights = Tensor::from_vec(weights, (output, input), &Device::Cpu).unwrap();
        let weights = QTensor::quantize(&weights, kind).unwrap();
        let packed = KMatrix::pack(&weights.data().unwrap(), (output, input)).unwrap();
        (weights, packed)
    }

    fn numbers(t: &Tensor) -> Vec<f32> {
        t.flatten_all().unwrap().to_vec1().unwrap()
    }

    /// Holds a format's kernel against the dequantised matrix, candle's kernel and itself; says so if
    /// this processor does not run it.
    pub(in crate::matmul) fn check<T: Tile>(kind: GgmlDType) {
        if V3::try_new().is_none() {
            eprintln!("skipped: the kernel needs a processor with AVX2 and FMA");
            return;
        }
        every_size_agrees_with_the_dequantized_matrix::<T>(kind);
        as_close_to_the_dequantized_matrix_as_candle::<T>(kind);
        a_row_does_not_depend_on_the_others::<T>(kind);
        blocks_of_another_size_are_refused::<T>();
    }

    /// Activations that 8 bits hold without loss leave nothing but the rounding of sums.
    fn every_size_agrees_with_the_dequantized_matrix<T: Tile>(kind: GgmlDType) {
        for (rows, input, output) in
            [(1, 256, 1), (3, 512, 16), (4, 256, 70), (7, 768, 129), (199, 256, 33), (0, 256, 8)]
        {
            let (weights, packed) = quantized::<T>(kind, output, input);
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

    fn as_close_to_the_dequantized_matrix_as_candle<T: Tile>(kind: GgmlDType) {
        let (rows, input, output) = (13, 1024, 48);
        let (weights, packed) = quantized::<T>(kind, output, input);
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

    fn a_row_does_not_depend_on_the_others<T: Tile>(kind: GgmlDType) {
        let (rows, input, output) = (101, 512, 40);
        let (_, packed) = quantized::<T>(kind, output, input);
        let x = noise(rows * input, 5);
        let all = packed.product(&x, &|_, _, _| {});
        for count in (1..=17).chain([95, 96, 97]) {
            let some = packed.product(&x[..count * input], &|_, _, _| {});
            assert_eq!(some, all[..count * output]);
        }
        for row in [0, 3, 95, 96, 100] {
            let alone = packed.product(&x[row * input..][..input], &|_, _, _| {});
            assert_eq!(alone, all[row * output..][..output]);
        }
    }

    fn blocks_of_another_size_are_refused<T: Tile>() {
        let block = vec![0; T::FILE_BLOCK];
        assert!(KMatrix::<T>::pack(&block, (1, 255)).is_none());
        assert!(KMatrix::<T>::pack(&block, (2, 256)).is_none());
        assert!(KMatrix::<T>::pack(&[0; 7], (1, 256)).is_none());
    }
}
