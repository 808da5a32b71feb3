//! The output stage of linear attention: an RMS norm per value head, then a gate.

use rayon::prelude::*;

use super::super::vector::{dot, sigmoid};

/// Outputs of all value heads.
pub(crate) struct HeadOutputs {
    pub(super) values: Vec<f32>,
    pub(super) tokens: usize,
    pub(super) dim: usize,
    /// Whether they are `[value_heads, tokens, dim]`, or else `[tokens, value_heads, dim]`.
    pub(super) heads_first: bool,
}

impl HeadOutputs {
    /// The output of a value head for a token.
    fn get(&self, head: usize, token: usize) -> &[f32] {
        let heads = self.values.len() / (self.tokens * self.dim).max(1);
        let at = if self.heads_first { head * self.tokens + token } else { token * heads + head };
        &self.values[at * self.dim..][..self.dim]
    }
}

/// An RMS norm over each head, whose result is multiplied by the `SiLU` of a gate.
#[derive(Debug)]
pub(crate) struct GatedNorm {
    /// Weights of the norm, one per element of a head, shared by all heads.
    pub(crate) weight: Vec<f32>,
    pub(crate) eps: f32,
}

impl GatedNorm {
    /// The rows of the last tokens, as many as `gate` (`[m, value_heads * dim]`) has.
    pub(crate) fn apply(&self, heads: &HeadOutputs, gate: &[f32]) -> Vec<f32> {
        let (tokens, dim) = (heads.tokens, heads.dim);
        let width = heads.values.len() / tokens;
        let mut out = vec![0.0_f32; gate.len()];
        let first = tokens - gate.len() / width;
        out.par_chunks_mut(width).zip(gate.par_chunks(width)).enumerate().for_each(
            |(row, (out, gate))| {
                let places = out.chunks_exact_mut(dim).zip(gate.chunks_exact(dim));
                for (head, (out, gate)) in places.enumerate() {
                    let values = heads.get(head, first + row);
                    let inverse = (dot(values, values) / dim as f32 + self.eps).sqrt().recip();
                    for ((o, v), (g, w)) in
                        out.iter_mut().zip(values).zip(gate.iter().zip(&self.weight))
                    {
                        *o = w * (v * inverse) * (g * sigmoid(*g));
                    }
                }
            },
        );
        out
    }
}
