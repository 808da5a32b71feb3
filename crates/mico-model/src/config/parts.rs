//! Configuration of the parts a model is built from, and the limits they must respect.

use super::linear::{LinearAttentionConfig, MixerKind};
use super::rope::RopeConfig;
use crate::error::{Error, Result};

/// No published model comes near these; a larger number in a file is a mistake or an attack.
pub(super) const MAX_WIDTH: usize = 1 << 17;
pub(super) const MAX_BLOCKS: usize = 1 << 10;
const MAX_VOCAB: usize = 1 << 22;
pub(super) const MAX_IMAGE_SIDE: usize = 1 << 14;
const MAX_POSITIONS: usize = 1 << 24;

/// The activation functions in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activation {
    /// Quick GELU, `x * sigmoid(1.702 x)` (CLIP).
    QuickGelu,
    /// Exact GELU, `x * Phi(x)` with the error function.
    Gelu,
    /// The tanh approximation of GELU.
    GeluTanh,
    /// `SiLU` (swish), `x * sigmoid(x)`.
    Silu,
}

impl Activation {
    /// The activation function that a configuration file calls `name`.
    pub fn parse(name: &str) -> Result<Self> {
        match name {
            "quick_gelu" => Ok(Self::QuickGelu),
            "gelu" => Ok(Self::Gelu),
            "gelu_pytorch_tanh" | "gelu_new" => Ok(Self::GeluTanh),
            "silu" | "swish" => Ok(Self::Silu),
            other => Err(Error::Unknown {
                what: "activation",
                found: other.to_owned(),
                accepted: "quick_gelu, gelu, gelu_pytorch_tanh, silu".into(),
            }),
        }
    }
}

/// Which projections of a decoder block's attention have biases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AttentionBias {
    /// None of them (Llama, Mistral).
    #[default]
    None,
    /// Query, key and value (Qwen2).
    Qkv,
    /// Query, key, value and output.
    All,
}

/// Configuration of the decoder, whatever the family.
#[expect(clippy::struct_excessive_bools, reason = "families switch each of them independently")]
#[derive(Debug, Clone, PartialEq)]
pub struct DecoderConfig {
    /// Width of the residual stream (hidden states).
    pub hidden_size: usize,
    /// Inner width of the gated MLP.
    pub intermediate_size: usize,
    /// The number of decoder blocks, the paper's L.
    pub blocks: usize,
    /// The number of query heads per block.
    pub heads: usize,
    /// The number of key/value heads; divides `heads` (grouped-query attention).
    pub kv_heads: usize,
    /// Width of one attention head.
    pub head_dim: usize,
    /// Rows of the embedding table and of the output head.
    pub vocab_size: usize,
    /// Longest sequence the model was trained for.
    pub max_positions: usize,
    /// Epsilon of the RMS norms.
    pub rms_norm_eps: f64,
    /// Rotary position embedding (`RoPE`).
    pub rope: RopeConfig,
    /// Which projections of the attention have biases.
    pub attention_bias: AttentionBias,
    /// Whether queries and keys are normalised per head before `RoPE` (Qwen3).
    pub qk_norm: bool,
    /// Whether the output head may reuse the embedding table when the file has none of its own.
    pub tied_head: bool,
    /// Sliding attention window; longer sequences are refused, as no published model here uses one.
    pub sliding_window: Option<usize>,
    /// Whether attention output is multiplied by a sigmoid gate per query head (Qwen3.5).
    pub output_gate: bool,
    /// Whether the RMS norms multiply by `1 + w` instead of `w` (Qwen3.5).
    pub zero_centered_norms: bool,
    /// Configuration of the linear-attention blocks (Qwen3.5); `None` if all have full attention.
    pub linear_attention: Option<LinearAttentionConfig>,
}

