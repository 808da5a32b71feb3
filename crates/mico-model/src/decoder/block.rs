//! One decoder block: attention and a gated MLP, each behind an RMS norm and around a residual.

use candle_core::Tensor;

use crate::attention::{AttentionInput, attention};
use crate::cache::Caches;
use crate::checkpoint::Part;
use crate::config::{AttentionBias, DecoderConfig};
use crate::error::Result;
use crate::linear::Linear;
use crate::norm::RmsNorm;
use crate::ops;
use crate::rope::Positions;
use crate::weights::{Builder, LinearShape};

/// The weights of a block.
#[derive(Debug)]
pub(super) struct Block {
    index: usize,
    heads: usize,
    kv_heads: usize,
    input_norm: RmsNorm,
    q: Linear,
    k: Linear,
    v: Linear,
    output: Linear,
    q_norm: Option<RmsNorm>,
    k_norm: Option<RmsNorm>,
    mlp_norm: RmsNorm,
    gate: Linear,
    up: Linear,
    down: Linear,
}

/// Queries and keys of a block as its attention used them.
pub(super) struct Tapped {
    pub(super) q: Tensor,
    pub(super) k: Tensor,
}

impl Block {
    pub(super) fn build(b: &mut Builder, config: &DecoderConfig, index: usize) -> Result<Self> {
        let width = config.hidden_size;
        let eps = config.rms_norm_eps;
        let (q_width, kv_width) =
            (config.heads * config.head_dim, config.kv_heads * config.head_dim);
        let qkv_bias = config.attention_bias != AttentionBias::None;
        let output_bias = config.attention_bias == AttentionBias::All;
        let name = |inner: &str| format!("layers.{index}.{inner}");
        let mut linear = |inner: &str, input, output, bias| {
            b.linear(Part::Decoder, &name(inner), LinearShape { input, output, bias })
        };
        let q = linear("self_attn.q_proj", width, q_width, qkv_bias)?;
        let k = linear("self_attn.k_proj", width, kv_width, qkv_bias)?;
        let v = linear("self_attn.v_proj", width, kv_width, qkv_bias)?;
        let output = linear("self_attn.o_proj", q_width, width, output_bias)?;
        let gate = linear("mlp.gate_proj", width, config.intermediate_size, false)?;
        let up = linear("mlp.up_proj", width, config.intermediate_size, false)?;
        let down = linear("mlp.down_proj", config.intermediate_size, width, false)?;
        let mut norm = |inner: &str, width| b.rms_norm(Part::Decoder, &name(inner), width, eps);
        let input_norm = norm("input_layernorm", width)?;
        let mlp_norm = norm("post_attention_layernorm", width)?;
        let (q_norm, k_norm) = if config.qk_norm {
            let q_norm = norm("self_attn.q_norm", config.head_dim)?;
            (Some(q_norm), Some(norm("self_attn.k_norm", config.head_dim)?))
        } else {
            (None, None)
        };
        let (heads, kv_heads) = (config.heads, config.kv_heads);
        Ok(Self {
            index,
            heads,
            kv_heads,
            input_norm,
            q,
            k,
            v,
            output,
            q_norm,
            k_norm,
            mlp_norm,
            gate,
            up,
            down,
        })
    }

    /// Bytes of the matrices.
    pub(super) fn bytes(&self) -> usize {
        [&self.q, &self.k, &self.v, &self.output, &self.gate, &self.up, &self.down]
            .into_iter()
            .map(Linear::bytes)
            .sum()
    }

    /// Runs the block on `hidden` `[n, d]`, appending to its cache.
    pub(super) fn forward(
        &self,
        hidden: &Tensor,
        positions: &Positions,
        caches: &mut Caches,
    ) -> Result<(Tensor, Tapped)> {
        let x = self.input_norm.forward(hidden)?;
        let q = self.queries(&x, positions)?;
        let (k, v) = self.remember(&x, positions, caches)?;
        let hidden = self.finish(hidden, &AttentionInput { q: &q, k: &k, v: &v, causal: true })?;
        Ok((hidden, Tapped { q, k }))
    }

    /// The same for the last token's output alone, `[1, d]`; all tokens enter the cache.
    pub(super) fn forward_last(
        &self,
        hidden: &Tensor,
        positions: &Positions,
        caches: &mut Caches,
    ) -> Result<Tensor> {
        let x = self.input_norm.forward(hidden)?;
        let (k, v) = self.remember(&x, positions, caches)?;
        let last = positions.len() - 1;
        let (x, hidden) = (x.narrow(0, last, 1)?, hidden.narrow(0, last, 1)?);
        let q = self.queries(&x, &positions.select(&[last as u32])?)?;
        self.finish(&hidden, &AttentionInput { q: &q, k: &k, v: &v, causal: true })
    }

    fn queries(&self, x: &Tensor, positions: &Positions) -> Result<Tensor> {
        let q = per_head_norm(self.q.forward(x)?, self.heads, self.q_norm.as_ref())?;
        Ok(ops::rotate_heads(&q, self.heads, positions.cos(), positions.sin())?)
    }

    /// Appends the tokens' keys and values to the cache and returns all of them.
    fn remember(
        &self,
        x: &Tensor,
        positions: &Positions,
        caches: &mut Caches,
    ) -> Result<(Tensor, Tensor)> {
        let k = per_head_norm(self.k.forward(x)?, self.kv_heads, self.k_norm.as_ref())?;
        let k = ops::rotate_heads(&k, self.kv_heads, positions.cos(), positions.sin())?;
        let v = ops::split_heads(&self.v.forward(x)?, self.kv_heads)?;
        caches.append(self.index, &k, &v)
    }

    /// Attention, its projection and the MLP around the residual stream.
    fn finish(&self, hidden: &Tensor, input: &AttentionInput) -> Result<Tensor> {
        let hidden = (hidden + self.output.forward(&attention(input)?)?)?;
        let x = self.mlp_norm.forward(&hidden)?;
        let gated = ops::gate(self.gate.forward(&x)?, &self.up.forward(&x)?)?;
        Ok((hidden + self.down.forward(&gated)?)?)
    }
}

/// Normalises each head of each row when the model has such a norm.
fn per_head_norm(x: Tensor, heads: usize, norm: Option<&RmsNorm>) -> Result<Tensor> {
    let Some(norm) = norm else { return Ok(x) };
    let (rows, width) = x.dims2()?;
    let split = x.reshape((rows * heads, width / heads))?;
    Ok(norm.forward(&split)?.reshape((rows, width))?)
}
