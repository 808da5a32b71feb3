//! Logical FLOPs of vision sides: `2 m n k` for a product of an `m x k` and a `k x n` matrix, the
//! whole map for attention, nothing for norms and activations.

use crate::config::VitConfig;

/// FLOPs of everything before the decoder, by part.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct VisionFlops {
    /// The vision tower, as many blocks as run.
    pub encoder: f64,
    /// The projector or merger from the tower to the decoder.
    pub projector: f64,
    /// Pooling of tokens after the projector; 0 for families without it.
    pub pooling: f64,
}

/// FLOPs of one view through the patch embedding and the first `blocks` blocks, class token included.
pub fn vit_flops(config: &VitConfig, blocks: usize) -> f64 {
    let (width, inner) = (config.hidden_size as f64, config.intermediate_size as f64);
    let (patches, side) = (config.patches() as f64, config.patch_size as f64);
    let tokens = config.tokens() as f64;
    let embedding = 2.0 * patches * 3.0 * side * side * width;
    let linears = 2.0 * tokens * (4.0 * width * width + 2.0 * width * inner);
    embedding + blocks as f64 * (linears + 4.0 * tokens * tokens * width)
}

/// FLOPs of a two-layer projector, the second layer square, on `rows` rows of `input` values.
pub fn two_layer_flops(rows: usize, input: usize, width: usize) -> f64 {
    let (rows, input, width) = (rows as f64, input as f64, width as f64);
    2.0 * rows * width * (input + width)
}