impl DecoderConfig {
    /// The token mixer of a block (0-based): full or linear attention.
    pub fn mixer(&self, block: usize) -> MixerKind {
        let listed = self.linear_attention.as_ref().and_then(|linear| linear.mixers.get(block));
        listed.copied().unwrap_or_default()
    }

    /// The number of leading values of a head that `RoPE` rotates; the others stay as they are.
    pub fn rotary_dim(&self) -> usize {
        (self.head_dim as f64 * self.rope.partial) as usize
    }

    /// Refuses sizes no decoder can have. `file` is named in the error.
    pub fn validate(&self, file: &str) -> Result<()> {
        let check = Check { file, part: "text_config" };
        check.range("hidden_size", self.hidden_size, MAX_WIDTH)?;
        check.range("intermediate_size", self.intermediate_size, MAX_WIDTH)?;
        check.range("num_hidden_layers", self.blocks, MAX_BLOCKS)?;
        check.range("num_attention_heads", self.heads, MAX_WIDTH)?;
        check.range("num_key_value_heads", self.kv_heads, self.heads)?;
        check.range("head_dim", self.head_dim, MAX_WIDTH)?;
        check.range("vocab_size", self.vocab_size, MAX_VOCAB)?;
        check.range("max_position_embeddings", self.max_positions, MAX_POSITIONS)?;
        check.divides("num_key_value_heads", self.kv_heads, "num_attention_heads", self.heads)?;
        check.even("head_dim", self.head_dim)?;
        let rotary = self.rotary_dim();
        if !(2..=self.head_dim).contains(&rotary) || !rotary.is_multiple_of(2) {
            let (partial, dim) = (self.rope.partial, self.head_dim);
            let message = format!(
                "is {partial}, which turns {rotary} of {dim} numbers of a head; an even number \
                 from 2 is needed"
            );
            return Err(check.error("rope_parameters.partial_rotary_factor", message));
        }
        if let Some(sections) = self.rope.axes.sections()
            && sections.iter().try_fold(0_usize, |sum, &n| sum.checked_add(n)) != Some(rotary / 2)
        {
            let half = rotary / 2;
            let message = format!("is {sections:?}, the sum must be {half}, half of head_dim");
            return Err(check.error("rope_parameters.mrope_section", message));
        }
        match &self.linear_attention {
            Some(linear) => linear.validate(&check, self.blocks),
            None => Ok(()),
        }
    }
}

/// Configuration of the two-layer MLP projector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProjectorConfig {
    /// The activation function between the layers.
    pub activation: Activation,
    /// Whether both layers have biases.
    pub bias: bool,
}

/// Checks of configuration values, whose errors name file and setting.
pub struct Check<'a> {
    /// The file name given in errors.
    pub file: &'a str,
    /// The JSON object of the file that holds the settings, such as `text_config`.
    pub part: &'a str,
}

impl Check<'_> {
    /// An error about the setting `field`.
    pub fn error(&self, field: &str, message: String) -> Error {
        Error::Config {
            file: self.file.to_owned(),
            field: format!("{}.{field}", self.part),
            message,
        }
    }

    /// Refuses a value outside 1 to `max`.
    pub fn range(&self, field: &str, value: usize, max: usize) -> Result<()> {
        if (1..=max).contains(&value) {
            return Ok(());
        }
        Err(self.error(field, format!("is {value}, accepted: 1 to {max}")))
    }

    /// Refuses a `value` that is no multiple of `divisor`, which the error calls `small`.
    pub fn divides(&self, small: &str, divisor: usize, field: &str, value: usize) -> Result<()> {
        if value.is_multiple_of(divisor) {
            return Ok(());
        }
        Err(self.error(
            field,
            format!("is {value}, expected a multiple of {small}, which is {divisor}"),
        ))
    }

    /// Refuses an odd value.
    pub fn even(&self, field: &str, value: usize) -> Result<()> {
        if value.is_multiple_of(2) {
            return Ok(());
        }
        Err(self.error(field, format!("is {value}, expected an even number")))
    }
}
