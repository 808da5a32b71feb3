//! A half-size upper bound of the positive cosines, for token sets whose kernel does not fit.
//!
//! One triangle of tiles in half precision, every entry rounded up: a quarter of the kernel's
//! memory. A gain computed from it is never below the true one and off by at most a two-thousandth
//! of the similarities it sums, so most candidates are ruled out without their exact column.

use half::f16;
use rayon::prelude::*;

use super::{Gram, TILE};
use crate::progress::{Done, Progress};

const TILE_SIZE: usize = TILE * TILE;

/// `[cos]₊` of all pairs, rounded up to half precision: an upper bound of the kernel.
pub(crate) struct Sketch {
    /// Tiles `(r, c)` with `r <= c`, row by row, each row-major.
    tiles: Vec<f16>,
    n: usize,
}

impl Sketch {
    /// Bytes the sketch of `n` tokens takes.
    pub(crate) fn bytes(n: usize) -> usize {
        let stripes = n.div_ceil(TILE);
        (stripes * (stripes + 1) / 2).saturating_mul(TILE_SIZE * size_of::<f16>())
    }

    pub(crate) fn new(gram: &Gram, progress: &Progress<'_>) -> Self {
        let n = gram.len();
        let stripes = n.div_ceil(TILE);
        let mut tiles = vec![f16::ZERO; stripes * (stripes + 1) / 2 * TILE_SIZE];
        let mut rest = tiles.as_mut_slice();
        let mut parts = Vec::with_capacity(stripes);
        for stripe in 0..stripes {
            let (part, others) = rest.split_at_mut((stripes - stripe) * TILE_SIZE);
            parts.push(part);
            rest = others;
        }
        parts.into_par_iter().enumerate().with_max_len(1).for_each(|(stripe, part)| {
            let mut out = part.chunks_exact_mut(TILE_SIZE);
            gram.for_each_tile(stripe, |_, tile| {
                let Some(out) = out.next() else { return };
                out.iter_mut().zip(tile.as_flattened()).for_each(|(o, &x)| *o = round_up(x));
            });
            mirror_diagonal(&mut part[..TILE_SIZE]);
            progress.report(Done::Compared(TILE.min(n - stripe * TILE)));
        });
        Self { tiles, n }
    }

    /// An upper bound of `Σ_v weight_v [κ(v,i) − covered_v]₊`.
    pub(crate) fn gain_bound(&self, i: usize, covered: &[f32], weights: &[f64]) -> f64 {
        let (stripe, place) = (i / TILE, i % TILE);
        let term = |v: usize, k: f16| {
            let open = k.to_f32() - covered[v];
            if open > 0.0 { weights[v] * f64::from(open) } else { 0.0 }
        };
        let mut sum = 0.0;
        for above in 0..stripe {
            let column = self.tile(above, stripe)[place..].iter().step_by(TILE);
            let first = above * TILE;
            sum += column.enumerate().map(|(v, &k)| term(first + v, k)).sum::<f64>();
        }
        for beside in stripe..self.n.div_ceil(TILE) {
            let first = beside * TILE;
            let row = &self.tile(stripe, beside)[place * TILE..][..TILE.min(self.n - first)];
            sum += row.iter().enumerate().map(|(v, &k)| term(first + v, k)).sum::<f64>();
        }
        sum
    }

    fn tile(&self, row: usize, col: usize) -> &[f16] {
        let stripes = self.n.div_ceil(TILE);
        let before = row * stripes - row * row.saturating_sub(1) / 2;
        let index = before + col - row;
        &self.tiles[index * TILE_SIZE..(index + 1) * TILE_SIZE]
    }
}

/// The smallest half-precision number that is not below `[x]₊`, at most 1.
fn round_up(x: f32) -> f16 {
    let x = x.clamp(0.0, 1.0);
    let nearest = f16::from_f32(x);
    if nearest.to_f32() < x { f16::from_bits(nearest.to_bits() + 1) } else { nearest }
}

fn mirror_diagonal(tile: &mut [f16]) {
    for row in 1..TILE {
        for col in 0..row {
            tile[row * TILE + col] = tile[col * TILE + row];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::{Matrix, Rows};

    #[test]
    fn bounds_hold_and_are_tight() {
        let (n, d) = (217, 6);
        let data: Vec<f32> = (0..n * d).map(|i| ((i * i % 983) as f32 * 0.61).sin()).collect();
        let gram = Gram::pack(&Rows::all(Matrix::from_f32(&data, n, d).unwrap()));
        let kernel = gram.cosines();
        let sketch = Sketch::new(&gram, &Progress::default());
        let weights: Vec<f64> = (0..n).map(|v| (v % 5) as f64 + 0.5).collect();
        let covered: Vec<f32> = (0..n).map(|v| (v % 4) as f32 * 0.2).collect();
        for i in 0..n {
            let (mut gain, mut mass) = (0.0, 0.0);
            for v in 0..n {
                let k = f64::from(kernel[v * n + i].max(0.0));
                gain += weights[v] * (k - f64::from(covered[v])).max(0.0);
                mass += weights[v] * k;
            }
            let bound = sketch.gain_bound(i, &covered, &weights);
            assert!(bound >= gain && bound <= gain + mass / 1024.0 + 1e-6, "{i}: {gain} {bound}");
        }
    }

    #[test]
    fn rounding_never_goes_down() {
        for x in [0.0, 1e-9, 0.1, 0.333_333, 0.999_99, 1.0, -3.0] {
            let up = round_up(x).to_f32();
            assert!(up >= x.max(0.0) && up <= x.max(0.0) * 1.001 + 1e-7, "{x} {up}");
        }
    }
}
