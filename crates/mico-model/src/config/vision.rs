//! The vision side's settings, one shape per kind of tower, behind one face.

use std::path::{Path, PathBuf};

use super::CONFIG_FILE;
use super::parts::{Activation, Check, MAX_BLOCKS, MAX_WIDTH, ProjectorConfig};
use super::vit::{SIGLIP_SO400M_384, VitConfig};
use crate::error::{Error, Result};

/// Largest side of a patch, and most patches a visual token joins along a side.
const MAX_PATCH: usize = 256;
const MAX_MERGE: usize = 16;

/// Vision tower and what leads from it to the decoder.
#[derive(Debug, Clone, PartialEq)]
pub enum VisionConfig {
    /// LLaVA-1.5 and LLaVA-NeXT.
    Llava(LlavaVision),
    /// Qwen2.5-VL, Qwen3-VL and Qwen3.5.
    Qwen(QwenVision),
    /// InternVL3.
    InternVl(InternVision),
    /// LLaVA-Video.
    LlavaVideo(VideoVision),
}

impl VisionConfig {
    /// Width of the features Stage 1 works on.
    pub fn feature_width(&self) -> usize {
        match self {
            Self::Qwen(vision) => vision.hidden_size,
            Self::Llava(LlavaVision { tower, .. })
            | Self::InternVl(InternVision { tower, .. })
            | Self::LlavaVideo(VideoVision { tower, .. }) => tower.hidden_size,
        }
    }

    /// Visual tokens of one view, for towers with one input size.
    pub fn tokens_per_view(&self) -> Option<usize> {
        match self {
            Self::Llava(vision) => Some(vision.tower.patches()),
            Self::Qwen(_) => None,
            Self::InternVl(vision) => Some(vision.side().pow(2)),
            Self::LlavaVideo(vision) => Some(vision.side().pow(2)),
        }
    }

    /// Blocks of the tower that run, and so have to be loaded.
    pub(crate) fn blocks(&self) -> Result<usize> {
        match self {
            Self::Llava(vision) => vision.blocks(),
            Self::Qwen(vision) => Ok(vision.blocks),
            Self::InternVl(vision) => Ok(vision.tower.blocks),
            Self::LlavaVideo(vision) => Ok(vision.blocks()),
        }
    }

    /// Folder of a tower that is not part of the checkpoint.
    pub fn tower_folder(&self) -> Option<&Path> {
        match self {
            Self::Llava(LlavaVision { tower_folder, .. })
            | Self::LlavaVideo(VideoVision { tower_folder, .. }) => tower_folder.as_deref(),
            Self::Qwen(_) | Self::InternVl(_) => None,
        }
    }

    /// The tower with one input size, for families that have such a one.
    pub fn tower(&self) -> Option<&VitConfig> {
        match self {
            Self::Llava(LlavaVision { tower, .. })
            | Self::InternVl(InternVision { tower, .. })
            | Self::LlavaVideo(VideoVision { tower, .. }) => Some(tower),
            Self::Qwen(_) => None,
        }
    }

    /// LLaVA's settings, if it is one.
    pub fn llava(&self) -> Option<&LlavaVision> {
        match self {
            Self::Llava(vision) => Some(vision),
            _ => None,
        }
    }

    /// The same, to be changed.
    pub fn llava_mut(&mut self) -> Option<&mut LlavaVision> {
        match self {
            Self::Llava(vision) => Some(vision),
            _ => None,
        }
    }

    /// Refuses settings no tower can have. `file` is named in the error.
    pub fn validate(&self, file: &str) -> Result<()> {
        if let Some(tower) = self.tower() {
            tower.validate(file)?;
        }
        match self {
            Self::Llava(vision) => vision.blocks().map(|_| ()),
            Self::Qwen(vision) => vision.validate(file),
            Self::InternVl(vision) => {
                let check = Check { file, part: "vision_config" };
                let grid = vision.tower.grid();
                check.range("downsample_ratio", vision.shuffle, grid.max(1))?;
                check.divides("1 / downsample_ratio", vision.shuffle, "patches per side", grid)
            }
            Self::LlavaVideo(vision) => {
                let check = Check { file, part: "vision_config" };
                check.range("mm_spatial_pool_stride", vision.pool, vision.tower.grid().max(1))
            }
        }
    }
}

