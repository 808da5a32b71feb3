//! Matrices packed as tiles, and their product with rounded activations, for processors with AVX2.
//!
//! A tile holds one block of weights of every output of a panel. What is in it, how the activations it
//! meets are rounded, and how the two are multiplied is the concern of its format ([`Tile`]).

#![allow(
    clippy::inline_always,
    reason = "the body must be compiled inside the closure that enables the vector instructions"
)]

use pulp::x86::V3;
use rayon::prelude::*;

use super::{Finish, PANEL, PANELS, Sums, by_slabs, by_strips};

/// Vectors of 32 bytes that hold a word for each output of a panel.
pub(super) const VECTORS: usize = PANEL * 4 / 32;
/// The most rows of a register block of any format.
const MAX_ROWS: usize = 6;

/// A word for each output of a panel.
pub(crate) type Words = [[u32; 8]; VECTORS];

/// A block of activations of a row, rounded to whole numbers that share a scale.
pub(crate) trait Rounded: Copy + Send + Sync {
    /// Values per block.
    const LEN: usize;
    /// A block of zeros.
    const ZERO: Self;

    /// Rounds at most [`Self::LEN`] numbers; those that are missing count as zeros.
    fn new(numbers: &[f32]) -> Self;
}

/// One block of weights of every output of a panel.
pub(crate) trait Tile: Clone + Send + Sync {
    /// A tile whose weights are all zero.
    const ZERO: Self;
    /// Rows of a register block, at most [`MAX_ROWS`].
    const ROWS: usize;
    /// What the tile is multiplied with; blocks of both have the same length.
    type Activations: Rounded;
    /// What the kernel reads instead of the tile, expanded once for all rows.
    type Spread;

    /// A spread tile to be filled.
    fn blank() -> Self::Spread;

    /// Expands the tile.
    fn spread(&self, simd: V3, out: &mut Self::Spread);

    /// Adds the products of `R` blocks of activations with the tile to `R` lines of sums. `unit` is 1,
    /// hidden from the compiler: a loop whose length depends on it is not unrolled.
    fn accumulate<const R: usize>(
        &self,
        simd: V3,
        spread: &Self::Spread,
        blocks: &[Self::Activations; R],
        lines: &mut [[f32; PANEL]; R],
        unit: usize,
    );
}

/// A tile of weights in a block format of GGML.
pub(crate) trait FileTile: Tile {
    /// Weights per block of the file format; divides the length of a tile's blocks.
    const FILE_WEIGHTS: usize;
    /// Bytes of such a block.
    const FILE_BYTES: usize;

    /// Stores the blocks of one output.
    fn set(&mut self, lane: usize, blocks: &[u8]);
}

/// A matrix `[output, input]`, kept as panels of [`PANEL`] outputs.
#[derive(Debug)]
pub(crate) struct TiledMatrix<T> {
    /// For each panel one tile after the other along the input.
    tiles: Vec<T>,
    input: usize,
    output: usize,
    simd: V3,
}

impl<T: Tile> TiledMatrix<T> {
    /// Tiles filled by `set`, which is given an output, its lane and the index of the tile along the
    /// input.
    pub(super) fn build(
        simd: V3,
        (output, input): (usize, usize),
        set: impl Fn(&mut T, usize, usize, usize) + Sync,
    ) -> Self {
        let depth = input.div_ceil(T::Activations::LEN);
        let mut tiles = vec![T::ZERO; output.div_ceil(PANEL) * depth];
        tiles.par_chunks_mut(depth.max(1)).enumerate().for_each(|(panel, tiles)| {
            for row in panel * PANEL..((panel + 1) * PANEL).min(output) {
                for (at, tile) in tiles.iter_mut().enumerate() {
                    set(tile, row % PANEL, row, at);
                }
            }
        });
        Self { tiles, input, output, simd }
    }

