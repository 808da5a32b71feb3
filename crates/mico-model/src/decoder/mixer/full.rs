//! Softmax attention over the block's KV cache.

use candle_core::Tensor;

use super::{Mixed, Tapped};
use crate::attention::{AttentionInput, attention, attention_rows};
use crate::cache::Caches;
use crate::checkpoint::Part;
use crate::config::{AttentionBias, DecoderConfig};
use crate::decoder::block::rms_norm;
use crate::error::Result;
use crate::linear::{Batch, Linear};
use crate::norm::RmsNorm;
use crate::ops;
use crate::rope::Positions;
use crate::weights::{Builder, LinearShape};

/// The attention projections, with optional norms per head and an optional output gate.
#[derive(Debug)]
pub(in crate::decoder) struct FullAttention {
    block: usize,
    heads: usize,
    kv_heads: usize,
    q: Linear,
    k: Linear,
    v: Linear,
    output: Linear,
    q_norm: Option<RmsNorm>,
    k_norm: Option<RmsNorm>,
    /// Whether `q` projects to a query and a gate for each head, one after the other.
    gated: bool,
}

impl FullAttention {
    pub(super) fn build(b: &mut Builder, config: &DecoderConfig, block: usize) -> Result<Self> {
        let (width, dim) = (config.hidden_size, config.head_dim);
        let (heads, kv_heads) = (config.heads, config.kv_heads);
        let gated = config.output_gate;
        let qkv_bias = config.attention_bias != AttentionBias::None;
        let output_bias = config.attention_bias == AttentionBias::All;
        let name = |inner: &str| format!("layers.{block}.self_attn.{inner}");
        let mut linear = |inner: &str, input, output, bias| {
            b.linear(Part::Decoder, &name(inner), LinearShape { input, output, bias })
        };
        let q_width = heads * dim * if gated { 2 } else { 1 };
        let q = linear("q_proj", width, q_width, qkv_bias)?;
        let k = linear("k_proj", width, kv_heads * dim, qkv_bias)?;
        let v = linear("v_proj", width, kv_heads * dim, qkv_bias)?;
        let output = linear("o_proj", heads * dim, width, output_bias)?;
        let mut norm = |inner: &str| {
            config.qk_norm.then(|| rms_norm(b, config, &name(inner), dim)).transpose()
        };
        let (q_norm, k_norm) = (norm("q_norm")?, norm("k_norm")?);
        Ok(Self { block, heads, kv_heads, q, k, v, output, q_norm, k_norm, gated })
    }

    pub(super) fn bytes(&self) -> usize {
        [&self.q, &self.k, &self.v, &self.output].into_iter().map(Linear::bytes).sum()
    }

    pub(super) fn forward(
        &self,
        tokens: Mixed<'_>,
        caches: &mut Caches,
    ) -> Result<(Tensor, Tapped)> {
        let Mixed { x, positions } = tokens;
        let (q, gate) = self.queries(x, positions)?;
        let (k, v) = self.remember(x, positions, caches)?;
        let mixed = attention(&AttentionInput { q: &q, k: &k, v: &v, causal: true })?;
        let out = self.finish(Batch::Sequence, mixed, gate.as_ref())?;
        Ok((out, Tapped { q, k }))
    }

    /// One token of each of several sequences: attention of each over its own cache.
    pub(super) fn step(&self, tokens: Mixed<'_>, caches: &mut [&mut Caches]) -> Result<Tensor> {
        let Mixed { x, positions } = tokens;
        let (cos, sin) = (positions.cos(), positions.sin());
        let (q, gate) = self.projected_queries(Batch::Independent, x)?;
        let q = ops::rotate_rows(&q, self.heads, cos, sin)?;
        let k = self.projected_keys(Batch::Independent, x)?;
        let k = ops::rotate_rows(&k, self.kv_heads, cos, sin)?;
        let v = self.v.forward_in(Batch::Independent, x)?.reshape(k.dims())?;
        let mut cached = Vec::with_capacity(caches.len());
        for (row, caches) in caches.iter_mut().enumerate() {
            let own = |t: &Tensor| t.get(row)?.unsqueeze(1);
            cached.push(caches.append(self.block, &own(&k)?, &own(&v)?)?);
        }
        self.finish(Batch::Independent, attention_rows(&q, &cached)?, gate.as_ref())
    }

