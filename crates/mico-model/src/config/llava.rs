//! `config.json` of LLaVA-1.5 and LLaVA-NeXT: the converted (`-hf`) files and the original ones.

use std::path::{Component, Path, PathBuf};

use super::fields::Fields;
use super::parts::{Activation, ClipConfig, ProjectorConfig};
use super::{CONFIG_FILE, Family, GENERATION_FILE, ModelConfig, StoredDtype, text, tower};
use crate::error::{Error, Result};

const DEFAULT_FEATURE_LAYER: i64 = -2;
const DEFAULT_IMAGE_TOKEN: u32 = 32_000;
const DEFAULT_EOS: u32 = 2;
/// Resolutions of every published LLaVA-NeXT model.
pub(super) const DEFAULT_PINPOINTS: [(usize, usize); 5] =
    [(336, 672), (672, 336), (672, 672), (1008, 336), (336, 1008)];

const MODEL_TYPES: &str = "llava, llava_next, llava_llama, llava_mistral";

/// Reads the settings of a model folder.
pub(super) fn read(folder: &Path) -> Result<ModelConfig> {
    let root = Fields::read(&folder.join(CONFIG_FILE))?;
    let model_type =
        root.text("model_type")?.ok_or_else(|| root.error("model_type", "is missing"))?;
    if !matches!(model_type, "llava" | "llava_next" | "llava_llama" | "llava_mistral") {
        let message = format!("is `{model_type}`, accepted: {MODEL_TYPES}");
        return Err(root.error("model_type", message));
    }
    let mut config = if root.has("mm_vision_tower") || root.has("mm_projector_type") {
        original(folder, &root)?
    } else {
        converted(&root, model_type)?
    };
    let generation = folder.join(GENERATION_FILE);
    if generation.is_file()
        && let Some(ids) = Fields::read(&generation)?.tokens("eos_token_id")?
    {
        config.eos_token_ids = ids;
    }
    config.vision_blocks()?;
    Ok(config)
}

/// A file with `text_config` and `vision_config`.
fn converted(root: &Fields, model_type: &str) -> Result<ModelConfig> {
    let family = if model_type == "llava_next" { Family::LlavaNext } else { Family::Llava };
    let text = root
        .object("text_config")?
        .ok_or_else(|| root.error("text_config", "is missing, an object is expected"))?;
    match root.text("vision_feature_select_strategy")? {
        None | Some("default") => {}
        Some(other) => {
            let message = format!("is `{other}`, accepted: default");
            return Err(root.error("vision_feature_select_strategy", message));
        }
    }
    let vision = match root.object("vision_config")? {
        Some(vision) => tower::clip(&vision)?,
        None => tower::CLIP_L_336,
    };
    let image_token = match root.token("image_token_index")? {
        Some(id) => Some(id),
        None => root.token("image_token_id")?,
    };
    Ok(ModelConfig {
        family,
        vision,
        projector: ProjectorConfig {
            activation: Activation::parse(root.text("projector_hidden_act")?.unwrap_or("gelu"))?,
            bias: root.flag("multimodal_projector_bias")?.unwrap_or(true),
        },
        decoder: text::decoder(&text, root.flag("tie_word_embeddings")?)?,
        vision_feature_layer: root.int("vision_feature_layer")?.unwrap_or(DEFAULT_FEATURE_LAYER),
        image_token_id: image_token.unwrap_or(DEFAULT_IMAGE_TOKEN),
        image_grid_pinpoints: pinpoints(root, family)?,
        image_aspect_ratio: None,
        eos_token_ids: eos(root, Some(&text))?,
        bos_token_id: match root.token("bos_token_id")? {
            Some(id) => Some(id),
            None => text.token("bos_token_id")?,
        },
        dtype: dtype(root, Some(&text))?,
        vision_tower: None,
    })
}

