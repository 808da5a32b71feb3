//! `config.json` of LLaVA-Video: the original files (`llava_qwen`) and those with LLaVA-OneVision's
//! names (`llava_onevision`).

use std::path::Path;

use super::common::{bos, dtype, eos};
use super::fields::Fields;
use super::llava::original_tower;
use super::parts::{Activation, ProjectorConfig};
use super::text::{self, Kinds};
use super::vision::{VideoVision, VisionConfig};
use super::vit::{SIGLIP_SO400M_384, VitKind, vit};
use super::{Family, ModelConfig};
use crate::error::Result;

/// `<|im_end|>` and `<|endoftext|>`.
pub(crate) const ENDS: [u32; 2] = [151_645, 151_643];
const DECODERS: Kinds = &["qwen2", "llava_qwen", "qwen3", "llama"];
/// Patches a visual token averages along each side.
pub(crate) const POOL: usize = 2;

/// Reads the settings of a model folder.
pub(super) fn read(folder: &Path, root: &Fields, model_type: &str) -> Result<ModelConfig> {
    root.only("mm_spatial_pool_mode", "average")?;
    let pool = root.usize("mm_spatial_pool_stride")?.unwrap_or(POOL);
    if model_type == "llava_onevision" {
        converted(root, pool)
    } else {
        original(folder, root, pool)
    }
}

/// A file with `text_config` and `vision_config`.
fn converted(root: &Fields, pool: usize) -> Result<ModelConfig> {
    let text = root.part("text_config")?;
    last_trained(root, "vision_feature_layer")?;
    let tower = match root.object("vision_config")? {
        Some(vision) => vit(&vision, VitKind::Siglip)?,
        None => SIGLIP_SO400M_384,
    };
    let image_token = root.token_of(&["image_token_index", "image_token_id"])?;
    let decoder = text::decoder(&text, root.flag("tie_word_embeddings")?, DECODERS)?;
    let beyond = u32::try_from(decoder.vocab_size).unwrap_or(u32::MAX);
    Ok(ModelConfig {
        family: Family::LlavaVideo,
        vision: VisionConfig::LlavaVideo(VideoVision {
            tower,
            projector: ProjectorConfig {
                activation: root.activation("projector_hidden_act")?.unwrap_or(Activation::Gelu),
                bias: root.flag("multimodal_projector_bias")?.unwrap_or(true),
            },
            pool,
            tower_folder: None,
        }),
        decoder,
        image_token_id: image_token.unwrap_or(beyond),
        eos_token_ids: eos(root, Some(&text), &ENDS)?,
        bos_token_id: bos(root, Some(&text))?,
        dtype: dtype(root, Some(&text))?,
    })
}

/// A file of the original code base: the decoder's settings at the root, the rest as `mm_*`.
fn original(folder: &Path, root: &Fields, pool: usize) -> Result<ModelConfig> {
    last_trained(root, "mm_vision_select_layer")?;
    root.must("add_faster_video", false)?;
    root.must("mm_use_im_start_end", false)?;
    root.only("mm_projector_type", "mlp2x_gelu")?;
    root.only("mm_vision_select_feature", "patch")?;
    root.only("mm_newline_position", "grid")?;
    root.only("mm_patch_merge_type", "spatial_unpad")?;
    let decoder = text::decoder(root, None, DECODERS)?;
    let (tower, tower_folder) = original_tower(folder, root, VitKind::Siglip)?;
    let beyond = u32::try_from(decoder.vocab_size).unwrap_or(u32::MAX);
    Ok(ModelConfig {
        family: Family::LlavaVideo,
        vision: VisionConfig::LlavaVideo(VideoVision {
            tower,
            projector: ProjectorConfig { activation: Activation::Gelu, bias: true },
            pool,
            tower_folder,
        }),
        decoder,
        image_token_id: root.token("image_token_index")?.unwrap_or(beyond),
        eos_token_ids: eos(root, None, &ENDS)?,
        bos_token_id: bos(root, None)?,
        dtype: dtype(root, None)?,
    })
}

/// The features are those of the last block that was trained, whichever way a file says so: see
/// [`VideoVision::blocks`].
fn last_trained(root: &Fields, key: &str) -> Result<()> {
    match root.int(key)? {
        None | Some(-1 | -2) => Ok(()),
        Some(other) => Err(root.error(key, format!("is {other}, accepted: -1, -2"))),
    }
}
