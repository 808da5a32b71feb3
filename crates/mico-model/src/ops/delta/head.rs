//! The inputs of one key head and its value heads: convolved queries, keys and values, and the
//! gates.

use std::ops::Range;

use super::super::vector::{dot, exp, sigmoid};
use super::{DeltaRule, Projected};

/// Epsilon added to the squared norm of a query or key before the square root.
const LENGTH_EPS: f32 = 1e-6;
/// Above this, softplus equals its argument in f32.
const SOFTPLUS_LINEAR: f32 = 20.0;

/// A key head, with the inputs of the run it works on.
pub(super) struct KeyHead<'a> {
    pub(super) rule: &'a DeltaRule,
    pub(super) input: Projected<'a>,
    /// The convolution's inputs before the run, `[kernel - 1, channels]`.
    pub(super) window: &'a [f32],
    pub(super) index: usize,
}

/// The gates of one value head at one token.
#[derive(Clone, Copy)]
pub(super) struct Gates {
    /// The factor by which the state decays, in `[0, 1]`.
    pub(super) keep: f32,
    /// The share of the correction that is written, in `[0, 1]`.
    pub(super) write: f32,
}

impl KeyHead<'_> {
    /// Queries from token `start` on, as many as `out` holds, `[m, key_dim]`.
    pub(super) fn queries(&self, start: usize, out: &mut [f32]) {
        let dim = self.rule.shape.key_dim;
        let at = self.index * dim;
        self.convolve(at..at + dim, start, out);
        normalize(out, dim, (dim as f32).powf(-0.5));
    }

    /// Keys from token `start` on, as many as `out` holds, `[m, key_dim]`.
    pub(super) fn keys(&self, start: usize, out: &mut [f32]) {
        let shape = self.rule.shape;
        let at = (shape.key_heads + self.index) * shape.key_dim;
        self.convolve(at..at + shape.key_dim, start, out);
        normalize(out, shape.key_dim, 1.0);
    }

    /// Values of all value heads of this key head from token `start` on, `[m, group * value_dim]`.
    pub(super) fn values(&self, start: usize, out: &mut [f32]) {
        let shape = self.rule.shape;
        let width = shape.group() * shape.value_dim;
        let at = 2 * shape.key_heads * shape.key_dim + self.index * width;
        self.convolve(at..at + width, start, out);
    }

    /// The gates of the `member`-th value head of this key head at a token.
    pub(super) fn gates(&self, member: usize, token: usize) -> Gates {
        let shape = self.rule.shape;
        let head = self.index * shape.group() + member;
        let at = token * shape.value_heads + head;
        let forget = self.rule.rate[head] * softplus(self.input.forget[at] + self.rule.bias[head]);
        Gates { keep: exp(-forget), write: sigmoid(self.input.write[at]) }
    }

    /// The channels `columns` after convolution and `SiLU`.
    fn convolve(&self, columns: Range<usize>, start: usize, out: &mut [f32]) {
        let channels = self.rule.shape.channels();
        for (offset, out) in out.chunks_exact_mut(columns.len()).enumerate() {
            out.fill(0.0);
            for (tap, filters) in self.rule.filters.chunks_exact(channels).enumerate() {
                let input = &self.row(start + offset + tap)[columns.clone()];
                for ((o, w), x) in out.iter_mut().zip(&filters[columns.clone()]).zip(input) {
                    *o = w.mul_add(*x, *o);
                }
            }
            for o in out {
                *o *= sigmoid(*o);
            }
        }
    }

    /// The input row with this index, counted from the beginning of the window.
    fn row(&self, index: usize) -> &[f32] {
        let shape = self.rule.shape;
        let channels = shape.channels();
        match index.checked_sub(shape.kernel - 1) {
            Some(token) => &self.input.mixed[token * channels..][..channels],
            None => &self.window[index * channels..][..channels],
        }
    }
}

/// Scales each row to the Euclidean norm `scale`.
fn normalize(rows: &mut [f32], dim: usize, scale: f32) {
    for row in rows.chunks_exact_mut(dim) {
        let factor = scale / (dot(row, row) + LENGTH_EPS).sqrt();
        row.iter_mut().for_each(|x| *x *= factor);
    }
}

/// Softplus, `ln(1 + e^x)`, which is smooth and positive.
fn softplus(x: f32) -> f32 {
    if x > SOFTPLUS_LINEAR { x } else { x.exp().ln_1p() }
}