/// A file of the original code base: the decoder's settings at the root, the rest as `mm_*`.
fn original(folder: &Path, root: &Fields) -> Result<ModelConfig> {
    match root.text("mm_projector_type")? {
        Some("mlp2x_gelu") | None => {}
        Some(other) => {
            let message = format!("is `{other}`, accepted: mlp2x_gelu");
            return Err(root.error("mm_projector_type", message));
        }
    }
    match root.text("mm_vision_select_feature")? {
        None | Some("patch") => {}
        Some(other) => {
            let message = format!("is `{other}`, accepted: patch");
            return Err(root.error("mm_vision_select_feature", message));
        }
    }
    let aspect = root.text("image_aspect_ratio")?.map(str::to_owned);
    let family =
        if aspect.as_deref() == Some("anyres") { Family::LlavaNext } else { Family::Llava };
    let decoder = text::decoder(root, None)?;
    let (vision, vision_tower) = original_tower(folder, root)?;
    if let Some(width) = root.usize("mm_hidden_size")?
        && width != vision.hidden_size
    {
        let message = format!("is {width}, the vision tower is {} wide", vision.hidden_size);
        return Err(root.error("mm_hidden_size", message));
    }
    let beyond = u32::try_from(decoder.vocab_size).unwrap_or(u32::MAX);
    Ok(ModelConfig {
        family,
        vision,
        projector: ProjectorConfig { activation: Activation::Gelu, bias: true },
        decoder,
        vision_feature_layer: root.int("mm_vision_select_layer")?.unwrap_or(DEFAULT_FEATURE_LAYER),
        image_token_id: root.token("image_token_index")?.unwrap_or(beyond),
        image_grid_pinpoints: pinpoints(root, family)?,
        image_aspect_ratio: aspect,
        eos_token_ids: eos(root, None)?,
        bos_token_id: root.token("bos_token_id")?,
        dtype: dtype(root, None)?,
        vision_tower,
    })
}

/// The tower of an original checkpoint: nested settings, else the folder it names, else a tower
/// known by that name.
fn original_tower(folder: &Path, root: &Fields) -> Result<(ClipConfig, Option<PathBuf>)> {
    let name =
        root.text("mm_vision_tower")?.ok_or_else(|| root.error("mm_vision_tower", "is missing"))?;
    let tower_folder = find_tower(folder, name);
    if let Some(nested) = root.object("vision_config")? {
        return Ok((tower::clip(&nested)?, tower_folder));
    }
    if let Some(tower_folder) = tower_folder {
        let config = tower::clip(&Fields::read(&tower_folder.join(CONFIG_FILE))?)?;
        return Ok((config, Some(tower_folder)));
    }
    let config = tower::by_name(name).ok_or_else(|| {
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
    match (family, root.pairs("image_grid_pinpoints")?) {
        (Family::Llava, _) => Ok(Vec::new()),
        (Family::LlavaNext, None) => Ok(DEFAULT_PINPOINTS.to_vec()),
        (Family::LlavaNext, Some(list)) if list.is_empty() => {
            Err(root.error("image_grid_pinpoints", "is empty, at least one pair is needed"))
        }
        (Family::LlavaNext, Some(list)) => Ok(list),
    }
}

fn eos(root: &Fields, text: Option<&Fields>) -> Result<Vec<u32>> {
    if let Some(ids) = root.tokens("eos_token_id")? {
        return Ok(ids);
    }
    let inner = text.map(|text| text.tokens("eos_token_id")).transpose()?.flatten();
    Ok(inner.unwrap_or_else(|| vec![DEFAULT_EOS]))
}

fn dtype(root: &Fields, text: Option<&Fields>) -> Result<Option<StoredDtype>> {
    for fields in [Some(root), text].into_iter().flatten() {
        for key in ["dtype", "torch_dtype"] {
            let Some(name) = fields.text(key)? else { continue };
            return match name.trim_start_matches("torch.") {
                "float32" => Ok(Some(StoredDtype::F32)),
                "float16" => Ok(Some(StoredDtype::F16)),
                "bfloat16" => Ok(Some(StoredDtype::Bf16)),
                other => {
                    let message = format!("is `{other}`, accepted: float32, float16, bfloat16");
                    Err::<_, Error>(fields.error(key, message))
                }
            };
        }
    }
    Ok(None)
}
