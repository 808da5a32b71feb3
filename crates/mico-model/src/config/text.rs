//! The decoder's configuration from `text_config` (or from the root of a flat file).

use mico_util::text::quoted;

use super::fields::Fields;
use super::linear::linear_attention;
use super::parts::{Activation, AttentionBias, DecoderConfig};
use super::rope::{RopeAxes, RopeConfig, rope};
use crate::error::Result;

/// Defaults of the settings a file omits, by its `model_type`.
#[expect(clippy::struct_excessive_bools, reason = "kinds differ in each of them independently")]
struct Kind {
    /// Default sizes; `None` if a file must state its own.
    sizes: Option<Sizes>,
    max_positions: usize,
    eps: f64,
    rope: RopeConfig,
    bias: AttentionBias,
    qk_norm: bool,
    /// Default head width; `None` for `hidden_size / heads`.
    head_dim: Option<usize>,
    /// Whether blocks alternate between linear attention and full attention with output gates, and norms
    /// are zero-centred.
    hybrid: bool,
    /// Whether three `RoPE` sections are interleaved unless the file says otherwise.
    interleaved: bool,
    /// Whether `sliding_window` applies only if `use_sliding_window` is set.
    window_flag: bool,
}

struct Sizes {
    hidden: usize,
    intermediate: usize,
    blocks: usize,
    heads: usize,
    kv_heads: Option<usize>,
    vocab: usize,
}

const ROPE: RopeConfig = RopeConfig { theta: 1e4, factor: 1.0, axes: RopeAxes::One, partial: 1.0 };

const LLAMA: Kind = Kind {
    sizes: Some(Sizes {
        hidden: 4096,
        intermediate: 11_008,
        blocks: 32,
        heads: 32,
        kv_heads: None,
        vocab: 32_000,
    }),
    max_positions: 2048,
    // Every published LLaVA decoder uses this.
    eps: 1e-5,
    rope: ROPE,
    bias: AttentionBias::None,
    qk_norm: false,
    head_dim: None,
    hybrid: false,
    interleaved: false,
    window_flag: false,
};

const MISTRAL: Kind = Kind {
    sizes: Some(Sizes {
        hidden: 4096,
        intermediate: 14_336,
        blocks: 32,
        heads: 32,
        kv_heads: Some(8),
        vocab: 32_000,
    }),
    max_positions: 131_072,
    ..LLAMA
};

const QWEN2: Kind = Kind {
    sizes: None,
    max_positions: 32_768,
    eps: 1e-6,
    rope: RopeConfig { theta: 1e6, ..ROPE },
    bias: AttentionBias::Qkv,
    window_flag: true,
    ..LLAMA
};

const QWEN3: Kind = Kind {
    max_positions: 128_000,
    rope: RopeConfig { theta: 5e6, ..ROPE },
    bias: AttentionBias::None,
    qk_norm: true,
    head_dim: Some(128),
    interleaved: true,
    ..QWEN2
};

const QWEN35: Kind = Kind {
    max_positions: 32_768,
    rope: RopeConfig { theta: 1e7, partial: 0.25, ..ROPE },
    head_dim: Some(256),
    hybrid: true,
    ..QWEN3
};

/// The decoders a family's models may have, by `model_type`; a file that does not say means
/// the first.
pub type DecoderKinds = &'static [&'static str];

/// The decoders LLaVA models may have: all that this crate supports.
pub const LLAVA_KINDS: DecoderKinds = &[
    "llama",
    "mistral",
    "qwen2",
    "qwen3",
    "qwen3_vl_text",
    "qwen3_5",
    "qwen3_5_text",
    "llava",
    "llava_next",
    "llava_llama",
    "llava_mistral",
    "llava_qwen",
];

