//! Configuration of the Qwen vision towers, which take an image at its native resolution.

use super::parts::{Activation, Check, MAX_BLOCKS, MAX_WIDTH};
use super::vision::VisionSettings;
use super::vision_work::VisionWork;
use crate::error::Result;
use crate::vision::Grid;
use crate::vision::flops::VisionFlops;

/// The largest side of a patch in pixels, and the most patches merged along a side.
const MAX_PATCH: usize = 256;
const MAX_MERGE: usize = 16;

/// The two designs of Qwen vision towers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QwenTowerKind {
    /// Qwen2.5-VL: windowed attention in most blocks; RMS norms, a gated MLP.
    Windowed {
        /// Side of an attention window, in pixels.
        window: usize,
        /// Blocks (0-based) with attention over the whole image.
        full: Vec<usize>,
    },
    /// Qwen3-VL and Qwen3.5: attention over the whole image, and learned position embeddings.
    Positioned {
        /// Side of the square position table, which is interpolated to the image's grid.
        side: usize,
        /// Blocks (0-based) whose output is also added inside the decoder (DeepStack); none for Qwen3.5.
        deepstack: Vec<usize>,
    },
}

/// Configuration of the Qwen models' vision side: images at native resolution.
#[derive(Debug, Clone, PartialEq)]
pub struct QwenVision {
    /// The design of the tower.
    pub kind: QwenTowerKind,
    /// Width of the residual stream (hidden states).
    pub hidden_size: usize,
    /// Inner width of the MLP.
    pub intermediate_size: usize,
    /// The number of tower blocks.
    pub blocks: usize,
    /// The number of attention heads per block.
    pub heads: usize,
    /// Side of a patch, in pixels.
    pub patch_size: usize,
    /// Frames per patch (temporal patch size); a still image is repeated.
    pub frames: usize,
    /// Patches per side that are merged into one visual token.
    pub merge: usize,
    /// Width of the merged embeddings, which is the decoder's.
    pub output: usize,
    /// Base of the frequencies of the tower's 2D `RoPE`.
    pub theta: f64,
    /// The activation function of the MLP.
    pub activation: Activation,
}

impl QwenVision {
    /// The number of values of one patch: 3 x frames x side x side.
    pub fn patch_values(&self) -> usize {
        3 * self.frames * self.patch_size * self.patch_size
    }

    /// The number of patches merged into one visual token.
    pub fn joined(&self) -> usize {
        self.merge * self.merge
    }

    /// Blocks (0-based) whose output is also added inside the decoder (DeepStack).
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

    /// Side of an attention window, in visual tokens; 0 without windows.
    pub(crate) fn window(&self) -> usize {
        match self.kind {
            QwenTowerKind::Windowed { window, .. } => window / self.patch_size / self.merge,
            QwenTowerKind::Positioned { .. } => 0,
        }
    }
}

impl QwenVision {
    /// The number of ordered pairs of visual tokens that attend in a block (0-based).
    fn attended_pairs(&self, block: usize, grid: Grid) -> f64 {
        let all = (grid.tokens() as f64).powi(2);
        let QwenTowerKind::Windowed { full, .. } = &self.kind else { return all };
        if full.contains(&block) {
            return all;
        }
        let side = self.window().max(1);
        // Windows divide both axes, so the squares of their sides can be summed separately.
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

    /// FLOPs of tower and mergers on images at native resolution.
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

    fn work(&self, grids: &[Grid]) -> Option<VisionWork> {
        let tokens: usize = grids.iter().map(Grid::tokens).sum();
        let patches = tokens * self.joined();
        Some(VisionWork {
            pixels: patches * self.patch_values(),
            rows: patches,
            rows_at_once: patches,
            width: self.hidden_size,
            inner: self.intermediate_size,
            projected: tokens,
            joined: self.hidden_size * self.joined(),
            outputs: 1 + self.deepstack().len(),
        })
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
