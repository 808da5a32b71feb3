//! LLaVA-1.5 and LLaVA-NeXT: a CLIP tower and a two-layer projector; LLaVA-NeXT adds the embedding
//! that ends a row of its native packing.

use candle_core::Tensor;

use super::VisionSide;
use crate::checkpoint::Part;
use crate::config::{Family, LlavaVision, ModelConfig};
use crate::error::{Error, Result};
use crate::projector::Projector;
use crate::vision::clip::ClipTower;
use crate::vision::{Embedded, Encoded, Grid, Pixels, VisionTaps};
use crate::weights::Builder;

/// Tower, projector and newline.
#[derive(Debug)]
pub(super) struct Llava {
    tower: ClipTower,
    projector: Projector,
    newline: Option<Tensor>,
}

impl Llava {
    pub(super) fn build(
        b: &mut Builder,
        config: &ModelConfig,
        vision: &LlavaVision,
        width: usize,
    ) -> Result<Self> {
        let tower = ClipTower::build(b, &vision.clip, vision.blocks()?)?;
        let projector = Projector::build(b, vision.projector, vision.clip.hidden_size, width)?;
        let newline = match config.family {
            Family::LlavaNext => Some(b.tensor(Part::Newline, "image_newline", &[width])?),
            _ => None,
        };
        Ok(Self { tower, projector, newline })
    }
}

impl VisionSide for Llava {
    fn encode(&self, pixels: &Pixels, taps: VisionTaps) -> Result<Encoded> {
        let side = self.tower.config().grid();
        let grid = Grid { rows: side, columns: side };
        if let Some(other) = pixels.grids.iter().find(|found| **found != grid) {
            let message =
                format!("{}x{} patches, the tower has {side}x{side}", other.rows, other.columns);
            return Err(Error::input("view", message));
        }
        let views = pixels.values.dim(0)?;
        if views != pixels.grids.len() {
            let message = format!("{views} for {} groups", pixels.grids.len());
            return Err(Error::input("views", message));
        }
        let seen = self.tower.forward(&pixels.values, taps.reliability)?;
        let rows = seen.features.flatten(0, 1)?;
        Ok(Encoded {
            features: taps.features.then(|| rows.clone()),
            reliability: seen.cls_attention.map(|rows| rows.flatten_all()).transpose()?,
            states: vec![rows],
        })
    }

    fn embed(&self, encoded: &Encoded) -> Result<Embedded> {
        let [rows] = encoded.states.as_slice() else {
            let message = format!("{} tensors, expected 1", encoded.states.len());
            return Err(Error::input("tower output", message));
        };
        let embeds = self.projector.forward(rows)?;
        Ok(Embedded { embeds, deepstack: Vec::new(), newline: self.newline.clone() })
    }
}