fn kind(text: &Fields, kinds: DecoderKinds) -> Result<Kind> {
    let name = match text.text("model_type")? {
        Some(name) if !kinds.contains(&name) => {
            let message = format!("is `{}`, accepted: {}", quoted(name), kinds.join(", "));
            return Err(text.unsupported("model_type", message));
        }
        Some(name) => name,
        None => kinds.first().copied().unwrap_or_default(),
    };
    Ok(match name {
        "mistral" | "llava_mistral" => MISTRAL,
        "qwen2" | "llava_qwen" | "qwen2_5_vl" | "qwen2_5_vl_text" => QWEN2,
        "qwen3" | "qwen3_vl" | "qwen3_vl_text" => QWEN3,
        "qwen3_5" | "qwen3_5_text" => QWEN35,
        _ => LLAMA,
    })
}

/// Reads and validates the configuration of a decoder of one of these kinds. `tied` is what the
/// enclosing file says about tying the output head to the embedding table.
pub fn read_decoder(
    text: &Fields,
    tied: Option<bool>,
    kinds: DecoderKinds,
) -> Result<DecoderConfig> {
    let kind = kind(text, kinds)?;
    if let Some(activation) = text.activation("hidden_act")?
        && activation != Activation::Silu
    {
        let name = text.text("hidden_act")?.unwrap_or_default();
        return Err(text.error("hidden_act", format!("is `{}`, accepted: silu", quoted(name))));
    }
    if text.flag("mlp_bias")? == Some(true) {
        return Err(text.error("mlp_bias", "is true, accepted: false"));
    }
    let size = |key: &str, default: fn(&Sizes) -> usize| match text.usize(key)? {
        Some(size) => Ok(size),
        None => kind.sizes.as_ref().map(default).ok_or_else(|| text.error(key, "is missing")),
    };
    let hidden_size = size("hidden_size", |sizes| sizes.hidden)?;
    let heads = size("num_attention_heads", |sizes| sizes.heads)?;
    let usual_kv_heads = kind.sizes.as_ref().and_then(|sizes| sizes.kv_heads).unwrap_or(heads);
    let kv_heads = text.usize("num_key_value_heads")?.unwrap_or(usual_kv_heads.min(heads));
    let head_dim = match text.usize("head_dim")?.or(kind.head_dim) {
        Some(dim) => dim,
        None if heads > 0 && hidden_size.is_multiple_of(heads) => hidden_size / heads,
        None => {
            let message = format!("is {heads}, which does not divide hidden_size {hidden_size}");
            return Err(text.error("num_attention_heads", message));
        }
    };
    let attention_bias = match text.flag("attention_bias")? {
        Some(true) => AttentionBias::All,
        _ => kind.bias,
    };
    let windowed = !kind.window_flag || text.flag("use_sliding_window")?.unwrap_or(false);
    let blocks = size("num_hidden_layers", |sizes| sizes.blocks)?;
    let linear = kind.hybrid.then(|| linear_attention(text, blocks)).transpose()?;
    let config = DecoderConfig {
        hidden_size,
        intermediate_size: size("intermediate_size", |sizes| sizes.intermediate)?,
        blocks,
        heads,
        kv_heads,
        head_dim,
        vocab_size: size("vocab_size", |sizes| sizes.vocab)?,
        max_positions: text.usize("max_position_embeddings")?.unwrap_or(kind.max_positions),
        rms_norm_eps: text.epsilon("rms_norm_eps")?.unwrap_or(kind.eps),
        rope: rope(text, kind.rope, kind.interleaved)?,
        attention_bias,
        qk_norm: kind.qk_norm,
        tied_head: tied.unwrap_or(false) || text.flag("tie_word_embeddings")?.unwrap_or(false),
        sliding_window: if windowed { text.usize("sliding_window")? } else { None },
        output_gate: text.flag("attn_output_gate")?.unwrap_or(kind.hybrid),
        zero_centered_norms: kind.hybrid,
        linear_attention: linear,
    };
    config.validate(text.file()).map_err(|error| text.renamed(error))?;
    Ok(config)
}
