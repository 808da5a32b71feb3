//! LLaVA-1.5 and LLaVA-NeXT: a CLIP tower and a two-layer projector; LLaVA-NeXT adds the embedding
//! that ends a row of its native packing.

use candle_core::Tensor;

use super::{VisionSide, check_views, single};
use crate::checkpoint::Part;
use crate::config::{Family, LlavaVision, ModelConfig};
use crate::error::Result;
use crate::projector::Projector;
use crate::vision::vit::VitTower;
use crate::vision::{Embedded, Encoded, Grid, Pixels, VisionTaps, Watch};
use crate::weights::Builder;

/// Tower, projector and newline.
#[derive(Debug)]
pub(super) struct Llava {
    tower: VitTower,
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
        let tower = VitTower::build(b, &vision.tower, vision.blocks()?)?;
        let projector = Projector::build(b, vision.projector, vision.tower.hidden_size, width)?;
        let newline = match config.family {
            Family::LlavaNext => Some(b.tensor(Part::Newline, "image_newline", &[width])?),
            _ => None,
        };
        Ok(Self { tower, projector, newline })
    }
}

impl VisionSide for Llava {
    fn encode(&self, pixels: &Pixels, taps: VisionTaps, watch: Watch<'_>) -> Result<Encoded> {
        let side = self.tower.config().grid();
        check_views(pixels, Grid { rows: side, columns: side })?;
        let seen = self.tower.forward(&pixels.values, taps.attention, watch)?;
        let rows = seen.features.flatten(0, 1)?;
        let flat = |views: Option<Tensor>| views.map(|views| views.flatten_all()).transpose();
        Ok(Encoded {
            features: taps.features.then(|| rows.clone()),
            reliability: flat(seen.attention)?,
            shallow: flat(seen.shallow)?,
            keys: seen.keys.map(|views| views.flatten(0, 1)).transpose()?,
            states: vec![rows],
        })
    }

    fn embed(&self, encoded: &Encoded) -> Result<Embedded> {
        let embeds = self.projector.forward(single(encoded)?)?;
        Ok(Embedded { embeds, deepstack: Vec::new(), newline: self.newline.clone() })
    }

    fn project(&self, features: &Tensor) -> Result<Option<Tensor>> {
        self.projector.forward(features).map(Some)
    }
}
