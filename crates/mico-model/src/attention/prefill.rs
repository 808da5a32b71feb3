//! Attention of many query rows on the CPU in f32: each thread takes a tile of query rows, and for
//! one head after the other holds their scores, nothing else.

use candle_core::{CpuStorage, CustomOp3, Layout, Shape, Tensor};
use rayon::prelude::*;

use super::heads::Heads;
use super::tiled::AttentionInput;
use crate::error::Result;
use crate::ops::{PANEL, PanelShape, Rows, product, softmax_row};

/// Query rows per tile: six register blocks of rows; a smaller tile skips more of what causality
/// hides, a larger one reads keys and values less often.
const TILE_ROWS: usize = 36;

struct Prefill {
    causal: bool,
}

/// The keys of every head, transposed to `[head, d, keys]` with `keys` rounded up to whole panels.
struct Transposed {
    data: Vec<f32>,
    padded: usize,
    dim: usize,
}

impl Transposed {
    fn new(keys: &Heads) -> Self {
        let (dim, padded) = (keys.dim, keys.keys.next_multiple_of(PANEL));
        let mut data = vec![0.0_f32; keys.count * dim * padded];
        data.par_chunks_mut(dim * padded).enumerate().for_each(|(head, out)| {
            for (key, row) in keys.head(head).chunks_exact(dim).enumerate() {
                for (c, value) in row.iter().enumerate() {
                    out[c * padded + key] = *value;
                }
            }
        });
        Self { data, padded, dim }
    }

    fn head(&self, head: usize) -> Rows<'_> {
        let size = self.dim * self.padded;
        Rows { data: &self.data[head * size..][..size], stride: self.padded }
    }
}

impl CustomOp3 for Prefill {
    fn name(&self) -> &'static str {
        "prefill-attention"
    }

    fn cpu_fwd(
        &self,
        q: &CpuStorage,
        q_layout: &Layout,
        k: &CpuStorage,
        k_layout: &Layout,
        v: &CpuStorage,
        v_layout: &Layout,
    ) -> candle_core::Result<(CpuStorage, Shape)> {
        let queries = Heads::new(q, q_layout)?;
        let values = Heads::new(v, v_layout)?;
        let keys = Transposed::new(&Heads::new(k, k_layout)?);
        let (heads, rows, dim) = (queries.count, queries.keys, queries.dim);
        let group = heads / values.count;
        let offset = values.keys - rows.min(values.keys);
        let scale = (dim as f32).powf(-0.5);
        let width = heads * dim;
        let mut out = vec![0.0_f32; rows * width];
        out.par_chunks_mut(TILE_ROWS * width).enumerate().for_each(|(tile, out)| {
            let start = tile * TILE_ROWS;
            let count = out.len() / width;
            let seen = if self.causal { offset + start + count } else { values.keys };
            let stride = seen.next_multiple_of(PANEL);
            let mut scores = vec![0.0_f32; count * stride];
            for head in 0..heads {
                let q = &queries.head(head)[start * dim..][..count * dim];
                let shape = PanelShape { rows: count, depth: dim, columns: stride };
                let q = Rows { data: q, stride: dim };
                product(q, keys.head(head / group), &mut scores, stride, shape);
                for (row, scores) in scores.chunks_exact_mut(stride).enumerate() {
                    let visible = if self.causal { offset + start + row + 1 } else { seen };
                    let (shown, hidden) = scores.split_at_mut(visible);
                    softmax_row(shown, scale);
                    hidden.fill(0.0);
                }
                let weights = Rows { data: &scores, stride };
                let v = Rows { data: values.head(head / group), stride: dim };
                let shape = PanelShape { rows: count, depth: seen, columns: dim };
                product(weights, v, &mut out[head * dim..], width, shape);
            }
        });
        Ok((CpuStorage::F32(out), Shape::from((rows, width))))
    }
}

/// Attention of all query rows; gives `[n, heads * d]`.
pub(super) fn many_rows(input: &AttentionInput) -> Result<Tensor> {
    let q = input.q.contiguous()?;
    Ok(q.apply_op3_no_bwd(input.k, input.v, &Prefill { causal: input.causal })?)
}
