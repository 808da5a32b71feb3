//! Vision towers, and what passes between a processor, a family's vision side and the decoder.
//!
//! Everything here is counted in visual tokens: what one token of the decoder's sequence stands
//! for, after merging, shuffling or pooling. Rows are group by group, each group in raster order,
//! whatever order a tower works in.

mod axial;
pub(crate) mod block;
pub mod flops;
mod progress;
pub mod qwen;
pub mod vit;
mod windows;

pub use progress::TowerProgress;

use candle_core::Tensor;

/// Rows and columns of the visual tokens of one group (image, view, crop, tile, frame).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Grid {
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
}

impl Grid {
    /// Number of visual tokens.
    pub fn tokens(&self) -> usize {
        self.rows * self.columns
    }
}

/// One image (or video) as its family's processor prepared it.
#[derive(Debug, Clone)]
pub struct Pixels {
    /// Normalised numbers in the family's own shape: `[views, 3, height, width]`, or
    /// `[patches, values of a patch]`.
    pub values: Tensor,
    /// The groups the visual tokens form.
    pub grids: Vec<Grid>,
}

impl Pixels {
    /// Visual tokens of all groups.
    pub fn tokens(&self) -> usize {
        self.grids.iter().map(Grid::tokens).sum()
    }
}

/// What to observe besides the embeddings; nothing else is computed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VisionTaps {
    /// Stage-1 features: what the tower says of each visual token before it is projected.
    pub features: bool,
    /// Where a visual token joins several patches, features are their vectors side by side instead
    /// of the mean (InternVL alone offers it).
    pub joined: bool,
    /// What to observe of the attention.
    pub attention: AttentionTaps,
}

impl VisionTaps {
    /// Everything.
    pub const ALL: Self = Self {
        features: true,
        joined: false,
        attention: AttentionTaps { deep: true, shallow: true, keys: true },
    };
}

/// What to observe of a tower's attention.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AttentionTaps {
    /// Reliability: the attention each visual token receives in the last block that runs.
    pub deep: bool,
    /// The same in an early block.
    pub shallow: bool,
    /// Keys of the last block that runs.
    pub keys: bool,
}

/// What a tower saw in one image.
#[derive(Debug, Clone)]
pub struct Encoded {
    /// Stage-1 features `[n, d1]`, present when asked for: the raw residual stream, not
    /// normalised.
    pub features: Option<Tensor>,
    /// Reliability `[n]` in f32, present when asked for: softmax probabilities, mean over heads,
    /// not renormalised.
    pub reliability: Option<Tensor>,
    /// The same of an early block, present when asked for.
    pub shallow: Option<Tensor>,
    /// Attention keys `[n, head width]`, mean over heads (and over the patches of a token), present
    /// when asked for.
    pub keys: Option<Tensor>,
    /// The tower's own output, as the family's second step wants it.
    pub states: Vec<Tensor>,
}

/// One image in the decoder's space.
#[derive(Debug, Clone)]
pub struct Embedded {
    /// One embedding per visual token, `[n, d]`.
    pub embeds: Tensor,
    /// Features added to the visual tokens after the first decoder blocks, `[n, d]` each; empty
    /// for families without them.
    pub deepstack: Vec<Tensor>,
    /// The embedding that ends a row where the family's packing inserts one, `[d]`.
    pub newline: Option<Tensor>,
}
