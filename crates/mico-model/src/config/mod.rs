//! What a model is made of, read from `config.json` in its old, new and original styles.
//!
//! Each family reads its own file ([`READERS`] finds it by `model_type`) into the one
//! [`ModelConfig`]: a [`VisionConfig`] of its own shape and the settings of the generic decoder.

mod common;
mod fields;
mod internvl;
mod linear;
mod llava;
mod llava_video;
mod parts;
mod qwen;
mod rope;
mod text;
mod vision;
mod vit;

pub(crate) use internvl::{EOS as INTERN_EOS, IMAGE_TOKEN as INTERN_IMAGE_TOKEN};
pub use linear::{LinearAttentionConfig, MixerKind};
pub(crate) use llava_video::{ENDS as QWEN_ENDS, POOL as VIDEO_POOL};
pub use parts::{Activation, AttentionBias, DecoderConfig, ProjectorConfig};
pub(crate) use qwen::{qwen3_vision, qwen25_vision, qwen35_vision};
pub use rope::{RopeAxes, RopeConfig};
pub use vision::{
    InternTiles, InternVision, LlavaVision, QwenTowerKind, QwenVision, VideoVision, VisionConfig,
};
pub(crate) use vit::{CLIP_L_336, INTERN_VIT_300M, SIGLIP_SO400M_384};
pub use vit::{VitConfig, VitKind};

use std::path::Path;

use crate::error::Result;
use crate::files::ModelFiles;
use fields::Fields;

/// Name of the settings file inside a model folder.
pub const CONFIG_FILE: &str = "config.json";
/// Name of the file with generation defaults inside a model folder.
pub const GENERATION_FILE: &str = "generation_config.json";

/// The families whose parts this crate can put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// LLaVA-1.5: one view per image.
    Llava,
    /// LLaVA-NeXT: a base view and crops per image.
    LlavaNext,
    /// Qwen2.5-VL: an image at its own resolution, windowed vision attention.
    Qwen25Vl,
    /// Qwen3-VL: an image at its own resolution, DeepStack.
    Qwen3Vl,
    /// Qwen3.5: Qwen3-VL's vision before a hybrid decoder.
    Qwen35,
    /// InternVL3: tiles and a thumbnail per image.
    InternVl,
    /// LLaVA-Video: frames.
    LlavaVideo,
}

impl Family {
    /// The name used in traces and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Llava => "llava",
            Self::LlavaNext => "llava_next",
            Self::Qwen25Vl => "qwen2_5_vl",
            Self::Qwen3Vl => "qwen3_vl",
            Self::Qwen35 => "qwen3_5",
            Self::InternVl => "internvl",
            Self::LlavaVideo => "llava_video",
        }
    }

    /// Whether its projector takes the tower's tokens one by one, so that they can be chosen, or
    /// merged, before it.
    pub fn projects_tokens(self) -> bool {
        matches!(self, Self::Llava | Self::LlavaNext)
    }

    /// Whether it is one of the Qwen models, which take images at their own resolution.
    pub fn is_qwen(self) -> bool {
        matches!(self, Self::Qwen25Vl | Self::Qwen3Vl | Self::Qwen35)
    }
}

/// The number format the checkpoint says its weights are in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredDtype {
    /// 32-bit floats.
    F32,
    /// IEEE half precision.
    F16,
    /// The upper half of a 32-bit float.
    Bf16,
}

/// Everything `config.json` and `generation_config.json` say about a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelConfig {
    /// How the parts are put together.
    pub family: Family,
    /// Vision tower and what leads from it to the decoder.
    pub vision: VisionConfig,
    /// The decoder.
    pub decoder: DecoderConfig,
    /// The id that stands for an image in a prompt. Original LLaVA checkpoints have none: there it
    /// is the first id beyond the vocabulary.
    pub image_token_id: u32,
    /// Ids that end an answer.
    pub eos_token_ids: Vec<u32>,
    /// Id that begins a prompt.
    pub bos_token_id: Option<u32>,
    /// Number format of the published weights, if stated.
    pub dtype: Option<StoredDtype>,
}

/// Reads one family's `config.json`: the model folder, the file's root and its `model_type`.
type Reader = fn(&Path, &Fields, &str) -> Result<ModelConfig>;

/// Who reads which `model_type`. A family adds its line here.
const READERS: &[(&[&str], Reader)] = &[
    (&["llava", "llava_next", "llava_llama", "llava_mistral"], llava::read),
    (&qwen::MODEL_TYPES, qwen::read),
    (&["internvl", "internvl_chat"], internvl::read),
    (&["llava_qwen", "llava_onevision"], llava_video::read),
];

impl ModelConfig {
    /// Reads `config.json` (and `generation_config.json` when there) of a model folder.
    pub fn read<'a>(files: impl Into<ModelFiles<'a>>) -> Result<Self> {
        let files = files.into();
        let root = match files {
            ModelFiles::Folder(folder) => Fields::read(&folder.join(CONFIG_FILE))?,
            ModelFiles::Memory(model) => {
                Fields::parse(&files.path(CONFIG_FILE), model.get(CONFIG_FILE).unwrap_or_default())?
            }
        };
        let model_type =
            root.text("model_type")?.ok_or_else(|| root.error("model_type", "is missing"))?;
        let Some((_, read)) = READERS.iter().find(|(types, _)| types.contains(&model_type)) else {
            let known: Vec<&str> = READERS.iter().flat_map(|(types, _)| *types).copied().collect();
            let message = format!("is `{model_type}`, accepted: {}", known.join(", "));
            return Err(root.error("model_type", message));
        };
        let mut config = read(files.folder(), &root, model_type)?;
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
