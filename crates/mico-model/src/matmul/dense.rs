//! Packed f32 matrices and their product kernel.

#![allow(
    clippy::inline_always,
    reason = "the body must be compiled inside the closure that enables the vector instructions"
)]

use pulp::Arch;
use rayon::prelude::*;

use super::{Finish, PANEL, PANELS, Sums, by_slabs, by_strips};

/// Rows of a register block: with two vectors of columns its sums take twelve of sixteen registers.
const ROWS: usize = 6;
/// Depth of a block: 16 KiB of a panel stay in the first-level cache.
const DEPTH: usize = 256;

/// A matrix `[output, input]`, kept as panels of [`PANEL`] outputs.
#[derive(Debug)]
pub(crate) struct DenseMatrix {
    /// For each panel the weights of its outputs, input by input.
    panels: Vec<[f32; PANEL]>,
    input: usize,
    output: usize,
}

impl DenseMatrix {
    /// Bytes that a packed matrix of that shape takes.
    pub(super) const fn bytes_of(output: usize, input: usize) -> usize {
        output.div_ceil(PANEL) * input * size_of::<[f32; PANEL]>()
    }

    /// Packs a row-major matrix whose rows have `input` values.
    pub(super) fn pack(weights: &[f32], input: usize) -> Self {
        let output = weights.len().checked_div(input).unwrap_or(0);
        let mut panels = vec![[0.0; PANEL]; output.div_ceil(PANEL) * input];
        if input > 0 {
            let sources = weights.par_chunks(PANEL * input);
            panels.par_chunks_mut(input).zip(sources).for_each(|(panel, rows)| {
                for (lane, row) in rows.chunks_exact(input).enumerate() {
                    panel.iter_mut().zip(row).for_each(|(line, weight)| line[lane] = *weight);
                }
            });
        }
        Self { panels, input, output }
    }

    /// The numbers of outputs and inputs.
    pub(super) fn shape(&self) -> (usize, usize) {
        (self.output, self.input)
    }

    /// Bytes the packed matrix takes.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(self.panels.as_slice())
    }

    /// `x W^T` for rows of `input` values, completed by `finish`.
    pub(super) fn product(&self, x: &[f32], finish: Finish<'_>) -> Vec<f32> {
        let arch = Arch::new();
        by_slabs(x, self.shape(), finish, |x, out, finish| {
            let blocks = pack_rows(x, self.input);
            let sum = |strip: usize, start: usize, sums: &mut Sums| {
                arch.dispatch(
                    #[inline(always)]
                    || self.strip(&blocks, strip, start, sums),
                );
            };
            by_strips(out, self.output, sum, finish);
        })
    }

    #[inline(always)]
    fn strip(&self, blocks: &[[f32; ROWS]], strip: usize, start: usize, sums: &mut Sums) {
        let panels = self.panels.chunks_exact(self.input).skip(strip * PANELS).take(PANELS);
        for from in (0..self.input).step_by(DEPTH) {
            let to = (from + DEPTH).min(self.input);
            for (index, panel) in panels.clone().enumerate() {
                let panel = &panel[from..to];
                for row in (0..sums.rows).step_by(ROWS) {
                    let block = (start + row) / ROWS;
                    let a = &blocks[block * self.input..][from..to];
                    let lines = sums.from(index, row);
                    match lines.len() {
                        1 => accumulate::<1>(a, panel, lines),
                        2 => accumulate::<2>(a, panel, lines),
                        3 => accumulate::<3>(a, panel, lines),
                        4 => accumulate::<4>(a, panel, lines),
                        5 => accumulate::<5>(a, panel, lines),
                        _ => accumulate::<ROWS>(a, panel, lines),
                    }
                }
            }
        }
    }
}

/// Groups of [`ROWS`] rows, each stored input by input; the last group is filled up with zeros.
fn pack_rows(x: &[f32], input: usize) -> Vec<[f32; ROWS]> {
    let rows = x.len().checked_div(input).unwrap_or(0);
    let mut blocks = vec![[0.0; ROWS]; rows.div_ceil(ROWS) * input];
    if input > 0 {
        let groups = x.par_chunks(ROWS * input);
        blocks.par_chunks_mut(input).zip(groups).for_each(|(block, group)| {
            if group.len() == ROWS * input {
                let rows: [&[f32]; ROWS] = std::array::from_fn(|i| &group[i * input..][..input]);
                for (at, values) in block.iter_mut().enumerate() {
                    for lane in 0..ROWS {
                        values[lane] = rows[lane][at];
                    }
                }
            } else {
                for (lane, row) in group.chunks_exact(input).enumerate() {
                    block.iter_mut().zip(row).for_each(|(values, value)| values[lane] = *value);
                }
            }
        });
    }
    blocks
}

/// Adds the products of the first `R` rows of a group with a panel to `R` lines of sums.
#[inline(always)]
fn accumulate<const R: usize>(
    a: &[[f32; ROWS]],
    panel: &[[f32; PANEL]],
    lines: &mut [[f32; PANEL]],
) {
    let Some(lines) = lines.first_chunk_mut::<R>() else { return };
    let mut sums = *lines;
    for (values, weights) in a.iter().zip(panel) {
        for i in 0..R {
            for j in 0..PANEL {
                sums[i][j] = values[i].mul_add(weights[j], sums[i][j]);
            }
        }
    }
    *lines = sums;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_agrees_with_the_definition() {
        let number = |i: usize| (i * 37 % 101) as f32 / 50.0 - 1.0;
        for (rows, input, output) in [
            (1, 1, 1),
            (6, 8, 16),
            (13, 300, 70),
            (7, 257, 64),
            (5, 9, 129),
            (400, 3, 17),
            (1600, 2, 3),
            (0, 4, 4),
        ] {
            let x: Vec<f32> = (0..rows * input).map(number).collect();
            let weights: Vec<f32> = (0..output * input).map(|i| number(i + 5)).collect();
            let matrix = DenseMatrix::pack(&weights, input);
            let found = matrix.product(&x, &|_, first, part| {
                part.iter_mut().enumerate().for_each(|(i, y)| *y += (first + i) as f32);
            });
            assert_eq!(found.len(), rows * output);
            for (at, found) in found.iter().enumerate() {
                let (row, column) = (at / output, at % output);
                let (x, w) = (&x[row * input..][..input], &weights[column * input..][..input]);
                let exact: f64 = x.iter().zip(w).map(|(x, w)| f64::from(*x) * f64::from(*w)).sum();
                assert!((f64::from(*found) - exact - column as f64).abs() < 1e-4);
            }
        }
    }

    #[test]
    fn a_row_does_not_depend_on_the_others() {
        let number = |i: usize| (i * 31 % 97) as f32 / 48.0 - 1.0;
        let (rows, input, output) = (397, 70, 33);
        let x: Vec<f32> = (0..rows * input).map(number).collect();
        let weights: Vec<f32> = (0..output * input).map(|i| number(i + 3)).collect();
        let matrix = DenseMatrix::pack(&weights, input);
        let all = matrix.product(&x, &|_, _, _| {});
        for count in 1..=17 {
            let some = matrix.product(&x[..count * input], &|_, _, _| {});
            assert_eq!(some, all[..count * output]);
        }
        for row in [0, 5, 191, 200, 396] {
            let alone = matrix.product(&x[row * input..][..input], &|_, _, _| {});
            assert_eq!(alone, all[row * output..][..output]);
        }
    }
}
