//! Token mixers of decoder blocks: softmax attention over a KV cache, or linear attention with a state.

mod delta;
mod full;

use candle_core::Tensor;

use crate::cache::Caches;
use crate::config::{DecoderConfig, MixerKind};
use crate::error::Result;
use crate::rope::Positions;
use crate::weights::Builder;
use delta::GatedDelta;
use full::FullAttention;

/// Queries and keys of a block as its attention used them.
pub(super) struct Tapped {
    pub(super) q: Tensor,
    pub(super) k: Tensor,
}

/// The input of a token mixer.
#[derive(Clone, Copy)]
pub(super) struct Mixed<'a> {
    /// The block's normalised input, `[n, d]`.
    pub(super) x: &'a Tensor,
    pub(super) positions: &'a Positions,
}

/// The token mixer of a block. Every token it is given enters the block's cache.
#[derive(Debug)]
pub(super) enum Mixer {
    Full(Box<FullAttention>),
    Delta(Box<GatedDelta>),
}

impl Mixer {
    pub(super) fn build(b: &mut Builder, config: &DecoderConfig, block: usize) -> Result<Self> {
        match (config.mixer(block), &config.linear_attention) {
            (MixerKind::LinearAttention, Some(linear)) => {
                Ok(Self::Delta(Box::new(GatedDelta::build(b, config, linear, block)?)))
            }
            _ => Ok(Self::Full(Box::new(FullAttention::build(b, config, block)?))),
        }
    }

    /// Bytes of the mixer's matrices.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Full(mixer) => mixer.bytes(),
            Self::Delta(mixer) => mixer.bytes(),
        }
    }

    /// The output to be added to the residual stream, `[n, d]`; for attention also its queries and keys.
    pub(super) fn forward(
        &self,
        tokens: Mixed<'_>,
        caches: &mut Caches,
    ) -> Result<(Tensor, Option<Tapped>)> {
        match self {
            Self::Full(mixer) => mixer.forward(tokens, caches).map(|(out, tap)| (out, Some(tap))),
            Self::Delta(mixer) => Ok((mixer.forward(tokens.x, caches)?, None)),
        }
    }

    /// One token of each of several sequences, each with its own caches: the outputs to be added to the
    /// residual stream, `[n, d]`.
    pub(super) fn step(&self, tokens: Mixed<'_>, caches: &mut [&mut Caches]) -> Result<Tensor> {
        match self {
            Self::Full(mixer) => mixer.step(tokens, caches),
            Self::Delta(mixer) => mixer.step(tokens.x, caches),
        }
    }

    /// Queries and keys as [`Self::forward`] would use them; `None` for a mixer without attention.
    pub(super) fn peek(
        &self,
        tokens: Mixed<'_>,
        rows: &[u32],
        rotary: bool,
    ) -> Result<Option<Tapped>> {
        match self {
            Self::Full(mixer) => mixer.peek(tokens, rows, rotary).map(Some),
            Self::Delta(_) => Ok(None),
        }
    }

    /// [`Self::forward`] for the last token alone, `[1, d]`; all tokens enter the cache.
    pub(super) fn forward_last(&self, tokens: Mixed<'_>, caches: &mut Caches) -> Result<Tensor> {
        match self {
            Self::Full(mixer) => mixer.forward_last(tokens, caches),
            Self::Delta(mixer) => mixer.forward_last(tokens.x, caches),
        }
    }
}
