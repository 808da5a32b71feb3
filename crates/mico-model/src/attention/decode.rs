//! Attention of a single query row, as in decoding one token at a time.

use candle_core::{CpuStorage, CustomOp3, Layout, Shape, Tensor};
use rayon::prelude::*;

use super::heads::Heads;
use super::tiled::AttentionInput;
use crate::error::Result;
use crate::ops::{dot, softmax_row};

struct SingleRow;

impl CustomOp3 for SingleRow {
    fn name(&self) -> &'static str {
        "single-row-attention"
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
        let (heads, _, dim) = q_layout.shape().dims3()?;
        let kv_heads = k_layout.shape().dim(0)?;
        let q = &q.as_slice::<f32>()?[q_layout.start_offset()..][..heads * dim];
        let (keys, values) = (Heads::new(k, k_layout)?, Heads::new(v, v_layout)?);
        let scale = (dim as f32).powf(-0.5);
        let group = heads / kv_heads;
        let mut out = vec![0.0_f32; heads * dim];
        out.par_chunks_mut(dim).zip(q.par_chunks(dim)).enumerate().for_each(|(head, (out, q))| {
            let shared = head / group;
            let mut weights: Vec<f32> =
                keys.head(shared).chunks_exact(dim).map(|key| dot(q, key)).collect();
            softmax_row(&mut weights, scale);
            for (weight, value) in weights.iter().zip(values.head(shared).chunks_exact(dim)) {
                for (o, x) in out.iter_mut().zip(value) {
                    *o = weight.mul_add(*x, *o);
                }
            }
        });
        Ok((CpuStorage::F32(out), Shape::from((1, heads * dim))))
    }
}

/// Attention of one query over every key, on the CPU in f32; returns `[1, heads * d]`.
pub(super) fn single_row(input: &AttentionInput) -> Result<Tensor> {
    let q = input.q.contiguous()?;
    Ok(q.apply_op3_no_bwd(input.k, input.v, &SingleRow)?)
}
