//! Model configuration, read from `config.json` in its old, new and original styles.
//!
//! Each architecture reads its own file, which is found by `model_type`, into the one
//! [`ModelConfig`]: [`VisionSettings`] of its own shape and the settings of the generic decoder.

pub(crate) mod common;
pub(crate) mod fields;
mod linear;
mod original;
pub(crate) mod parts;
mod qwen_tower;
mod rope;
pub(crate) mod text;
mod vision;
mod vision_work;
pub(crate) mod vit;

pub use crate::architectures::internvl::{InternTiles, InternVision};
pub use crate::architectures::llava::LlavaVision;
pub use crate::architectures::llava_video::VideoVision;
pub(crate) use common::{bos, dtype, eos};
pub(crate) use fields::Fields;
pub use linear::{LinearAttentionConfig, MixerKind};
pub(crate) use original::original_tower;
pub(crate) use parts::Check;
pub use parts::{Activation, AttentionBias, DecoderConfig, ProjectorConfig};
pub use qwen_tower::{QwenTowerKind, QwenVision};
pub use rope::{RopeAxes, RopeConfig};
pub(crate) use text::{DecoderKinds, LLAVA_KINDS, read_decoder};
pub use vision::{VisionConfig, VisionSettings};
pub use vision_work::VisionWork;
pub(crate) use vit::read_vit;
pub use vit::{CLIP_L_336, INTERN_VIT_300M, SIGLIP_SO400M_384, VitConfig, VitKind};

use mico_util::text::quoted;

use crate::architectures::{Architecture, Family};
use crate::error::Result;
use crate::files::ModelFiles;

/// Name of the configuration file in a model folder.
pub const CONFIG_FILE: &str = "config.json";
/// Name of the file with generation defaults in a model folder.
pub const GENERATION_FILE: &str = "generation_config.json";

/// The number format the checkpoint says its weights are in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredDtype {
    /// IEEE single precision, 4 bytes per weight.
    F32,
    /// IEEE half precision, 2 bytes per weight.
    F16,
    /// Brain floating point (the upper half of an f32), 2 bytes per weight.
    Bf16,
}

/// Everything `config.json` and `generation_config.json` say about a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelConfig {
    /// The model family: how the parts are put together.
    pub family: Family,
    /// The vision tower, and the projector or merger to the decoder.
    pub vision: VisionConfig,
    /// The language model that the embeddings enter.
    pub decoder: DecoderConfig,
    /// The token id that stands for an image in a prompt. Original LLaVA checkpoints have none: there it
    /// is the first id beyond the vocabulary.
    pub image_token_id: u32,
    /// Token ids that end generation.
    pub eos_token_ids: Vec<u32>,
    /// Token id that begins a prompt; `None` if the model uses none.
    pub bos_token_id: Option<u32>,
    /// Number format of the published weights; `None` if not stated.
    pub dtype: Option<StoredDtype>,
}

impl ModelConfig {
    /// Reads `config.json` (and `generation_config.json`, if present) of a model folder, by the one
    /// of these architectures that its `model_type` names.
    pub fn read<'a>(
        files: impl Into<ModelFiles<'a>>,
        architectures: &[&'static Architecture],
    ) -> Result<Self> {
        let files = files.into();
        let root = match files {
            ModelFiles::Folder(folder) => Fields::read(&folder.join(CONFIG_FILE))?,
            ModelFiles::Memory(model) => {
                Fields::parse(&files.path(CONFIG_FILE), model.get(CONFIG_FILE).unwrap_or_default())?
            }
        };
        refuse_packed(&root)?;
        let mut config = (owner(&root, architectures)?.read)(files.folder(), &root)?;
        if let Some(text) = files.read(GENERATION_FILE, fields::MAX_CONFIG_BYTES)?
            && let Some(ids) =
                Fields::parse(&files.path(GENERATION_FILE), &text)?.tokens("eos_token_id")?
        {
            config.eos_token_ids = ids;
        }
        config.validate(root.file())?;
        Ok(config)
    }

    /// Refuses settings that no model can have. `file` is named in the error.
    pub fn validate(&self, file: &str) -> Result<()> {
        self.vision.validate(file)?;
        self.decoder.validate(file)
    }
}

/// Refuses weights that another program has quantised: they are packed in ways of its own, and reading them as
/// plain numbers would give a model of noise.
fn refuse_packed(root: &Fields) -> Result<()> {
    const KEY: &str = "quantization_config";
    let nested = root.object("text_config").ok().flatten();
    let Some(holder) =
        [Some(root), nested.as_ref()].into_iter().flatten().find(|part| part.has(KEY))
    else {
        return Ok(());
    };
    let settings = holder.part(KEY)?;
    let method = settings.text("quant_method")?.map_or("unnamed".into(), quoted);
    let message = format!(
        "says that the weights are quantised (method {method}), accepted: none; plain weights can be quantised \
         while they are loaded"
    );
    Err(holder.unsupported(KEY, message))
}

/// The architecture that the file's `model_type` names.
fn owner(root: &Fields, architectures: &[&'static Architecture]) -> Result<&'static Architecture> {
    let model_type =
        root.text("model_type")?.ok_or_else(|| root.error("model_type", "is missing"))?;
    let mut readers = architectures.iter().filter(|a| a.model_types.contains(&model_type));
    if let Some(found) = readers.find(|architecture| (architecture.claims)(root)) {
        return Ok(found);
    }
    let mut known: Vec<&str> = Vec::new();
    for name in architectures.iter().flat_map(|architecture| architecture.model_types) {
        if !known.contains(name) {
            known.push(name);
        }
    }
    let message = format!("is `{}`, accepted: {}", quoted(model_type), known.join(", "));
    Err(root.unsupported("model_type", message))
}
