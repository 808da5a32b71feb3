//! Logical FLOPs of vision sides: `2 m n k` for a product of an `m x k` and a `k x n` matrix, the
//! whole map for attention, nothing for norms and activations.

use crate::config::VitConfig;

/// FLOPs of everything before the decoder.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct VisionFlops {
    /// The tower, as far as it runs.
    pub encoder: f64,
    /// What leads from the tower to the decoder.
    pub projector: f64,
    /// Joining of tokens after the projector; 0 for families that do none.
    pub pooling: f64,
}

/// One view through the patch embedding and the first `blocks` blocks, the class token included.
pub fn vit_flops(config: &VitConfig, blocks: usize) -> f64 {
    let (width, inner) = (config.hidden_size as f64, config.intermediate_size as f64);
    let (patches, side) = (config.patches() as f64, config.patch_size as f64);
    let tokens = config.tokens() as f64;
    let embedding = 2.0 * patches * 3.0 * side * side * width;
    let linears = 2.0 * tokens * (4.0 * width * width + 2.0 * width * inner);
    embedding + blocks as f64 * (linears + 4.0 * tokens * tokens * width)
}

/// A projector of two layers, the second one square, on `rows` rows of `input` numbers.
pub fn two_layer_flops(rows: usize, input: usize, width: usize) -> f64 {
    let (rows, input, width) = (rows as f64, input as f64, width as f64);
    2.0 * rows * width * (input + width)
}
