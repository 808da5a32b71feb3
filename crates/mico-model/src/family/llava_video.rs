//! LLaVA-Video: a SigLIP tower without its last block, a projector on all patches, and the mean of
//! each square of patches as a visual token.

use candle_core::Tensor;

use super::{VisionSide, check_views, single};
use crate::checkpoint::Part;
use crate::config::VideoVision;
use crate::error::Result;
use crate::projector::Projector;
use crate::vision::vit::VitTower;
use crate::vision::{Embedded, Encoded, Grid, Pixels, VisionTaps, Watch};
use crate::weights::Builder;

/// Frames projected together: what exists of their patches in the decoder's width at a time.
const FRAMES_AT_ONCE: usize = 4;

/// Tower, projector and newline.
#[derive(Debug)]
pub(super) struct LlavaVideo {
    config: VideoVision,
    tower: VitTower,
    projector: Projector,
    newline: Tensor,
}

impl LlavaVideo {
    pub(super) fn build(b: &mut Builder, config: &VideoVision, width: usize) -> Result<Self> {
        let tower = VitTower::build(b, &config.tower, config.blocks())?;
        let projector = Projector::build(b, config.projector, config.tower.hidden_size, width)?;
        let newline = b.tensor(Part::Newline, "image_newline", &[width])?;
        Ok(Self { config: config.clone(), tower, projector, newline })
    }

    /// Means over squares of patches: `[frames, patches, d]` to `[frames * tokens, d]`. Rows and
    /// columns that do not fill a square are left out.
    fn pool(&self, frames: &Tensor) -> Result<Tensor> {
        let (count, _, width) = frames.dims3()?;
        let (grid, side, pool) = (self.config.tower.grid(), self.config.side(), self.config.pool);
        let covered = side * pool;
        let pooled = frames
            .reshape((count, grid, grid, width))?
            .narrow(1, 0, covered)?
            .narrow(2, 0, covered)?
            .contiguous()?
            .reshape((count * side, pool, side, pool, width))?
            .sum([1, 3])?;
        Ok((pooled / (pool * pool) as f64)?.reshape((count * side * side, width))?)
    }
}

impl VisionSide for LlavaVideo {
    fn encode(&self, pixels: &Pixels, taps: VisionTaps, watch: Watch<'_>) -> Result<Encoded> {
        let side = self.config.side();
        check_views(pixels, Grid { rows: side, columns: side })?;
        let seen = self.tower.forward(&pixels.values, taps.attention, watch)?;
        let features = taps.features.then(|| self.pool(&seen.features)).transpose()?;
        let pooled = |frames: Option<Tensor>| match frames {
            Some(frames) => Ok(Some(self.pool(&frames.unsqueeze(2)?)?.flatten_all()?)),
            None => Ok::<_, crate::error::Error>(None),
        };
        Ok(Encoded {
            features,
            reliability: pooled(seen.attention)?,
            shallow: pooled(seen.shallow)?,
            keys: seen.keys.map(|keys| self.pool(&keys)).transpose()?,
            states: vec![seen.features],
        })
    }

    fn embed(&self, encoded: &Encoded) -> Result<Embedded> {
        let features = single(encoded)?;
        let frames = features.dim(0)?;
        let parts = (0..frames).step_by(FRAMES_AT_ONCE).map(|start| {
            let count = FRAMES_AT_ONCE.min(frames - start);
            self.pool(&self.projector.forward(&features.narrow(0, start, count)?.contiguous()?)?)
        });
        let embeds = Tensor::cat(&parts.collect::<Result<Vec<_>>>()?, 0)?;
        Ok(Embedded { embeds, deepstack: Vec::new(), newline: Some(self.newline.clone()) })
    }
}
