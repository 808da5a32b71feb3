//! Vision towers.

pub mod clip;

use candle_core::Tensor;

/// What to observe in the tower besides the features; nothing else is computed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VisionTaps {
    /// The class token's attention to the patches in the block whose output is selected.
    pub cls_attention: bool,
}

/// What a tower gives for a batch of views.
#[derive(Debug, Clone)]
pub struct VisionOutput {
    /// Features of the selected layer without the class token, `[views, patches, d]`: the raw
    /// residual stream, not normalised.
    pub features: Tensor,
    /// Softmax probabilities of the class token's row, mean over heads, patch columns only and not
    /// renormalised, `[views, patches]` in f32; present when asked for.
    pub cls_attention: Option<Tensor>,
}
