//! The Gram matrix: cosine similarities of all pairs of tokens, from packed unit vectors.

mod columns;
mod micro;
mod sketch;

use pulp::Arch;
use rayon::prelude::*;

pub(crate) use columns::{Columns, least_memory};
use micro::{Lane, PANEL, Panels, Part, TILE, TILE_PANELS, Tile, multiply, new_tile};
pub(crate) use sketch::Sketch;

use crate::error::{Error, Result};
use crate::matrix::{Rows, norm};
use crate::progress::{Done, Progress};

/// The unit vectors of a token set, packed for fast inner products.
///
/// A zero vector stays zero, so its cosine with everything, itself included, is 0. Lengths are
/// measured in f64 before the division: no finite f32 feature overflows or vanishes.
pub struct Gram {
    lanes: Vec<Lane>,
    norms: Vec<f64>,
    depth: usize,
    arch: Arch,
}

impl Gram {
    /// Normalises the rows to unit length and packs them into panels for the micro-kernel.
    pub fn pack(rows: &Rows<'_>) -> Self {
        let (n, depth) = (rows.len(), rows.cols());
        let panels = n.div_ceil(TILE) * TILE_PANELS;
        let mut lanes = vec![[0.0; PANEL]; panels * depth];
        let norms = lanes
            .par_chunks_mut(depth)
            .enumerate()
            .map_init(
                || vec![0.0; depth],
                |row, (panel, lanes)| {
                    let mut norms = [0.0; PANEL];
                    let tokens = (panel * PANEL).min(n)..((panel + 1) * PANEL).min(n);
                    for (slot, token) in tokens.enumerate() {
                        rows.copy_row(token, row);
                        let length = norm(row);
                        norms[slot] = length;
                        let scale = if length > 0.0 { 1.0 / length } else { 0.0 };
                        for (lane, &x) in lanes.iter_mut().zip(row.iter()) {
                            lane[slot] = (f64::from(x) * scale) as f32;
                        }
                    }
                    norms
                },
            )
            .collect::<Vec<_>>();
        let mut norms = norms.into_iter().flatten().collect::<Vec<_>>();
        norms.truncate(n);
        Self { lanes, norms, depth, arch: Arch::new() }
    }

    /// The number of packed tokens `N`.
    pub fn len(&self) -> usize {
        self.norms.len()
    }

    /// Whether no token was packed.
    pub fn is_empty(&self) -> bool {
        self.norms.is_empty()
    }

    /// Euclidean lengths before normalisation.
    pub fn norms(&self) -> &[f64] {
        &self.norms
    }

    /// Bytes the packed vectors take, padding to whole tiles included.
    pub fn bytes(&self) -> usize {
        packed_bytes(self.len(), self.depth)
    }

    /// All `N x N` cosines in `[-1, 1]`, row-major. Half of them are computed, half mirrored.
    pub fn cosines(&self) -> Vec<f32> {
        self.cosines_reporting(&Progress::default())
    }

    /// Like [`Gram::cosines`], into a buffer of the caller. An error unless it holds `N x N` values.
    pub fn cosines_into(&self, out: &mut [f32]) -> Result<()> {
        let n = self.len();
        if out.len() != n * n {
            let needed = (n * n).to_string();
            return Err(Error::Buffer { rows: n, cols: n, stride: n, needed, found: out.len() });
        }
        self.fill(out, &Progress::default());
        Ok(())
    }

    fn cosines_reporting(&self, progress: &Progress<'_>) -> Vec<f32> {
        let mut kernel = vec![0.0; self.len() * self.len()];
        self.fill(&mut kernel, progress);
        kernel
    }

