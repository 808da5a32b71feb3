//! Vision towers, and the values passed between image processor, vision side and decoder.
//!
//! Everything here is counted in visual tokens: what one token of the decoder's sequence stands for
//! after merging, pixel shuffle or pooling. Rows are group by group, each group in raster order,
//! whatever order a tower works in.

mod axial;
pub(crate) mod block;
pub mod flops;
pub mod qwen;
mod run;
pub mod vit;
mod windows;

pub use run::{TowerBlocks, TowerRun};

use candle_core::Tensor;

/// Rows and columns of the visual tokens of one group (image, view, crop, tile, frame).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Grid {
    /// Rows of visual tokens in the grid.
    pub rows: usize,
    /// Columns of visual tokens in the grid.
    pub columns: usize,
}

impl Grid {
    /// The number of visual tokens, `rows * columns`.
    pub fn tokens(&self) -> usize {
        self.rows * self.columns
    }
}

/// One image (or video) as its family's processor prepared it.
#[derive(Debug, Clone)]
pub struct Pixels {
    /// Normalised pixel values in the family's own shape: `[views, 3, height, width]`, or
    /// `[patches, values per patch]`.
    pub values: Tensor,
    /// The grid of each group of visual tokens.
    pub grids: Vec<Grid>,
}

impl Pixels {
    /// The number of visual tokens of all groups.
    pub fn tokens(&self) -> usize {
        self.grids.iter().map(Grid::tokens).sum()
    }
}

/// What to record besides the embeddings; nothing else is computed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VisionTaps {
    /// Stage-1 features: the tower's output for each visual token, before the projector.
    pub features: bool,
    /// Whether the features of a token that joins several patches are their vectors concatenated instead
    /// of averaged (offered by InternVL alone).
    pub joined: bool,
    /// What to record of the attention.
    pub attention: AttentionTaps,
}

impl VisionTaps {
    /// Everything, with features averaged where a token joins several patches.
    pub const ALL: Self = Self {
        features: true,
        joined: false,
        attention: AttentionTaps { deep: true, shallow: true, keys: true },
    };
}

/// What to record of a tower's attention.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AttentionTaps {
    /// Reliability: the attention each visual token receives in the last block that runs.
    pub deep: bool,
    /// The attention each visual token receives in an early block.
    pub shallow: bool,
    /// The keys of the last block that runs.
    pub keys: bool,
}

/// An encoded image: the output of the vision tower, with what was recorded.
#[derive(Debug, Clone)]
pub struct Encoded {
    /// Stage-1 features `[n, d1]`, present when asked for: the raw residual stream, not
    /// normalised.
    pub features: Option<Tensor>,
    /// Reliability `[n]` in f32, present when asked for: softmax probabilities, mean over heads,
    /// not renormalised.
    pub reliability: Option<Tensor>,
    /// Reliability of an early block, `[n]`, present when asked for.
    pub shallow: Option<Tensor>,
    /// Attention keys `[n, head width]`, mean over heads (and over the patches of a token), present
    /// when asked for.
    pub keys: Option<Tensor>,
    /// The tower's own output, as input of the family's projector or merger.
    pub states: Vec<Tensor>,
}

/// One image as input embeddings of the decoder.
#[derive(Debug, Clone)]
pub struct Embedded {
    /// One embedding per visual token, `[n, d]`.
    pub embeds: Tensor,
    /// DeepStack features, added to the visual tokens after the first decoder blocks, `[n, d]` each;
    /// empty for families without them.
    pub deepstack: Vec<Tensor>,
    /// The newline embedding `[d]`, where the family's packing inserts one after each row.
    pub newline: Option<Tensor>,
}
