//! Settings of the towers that take an image at its own resolution: those of the Qwen models.

use super::parts::{Activation, Check, MAX_BLOCKS, MAX_WIDTH};
use super::vision::VisionSettings;
use crate::error::Result;
use crate::vision::Grid;
use crate::vision::flops::VisionFlops;

/// Largest side of a patch, and most patches a visual token joins along a side.
const MAX_PATCH: usize = 256;
const MAX_MERGE: usize = 16;

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

    /// Refuses sizes no tower can have. `file` is named in the error.
    pub fn check(&self, file: &str) -> Result<()> {
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

impl QwenVision {
    /// Pairs of visual tokens of which one may attend to the other in a block (0-based).
    fn attended_pairs(&self, block: usize, grid: Grid) -> f64 {
        let all = (grid.tokens() as f64).powi(2);
        let QwenTowerKind::Windowed { full, .. } = &self.kind else { return all };
        if full.contains(&block) {
            return all;
        }
        let side = self.window().max(1);
        // Windows are cut along both axes, so the squares of their sides can be summed apart.
        let squares = |length: usize| {
            let rest = length % side;
            (length / side * side * side + rest * rest) as f64
        };
        squares(grid.rows) * squares(grid.columns)
    }
}

impl VisionSettings for QwenVision {
    fn feature_width(&self) -> usize {
        self.hidden_size
    }

    fn head_width(&self) -> usize {
        self.hidden_size / self.heads
    }

    fn blocks(&self) -> Result<usize> {
        Ok(self.blocks)
    }

    fn validate(&self, file: &str) -> Result<()> {
        self.check(file)
    }

    /// Tower and mergers on images at their own resolution.
    fn flops(&self, grids: &[Grid], _width: usize) -> Result<VisionFlops> {
        let (width, inner) = (self.hidden_size as f64, self.intermediate_size as f64);
        let joined = self.joined() as f64;
        let matrices = match self.kind {
            QwenTowerKind::Windowed { .. } => 3.0,
            QwenTowerKind::Positioned { .. } => 2.0,
        };
        let linears = 4.0 * width * width + matrices * width * inner;
        let mut work = VisionFlops::default();
        for grid in grids {
            let tokens = grid.tokens() as f64;
            let patches = tokens * joined;
            work.encoder += 2.0 * patches * self.patch_values() as f64 * width;
            for block in 0..self.blocks {
                let pairs = self.attended_pairs(block, *grid) * joined * joined;
                work.encoder += 2.0 * patches * linears + 4.0 * pairs * width;
            }
            let mergers = 1.0 + self.deepstack().len() as f64;
            let wide = width * joined;
            work.projector += mergers * 2.0 * tokens * wide * (wide + self.output as f64);
        }
        Ok(work)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Preset;

    #[test]
    fn windows_save_most_of_the_attention() {
        let config = Preset::find("qwen2.5-vl-7b").unwrap().config();
        let vision: &QwenVision = config.vision.get().unwrap();
        let grid = Grid { rows: 31, columns: 42 };
        let whole = (31.0_f64 * 42.0).powi(2);
        assert_eq!(vision.attended_pairs(31, grid), whole);
        // 7 windows of 4 and one of 3 rows; 10 of 4 and one of 2 columns.
        assert_eq!(vision.attended_pairs(0, grid), (7.0 * 16.0 + 9.0) * (10.0 * 16.0 + 4.0));
    }
}
