//! InternVL3: an `InternViT` tower, patches shuffled into channels, a projector behind a norm.

use candle_core::Tensor;

use super::{VisionSide, check_views, patch_means, single, token_means};
use crate::checkpoint::Part;
use crate::config::InternVision;
use crate::error::Result;
use crate::norm::LayerNorm;
use crate::projector::Projector;
use crate::vision::vit::VitTower;
use crate::vision::{Embedded, Encoded, Grid, Pixels, VisionTaps, Watch};
use crate::weights::Builder;

/// Epsilon of the projector's norm.
const NORM_EPS: f64 = 1e-5;

/// Tower, norm and projector.
#[derive(Debug)]
pub(super) struct InternVl {
    config: InternVision,
    tower: VitTower,
    norm: LayerNorm,
    projector: Projector,
}

impl InternVl {
    pub(super) fn build(b: &mut Builder, config: &InternVision, width: usize) -> Result<Self> {
        let tower = VitTower::build(b, &config.tower, config.tower.blocks)?;
        let wide = config.tower.hidden_size * config.shuffle * config.shuffle;
        let norm = b.layer_norm(Part::Projector, "layer_norm", wide, NORM_EPS)?;
        let shape = crate::config::ProjectorConfig { activation: config.activation, bias: true };
        let projector = Projector::build(b, shape, wide, width)?;
        Ok(Self { config: config.clone(), tower, norm, projector })
    }

    /// Patches of a tile in the order of the visual tokens they make: raster order of tokens, and
    /// inside a token row by row.
    fn order(&self) -> Vec<usize> {
        let (side, join) = (self.config.side(), self.config.shuffle);
        let patch = |token: usize, inner: usize| {
            let row = token / side * join + inner / join;
            let column = token % side * join + inner % join;
            row * side * join + column
        };
        (0..side * side).flat_map(|token| (0..join * join).map(move |i| patch(token, i))).collect()
    }
}

impl VisionSide for InternVl {
    fn encode(&self, pixels: &Pixels, taps: VisionTaps, watch: Watch<'_>) -> Result<Encoded> {
        let side = self.config.side();
        check_views(pixels, Grid { rows: side, columns: side })?;
        let seen = self.tower.forward(&pixels.values, taps.attention, watch)?;
        let (tiles, patches, width) = seen.features.dims3()?;
        let order = self.order();
        let joined = self.config.shuffle * self.config.shuffle;
        let index_of: Vec<u32> = (0..tiles)
            .flat_map(|tile| order.iter().map(move |&patch| (tile * patches + patch) as u32))
            .collect();
        let index = Tensor::new(index_of.as_slice(), seen.features.device())?;
        let rows = seen.features.flatten(0, 1)?.index_select(&index, 0)?;
        let shuffled = rows.reshape((tiles * side * side, joined * width))?;
        let features = match (taps.features, taps.joined) {
            (false, _) => None,
            (true, true) => Some(shuffled.clone()),
            (true, false) => Some(patch_means(&rows, joined)?),
        };
        let means = |views: Option<Tensor>| match views {
            Some(views) => {
                let flat: Vec<f32> = views.flatten_all()?.to_vec1()?;
                let arranged: Vec<f32> = index_of.iter().map(|&row| flat[row as usize]).collect();
                token_means(&arranged, joined).map(Some)
            }
            None => Ok(None),
        };
        let (reliability, shallow) = (means(seen.attention)?, means(seen.shallow)?);
        let keys = match seen.keys {
            Some(keys) => {
                let index = Tensor::new(index_of, keys.device())?;
                Some(patch_means(&keys.flatten(0, 1)?.index_select(&index, 0)?, joined)?)
            }
            None => None,
        };
        Ok(Encoded { features, reliability, shallow, keys, states: vec![shuffled] })
    }

    fn embed(&self, encoded: &Encoded) -> Result<Embedded> {
        let embeds = self.projector.forward(&self.norm.forward(single(encoded)?)?)?;
        Ok(Embedded { embeds, deepstack: Vec::new(), newline: None })
    }
}
