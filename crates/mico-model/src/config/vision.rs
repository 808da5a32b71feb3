//! The vision side's settings, one shape per tower, behind one face.

use std::path::{Path, PathBuf};

use super::CONFIG_FILE;
use super::parts::{ClipConfig, ProjectorConfig};
use crate::error::{Error, Result};

/// Vision tower and what leads from it to the decoder.
#[derive(Debug, Clone, PartialEq)]
pub enum VisionConfig {
    /// LLaVA-1.5 and LLaVA-NeXT.
    Llava(LlavaVision),
}

impl VisionConfig {
    /// Width of the features Stage 1 works on.
    pub fn feature_width(&self) -> usize {
        match self {
            Self::Llava(vision) => vision.clip.hidden_size,
        }
    }

    /// Visual tokens of one view, for towers with one input size.
    pub fn tokens_per_view(&self) -> Option<usize> {
        match self {
            Self::Llava(vision) => Some(vision.clip.patches()),
        }
    }

    /// Blocks of the tower that run, and so have to be loaded.
    pub(crate) fn blocks(&self) -> Result<usize> {
        match self {
            Self::Llava(vision) => vision.blocks(),
        }
    }

    /// Folder of a tower that is not part of the checkpoint.
    pub fn tower_folder(&self) -> Option<&Path> {
        match self {
            Self::Llava(vision) => vision.tower_folder.as_deref(),
        }
    }

    /// LLaVA's settings, if it is one.
    pub fn llava(&self) -> Option<&LlavaVision> {
        match self {
            Self::Llava(vision) => Some(vision),
        }
    }

    /// The same, to be changed.
    pub fn llava_mut(&mut self) -> Option<&mut LlavaVision> {
        match self {
            Self::Llava(vision) => Some(vision),
        }
    }

    /// Refuses settings no tower can have. `file` is named in the error.
    pub fn validate(&self, file: &str) -> Result<()> {
        match self {
            Self::Llava(vision) => {
                vision.clip.validate(file)?;
                vision.blocks().map(|_| ())
            }
        }
    }
}

/// The vision side of LLaVA-1.5 and LLaVA-NeXT.
#[derive(Debug, Clone, PartialEq)]
pub struct LlavaVision {
    /// The tower.
    pub clip: ClipConfig,
    /// The projector.
    pub projector: ProjectorConfig,
    /// Which hidden state of the tower is projected: 0 is the embeddings, `k` the output of
    /// block #k; a negative number counts back from the last block's output (-1).
    pub feature_layer: i64,
    /// Resolutions of LLaVA-NeXT as the file lists them (read as height, width by `-hf` code and
    /// as width, height by the original code); empty for LLaVA-1.5.
    pub image_grid_pinpoints: Vec<(usize, usize)>,
    /// How the original files say a non-square image is treated (`pad`, `anyres`), if they do.
    pub image_aspect_ratio: Option<String>,
    /// Folder of a tower that is not part of the checkpoint (original LLaVA-1.5).
    pub tower_folder: Option<PathBuf>,
}

impl LlavaVision {
    /// Number of tower blocks that have to run for the selected features: 0 when the features are
    /// the embeddings themselves.
    pub fn blocks(&self) -> Result<usize> {
        let blocks = i64::try_from(self.clip.blocks).unwrap_or(i64::MAX);
        let layer = self.feature_layer;
        let index = if layer < 0 { blocks + 1 + layer } else { layer };
        match usize::try_from(index) {
            Ok(index) if index <= self.clip.blocks => Ok(index),
            _ => Err(Error::Config {
                file: CONFIG_FILE.into(),
                field: "vision_feature_layer".into(),
                message: format!("is {layer}, the tower has {blocks} blocks"),
            }),
        }
    }
}
