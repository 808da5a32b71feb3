//! Products of activations with weights that are packed for the CPU once, at load time.
//!
//! A product is cut into slabs of rows, and those into strips of [`STRIP`] output columns, one task
//! each. A task walks through its rows in chunks that fit into a second-level cache together with
//! what else it touches, and through the depth in blocks whose weights stay in the first-level cache
//! while all rows of the chunk pass. A number of the result is one chain of sums over the depth in
//! ascending order: it depends neither on the other rows nor on the number of threads.

mod dense;
#[cfg(target_arch = "x86_64")]
mod fixed;
#[cfg(target_arch = "x86_64")]
mod q4k;
#[cfg(target_arch = "x86_64")]
mod q6k;
#[cfg(target_arch = "x86_64")]
mod q8;
#[cfg(target_arch = "x86_64")]
mod q8_0;
#[cfg(target_arch = "x86_64")]
mod tiles;

use candle_core::quantized::GgmlDType;
use dense::DenseMatrix;
#[cfg(target_arch = "x86_64")]
use fixed::FixedTile;
#[cfg(target_arch = "x86_64")]
use q4k::Q4kTile;
#[cfg(target_arch = "x86_64")]
use q6k::Q6kTile;
#[cfg(target_arch = "x86_64")]
use q8_0::Q8_0Tile;
use rayon::prelude::*;
#[cfg(target_arch = "x86_64")]
use tiles::TiledMatrix;

/// Columns of a panel: two 256-bit vectors of f32.
const PANEL: usize = 16;
/// Panels of one strip, which a thread multiplies in one go.
const PANELS: usize = 4;
/// Output columns per task.
const STRIP: usize = PANEL * PANELS;
/// The most rows per chunk.
const CHUNK_ROWS: usize = 96;
/// Rows of activations that are packed at a time.
pub(crate) const SLAB_ROWS: usize = 1536;
/// Chunks are whole numbers of the kernels' register blocks.
const BLOCK_ROWS: usize = 12;

/// Completes a stretch of the result (bias, activation, residual), given its row and first column.
pub(crate) type Finish<'a> = &'a (dyn Fn(usize, usize, &mut [f32]) + Sync);

/// A packed matrix `[output, input]`.
#[derive(Debug)]
pub(crate) enum PackedMatrix {
    Dense(DenseMatrix),
    #[cfg(target_arch = "x86_64")]
    Fixed(TiledMatrix<FixedTile>),
    #[cfg(target_arch = "x86_64")]
    Q4k(TiledMatrix<Q4kTile>),
    #[cfg(target_arch = "x86_64")]
    Q6k(TiledMatrix<Q6kTile>),
    #[cfg(target_arch = "x86_64")]
    Q8_0(TiledMatrix<Q8_0Tile>),
}

impl PackedMatrix {
    /// Packs a row-major f32 matrix whose rows have `input` values.
    pub(crate) fn dense(weights: &[f32], input: usize) -> Self {
        Self::Dense(DenseMatrix::pack(weights, input))
    }

    /// Whether this processor has a kernel for 16-bit fixed point.
    pub(crate) fn rounds() -> bool {
        #[cfg(target_arch = "x86_64")]
        return TiledMatrix::runs();
        #[cfg(not(target_arch = "x86_64"))]
        false
    }

