//! What a choice costs, counted dense as the paper counts it.

/// What one pick of the dense greedy does to each pair of tokens: compare, weigh, add.
const GREEDY_PAIR: f64 = 3.0;
/// What one pick of a fused greedy kernel does to each token, for each halving of their number: fitted
/// to the three counts the paper gives for video (0.088, 0.386 and 1.687 GFLOPs), within 2 %.
const FUSED_STEP: f64 = 16.0 / 3.0;

/// One selection: of how many tokens, how many are kept, and how wide what is compared is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SelectionSize {
    /// Candidates.
    pub tokens: f64,
    /// Survivors.
    pub kept: f64,
    /// Width of the features the rule works on.
    pub width: f64,
    /// Width of the decoder's embeddings.
    pub projected: f64,
    /// Width of a head's keys.
    pub keys: f64,
    /// Words of the question.
    pub text: f64,
    /// Whether the greedy part is counted as a fused kernel's.
    pub fused: bool,
}

impl SelectionSize {
    /// All similarities.
    pub fn similarities(&self) -> f64 {
        2.0 * self.tokens * self.tokens * self.width
    }

    /// A greedy maximization of coverage.
    pub fn greedy(&self) -> f64 {
        if self.fused {
            return FUSED_STEP * self.kept * self.tokens * self.tokens.log2().max(1.0);
        }
        GREEDY_PAIR * self.tokens * self.tokens * self.kept
    }

    /// The similarity of every dropped token with every kept one.
    pub fn joins(&self) -> f64 {
        2.0 * (self.tokens - self.kept).max(0.0) * self.kept * self.width
    }
}
