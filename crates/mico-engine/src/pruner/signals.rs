//! What a pruner can ask to observe. The engine computes what is declared, once, and nothing else.

use mico_model::{AttentionTaps, Normalisation, VisionTaps};
use mico_select::{Tensor, TensorSet};

/// Which vectors of a visual token count as its features before the decoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FeatureSpace {
    /// Those of the selected vision layer, before the projector.
    #[default]
    Tower,
    /// Embeddings as the decoder would take them.
    Projected,
}

/// What can be observed before the decoder, by the names the selector library has for it:
/// `features`, `reliability`, `reliability_shallow`, `keys`, `projected`, `text` (embeddings of the
/// question's words) and `excluded` (tokens that show padding alone).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stage1Signals {
    /// The signals.
    pub tensors: TensorSet,
    /// What `features` are.
    pub space: FeatureSpace,
}

impl Stage1Signals {
    /// Signals whose features are the tower's.
    pub fn tower(tensors: &[Tensor]) -> Self {
        Self { tensors: TensorSet::of(tensors), space: FeatureSpace::Tower }
    }

    /// Signals whose features are the decoder's embeddings.
    pub fn projected(tensors: &[Tensor]) -> Self {
        Self { tensors: TensorSet::of(tensors), space: FeatureSpace::Projected }
    }

    /// Whether a signal is declared.
    pub fn has(self, tensor: Tensor) -> bool {
        self.tensors.has(tensor)
    }
}

impl Stage1Signals {
    /// Whether the decoder's embeddings are among them, by either name.
    pub(crate) fn embeddings(self) -> bool {
        let features = self.has(Tensor::Features) && self.space == FeatureSpace::Projected;
        features || self.has(Tensor::Projected)
    }

    /// What of it the tower must be watched for.
    pub(crate) fn taps(self) -> VisionTaps {
        VisionTaps {
            features: self.has(Tensor::Features) && self.space == FeatureSpace::Tower,
            joined: false,
            attention: AttentionTaps {
                deep: self.has(Tensor::Reliability),
                shallow: self.has(Tensor::ReliabilityShallow),
                keys: self.has(Tensor::Keys),
            },
        }
    }
}

/// Which state of a token counts as its features inside the decoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HiddenSpace {
    /// The block's output: the residual stream as it is.
    Residual,
    /// The same behind the decoder's final norm.
    Normed,
}

/// What can be observed at a decoder block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stage2Signals {
    /// The block's output at the visual tokens.
    pub features: Option<HiddenSpace>,
    /// Attention to the visual tokens.
    pub attention: Option<TextAttention>,
    /// The block's output at the text behind the first image, in the space of the features.
    pub text: bool,
    /// The block's attention keys at the visual tokens and at that text, heads side by side.
    pub keys: bool,
}

/// Whose attention to the visual tokens, and where. Only the rows named here are ever computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextAttention {
    /// The mean over heads and all text tokens of the prompt, in the block itself.
    Mean(Normalisation),
    /// The mean over heads of the last prompt token's, in the block itself.
    LastToken,
    /// The same in the block that comes next, from its own norm, queries and keys.
    NextLastToken {
        /// Whether queries and keys are rotated before they are compared.
        rotary: bool,
        /// Rows between the token that is asked and the last one: 0, but for a published mistake.
        back: usize,
    },
    /// The mean over heads and the words of the question that the image answers to, in the block
    /// itself.
    Raters,
}

impl TextAttention {
    /// The block (0-based) whose queries and keys are compared at a cut after `block` (from 1).
    pub(crate) fn observed(self, block: usize) -> usize {
        match self {
            Self::NextLastToken { .. } => block,
            Self::Mean(_) | Self::LastToken | Self::Raters => block - 1,
        }
    }
}
