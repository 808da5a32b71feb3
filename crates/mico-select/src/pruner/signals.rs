//! The signals a pruner can ask for. The engine computes what is declared, once, and nothing else.

use crate::error::{Error, Result};
use crate::signal::{Signal, SignalSet};

/// Which vectors of a visual token count as its `features`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FeatureSpace {
    /// Before the decoder: the features of the selected vision layer, before the projector.
    #[default]
    Tower,
    /// Before the decoder: the projected embeddings the decoder takes as input.
    Projected,
    /// Inside the decoder: the block's output, that is, the residual stream without a norm.
    Residual,
    /// Inside the decoder: the residual stream after the decoder's final norm.
    Normed,
}

/// Over which keys the softmax of text-to-visual attention is taken.
///
/// A plan asks for it without knowing tensors, so the type stands here and not with the functions that
/// compute attention: this crate and that of the models do not know each other, and whoever joins them
/// maps one to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Normalization {
    /// Over all keys the query may attend to, as in the decoder's own attention.
    #[default]
    FullCausal,
    /// Over the visual keys alone.
    VisualOnly,
}

/// Which queries' attention to the visual tokens is their `relevance`, and in which block. Only the
/// attention rows named here are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextAttention {
    /// The mean over heads and all text tokens of the prompt, in the block itself.
    Mean(Normalization),
    /// The mean over heads of the last prompt token's attention, in the block itself.
    LastToken,
    /// The last prompt token's attention in the next block, from that block's norm, queries and keys.
    NextLastToken {
        /// Whether `RoPE` is applied to queries and keys before they are compared.
        rotary: bool,
        /// Rows between the query token and the last one: 0, except to reproduce a published bug.
        back: usize,
    },
    /// The mean over heads and over the rater words (SparseVLM: question words that match the image), in
    /// the block itself.
    Raters,
}

impl TextAttention {
    /// The block, counted from 1, whose queries and keys are compared at a cut after `block`.
    pub fn observed_block(self, block: usize) -> usize {
        match self {
            Self::NextLastToken { .. } => block + 1,
            Self::Mean(_) | Self::LastToken | Self::Raters => block,
        }
    }
}

/// The points of a model at which a pruner selects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Before the decoder (Stage 1), among the tokens of one image.
    BeforeDecoder,
    /// After a decoder block (Stage 2), among the remaining tokens of all images.
    AfterBlock,
}

impl Stage {
    /// The prefix of the stage's signals in dumps and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BeforeDecoder => "stage1",
            Self::AfterBlock => "stage2",
        }
    }

    /// The signals that can be observed at the stage.
    fn observable(self) -> SignalSet {
        SignalSet::of(match self {
            Self::BeforeDecoder => &[
                Signal::Features,
                Signal::Reliability,
                Signal::ReliabilityShallow,
                Signal::Keys,
                Signal::Projected,
                Signal::Text,
                Signal::Excluded,
            ],
            Self::AfterBlock => {
                &[Signal::Features, Signal::Relevance, Signal::Text, Signal::Keys, Signal::TextKeys]
            }
        })
    }

    fn has_space(self, space: FeatureSpace) -> bool {
        let before = matches!(space, FeatureSpace::Tower | FeatureSpace::Projected);
        before == (self == Self::BeforeDecoder)
    }
}

/// The signals a pruner declares for one selection, with the feature space and the attention they mean.
///
/// Before the decoder `features`, `reliability`, `reliability_shallow`, `keys`, `projected`, `text`
/// (embeddings of the question's words) and `excluded` (tokens that show padding alone) can be
/// observed; after a block `features`, `relevance`, `keys` (heads side by side), and `text` and
/// `text_keys` of the text behind the first image, in the space of the features, if there is any.
///
/// ```
/// use mico_select::Signal;
/// use mico_select::pruner::{FeatureSpace, Signals, TextAttention};
/// let signals = Signals::of(FeatureSpace::Residual, &[Signal::Features])
///     .with_attention(TextAttention::LastToken);
/// assert!(signals.has(Signal::Relevance) && !signals.has(Signal::Text));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Signals {
    set: SignalSet,
    space: FeatureSpace,
    attention: Option<TextAttention>,
}

