//! LLaVA-1.5 and LLaVA-NeXT: a CLIP tower and a two-layer projector; LLaVA-NeXT adds the embedding
//! that ends a row of its native packing.

mod presets;
mod read;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use candle_core::Tensor;

use super::{Architecture, Traits, VisionSide, check_views, single_state};
use crate::checkpoint::Part;
use crate::config::{CONFIG_FILE, ModelConfig, ProjectorConfig, VisionSettings, VitConfig};
use crate::error::{Error, Result};
use crate::projector::Projector;
use crate::vision::flops::{VisionFlops, two_layer_flops, vit_flops};
use crate::vision::vit::VitTower;
use crate::vision::{Embedded, Encoded, Grid, Pixels, TowerRun, VisionTaps};
use crate::weights::Builder;

/// Both families are found under any of these; what the file says besides tells them apart.
const MODEL_TYPES: &[&str] = &["llava", "llava_next", "llava_llama", "llava_mistral"];

/// LLaVA-1.5: one view per image.
pub static LLAVA: Architecture = Architecture {
    name: "llava",
    model_types: MODEL_TYPES,
    claims: |root| !read::is_next(root),
    read: read::llava,
    build: |b, config| Ok(Box::new(Llava::build(b, config)?)),
    traits: Traits { projects_tokens: true, pads_to_square: true, ..Traits::NONE },
    presets: presets::LLAVA,
};

/// LLaVA-NeXT: a base view and crops per image.
pub static LLAVA_NEXT: Architecture = Architecture {
    name: "llava_next",
    model_types: MODEL_TYPES,
    claims: read::is_next,
    read: read::llava_next,
    build: |b, config| {
        let side = Llava::build(b, config)?;
        let newline = b.tensor(Part::Newline, "image_newline", &[config.decoder.hidden_size])?;
        Ok(Box::new(Llava { newline: Some(newline), ..side }))
    },
    traits: Traits { projects_tokens: true, anyres_crops: true, ..Traits::NONE },
    presets: presets::LLAVA_NEXT,
};

/// The vision side of LLaVA-1.5 and LLaVA-NeXT.
#[derive(Debug, Clone, PartialEq)]
pub struct LlavaVision {
    /// The vision transformer (CLIP in the published models), run on each view by itself.
    pub tower: VitConfig,
    /// The MLP that brings the tower's features to the decoder's width.
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
    /// The number of tower blocks, or an error that names `file`.
    fn blocks_of(&self, file: &str) -> Result<usize> {
        let blocks = i64::try_from(self.tower.blocks).unwrap_or(i64::MAX);
        let layer = self.feature_layer;
        let index = if layer < 0 { blocks + 1 + layer } else { layer };
        match usize::try_from(index) {
            Ok(index) if index <= self.tower.blocks => Ok(index),
            _ => Err(Error::Config {
                file: file.to_owned(),
                field: "vision_feature_layer".into(),
                message: format!("is {layer}, the tower has {blocks} blocks"),
            }),
        }
    }
}

impl VisionSettings for LlavaVision {
    fn feature_width(&self) -> usize {
        self.tower.hidden_size
    }

    fn head_width(&self) -> usize {
        self.tower.head_dim()
    }

    fn tower(&self) -> Option<&VitConfig> {
        Some(&self.tower)
    }

    fn tokens_per_view(&self) -> Option<usize> {
        Some(self.tower.patches())
    }

    /// Tower blocks that have to run for the selected features: 0 when the features are the
    /// embeddings themselves.
    fn blocks(&self) -> Result<usize> {
        self.blocks_of(CONFIG_FILE)
    }

    fn tower_folder(&self) -> Option<&Path> {
        self.tower_folder.as_deref()
    }

    fn validate(&self, file: &str) -> Result<()> {
        self.tower.validate(file)?;
        self.blocks_of(file).map(|_| ())
    }

    fn flops(&self, grids: &[Grid], width: usize) -> Result<VisionFlops> {
        let patches = grids.len() * self.tower.patches();
        Ok(VisionFlops {
            encoder: grids.len() as f64 * vit_flops(&self.tower, self.blocks()?),
            projector: two_layer_flops(patches, self.tower.hidden_size, width),
            pooling: 0.0,
        })
    }
}

/// Tower, projector and newline.
#[derive(Debug)]
struct Llava {
    tower: Arc<VitTower>,
    projector: Projector,
    newline: Option<Tensor>,
}

impl Llava {
    fn build(b: &mut Builder, config: &ModelConfig) -> Result<Self> {
        let vision: &LlavaVision = config.vision.expect()?;
        let width = config.decoder.hidden_size;
        let tower = Arc::new(VitTower::build(b, &vision.tower, vision.blocks()?)?);
        let projector = Projector::build(b, vision.projector, vision.tower.hidden_size, width)?;
        Ok(Self { tower, projector, newline: None })
    }
}

impl VisionSide for Llava {
    fn begin(self: Arc<Self>, pixels: Pixels, taps: VisionTaps) -> Result<TowerRun> {
        let side = self.tower.config().grid();
        check_views(&pixels, Grid { rows: side, columns: side })?;
        let run = self.tower.begin(&pixels.values, taps.attention)?;
        Ok(TowerRun::new(run, move |seen| seen.flattened(taps)))
    }

    fn embed(&self, encoded: &Encoded) -> Result<Embedded> {
        let embeds = self.projector.forward(single_state(encoded)?)?;
        Ok(Embedded { embeds, deepstack: Vec::new(), newline: self.newline.clone() })
    }

    fn project(&self, features: &Tensor) -> Result<Option<Tensor>> {
        self.projector.forward(features).map(Some)
    }
}
