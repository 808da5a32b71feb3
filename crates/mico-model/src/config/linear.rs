//! Configuration of the linear-attention blocks (Gated DeltaNet), and which blocks those are.

use mico_util::text::quoted;

use super::fields::Fields;
use super::parts::{Check, MAX_BLOCKS, MAX_WIDTH};
use crate::error::Result;

/// The longest causal convolution accepted, in tokens.
const MAX_KERNEL: usize = 64;
/// The largest recurrent state of one block, in values (256 MiB of f32).
const MAX_STATE: usize = 1 << 26;
/// One block in this many has full attention, in a file that does not list them.
const USUAL_INTERVAL: usize = 4;

/// The token mixer of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MixerKind {
    /// Softmax attention over all earlier tokens; keeps a KV cache.
    #[default]
    FullAttention,
    /// Linear attention by the gated delta rule; keeps a state of fixed size.
    LinearAttention,
}

/// Which blocks have linear attention, and its sizes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinearAttentionConfig {
    /// The mixer of each block, one entry per decoder block.
    pub mixers: Vec<MixerKind>,
    /// Length of the causal convolution, in tokens.
    pub conv_kernel: usize,
    /// The number of query and key heads; divides `value_heads`.
    pub key_heads: usize,
    /// Width of a query or key head.
    pub key_dim: usize,
    /// The number of value heads, each with a state of `key_dim x value_dim`.
    pub value_heads: usize,
    /// Width of a value head.
    pub value_dim: usize,
}

impl LinearAttentionConfig {
    /// Full attention in every `interval`-th of `blocks` blocks, linear attention in the others.
    pub fn every(interval: usize, blocks: usize) -> Vec<MixerKind> {
        (1..=blocks)
            .map(|number| {
                let full = number.is_multiple_of(interval);
                if full { MixerKind::FullAttention } else { MixerKind::LinearAttention }
            })
            .collect()
    }

    /// Width of all query heads together, and of all key heads.
    pub fn keys_width(&self) -> usize {
        self.key_heads * self.key_dim
    }

    /// Width of all value heads together, and of the output gate.
    pub fn values_width(&self) -> usize {
        self.value_heads * self.value_dim
    }

    /// Channels of the convolution: all queries, keys and values.
    pub fn channels(&self) -> usize {
        2 * self.keys_width() + self.values_width()
    }

    /// The number of values a block keeps: the states of its value heads and the convolution's window.
    pub fn state(&self) -> usize {
        self.values_width() * self.key_dim + self.conv_kernel.saturating_sub(1) * self.channels()
    }

    /// The number of value heads that share a key head.
    pub fn group(&self) -> usize {
        self.value_heads / self.key_heads
    }

    pub(super) fn validate(&self, check: &Check, blocks: usize) -> Result<()> {
        if self.mixers.len() != blocks {
            let message = format!("has {} entries for {blocks} blocks", self.mixers.len());
            return Err(check.error("layer_types", message));
        }
        check.range("linear_conv_kernel_dim", self.conv_kernel, MAX_KERNEL)?;
        check.range("linear_num_key_heads", self.key_heads, MAX_WIDTH)?;
        check.range("linear_num_value_heads", self.value_heads, MAX_WIDTH)?;
        check.range("linear_key_head_dim", self.key_dim, MAX_WIDTH)?;
        check.range("linear_value_head_dim", self.value_dim, MAX_WIDTH)?;
        check.range("linear_num_key_heads * linear_key_head_dim", self.keys_width(), MAX_WIDTH)?;
        let values = self.values_width();
        check.range("linear_num_value_heads * linear_value_head_dim", values, MAX_WIDTH)?;
        check.divides(
            "linear_num_key_heads",
            self.key_heads,
            "linear_num_value_heads",
            self.value_heads,
        )?;
        let state = values.saturating_mul(self.key_dim);
        check.range("linear_key_head_dim * all values (the state)", state, MAX_STATE)
    }
}

/// Reads the settings of a hybrid decoder of `blocks` blocks: its `layer_types`, or one block of
/// full attention in every `full_attention_interval`.
pub(super) fn linear_attention(text: &Fields, blocks: usize) -> Result<LinearAttentionConfig> {
    let mixers = if let Some(names) = text.texts("layer_types")? {
        names.into_iter().map(|name| mixer(text, name)).collect::<Result<_>>()?
    } else {
        let interval = text.usize("full_attention_interval")?.unwrap_or(USUAL_INTERVAL);
        let check = Check { file: text.file(), part: "text_config" };
        check.range("full_attention_interval", interval, MAX_BLOCKS)?;
        check.range("num_hidden_layers", blocks, MAX_BLOCKS)?;
        LinearAttentionConfig::every(interval, blocks)
    };
    let size = |key: &str, usual: usize| Ok::<_, crate::Error>(text.usize(key)?.unwrap_or(usual));
    Ok(LinearAttentionConfig {
        mixers,
        conv_kernel: size("linear_conv_kernel_dim", 4)?,
        key_heads: size("linear_num_key_heads", 16)?,
        key_dim: size("linear_key_head_dim", 128)?,
        value_heads: size("linear_num_value_heads", 32)?,
        value_dim: size("linear_value_head_dim", 128)?,
    })
}

fn mixer(text: &Fields, name: &str) -> Result<MixerKind> {
    match name {
        "full_attention" => Ok(MixerKind::FullAttention),
        "linear_attention" => Ok(MixerKind::LinearAttention),
        other => {
            let other = quoted(other);
            let message = format!("has `{other}`, accepted: full_attention, linear_attention");
            Err(text.error("layer_types", message))
        }
    }
}