    /// Queries of some rows and keys of all, as the block's attention would use them or without `RoPE`;
    /// nothing enters the cache.
    pub(super) fn peek(&self, tokens: Mixed<'_>, rows: &[u32], rotary: bool) -> Result<Tapped> {
        let Mixed { x, positions } = tokens;
        let chosen = x.index_select(&Tensor::new(rows, x.device())?, 0)?;
        if rotary {
            let (q, _) = self.queries(&chosen, &positions.select(rows)?)?;
            return Ok(Tapped { q, k: self.keys(x, positions)? });
        }
        let (q, _) = self.projected_queries(Batch::Sequence, &chosen)?;
        let k = self.projected_keys(Batch::Sequence, x)?;
        Ok(Tapped { q: ops::split_heads(&q, self.heads)?, k: ops::split_heads(&k, self.kv_heads)? })
    }

    pub(super) fn forward_last(&self, tokens: Mixed<'_>, caches: &mut Caches) -> Result<Tensor> {
        let Mixed { x, positions } = tokens;
        let (k, v) = self.remember(x, positions, caches)?;
        let last = positions.len() - 1;
        let (q, gate) = self.queries(&x.narrow(0, last, 1)?, &positions.select(&[last as u32])?)?;
        let mixed = attention(&AttentionInput { q: &q, k: &k, v: &v, causal: true })?;
        self.finish(Batch::Sequence, mixed, gate.as_ref())
    }

    /// Rotated queries `[heads, n, d]`, and the output gates `[n, heads * d]` if the model has them.
    fn queries(&self, x: &Tensor, positions: &Positions) -> Result<(Tensor, Option<Tensor>)> {
        let (q, gate) = self.projected_queries(Batch::Sequence, x)?;
        Ok((ops::rotate_heads(&q, self.heads, positions.cos(), positions.sin())?, gate))
    }

    /// Queries `[n, heads * d]` before `RoPE`, and the output gates.
    fn projected_queries(&self, batch: Batch, x: &Tensor) -> Result<(Tensor, Option<Tensor>)> {
        let projected = self.q.forward_in(batch, x)?;
        let (q, gate) = if self.gated {
            let (rows, width) = projected.dims2()?;
            let (dim, all) = (width / self.heads / 2, width / 2);
            let pairs = projected.reshape((rows, self.heads, 2 * dim))?;
            let half = |at| pairs.narrow(2, at, dim)?.contiguous()?.reshape((rows, all));
            (half(0)?, Some(half(dim)?))
        } else {
            (projected, None)
        };
        Ok((per_head_norm(q, self.heads, self.q_norm.as_ref())?, gate))
    }

    /// Rotated keys `[kv_heads, n, d]`.
    fn keys(&self, x: &Tensor, positions: &Positions) -> Result<Tensor> {
        let k = self.projected_keys(Batch::Sequence, x)?;
        Ok(ops::rotate_heads(&k, self.kv_heads, positions.cos(), positions.sin())?)
    }

    /// Keys `[n, kv_heads * d]` before `RoPE`.
    fn projected_keys(&self, batch: Batch, x: &Tensor) -> Result<Tensor> {
        per_head_norm(self.k.forward_in(batch, x)?, self.kv_heads, self.k_norm.as_ref())
    }

    /// Appends the tokens' keys and values to the KV cache and returns all of them.
    fn remember(
        &self,
        x: &Tensor,
        positions: &Positions,
        caches: &mut Caches,
    ) -> Result<(Tensor, Tensor)> {
        let k = self.keys(x, positions)?;
        let v = ops::split_heads(&self.v.forward(x)?, self.kv_heads)?;
        caches.append(self.block, &k, &v)
    }

    /// The output gates, if the model has them, and the output projection.
    fn finish(&self, batch: Batch, mixed: Tensor, gate: Option<&Tensor>) -> Result<Tensor> {
        let mixed = match gate {
            Some(gate) => ops::sigmoid_gate(mixed, gate)?,
            None => mixed,
        };
        self.output.forward_in(batch, &mixed)
    }
}

/// Normalises each head of each row, if the model has such a norm.
fn per_head_norm(x: Tensor, heads: usize, norm: Option<&RmsNorm>) -> Result<Tensor> {
    let Some(norm) = norm else { return Ok(x) };
    let (rows, width) = x.dims2()?;
    let split = x.reshape((rows * heads, width / heads))?;
    Ok(norm.forward(&split)?.reshape((rows, width))?)
}
