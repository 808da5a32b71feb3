//! One decoder block: a token mixer and a gated MLP, each with an RMS pre-norm and a residual
//! connection.

use candle_core::{DType, Tensor};

use super::mixer::{Mixed, Mixer, Tapped};
use super::mlp::Mlp;
use crate::cache::Caches;
use crate::checkpoint::Part;
use crate::config::DecoderConfig;
use crate::error::Result;
use crate::linear::Batch;
use crate::norm::RmsNorm;
use crate::rope::Positions;
use crate::weights::Builder;

/// The weights of a decoder block.
#[derive(Debug)]
pub(super) struct Block {
    input_norm: RmsNorm,
    mixer: Mixer,
    mlp_norm: RmsNorm,
    mlp: Mlp,
}

impl Block {
    pub(super) fn build(b: &mut Builder, config: &DecoderConfig, index: usize) -> Result<Self> {
        let mixer = Mixer::build(b, config, index)?;
        let mlp = Mlp::build(b, config, index)?;
        let mut norm = |inner: &str| {
            rms_norm(b, config, &format!("layers.{index}.{inner}"), config.hidden_size)
        };
        let (input_norm, mlp_norm) = (norm("input_layernorm")?, norm("post_attention_layernorm")?);
        Ok(Self { input_norm, mixer, mlp_norm, mlp })
    }

    /// Bytes of the block's matrices.
    pub(super) fn bytes(&self) -> usize {
        self.mixer.bytes() + self.mlp.bytes()
    }

    /// Runs the block on `hidden` `[n, d]`; all `n` tokens enter its cache.
    pub(super) fn forward(
        &self,
        hidden: &Tensor,
        positions: &Positions,
        caches: &mut Caches,
    ) -> Result<(Tensor, Option<Tapped>)> {
        let x = self.input_norm.forward(hidden)?;
        let (mixed, tapped) = self.mixer.forward(Mixed { x: &x, positions }, caches)?;
        Ok((self.finish(Batch::Sequence, hidden, &mixed)?, tapped))
    }

    /// Runs the block on one token of each of several sequences, `hidden` `[n, d]`; each enters the cache
    /// of its own sequence.
    pub(super) fn step(
        &self,
        hidden: &Tensor,
        positions: &Positions,
        caches: &mut [&mut Caches],
    ) -> Result<Tensor> {
        let x = self.input_norm.forward(hidden)?;
        let mixed = self.mixer.step(Mixed { x: &x, positions }, caches)?;
        self.finish(Batch::Independent, hidden, &mixed)
    }

    /// Queries and keys as the block would compute them; its cache is not changed.
    pub(super) fn peek(
        &self,
        hidden: &Tensor,
        positions: &Positions,
        rows: &[u32],
        rotary: bool,
    ) -> Result<Option<Tapped>> {
        let x = self.input_norm.forward(hidden)?;
        self.mixer.peek(Mixed { x: &x, positions }, rows, rotary)
    }

    /// [`Self::forward`] for the last token's output alone, `[1, d]`; all tokens enter the cache.
    pub(super) fn forward_last(
        &self,
        hidden: &Tensor,
        positions: &Positions,
        caches: &mut Caches,
    ) -> Result<Tensor> {
        let x = self.input_norm.forward(hidden)?;
        let mixed = self.mixer.forward_last(Mixed { x: &x, positions }, caches)?;
        self.finish(Batch::Sequence, &hidden.narrow(0, positions.len() - 1, 1)?, &mixed)
    }

    /// Adds the mixer's output, and then the MLP's, to the residual stream.
    fn finish(&self, batch: Batch, hidden: &Tensor, mixed: &Tensor) -> Result<Tensor> {
        let hidden = (hidden + mixed)?;
        let x = self.mlp_norm.forward(&hidden)?;
        self.mlp.forward_onto(batch, &hidden, &x)
    }
}

/// Builds an RMS norm of the decoder, plain or zero-centred as configured.
pub(super) fn rms_norm(
    b: &mut Builder,
    config: &DecoderConfig,
    name: &str,
    width: usize,
) -> Result<RmsNorm> {
    if !config.zero_centered_norms {
        return b.rms_norm(Part::Decoder, name, width, config.rms_norm_eps);
    }
    let weight = b.source.tensor(Part::Decoder, &format!("{name}.weight"), &[width])?;
    let weight = weight.to_dtype(DType::F32)?.to_device(&b.device)?;
    RmsNorm::zero_centered(&weight, config.rms_norm_eps)
}