/// The vision side of LLaVA-1.5 and LLaVA-NeXT.
#[derive(Debug, Clone, PartialEq)]
pub struct LlavaVision {
    /// The tower.
    pub tower: VitConfig,
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
        let blocks = i64::try_from(self.tower.blocks).unwrap_or(i64::MAX);
        let layer = self.feature_layer;
        let index = if layer < 0 { blocks + 1 + layer } else { layer };
        match usize::try_from(index) {
            Ok(index) if index <= self.tower.blocks => Ok(index),
            _ => Err(Error::Config {
                file: CONFIG_FILE.into(),
                field: "vision_feature_layer".into(),
                message: format!("is {layer}, the tower has {blocks} blocks"),
            }),
        }
    }
}

/// What distinguishes the towers of the Qwen models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QwenTowerKind {
    /// Qwen2.5-VL: attention within windows, but for some blocks; RMS norms, a gated MLP.
    Windowed {
        /// Side of a window in pixels.
        window: usize,
        /// Blocks (0-based) that attend over the whole image.
        full: Vec<usize>,
    },
    /// Qwen3-VL and Qwen3.5: attention over the whole image and a table of positions.
    Positioned {
        /// Side of the square table, which is interpolated to the image's grid.
        side: usize,
        /// Blocks (0-based) whose output is also added inside the decoder; none for Qwen3.5.
        deepstack: Vec<usize>,
    },
}

/// The vision side of the Qwen models: an image at its own resolution.
#[derive(Debug, Clone, PartialEq)]
pub struct QwenVision {
    /// Which tower it is.
    pub kind: QwenTowerKind,
    /// Width of the residual stream.
    pub hidden_size: usize,
    /// Width inside the MLP.
    pub intermediate_size: usize,
    /// Blocks.
    pub blocks: usize,
    /// Attention heads.
    pub heads: usize,
    /// Side of a patch in pixels.
    pub patch_size: usize,
    /// Frames of a patch; a still image is repeated.
    pub frames: usize,
    /// Patches a visual token joins along each side.
    pub merge: usize,
    /// Width of the merged embeddings: the decoder's.
    pub output: usize,
    /// Base of the frequencies by which rows and columns turn queries and keys.
    pub theta: f64,
    /// The MLP's non-linearity.
    pub activation: Activation,
}

impl QwenVision {
    /// Numbers of one patch.
    pub fn patch_values(&self) -> usize {
        3 * self.frames * self.patch_size * self.patch_size
    }

    /// Patches of a visual token.
    pub fn joined(&self) -> usize {
        self.merge * self.merge
    }

    /// Blocks whose output is also added inside the decoder.
    pub fn deepstack(&self) -> &[usize] {
        match &self.kind {
            QwenTowerKind::Windowed { .. } => &[],
            QwenTowerKind::Positioned { deepstack, .. } => deepstack,
        }
    }

