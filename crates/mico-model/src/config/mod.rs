//! What a model is made of, read from `config.json` in its old, new and original styles.

mod fields;
mod llava;
mod parts;
mod text;
mod tower;

pub use parts::{
    Activation, AttentionBias, ClipConfig, DecoderConfig, ProjectorConfig, RopeConfig,
};
pub(crate) use tower::CLIP_L_336;

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

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
}

impl Family {
    /// The name used in traces and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Llava => "llava",
            Self::LlavaNext => "llava_next",
        }
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
    /// The vision tower.
    pub vision: ClipConfig,
    /// The projector.
    pub projector: ProjectorConfig,
    /// The decoder.
    pub decoder: DecoderConfig,
    /// Which hidden state of the tower is projected: 0 is the embeddings, `k` the output of
    /// block #k; a negative number counts back from the last block's output (-1).
    pub vision_feature_layer: i64,
    /// The id that stands for an image in a prompt. Original checkpoints have none: there it is
    /// the first id beyond the vocabulary.
    pub image_token_id: u32,
    /// Resolutions of LLaVA-NeXT as the file lists them (read as height, width by `-hf` code and
    /// as width, height by the original code); empty for LLaVA-1.5.
    pub image_grid_pinpoints: Vec<(usize, usize)>,
    /// How the original files say a non-square image is treated (`pad`, `anyres`), if they do.
    pub image_aspect_ratio: Option<String>,
    /// Ids that end an answer.
    pub eos_token_ids: Vec<u32>,
    /// Id that begins a prompt.
    pub bos_token_id: Option<u32>,
    /// Number format of the published weights, if stated.
    pub dtype: Option<StoredDtype>,
    /// Folder of a vision tower that is not part of the checkpoint (original LLaVA-1.5).
    pub vision_tower: Option<PathBuf>,
}

impl ModelConfig {
    /// Reads `config.json` (and `generation_config.json` when there) of a model folder.
    pub fn read(folder: &Path) -> Result<Self> {
        llava::read(folder)
    }

    /// Number of tower blocks that have to run for the selected features: 0 when the features are
    /// the embeddings themselves.
    pub fn vision_blocks(&self) -> Result<usize> {
        let blocks = i64::try_from(self.vision.blocks).unwrap_or(i64::MAX);
        let layer = self.vision_feature_layer;
        let index = if layer < 0 { blocks + 1 + layer } else { layer };
        match usize::try_from(index) {
            Ok(index) if index <= self.vision.blocks => Ok(index),
            _ => Err(Error::Config {
                file: CONFIG_FILE.into(),
                field: "vision_feature_layer".into(),
                message: format!("is {layer}, the tower has {blocks} blocks"),
            }),
        }
    }
}
