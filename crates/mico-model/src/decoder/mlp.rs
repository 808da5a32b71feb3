//! The gated MLP (`SwiGLU`) of a decoder block.

use candle_core::Tensor;

use crate::checkpoint::Part;
use crate::config::DecoderConfig;
use crate::error::Result;
use crate::linear::{Batch, Linear};
use crate::ops;
use crate::weights::{Builder, LinearShape};

/// The gated MLP `down(silu(gate(x)) * up(x))`.
#[derive(Debug)]
pub(super) struct Mlp {
    gate: Linear,
    up: Linear,
    down: Linear,
}

impl Mlp {
    pub(super) fn build(b: &mut Builder, config: &DecoderConfig, block: usize) -> Result<Self> {
        let (width, inner) = (config.hidden_size, config.intermediate_size);
        let mut linear = |name: &str, input, output| {
            let name = format!("layers.{block}.mlp.{name}");
            b.linear(Part::Decoder, &name, LinearShape { input, output, bias: false })
        };
        Ok(Self {
            gate: linear("gate_proj", width, inner)?,
            up: linear("up_proj", width, inner)?,
            down: linear("down_proj", inner, width)?,
        })
    }

    pub(super) fn bytes(&self) -> usize {
        self.gate.bytes() + self.up.bytes() + self.down.bytes()
    }

    /// Adds the MLP's output for `x` to `residual`.
    pub(super) fn forward_onto(
        &self,
        batch: Batch,
        residual: &Tensor,
        x: &Tensor,
    ) -> Result<Tensor> {
        let (gate, up) = (self.gate.forward_in(batch, x)?, self.up.forward_in(batch, x)?);
        self.down.forward_onto_in(batch, residual, &ops::gate(gate, &up)?)
    }
}