    fn validate(&self, file: &str) -> Result<()> {
        let check = Check { file, part: "vision_config" };
        check.range("hidden_size", self.hidden_size, MAX_WIDTH)?;
        check.range("intermediate_size", self.intermediate_size, MAX_WIDTH)?;
        check.range("out_hidden_size", self.output, MAX_WIDTH)?;
        check.range("depth", self.blocks, MAX_BLOCKS)?;
        check.range("num_heads", self.heads, MAX_WIDTH)?;
        check.range("patch_size", self.patch_size, MAX_PATCH)?;
        check.range("temporal_patch_size", self.frames, MAX_MERGE)?;
        check.range("spatial_merge_size", self.merge, MAX_MERGE)?;
        check.divides("num_heads", self.heads, "hidden_size", self.hidden_size)?;
        let head = self.hidden_size / self.heads;
        if !head.is_multiple_of(4) {
            let (width, heads) = (self.hidden_size, self.heads);
            let message = format!(
                "is {width}, which gives {heads} heads of {head} numbers; a multiple of 4 is needed"
            );
            return Err(check.error("hidden_size", message));
        }
        let within =
            |field: &str, blocks: &[usize]| match blocks.iter().find(|b| **b >= self.blocks) {
                None => Ok(()),
                Some(block) => {
                    let message =
                        format!("names block {block}, accepted: 0 to {}", self.blocks - 1);
                    Err(check.error(field, message))
                }
            };
        match &self.kind {
            QwenTowerKind::Windowed { window, full } => {
                let most = MAX_PATCH * MAX_PATCH;
                check.range("window_size", *window, most)?;
                check.range(
                    "window_size / patch_size / spatial_merge_size",
                    self.window(),
                    most,
                )?;
                within("fullatt_block_indexes", full)
            }
            QwenTowerKind::Positioned { side, deepstack } => {
                check.range("num_position_embeddings", *side, MAX_WIDTH)?;
                if !deepstack.is_sorted_by(|a, b| a < b) {
                    let message = format!("is {deepstack:?}, expected ascending numbers");
                    return Err(check.error("deepstack_visual_indexes", message));
                }
                within("deepstack_visual_indexes", deepstack)
            }
        }
    }

    /// Side of a window in visual tokens; 0 without windows.
    pub(crate) fn window(&self) -> usize {
        match self.kind {
            QwenTowerKind::Windowed { window, .. } => window / self.patch_size / self.merge,
            QwenTowerKind::Positioned { .. } => 0,
        }
    }
}

/// The vision side of InternVL3: tiles of one size, patches shuffled into channels.
#[derive(Debug, Clone, PartialEq)]
pub struct InternVision {
    /// The tower.
    pub tower: VitConfig,
    /// Patches a visual token joins along each side.
    pub shuffle: usize,
    /// The projector's non-linearity.
    pub activation: Activation,
    /// What the file says about tiles.
    pub tiles: InternTiles,
}

/// What a model's file says about the tiles of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InternTiles {
    /// Fewest tiles, where the file says.
    pub min: Option<usize>,
    /// Most tiles, where the file says.
    pub max: Option<usize>,
    /// Whether the whole image follows its tiles once more.
    pub thumbnail: bool,
}

impl Default for InternTiles {
    fn default() -> Self {
        Self { min: None, max: None, thumbnail: true }
    }
}

impl InternVision {
    /// Visual tokens along the side of a tile.
    pub fn side(&self) -> usize {
        self.tower.grid() / self.shuffle.max(1)
    }
}

/// The vision side of LLaVA-Video: frames of one size, pooled after the projector.
#[derive(Debug, Clone, PartialEq)]
pub struct VideoVision {
    /// The tower.
    pub tower: VitConfig,
    /// The projector.
    pub projector: ProjectorConfig,
    /// Patches a visual token averages along each side.
    pub pool: usize,
    /// Folder of a tower that is not part of the checkpoint.
    pub tower_folder: Option<PathBuf>,
}

impl VideoVision {
    /// Tower blocks that run. The model was trained without the tower's last block; files that
    /// describe the published tower already cut mean all of theirs.
    pub fn blocks(&self) -> usize {
        let known = &SIGLIP_SO400M_384;
        let cut =
            self.tower.hidden_size == known.hidden_size && self.tower.blocks + 1 == known.blocks;
        self.tower.blocks - usize::from(!cut)
    }

    /// Visual tokens along the side of a frame; what does not fill a last one is dropped.
    pub fn side(&self) -> usize {
        self.tower.grid() / self.pool.max(1)
    }
}
