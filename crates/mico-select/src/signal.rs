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
    /// `[N,d]` visual features, in the space the method works in.
    Features,
    /// `[N]` explicit source weights.
    Weights,
    /// `[N]` CLS (or pooled) attention, head-averaged.
    Reliability,
    /// `[N]` text-to-visual attention, averaged over queries and heads.
    Relevance,
    /// `[N,e]` features after the projector.
    Projected,
    /// `[m,e]` word embeddings of the question.
    Text,
    /// `[N,k]` attention keys.
    Keys,
    /// `[m,k]` attention keys of the text tokens.
    TextKeys,
    /// `[N]` attention of an early vision block.
    ReliabilityShallow,
    /// `[N,c]` image side of a CLIP space.
    ClipImage,
    /// `[m,c]` text side of a CLIP space.
    ClipText,
    /// `[m,N]` text-to-visual attention rows, head-averaged.
    TextAttention,
    /// `[N]` tokens that may not be chosen: those above 0.
    Excluded,
}

/// How a signal's axes relate to the `N` visual tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Axes {
    /// `[N]`
    Vector,
    /// `[N,*]`
    TokenRows,
    /// `[m,*]`
    TextRows,
    /// `[m,N]`
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

    /// The name used in files and messages.
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

/// A set of signals.
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

    /// The set of what is in either.
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether there is nothing in it.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The members.
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
