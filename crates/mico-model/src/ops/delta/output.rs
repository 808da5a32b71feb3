//! The output stage of linear attention: an RMS norm per value head, then a gate.

use rayon::prelude::*;

use super::super::vector::{dot, sigmoid};

/// Outputs of all value heads, `[value_heads, tokens, dim]`.
pub(crate) struct HeadOutputs {
    pub(super) values: Vec<f32>,
    pub(super) tokens: usize,
    pub(super) dim: usize,
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
        let HeadOutputs { values, tokens, dim } = heads;
        let (tokens, dim) = (*tokens, *dim);
        let width = values.len() / tokens;
        let mut out = vec![0.0_f32; gate.len()];
        let first = tokens - gate.len() / width;
        out.par_chunks_mut(width).zip(gate.par_chunks(width)).enumerate().for_each(
            |(row, (out, gate))| {
                let places = out.chunks_exact_mut(dim).zip(gate.chunks_exact(dim));
                for (head, (out, gate)) in places.enumerate() {
                    let values = &values[(head * tokens + first + row) * dim..][..dim];
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