impl Signals {
    /// These signals, with `features` taken from `space`.
    pub fn of(space: FeatureSpace, signals: &[Signal]) -> Self {
        Self { set: SignalSet::of(signals), space, attention: None }
    }

    /// Only `relevance`: the given attention to the visual tokens inside the decoder.
    pub fn attention_of(attention: TextAttention) -> Self {
        Self::of(FeatureSpace::Residual, &[]).with_attention(attention)
    }

    /// The same with one more signal to observe.
    pub fn with(self, signal: Signal) -> Self {
        Self { set: self.set.with(signal), ..self }
    }

    /// Adds `relevance`, defined as this attention.
    pub fn with_attention(self, attention: TextAttention) -> Self {
        Self { attention: Some(attention), ..self.with(Signal::Relevance) }
    }

    /// Whether the signal is declared.
    pub fn has(self, signal: Signal) -> bool {
        self.set.has(signal)
    }

    /// The set of all declared signals.
    pub fn set(self) -> SignalSet {
        self.set
    }

    /// The vector space that `features` are taken from.
    pub fn space(self) -> FeatureSpace {
        self.space
    }

    /// The attention that `relevance` means, `None` if it is not declared.
    pub fn attention(self) -> Option<TextAttention> {
        self.attention
    }

    /// Whether the projected embeddings are needed, as `features` or as `projected`.
    pub fn embeddings(self) -> bool {
        let features = self.has(Signal::Features) && self.space == FeatureSpace::Projected;
        features || self.has(Signal::Projected)
    }

    /// Refuses signals, or a feature space, that cannot be observed at a stage.
    pub(super) fn check(self, method: &'static str, stage: Stage) -> Result<()> {
        let broken = |message: String| Err(Error::Contract { method, message });
        let name = stage.name();
        if let Some(signal) = self.set.iter().find(|&signal| !stage.observable().has(signal)) {
            return broken(format!("declares {name}.{signal}, which cannot be observed there"));
        }
        let spaced =
            self.has(Signal::Features) || stage == Stage::AfterBlock && self.has(Signal::Text);
        if spaced && !stage.has_space(self.space) {
            return broken(format!("declares {name}.features in the space {:?}", self.space));
        }
        if self.has(Signal::Relevance) && self.attention.is_none() {
            return broken(format!("declares {name}.relevance without saying whose attention"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn embeddings_have_two_names() {
        let of = |space, signals: &[Signal]| Signals::of(space, signals).embeddings();
        assert!(of(FeatureSpace::Projected, &[Signal::Features]));
        assert!(of(FeatureSpace::Tower, &[Signal::Projected]));
        assert!(!of(FeatureSpace::Tower, &[Signal::Features]));
        assert!(!of(FeatureSpace::Projected, &[Signal::Reliability]));
    }

    #[test]
    fn what_cannot_be_observed_is_the_pruners_fault() {
        let (before, after) = (Stage::BeforeDecoder, Stage::AfterBlock);
        for (stage, signals, word) in [
            (before, Signals::of(FeatureSpace::Tower, &[Signal::Weights]), "stage1.weights"),
            (before, Signals::of(FeatureSpace::Residual, &[Signal::Features]), "Residual"),
            (before, Signals::attention_of(TextAttention::LastToken), "stage1.relevance"),
            (after, Signals::of(FeatureSpace::Tower, &[Signal::Text]), "Tower"),
            (after, Signals::of(FeatureSpace::Normed, &[Signal::Relevance]), "whose attention"),
            (after, Signals::of(FeatureSpace::Normed, &[Signal::Excluded]), "stage2.excluded"),
        ] {
            let error = signals.check("third", stage).unwrap_err().to_string();
            assert!(error.starts_with("pruner 'third': ") && error.contains(word), "{error}");
        }
        assert!(Signals::default().check("third", after).is_ok());
    }
}