    fn fill(&self, kernel: &mut [f32], progress: &Progress<'_>) {
        let n = self.len();
        kernel.par_chunks_mut(TILE * n).enumerate().with_max_len(1).for_each(|(stripe, out)| {
            self.for_each_tile(stripe, |first_col, tile| {
                let width = TILE.min(n - first_col);
                for (row, out) in tile.iter().zip(out.chunks_exact_mut(n)) {
                    let out = &mut out[first_col..first_col + width];
                    out.iter_mut().zip(row).for_each(|(o, &x)| *o = x.clamp(-1.0, 1.0));
                }
            });
            progress.report(Done::Compared(out.len() / n));
        });
        mirror(kernel, n);
    }

    /// For each token `i`, `Σ_v weight_v f(cos(v, i))` over all tokens `v`, never holding more
    /// than a tile of cosines per thread. The order of summation does not depend on threads.
    pub(crate) fn weighted_sums<F>(&self, weights: &[f64], f: F) -> Vec<f64>
    where
        F: Fn(f32) -> f64 + Sync,
    {
        let n = self.len();
        let partial = |stripe: usize| {
            let first = stripe * TILE;
            let mut sums = vec![0.0; n - first];
            self.for_each_tile(stripe, |first_col, tile| {
                let width = TILE.min(n - first_col);
                for (row, tile_row) in (first..n.min(first + TILE)).zip(tile) {
                    let mut mirrored = 0.0;
                    let skip = (row + 1).saturating_sub(first_col);
                    for (c, &cosine) in tile_row.iter().enumerate().take(width).skip(skip) {
                        let value = f(cosine.clamp(-1.0, 1.0));
                        sums[first_col + c - first] += weights[row] * value;
                        mirrored += weights[first_col + c] * value;
                    }
                    if first_col == first {
                        mirrored += weights[row] * f(tile_row[row - first].clamp(-1.0, 1.0));
                    }
                    sums[row - first] += mirrored;
                }
            });
            sums
        };
        let stripes = n.div_ceil(TILE);
        let partials = (0..stripes).into_par_iter().with_max_len(1).map(partial);
        let mut total = vec![0.0; n];
        for (stripe, sums) in partials.collect::<Vec<_>>().into_iter().enumerate() {
            total[stripe * TILE..].iter_mut().zip(sums).for_each(|(t, s)| *t += s);
        }
        total
    }

    /// Calls `f(first column, tile)` for each tile of a stripe of rows, from the diagonal on.
    fn for_each_tile(&self, stripe: usize, mut f: impl FnMut(usize, &Tile)) {
        let mut tile = new_tile();
        for other in stripe..self.len().div_ceil(TILE) {
            let part = if other == stripe { Part::Upper } else { Part::Whole };
            multiply(self.arch, self.panels(stripe), self.panels(other), part, &mut tile);
            f(other * TILE, &tile);
        }
    }

    fn panels(&self, tile: usize) -> Panels<'_> {
        let size = TILE_PANELS * self.depth;
        Panels { lanes: &self.lanes[tile * size..(tile + 1) * size], depth: self.depth }
    }

    /// The cosines of some tokens with all, one token after another, `N` values each.
    pub fn columns(&self, tokens: &[usize]) -> Vec<f32> {
        let mut out = vec![0.0; tokens.len() * self.len()];
        self.gather(tokens, &mut out);
        out
    }

    fn gather(&self, tokens: &[usize], out: &mut [f32]) {
        let n = self.len();
        let mut a = vec![[0.0; PANEL]; TILE_PANELS * self.depth];
        for (chunk, out) in tokens.chunks(TILE).zip(out.chunks_mut(TILE * n)) {
            for (slot, &token) in chunk.iter().enumerate() {
                let from = &self.lanes[token / PANEL * self.depth..][..self.depth];
                let to = &mut a[slot / PANEL * self.depth..][..self.depth];
                to.iter_mut().zip(from).for_each(|(t, f)| t[slot % PANEL] = f[token % PANEL]);
            }
            let a = Panels { lanes: &a, depth: self.depth };
            let tiles = (0..n.div_ceil(TILE)).into_par_iter().map(|other| {
                let mut tile = new_tile();
                multiply(self.arch, a, self.panels(other), Part::Rows(chunk.len()), &mut tile);
                tile
            });
            for (other, tile) in tiles.collect::<Vec<_>>().into_iter().enumerate() {
                let width = TILE.min(n - other * TILE);
                for (row, out) in tile.iter().zip(out.chunks_exact_mut(n)) {
                    let out = &mut out[other * TILE..other * TILE + width];
                    out.iter_mut().zip(row).for_each(|(o, &x)| *o = x.clamp(-1.0, 1.0));
                }
            }
        }
    }
}