    /// Bytes that a packed matrix of that shape takes; `None` if the processor lacks the instructions.
    pub(super) fn bytes_of((output, input): (usize, usize)) -> Option<usize> {
        V3::try_new()?;
        Some(output.div_ceil(PANEL) * input.div_ceil(T::Activations::LEN) * size_of::<T>())
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
            let blocks = rounded::<T::Activations>(x, self.input);
            let rows = x.len() / self.input;
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
        blocks: &[T::Activations],
        rows: usize,
        (strip, start): (usize, usize),
        sums: &mut Sums,
    ) {
        let depth = self.input.div_ceil(T::Activations::LEN);
        let panels = self.tiles.chunks_exact(depth).skip(strip * PANELS).take(PANELS);
        let mut spread = T::blank();
        let unit = std::hint::black_box(1);
        for at in 0..depth {
            let blocks = &blocks[at * rows + start..][..sums.rows];
            for (panel, tiles) in panels.clone().enumerate() {
                tiles[at].spread(self.simd, &mut spread);
                for (index, blocks) in blocks.chunks(T::ROWS).enumerate() {
                    let (tile, lines) = ((&tiles[at], &spread), sums.from(panel, index * T::ROWS));
                    match blocks.len() {
                        1 => self.rows::<1>(tile, blocks, lines, unit),
                        2 => self.rows::<2>(tile, blocks, lines, unit),
                        3 => self.rows::<3>(tile, blocks, lines, unit),
                        4 => self.rows::<4>(tile, blocks, lines, unit),
                        5 => self.rows::<5>(tile, blocks, lines, unit),
                        _ => self.rows::<MAX_ROWS>(tile, blocks, lines, unit),
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn rows<const R: usize>(
        &self,
        (tile, spread): (&T, &T::Spread),
        blocks: &[T::Activations],
        lines: &mut [[f32; PANEL]],
        unit: usize,
    ) {
        // Known at compile time: there is no code for more rows than the format takes.
        if R <= T::ROWS
            && let (Some(blocks), Some(lines)) =
                (blocks.first_chunk::<R>(), lines.first_chunk_mut())
        {
            tile.accumulate(self.simd, spread, blocks, lines, unit);
        }
    }
}

impl<T: FileTile> TiledMatrix<T> {
    /// Packs the blocks of a matrix in file format, row by row; `None` if the processor lacks the
    /// instructions, or if these are not the blocks of such a matrix.
    pub(super) fn pack(blocks: &[u8], (output, input): (usize, usize)) -> Option<Self> {
        let simd = V3::try_new()?;
        let row_bytes = input / T::FILE_WEIGHTS * T::FILE_BYTES;
        if !input.is_multiple_of(T::FILE_WEIGHTS) || blocks.len() != output * row_bytes {
            return None;
        }
        let tile_bytes = T::Activations::LEN / T::FILE_WEIGHTS * T::FILE_BYTES;
        Some(Self::build(simd, (output, input), |tile, lane, row, at| {
            let row = &blocks[row * row_bytes..][..row_bytes];
            let rest = &row[at * tile_bytes..];
            tile.set(lane, &rest[..tile_bytes.min(rest.len())]);
        }))
    }
}

/// Blocks of rows of activations; those at one depth of all rows lie together.
fn rounded<A: Rounded>(x: &[f32], input: usize) -> Vec<A> {
    let rows = x.len() / input;
    let mut blocks = vec![A::ZERO; rows * input.div_ceil(A::LEN)];
    blocks.par_chunks_mut(rows).enumerate().for_each(|(at, blocks)| {
        let part = at * A::LEN..((at + 1) * A::LEN).min(input);
        for (block, row) in blocks.iter_mut().zip(x.chunks_exact(input)) {
            *block = A::new(&row[part.clone()]);
        }
    });
    blocks
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

    fn quantized<T: FileTile>(
        kind: GgmlDType,
        output: usize,
        input: usize,
    ) -> (QTensor, TiledMatrix<T>) {
        let weights = noise(output * input, 3);
        let weights = Tensor::from_vec(weights, (output, input), &Device::Cpu).unwrap();
        let weights = QTensor::quantize(&weights, kind).unwrap();
        let packed = TiledMatrix::pack(&weights.data().unwrap(), (output, input)).unwrap();
        (weights, packed)
    }

    fn numbers(t: &Tensor) -> Vec<f32> {
        t.flatten_all().unwrap().to_vec1().unwrap()
    }

    /// Holds a format's kernel against the dequantised matrix, candle's kernel and itself; says so if
    /// this processor does not run it. `largest` is what its activations are rounded to at most.
    pub(in crate::matmul) fn check<T: FileTile>(kind: GgmlDType, largest: i32) {
        if V3::try_new().is_none() {
            eprintln!("skipped: the kernel needs a processor with AVX2 and FMA");
            return;
        }
        every_size_agrees_with_the_dequantized_matrix::<T>(kind, largest);
        as_close_to_the_dequantized_matrix_as_candle::<T>(kind);
        a_row_does_not_depend_on_the_others::<T>(kind);
        blocks_of_another_size_are_refused::<T>();
    }

    /// Whole activations in the range they are rounded to leave nothing but the rounding of sums.
    fn every_size_agrees_with_the_dequantized_matrix<T: FileTile>(kind: GgmlDType, largest: i32) {
        for (rows, blocks, output) in
            [(1, 8, 1), (3, 16, 16), (4, 8, 70), (7, 3, 129), (199, 1, 33), (0, 8, 8), (5, 9, 20)]
        {
            let input = blocks * T::FILE_WEIGHTS;
            let (weights, packed) = quantized::<T>(kind, output, input);
            let span = (2 * largest - 5) as usize;
            let value = |i: usize| match i % 32 {
                9 => -largest as f32,
                _ => (i * 37 % span) as f32 - (largest - 4) as f32,
            };
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

    fn as_close_to_the_dequantized_matrix_as_candle<T: FileTile>(kind: GgmlDType) {
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

    fn a_row_does_not_depend_on_the_others<T: FileTile>(kind: GgmlDType) {
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

    fn blocks_of_another_size_are_refused<T: FileTile>() {
        let block = vec![0; T::FILE_BYTES];
        assert!(TiledMatrix::<T>::pack(&block, (1, T::FILE_WEIGHTS - 1)).is_none());
        assert!(TiledMatrix::<T>::pack(&block, (2, T::FILE_WEIGHTS)).is_none());
        assert!(TiledMatrix::<T>::pack(&[0; 7], (1, T::FILE_WEIGHTS)).is_none());
    }
}
