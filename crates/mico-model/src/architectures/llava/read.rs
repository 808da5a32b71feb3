//! `config.json` of LLaVA-1.5 and LLaVA-NeXT: the converted (`-hf`) files and the original ones.

use std::path::Path;

use super::{LLAVA, LLAVA_NEXT, LlavaVision};
use crate::architectures::{Architecture, Family};
use crate::config::{
    Activation, CLIP_L_336, Fields, LLAVA_KINDS, ModelConfig, ProjectorConfig, VisionConfig,
    VitKind, bos, dtype, eos, original_tower, read_decoder, read_vit,
};
use crate::error::Result;

const DEFAULT_FEATURE_LAYER: i64 = -2;
const DEFAULT_IMAGE_TOKEN: u32 = 32_000;
const DEFAULT_EOS: u32 = 2;
/// Resolutions of every published LLaVA-NeXT model.
pub(super) const PINPOINTS: [(usize, usize); 5] =
    [(336, 672), (672, 336), (672, 672), (1008, 336), (336, 1008)];

/// Whether a file is LLaVA-NeXT's: the converted ones say so by name, the original ones by what
/// becomes of an image.
pub(super) fn is_next(root: &Fields) -> bool {
    let says = |key: &str, value: &str| matches!(root.text(key), Ok(Some(found)) if found == value);
    if is_original(root) {
        says("image_aspect_ratio", "anyres")
    } else {
        says("model_type", "llava_next")
    }
}

fn is_original(root: &Fields) -> bool {
    root.has("mm_vision_tower") || root.has("mm_projector_type")
}

/// Reads the settings of a LLaVA-1.5 folder.
pub(super) fn llava(folder: &Path, root: &Fields) -> Result<ModelConfig> {
    // Some files list resolutions that nothing uses here; they must be well-formed all the same.
    root.pairs("image_grid_pinpoints")?;
    read(folder, root, &LLAVA, Vec::new())
}

/// Reads the settings of a LLaVA-NeXT folder.
pub(super) fn llava_next(folder: &Path, root: &Fields) -> Result<ModelConfig> {
    let pinpoints = match root.pairs("image_grid_pinpoints")? {
        None => PINPOINTS.to_vec(),
        Some(list) if list.is_empty() => {
            let message = "is empty, at least one pair is needed";
            return Err(root.error("image_grid_pinpoints", message));
        }
        Some(list) => list,
    };
    read(folder, root, &LLAVA_NEXT, pinpoints)
}

fn read(
    folder: &Path,
    root: &Fields,
    architecture: &'static Architecture,
    pinpoints: Vec<(usize, usize)>,
) -> Result<ModelConfig> {
    let family = Family::of(architecture);
    if is_original(root) {
        original(folder, root, family, pinpoints)
    } else {
        converted(root, family, pinpoints)
    }
}

/// A file with `text_config` and `vision_config`.
fn converted(
    root: &Fields,
    family: Family,
    image_grid_pinpoints: Vec<(usize, usize)>,
) -> Result<ModelConfig> {
    let text = root.part("text_config")?;
    root.only("vision_feature_select_strategy", "default")?;
    let tower = match root.object("vision_config")? {
        Some(vision) => read_vit(&vision, VitKind::Clip)?,
        None => CLIP_L_336,
    };
    let image_token = root.token_of(&["image_token_index", "image_token_id"])?;
    Ok(ModelConfig {
        family,
        vision: VisionConfig::new(LlavaVision {
            tower,
            projector: ProjectorConfig {
                activation: root.activation("projector_hidden_act")?.unwrap_or(Activation::Gelu),
                bias: root.flag("multimodal_projector_bias")?.unwrap_or(true),
            },
            feature_layer: root.int("vision_feature_layer")?.unwrap_or(DEFAULT_FEATURE_LAYER),
            image_grid_pinpoints,
            image_aspect_ratio: None,
            tower_folder: None,
        }),
        decoder: read_decoder(&text, root.flag("tie_word_embeddings")?, LLAVA_KINDS)?,
        image_token_id: image_token.unwrap_or(DEFAULT_IMAGE_TOKEN),
        eos_token_ids: eos(root, Some(&text), &[DEFAULT_EOS])?,
        bos_token_id: bos(root, Some(&text))?,
        dtype: dtype(root, Some(&text))?,
    })
}

/// A file of the original code base: the decoder's settings at the root, the rest as `mm_*`.
fn original(
    folder: &Path,
    root: &Fields,
    family: Family,
    image_grid_pinpoints: Vec<(usize, usize)>,
) -> Result<ModelConfig> {
    root.only("mm_projector_type", "mlp2x_gelu")?;
    root.only("mm_vision_select_feature", "patch")?;
    let decoder = read_decoder(root, None, LLAVA_KINDS)?;
    let (tower, tower_folder) = original_tower(folder, root, VitKind::Clip)?;
    let beyond = u32::try_from(decoder.vocab_size).unwrap_or(u32::MAX);
    Ok(ModelConfig {
        family,
        vision: VisionConfig::new(LlavaVision {
            tower,
            projector: ProjectorConfig { activation: Activation::Gelu, bias: true },
            feature_layer: root.int("mm_vision_select_layer")?.unwrap_or(DEFAULT_FEATURE_LAYER),
            image_grid_pinpoints,
            image_aspect_ratio: root.text("image_aspect_ratio")?.map(str::to_owned),
            tower_folder,
        }),
        decoder,
        image_token_id: root.token("image_token_index")?.unwrap_or(beyond),
        eos_token_ids: eos(root, None, &[DEFAULT_EOS])?,
        bos_token_id: bos(root, None)?,
        dtype: dtype(root, None)?,
    })
}
