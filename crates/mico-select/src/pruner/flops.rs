//! FLOPs of a selection, counted for the dense algorithm as the paper counts them.

/// Operations of one pick of the dense greedy per pair of tokens: subtract, multiply, add.
const GREEDY_PAIR: f64 = 3.0;
/// Operations of one pick of a fused greedy kernel per token and per binary logarithm of their number:
/// fitted to the three counts the paper gives for video (0.088, 0.386 and 1.687 GFLOPs), within 2 %.
const FUSED_STEP: f64 = 16.0 / 3.0;

/// The size of one selection, from which its FLOPs follow. Fields are f64 because they are multiplied.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SelectionSize {
    /// The number of candidate tokens.
    pub tokens: f64,
    /// The number of tokens kept.
    pub kept: f64,
    /// Width of the feature vectors the rule compares.
    pub width: f64,
    /// Width of the decoder's input embeddings.
    pub projected: f64,
    /// Width of one attention head's keys.
    pub keys: f64,
    /// The number of text tokens of the question.
    pub text: f64,
    /// Whether the greedy is counted as a fused kernel instead of dense.
    pub fused: bool,
}

impl SelectionSize {
    /// FLOPs of the cosine similarities of all pairs of tokens.
    pub fn similarities(&self) -> f64 {
        2.0 * self.tokens * self.tokens * self.width
    }

    /// FLOPs of the greedy maximisation of coverage.
    pub fn greedy(&self) -> f64 {
        if self.fused {
            return FUSED_STEP * self.kept * self.tokens * self.tokens.log2().max(1.0);
        }
        GREEDY_PAIR * self.tokens * self.tokens * self.kept
    }

    /// FLOPs of the similarities of every dropped token with every kept one, as merging needs them.
    pub fn joins(&self) -> f64 {
        2.0 * (self.tokens - self.kept).max(0.0) * self.kept * self.width
    }
}
