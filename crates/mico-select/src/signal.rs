//! The vocabulary of signals: what a method may observe of a visual token, by name.

use std::fmt;

use crate::error::{Error, Result};

/// Something a method observes of the visual tokens (or of the text that asks about them).
///
/// The same names serve tensor files, selectors and both stages of a pruner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(usize)]
#[non_exhaustive]
pub enum Signal {
    /// `[N,d]` visual features the method compares; the pruner's feature space says which.
    Features,
    /// `[N]` source weights given explicitly, in place of the product of the three factors.
    Weights,
    /// `[N]` attention of the CLS token (or the pooled query) to each patch, averaged over heads.
    Reliability,
    /// `[N]` text-to-visual attention, averaged over text queries and heads.
    Relevance,
    /// `[N,e]` visual features after the projector: the decoder's input embeddings.
    Projected,
    /// `[m,e]` input embeddings of the question's text tokens.
    Text,
    /// `[N,k]` attention keys of the visual tokens, heads concatenated.
    Keys,
    /// `[m,k]` attention keys of the text tokens, in the space of `keys`.
    TextKeys,
    /// `[N]` CLS attention of an early vision block (VScan's local scores).
    ReliabilityShallow,
    /// `[N,c]` patch features projected into CLIP's joint image-text space.
    ClipImage,
    /// `[m,c]` text features in CLIP's joint image-text space.
    ClipText,
    /// `[m,N]` text-to-visual attention, one head-averaged row per text query.
    TextAttention,
    /// `[N]` mask of tokens to be chosen last (padding): those with a value above 0.
    Excluded,
}

/// How a signal's axes relate to the `N` visual tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Axes {
    /// `[N]`: one value per visual token.
    Vector,
    /// `[N,*]`: one row per visual token.
    TokenRows,
    /// `[m,*]`: one row per text token.
    TextRows,
    /// `[m,N]`: one row per text token, one column per visual token.
    TokenColumns,
}

impl Signal {
    /// Every signal, in declaration order.
    pub const ALL: [Self; 13] = [
        Self::Features,
        Self::Weights,
        Self::Reliability,
        Self::Relevance,
        Self::Projected,
        Self::Text,
        Self::Keys,
        Self::TextKeys,
        Self::ReliabilityShallow,
        Self::ClipImage,
        Self::ClipText,
        Self::TextAttention,
        Self::Excluded,
    ];

    /// The name used in tensor files, settings and error messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Features => "features",
            Self::Weights => "weights",
            Self::Reliability => "reliability",
            Self::Relevance => "relevance",
            Self::Projected => "projected",
            Self::Text => "text",
            Self::Keys => "keys",
            Self::TextKeys => "text_keys",
            Self::ReliabilityShallow => "reliability_shallow",
            Self::ClipImage => "clip_image",
            Self::ClipText => "clip_text",
            Self::TextAttention => "text_attention",
            Self::Excluded => "excluded",
        }
    }

    /// Whether the signal is a vector with one value per visual token.
    pub const fn is_vector(self) -> bool {
        matches!(self.axes(), Axes::Vector)
    }

    /// Whether the signal has an axis of length `N`.
    pub const fn counts_tokens(self) -> bool {
        !matches!(self.axes(), Axes::TextRows)
    }

    pub(crate) const fn axes(self) -> Axes {
        match self {
            Self::Weights
            | Self::Reliability
            | Self::Relevance
            | Self::ReliabilityShallow
            | Self::Excluded => Axes::Vector,
            Self::Features | Self::Projected | Self::Keys | Self::ClipImage => Axes::TokenRows,
            Self::Text | Self::TextKeys | Self::ClipText => Axes::TextRows,
            Self::TextAttention => Axes::TokenColumns,
        }
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of signals, held as a bit mask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SignalSet(u16);

impl SignalSet {
    /// The set of these signals.
    pub fn of(signals: &[Signal]) -> Self {
        Self(signals.iter().fold(0, |bits, &t| bits | 1 << t as usize))
    }

    /// Whether `signal` is in the set.
    pub fn has(self, signal: Signal) -> bool {
        self.0 & (1 << signal as usize) != 0
    }

    /// The set with `signal` added.
    pub fn with(self, signal: Signal) -> Self {
        Self(self.0 | 1 << signal as usize)
    }

    /// The signals that are in either set.
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether the set has no signal.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The signals in the set, in the order of [`Signal::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Signal> {
        Signal::ALL.into_iter().filter(move |&t| self.has(t))
    }

    /// Fails on the first of `signals` that is not in the set, in the name of `method`.
    pub fn require(self, method: &str, signals: &[Signal]) -> Result<()> {
        signals.iter().try_for_each(|&signal| {
            if self.has(signal) {
                Ok(())
            } else {
                let reason = format!("method '{method}' reads it");
                Err(Error::Missing { signal, reason })
            }
        })
    }
}
