//! The CLIP tower's settings: nested, in a folder of its own, or implied by a well-known name.

use super::fields::Fields;
use super::parts::{Activation, ClipConfig};
use crate::error::Result;

/// CLIP-L/14 at 336 pixels, the tower of every LLaVA-1.5 and LLaVA-NeXT model.
pub(crate) const CLIP_L_336: ClipConfig = ClipConfig {
    hidden_size: 1024,
    intermediate_size: 4096,
    blocks: 24,
    heads: 16,
    image_size: 336,
    patch_size: 14,
    activation: Activation::QuickGelu,
    layer_norm_eps: 1e-5,
};

/// Name by which original checkpoints refer to [`CLIP_L_336`].
const CLIP_L_336_NAME: &str = "clip-vit-large-patch14-336";

/// What an object of kind `clip_vision_model` means by the settings it omits.
const CLASS_DEFAULTS: ClipConfig = ClipConfig {
    hidden_size: 768,
    intermediate_size: 3072,
    blocks: 12,
    heads: 12,
    image_size: 224,
    patch_size: 32,
    activation: Activation::QuickGelu,
    layer_norm_eps: 1e-5,
};

/// Reads and validates a tower's settings; `fields` may be the tower's own object or hold it as
/// `vision_config`.
pub(super) fn clip(fields: &Fields) -> Result<ClipConfig> {
    if let Some(inner) = fields.object("vision_config")? {
        return clip(&inner);
    }
    if let Some(kind) = fields.text("model_type")?
        && !matches!(kind, "clip_vision_model" | "clip")
    {
        let message = format!("is `{kind}`, accepted: clip_vision_model");
        return Err(fields.error("model_type", message));
    }
    let channels = fields.usize("num_channels")?.unwrap_or(3);
    if channels != 3 {
        return Err(fields.error("num_channels", format!("is {channels}, accepted: 3")));
    }
    let default = CLASS_DEFAULTS;
    let config = ClipConfig {
        hidden_size: fields.usize("hidden_size")?.unwrap_or(default.hidden_size),
        intermediate_size: fields.usize("intermediate_size")?.unwrap_or(default.intermediate_size),
        blocks: fields.usize("num_hidden_layers")?.unwrap_or(default.blocks),
        heads: fields.usize("num_attention_heads")?.unwrap_or(default.heads),
        image_size: fields.usize("image_size")?.unwrap_or(default.image_size),
        patch_size: fields.usize("patch_size")?.unwrap_or(default.patch_size),
        activation: match fields.text("hidden_act")? {
            Some(name) => Activation::parse(name)?,
            None => default.activation,
        },
        layer_norm_eps: fields.positive("layer_norm_eps")?.unwrap_or(default.layer_norm_eps),
    };
    config.validate(fields.file())?;
    Ok(config)
}

/// The settings of a tower that is only known by name.
pub(super) fn by_name(name: &str) -> Option<ClipConfig> {
    name.ends_with(CLIP_L_336_NAME).then_some(CLIP_L_336)
}
