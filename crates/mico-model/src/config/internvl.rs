//! `config.json` of InternVL3: the converted (`-hf`) files and the original ones.

use std::path::Path;

use super::common::{bos, dtype, eos};
use super::fields::Fields;
use super::parts::Activation;
use super::text::{self, Kinds};
use super::vision::{InternTiles, InternVision, VisionConfig};
use super::vit::{INTERN_VIT_300M, VitConfig, VitKind, vit};
use super::{Family, ModelConfig};
use crate::error::Result;

/// The id of `<IMG_CONTEXT>` in the published vocabularies. Original files do not state it; there a
/// tokenizer's word counts.
pub(crate) const IMAGE_TOKEN: u32 = 151_667;
/// `<|im_end|>`.
pub(crate) const EOS: u32 = 151_645;
/// What InternVL's models decode with: Qwen2 in version 3, Qwen3 in later ones.
const DECODERS: Kinds = &["qwen2", "qwen3", "llama"];
/// Patches a visual token joins along each side.
const SHUFFLE: usize = 2;

/// Reads the settings of a model folder.
pub(super) fn read(_folder: &Path, root: &Fields, model_type: &str) -> Result<ModelConfig> {
    if model_type == "internvl_chat" { original(root) } else { converted(root) }
}

/// A file with `text_config` and `vision_config`.
fn converted(root: &Fields) -> Result<ModelConfig> {
    root.only("vision_feature_select_strategy", "default")?;
    last_layer(root, "vision_feature_layer")?;
    let vision = match root.object("vision_config")? {
        Some(fields) => {
            fields.must("use_qk_norm", false)?;
            fields.must("use_mean_pooling", true)?;
            fields.must("use_absolute_position_embeddings", true)?;
            fields.only("norm_type", "layer_norm")?;
            let qkv_bias = fields.flag("attention_bias")?.unwrap_or(false);
            VitConfig { qkv_bias, ..vit(&fields, VitKind::InternVit)? }
        }
        None => INTERN_VIT_300M,
    };
    let activation = root.activation("projector_hidden_act")?.unwrap_or(Activation::Gelu);
    let text = root.part("text_config")?;
    model(root, &text, vision, activation, InternTiles::default())
}

/// A file of the original code base: `llm_config`, `vision_config`, and tiling at the root.
fn original(root: &Fields) -> Result<ModelConfig> {
    root.only("ps_version", "v2")?;
    root.must("pad2square", false)?;
    last_layer(root, "select_layer")?;
    let fields = root.part("vision_config")?;
    fields.must("qk_normalization", false)?;
    fields.only("norm_type", "layer_norm")?;
    let mut vision = vit(&fields, VitKind::InternVit)?;
    vision.qkv_bias = fields.flag("qkv_bias")?.unwrap_or(vision.qkv_bias);
    vision.image_size = root.usize("force_image_size")?.unwrap_or(vision.image_size);
    let dynamic = root.flag("dynamic_image_size")?.unwrap_or(true);
    let tiles = InternTiles {
        min: root.usize("min_dynamic_patch")?,
        max: if dynamic { root.usize("max_dynamic_patch")? } else { Some(1) },
        thumbnail: root.flag("use_thumbnail")?.unwrap_or(true),
    };
    let text = root.part("llm_config")?;
    model(root, &text, vision, Activation::Gelu, tiles)
}

fn model(
    root: &Fields,
    text: &Fields,
    tower: VitConfig,
    activation: Activation,
    tiles: InternTiles,
) -> Result<ModelConfig> {
    let mut image_token = None;
    for key in ["image_token_id", "image_token_index", "img_context_token_id"] {
        image_token = image_token.or(root.token(key)?);
    }
    Ok(ModelConfig {
        family: Family::InternVl,
        vision: VisionConfig::InternVl(InternVision {
            tower,
            shuffle: shuffle(root)?,
            activation,
            tiles,
        }),
        decoder: text::decoder(text, root.flag("tie_word_embeddings")?, DECODERS)?,
        image_token_id: image_token.unwrap_or(IMAGE_TOKEN),
        eos_token_ids: eos(root, Some(text), &[EOS])?,
        bos_token_id: bos(root, Some(text))?,
        dtype: dtype(root, Some(text))?,
    })
}

/// `downsample_ratio` is one over the patches joined along each side.
fn shuffle(root: &Fields) -> Result<usize> {
    let Some(ratio) = root.positive("downsample_ratio")? else { return Ok(SHUFFLE) };
    let whole = (1.0 / ratio).round();
    if (whole * ratio - 1.0).abs() > 1e-9 || !(1.0..=16.0).contains(&whole) {
        let message = format!("is {ratio}, expected one over a whole number up to 16");
        return Err(root.error("downsample_ratio", message));
    }
    Ok(whole as usize)
}

/// The tower's last output is the only one offered.
fn last_layer(root: &Fields, key: &str) -> Result<()> {
    match root.int(key)? {
        None | Some(-1) => Ok(()),
        Some(other) => Err(root.error(key, format!("is {other}, accepted: -1"))),
    }
}
