//! `config.json` of LLaVA-1.5 and LLaVA-NeXT: the converted (`-hf`) files and the original ones.

use std::path::{Component, Path, PathBuf};

use super::common::{bos, dtype, eos};
use super::fields::Fields;
use super::parts::{Activation, ProjectorConfig};
use super::text::{self, LLAVA_KINDS};
use super::vision::{LlavaVision, VisionConfig};
use super::vit::{self, CLIP_L_336, VitConfig, VitKind};
use super::{CONFIG_FILE, Family, ModelConfig};
use crate::error::Result;

const DEFAULT_FEATURE_LAYER: i64 = -2;
const DEFAULT_IMAGE_TOKEN: u32 = 32_000;
const DEFAULT_EOS: u32 = 2;
/// Resolutions of every published LLaVA-NeXT model.
pub(super) const DEFAULT_PINPOINTS: [(usize, usize); 5] =
    [(336, 672), (672, 336), (672, 672), (1008, 336), (336, 1008)];

/// Reads the settings of a model folder.
pub(super) fn read(folder: &Path, root: &Fields, model_type: &str) -> Result<ModelConfig> {
    if root.has("mm_vision_tower") || root.has("mm_projector_type") {
        original(folder, root)
    } else {
        converted(root, model_type)
    }
}

/// A file with `text_config` and `vision_config`.
fn converted(root: &Fields, model_type: &str) -> Result<ModelConfig> {
    let family = if model_type == "llava_next" { Family::LlavaNext } else { Family::Llava };
    let text = root.part("text_config")?;
    root.only("vision_feature_select_strategy", "default")?;
    let tower = match root.object("vision_config")? {
        Some(vision) => vit::vit(&vision, VitKind::Clip)?,
        None => CLIP_L_336,
    };
    let image_token = root.token_of(&["image_token_index", "image_token_id"])?;
    Ok(ModelConfig {
        family,
        vision: VisionConfig::Llava(LlavaVision {
            tower,
            projector: ProjectorConfig {
                activation: root.activation("projector_hidden_act")?.unwrap_or(Activation::Gelu),
                bias: root.flag("multimodal_projector_bias")?.unwrap_or(true),
            },
            feature_layer: root.int("vision_feature_layer")?.unwrap_or(DEFAULT_FEATURE_LAYER),
            image_grid_pinpoints: pinpoints(root, family)?,
            image_aspect_ratio: None,
            tower_folder: None,
        }),
        decoder: text::decoder(&text, root.flag("tie_word_embeddings")?, LLAVA_KINDS)?,
        image_token_id: image_token.unwrap_or(DEFAULT_IMAGE_TOKEN),
        eos_token_ids: eos(root, Some(&text), &[DEFAULT_EOS])?,
        bos_token_id: bos(root, Some(&text))?,
        dtype: dtype(root, Some(&text))?,
    })
}

/// A file of the original code base: the decoder's settings at the root, the rest as `mm_*`.
fn original(folder: &Path, root: &Fields) -> Result<ModelConfig> {
    root.only("mm_projector_type", "mlp2x_gelu")?;
    root.only("mm_vision_select_feature", "patch")?;
    let aspect = root.text("image_aspect_ratio")?.map(str::to_owned);
    let family =
        if aspect.as_deref() == Some("anyres") { Family::LlavaNext } else { Family::Llava };
    let decoder = text::decoder(root, None, LLAVA_KINDS)?;
    let (tower, tower_folder) = original_tower(folder, root, VitKind::Clip)?;
    let beyond = u32::try_from(decoder.vocab_size).unwrap_or(u32::MAX);
    Ok(ModelConfig {
        family,
        vision: VisionConfig::Llava(LlavaVision {
            tower,
            projector: ProjectorConfig { activation: Activation::Gelu, bias: true },
            feature_layer: root.int("mm_vision_select_layer")?.unwrap_or(DEFAULT_FEATURE_LAYER),
            image_grid_pinpoints: pinpoints(root, family)?,
            image_aspect_ratio: aspect,
            tower_folder,
        }),
        decoder,
        image_token_id: root.token("image_token_index")?.unwrap_or(beyond),
        eos_token_ids: eos(root, None, &[DEFAULT_EOS])?,
        bos_token_id: bos(root, None)?,
        dtype: dtype(root, None)?,
    })
}

/// The tower of an original checkpoint and the folder it is in, if not the model's. The file must
/// not contradict its width.
pub(super) fn original_tower(
    folder: &Path,
    root: &Fields,
    kind: VitKind,
) -> Result<(VitConfig, Option<PathBuf>)> {
    let (tower, tower_folder) = named_tower(folder, root, kind)?;
    if let Some(width) = root.usize("mm_hidden_size")?
        && width != tower.hidden_size
    {
        let message = format!("is {width}, the vision tower is {} wide", tower.hidden_size);
        return Err(root.error("mm_hidden_size", message));
    }
    Ok((tower, tower_folder))
}

/// The tower's settings: nested, else in the folder it names, else of a tower known by that name.
fn named_tower(
    folder: &Path,
    root: &Fields,
    kind: VitKind,
) -> Result<(VitConfig, Option<PathBuf>)> {
    let name =
        root.text("mm_vision_tower")?.ok_or_else(|| root.error("mm_vision_tower", "is missing"))?;
    let tower_folder = find_tower(folder, name);
    if let Some(nested) = root.object("vision_config")? {
        return Ok((vit::vit(&nested, kind)?, tower_folder));
    }
    if let Some(tower_folder) = tower_folder {
        let config = vit::vit(&Fields::read(&tower_folder.join(CONFIG_FILE))?, kind)?;
        return Ok((config, Some(tower_folder)));
    }
    let config = vit::by_name(name, kind).ok_or_else(|| {
        let message = format!(
            "is `{name}`, which is neither a folder beside the model nor a tower known by name"
        );
        root.error("mm_vision_tower", message)
    })?;
    Ok((config, None))
}

/// Looks for the named tower inside the model folder and beside it. Only the last part of the
/// name is used, so that a file cannot point anywhere else.
fn find_tower(folder: &Path, name: &str) -> Option<PathBuf> {
    let Component::Normal(last) = Path::new(name).components().next_back()? else { return None };
    let beside = folder.canonicalize().ok().and_then(|full| full.parent().map(Path::to_path_buf));
    [Some(folder.to_path_buf()), beside]
        .into_iter()
        .flatten()
        .map(|parent| parent.join(last))
        .find(|candidate| candidate.join(CONFIG_FILE).is_file())
}

fn pinpoints(root: &Fields, family: Family) -> Result<Vec<(usize, usize)>> {
    match root.pairs("image_grid_pinpoints")? {
        _ if family == Family::Llava => Ok(Vec::new()),
        None => Ok(DEFAULT_PINPOINTS.to_vec()),
        Some(list) if list.is_empty() => {
            Err(root.error("image_grid_pinpoints", "is empty, at least one pair is needed"))
        }
        Some(list) => Ok(list),
    }
}
