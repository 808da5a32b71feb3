//! FLOPs of the vision side.

use mico_model::Grid;
use mico_model::config::{VitConfig, LlavaVision, VisionConfig};

/// FLOPs of everything before the decoder.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct VisionWork {
    pub(super) encoder: f64,
    pub(super) projector: f64,
    pub(super) pooling: f64,
}

/// Counts the vision side on groups of visual tokens; `width` is the decoder's.
pub(super) fn vision(
    config: &VisionConfig,
    grids: &[Grid],
    width: usize,
) -> mico_model::Result<VisionWork> {
    match config {
        VisionConfig::Llava(vision) => llava(vision, grids.len(), width),
    }
}

fn llava(vision: &LlavaVision, views: usize, width: usize) -> mico_model::Result<VisionWork> {
    let (width, feature) = (width as f64, vision.tower.hidden_size as f64);
    let patches = (views * vision.tower.patches()) as f64;
    Ok(VisionWork {
        encoder: views as f64 * clip(&vision.tower, vision.blocks()?),
        projector: 2.0 * patches * width * (feature + width),
        pooling: 0.0,
    })
}

/// One view through the patch embedding and `blocks` blocks, the class token included.
fn clip(config: &VitConfig, blocks: usize) -> f64 {
    let (width, inner) = (config.hidden_size as f64, config.intermediate_size as f64);
    let (patches, side) = (config.patches() as f64, config.patch_size as f64);
    let tokens = patches + 1.0;
    let embedding = 2.0 * patches * 3.0 * side * side * width;
    let linears = 2.0 * tokens * (4.0 * width * width + 2.0 * width * inner);
    embedding + blocks as f64 * (linears + 4.0 * tokens * tokens * width)
}
