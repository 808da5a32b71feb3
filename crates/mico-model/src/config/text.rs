//! The decoder's settings from `text_config` (or from the root of an original file).

use super::fields::Fields;
use super::parts::{Activation, AttentionBias, DecoderConfig, RopeConfig};
use crate::error::Result;

/// What a file that omits a size means: the defaults of its `model_type`.
struct Defaults {
    intermediate_size: usize,
    kv_heads: Option<usize>,
    max_positions: usize,
}

const LLAMA: Defaults = Defaults { intermediate_size: 11_008, kv_heads: None, max_positions: 2048 };
const MISTRAL: Defaults =
    Defaults { intermediate_size: 14_336, kv_heads: Some(8), max_positions: 131_072 };

const DEFAULT_HIDDEN: usize = 4096;
const DEFAULT_BLOCKS: usize = 32;
const DEFAULT_HEADS: usize = 32;
const DEFAULT_VOCAB: usize = 32_000;
/// Every published LLaVA decoder uses this.
const DEFAULT_EPS: f64 = 1e-5;

/// Reads and validates the decoder's settings. `tied` is what the enclosing file says of the head.
pub(super) fn decoder(text: &Fields, tied: Option<bool>) -> Result<DecoderConfig> {
    let defaults = match text.text("model_type")? {
        None | Some("llama" | "llava" | "llava_next" | "llava_llama") => LLAMA,
        Some("mistral" | "llava_mistral") => MISTRAL,
        Some(other) => {
            let message = format!("is `{other}`, accepted: llama, mistral");
            return Err(text.error("model_type", message));
        }
    };
    if let Some(name) = text.text("hidden_act")?
        && Activation::parse(name)? != Activation::Silu
    {
        return Err(text.error("hidden_act", format!("is `{name}`, accepted: silu")));
    }
    if text.flag("mlp_bias")? == Some(true) {
        return Err(text.error("mlp_bias", "is true, accepted: false"));
    }
    let hidden_size = text.usize("hidden_size")?.unwrap_or(DEFAULT_HIDDEN);
    let heads = text.usize("num_attention_heads")?.unwrap_or(DEFAULT_HEADS);
    let kv_heads =
        text.usize("num_key_value_heads")?.unwrap_or(defaults.kv_heads.unwrap_or(heads).min(heads));
    let head_dim = match text.usize("head_dim")? {
        Some(dim) => dim,
        None if heads > 0 && hidden_size.is_multiple_of(heads) => hidden_size / heads,
        None => {
            let message = format!("is {heads}, which does not divide hidden_size {hidden_size}");
            return Err(text.error("num_attention_heads", message));
        }
    };
    let attention_bias = match text.flag("attention_bias")? {
        Some(true) => AttentionBias::All,
        _ => AttentionBias::None,
    };
    let config = DecoderConfig {
        hidden_size,
        intermediate_size: text.usize("intermediate_size")?.unwrap_or(defaults.intermediate_size),
        blocks: text.usize("num_hidden_layers")?.unwrap_or(DEFAULT_BLOCKS),
        heads,
        kv_heads,
        head_dim,
        vocab_size: text.usize("vocab_size")?.unwrap_or(DEFAULT_VOCAB),
        max_positions: text.usize("max_position_embeddings")?.unwrap_or(defaults.max_positions),
        rms_norm_eps: text.positive("rms_norm_eps")?.unwrap_or(DEFAULT_EPS),
        rope: rope(text)?,
        attention_bias,
        qk_norm: false,
        tied_head: tied.unwrap_or(false) || text.flag("tie_word_embeddings")?.unwrap_or(false),
        sliding_window: text.usize("sliding_window")?,
    };
    config.validate(text.file())?;
    Ok(config)
}

/// `rope_parameters` (new style) or `rope_theta` with `rope_scaling` (old style).
fn rope(text: &Fields) -> Result<RopeConfig> {
    let mut rope = RopeConfig::default();
    let outer = text.positive("rope_theta")?;
    let inner = match text.object("rope_parameters")? {
        Some(inner) => Some(inner),
        None => text.object("rope_scaling")?,
    };
    if let Some(inner) = &inner {
        let kind = match inner.text("rope_type")? {
            Some(kind) => Some(kind),
            None => inner.text("type")?,
        };
        match kind.unwrap_or("default") {
            "default" | "mrope" => {}
            "linear" => {
                rope.factor = inner
                    .positive("factor")?
                    .ok_or_else(|| inner.error("factor", "is missing, linear scaling needs it"))?;
            }
            other => {
                let message = format!("is `{other}`, accepted: default, linear");
                return Err(inner.error("rope_type", message));
            }
        }
        if let Some(theta) = inner.positive("rope_theta")? {
            rope.theta = theta;
            return Ok(rope);
        }
    }
    rope.theta = outer.unwrap_or(rope.theta);
    Ok(rope)
}