/// Bytes that packing `n` vectors of width `depth` takes.
pub(crate) fn packed_bytes(n: usize, depth: usize) -> usize {
    n.next_multiple_of(TILE).saturating_mul(depth).saturating_mul(size_of::<f32>())
}

/// Copies the upper triangle onto the lower one.
fn mirror(kernel: &mut [f32], n: usize) {
    for first in (0..n).step_by(TILE) {
        let end = n.min(first + TILE);
        for row in first..end {
            for col in first..row {
                kernel[row * n + col] = kernel[col * n + row];
            }
        }
        let (upper, lower) = kernel.split_at_mut(end * n);
        lower.par_chunks_mut(TILE * n).enumerate().for_each(|(stripe, out)| {
            let start = end + stripe * TILE;
            for col in first..end {
                let source = &upper[col * n + start..][..out.len() / n];
                for (row, &x) in source.iter().enumerate() {
                    out[row * n + col] = x;
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Matrix;

    fn waves(n: usize, d: usize) -> Vec<f32> {
        (0..n * d).map(|i| ((i * i % 977) as f32 * 0.37 + 0.1).sin()).collect()
    }

    #[test]
    fn triangle_columns_and_f64_agree() {
        for (n, d) in [(1, 1), (7, 3), (96, 5), (97, 241), (203, 500)] {
            let data = waves(n, d);
            let rows = Rows::all(Matrix::from_f32(&data, n, d).unwrap());
            let gram = Gram::pack(&rows);
            let cosines = gram.cosines();
            let tokens: Vec<usize> = (0..n).rev().step_by(3).collect();
            let columns = gram.columns(&tokens);
            for (&i, column) in tokens.iter().zip(columns.chunks_exact(n)) {
                for j in 0..n {
                    assert_eq!(cosines[i * n + j].to_bits(), column[j].to_bits());
                    assert_eq!(cosines[i * n + j].to_bits(), cosines[j * n + i].to_bits());
                    let (a, b) = (&data[i * d..][..d], &data[j * d..][..d]);
                    let exact = crate::matrix::dot(a, b) / (norm(a) * norm(b));
                    assert!((f64::from(column[j]) - exact).abs() < 3e-6);
                }
            }
        }
    }

    #[test]
    fn weighted_sums_cover_every_pair_once() {
        let (n, d) = (205, 9);
        let data = waves(n, d);
        let gram = Gram::pack(&Rows::all(Matrix::from_f32(&data, n, d).unwrap()));
        let cosines = gram.cosines();
        let weights: Vec<f64> = (0..n).map(|i| (i % 7) as f64).collect();
        let sums = gram.weighted_sums(&weights, |c| f64::from(c).max(0.0));
        for i in 0..n {
            let plain: f64 =
                (0..n).map(|v| weights[v] * f64::from(cosines[v * n + i].max(0.0))).sum();
            assert!((sums[i] - plain).abs() < 1e-9, "{i}: {} {plain}", sums[i]);
        }
    }

    #[test]
    fn zero_vectors_and_extreme_scales() {
        let data = [0.0, 0.0, 3e38, 3e38, 1e-45, 1e-45];
        let gram = Gram::pack(&Rows::all(Matrix::from_f32(&data, 3, 2).unwrap()));
        let k = gram.cosines();
        assert_eq!(&k[..3], &[0.0; 3]);
        assert!((k[5] - 1.0).abs() < 1e-6 && k[4] > 0.999_999);
    }
}