    /// Packs a row-major matrix rounded to 16-bit fixed point, as accurate as half precision; in
    /// f32 where this processor has no such kernel.
    pub(crate) fn fixed(weights: &[f32], input: usize) -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(matrix) = TiledMatrix::round(weights, input) {
            return Self::Fixed(matrix);
        }
        Self::dense(weights, input)
    }

    /// Packs the blocks of a quantised matrix `[output, input]`, row by row; `None` if this processor has
    /// no kernel for that kind, or if these are not the blocks of such a matrix.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn quantized(kind: GgmlDType, blocks: &[u8], shape: (usize, usize)) -> Option<Self> {
        match kind {
            GgmlDType::Q4K => TiledMatrix::pack(blocks, shape).map(Self::Q4k),
            GgmlDType::Q6K => TiledMatrix::pack(blocks, shape).map(Self::Q6k),
            GgmlDType::Q8_0 => TiledMatrix::pack(blocks, shape).map(Self::Q8_0),
            _ => None,
        }
    }

    /// `None`: this processor architecture has no such kernel.
    #[cfg(not(target_arch = "x86_64"))]
    pub(crate) fn quantized(_: GgmlDType, _: &[u8], _: (usize, usize)) -> Option<Self> {
        None
    }

    /// Bytes that [`Self::dense`] takes for a matrix `[output, input]`.
    pub(crate) fn dense_bytes(output: usize, input: usize) -> usize {
        DenseMatrix::bytes_of(output, input)
    }

    /// Bytes that [`Self::fixed`] takes for a matrix `[output, input]`.
    pub(crate) fn fixed_bytes(output: usize, input: usize) -> usize {
        #[cfg(target_arch = "x86_64")]
        if let Some(bytes) = TiledMatrix::<FixedTile>::bytes_of((output, input)) {
            return bytes;
        }
        Self::dense_bytes(output, input)
    }

    /// Bytes that [`Self::quantized`] takes for a matrix `[output, input]`; `None` where it gives none.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn quantized_bytes(kind: GgmlDType, shape: (usize, usize)) -> Option<usize> {
        match kind {
            GgmlDType::Q4K => TiledMatrix::<Q4kTile>::bytes_of(shape),
            GgmlDType::Q6K => TiledMatrix::<Q6kTile>::bytes_of(shape),
            GgmlDType::Q8_0 => TiledMatrix::<Q8_0Tile>::bytes_of(shape),
            _ => None,
        }
    }

    /// `None`: this processor architecture has no such kernel.
    #[cfg(not(target_arch = "x86_64"))]
    pub(crate) fn quantized_bytes(_: GgmlDType, _: (usize, usize)) -> Option<usize> {
        None
    }

    /// The numbers of outputs and inputs.
    pub(crate) fn shape(&self) -> (usize, usize) {
        match self {
            Self::Dense(matrix) => matrix.shape(),
            #[cfg(target_arch = "x86_64")]
            Self::Fixed(matrix) => matrix.shape(),
            #[cfg(target_arch = "x86_64")]
            Self::Q4k(matrix) => matrix.shape(),
            #[cfg(target_arch = "x86_64")]
            Self::Q6k(matrix) => matrix.shape(),
            #[cfg(target_arch = "x86_64")]
            Self::Q8_0(matrix) => matrix.shape(),
        }
    }

    /// Bytes the packed matrix takes.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Dense(matrix) => matrix.bytes(),
            #[cfg(target_arch = "x86_64")]
            Self::Fixed(matrix) => matrix.bytes(),
            #[cfg(target_arch = "x86_64")]
            Self::Q4k(matrix) => matrix.bytes(),
            #[cfg(target_arch = "x86_64")]
            Self::Q6k(matrix) => matrix.bytes(),
            #[cfg(target_arch = "x86_64")]
            Self::Q8_0(matrix) => matrix.bytes(),
        }
    }

    /// `x W^T` for rows of `input` values, completed by `finish`.
    pub(crate) fn product(&self, x: &[f32], finish: Finish<'_>) -> Vec<f32> {
        match self {
            Self::Dense(matrix) => matrix.product(x, finish),
            #[cfg(target_arch = "x86_64")]
            Self::Fixed(matrix) => matrix.product(x, finish),
            #[cfg(target_arch = "x86_64")]
            Self::Q4k(matrix) => matrix.product(x, finish),
            #[cfg(target_arch = "x86_64")]
            Self::Q6k(matrix) => matrix.product(x, finish),
            #[cfg(target_arch = "x86_64")]
            Self::Q8_0(matrix) => matrix.product(x, finish),
        }
    }
}

/// Sums of a chunk of rows with a strip: for each panel one line per row.
struct Sums {
    lines: Vec<[f32; PANEL]>,
    rows: usize,
}

impl Sums {
    /// The lines of a panel from a row on.
    #[inline]
    fn from(&mut self, panel: usize, row: usize) -> &mut [[f32; PANEL]] {
        &mut self.lines[panel * self.rows..][..self.rows][row..]
    }
}

/// Computes the product of rows `x` with a matrix of a shape `[output, input]`, a slab of rows at a
/// time, so that what `slab` packs of them takes no more memory than that.
fn by_slabs(
    x: &[f32],
    (output, input): (usize, usize),
    finish: Finish<'_>,
    slab: impl Fn(&[f32], &mut [f32], Finish<'_>),
) -> Vec<f32> {
    let rows = x.len().checked_div(input).unwrap_or(0);
    let mut out = vec![0.0_f32; rows * output];
    if out.is_empty() {
        return out;
    }
    let slabs = x.chunks(SLAB_ROWS * input).zip(out.chunks_mut(SLAB_ROWS * output));
    for (index, (x, out)) in slabs.enumerate() {
        slab(x, out, &|row, first, part| finish(index * SLAB_ROWS + row, first, part));
    }
    out
}

/// Computes rows `out` of so many columns strip by strip. `sum` adds to zeroed sums what rows
/// `start..start + sums.rows` give in a strip, `finish` completes them once they are in their place.
fn by_strips(
    out: &mut [f32],
    columns: usize,
    sum: impl Fn(usize, usize, &mut Sums) + Sync,
    finish: Finish<'_>,
) {
    let rows = out.len() / columns;
    let mut strips: Vec<Vec<&mut [f32]>> = Vec::new();
    strips.resize_with(columns.div_ceil(STRIP), || Vec::with_capacity(rows));
    for row in out.chunks_exact_mut(columns) {
        for (strip, part) in strips.iter_mut().zip(row.chunks_mut(STRIP)) {
            strip.push(part);
        }
    }
    let chunk = rows.div_ceil(rows.div_ceil(CHUNK_ROWS)).next_multiple_of(BLOCK_ROWS);
    strips.into_par_iter().enumerate().for_each(|(strip, mut parts)| {
        let mut sums = Sums { lines: vec![[0.0; PANEL]; chunk * PANELS], rows: chunk };
        for (index, parts) in parts.chunks_mut(chunk).enumerate() {
            sums.rows = parts.len();
            sums.lines.fill([0.0; PANEL]);
            sum(strip, index * chunk, &mut sums);
            for (row, part) in parts.iter_mut().enumerate() {
                for (panel, part) in part.chunks_mut(PANEL).enumerate() {
                    part.copy_from_slice(&sums.from(panel, row)[0][..part.len()]);
                }
                finish(index * chunk + row, strip * STRIP, part);
            }
        }
    });
}
