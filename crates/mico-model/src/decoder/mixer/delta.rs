//! Linear attention by the gated delta rule (Gated DeltaNet).

use std::sync::Arc;

use candle_core::{DType, Device, Tensor};

use crate::cache::{Caches, RecurrentState};
use crate::checkpoint::Part;
use crate::config::{DecoderConfig, LinearAttentionConfig};
use crate::error::Result;
use crate::linear::{Batch, Linear};
use crate::ops::{DeltaRule, DeltaShape, GatedNorm, Projected, StepState, with_slices};
use crate::weights::{Builder, LinearShape};

/// The projections around the rule, and the norm of its output.
///
/// The rule itself and its state are on the CPU in f32, whatever the device of the projections.
#[derive(Debug)]
pub(in crate::decoder) struct GatedDelta {
    block: usize,
    /// Projection to queries, keys and values, before the convolution.
    mixed: Linear,
    /// Projection to the gate of the output.
    gate: Linear,
    write: Linear,
    forget: Linear,
    output: Linear,
    rule: DeltaRule,
    norm: GatedNorm,
}

impl GatedDelta {
    pub(super) fn build(
        b: &mut Builder,
        config: &DecoderConfig,
        linear: &LinearAttentionConfig,
        block: usize,
    ) -> Result<Self> {
        let shape = DeltaShape {
            kernel: linear.conv_kernel,
            key_heads: linear.key_heads,
            key_dim: linear.key_dim,
            value_heads: linear.value_heads,
            value_dim: linear.value_dim,
        };
        let (width, values) = (config.hidden_size, linear.values_width());
        let name = |inner: &str| format!("layers.{block}.linear_attn.{inner}");
        let mut matrix = |inner: &str, input, output| {
            b.linear(Part::Decoder, &name(inner), LinearShape { input, output, bias: false })
        };
        let mixed = matrix("in_proj_qkv", width, shape.channels())?;
        let gate = matrix("in_proj_z", width, values)?;
        let output = matrix("out_proj", values, width)?;
        // Never quantised: one row per head is small, and errors of the decay accumulate over the whole
        // sequence.
        let mut exact = |inner: &str| {
            let inner = name(&format!("{inner}.weight"));
            let weight = b.stored(Part::Decoder, &inner, &[shape.value_heads, width])?;
            Linear::stored(weight, None, b.compute())
        };
        let (write, forget) = (exact("in_proj_b")?, exact("in_proj_a")?);
        let mut numbers = |inner: &str, dims: &[usize]| {
            let stored = b.source.tensor(Part::Decoder, &name(inner), dims)?;
            Ok::<_, crate::Error>(stored.to_device(&Device::Cpu)?.to_dtype(DType::F32)?)
        };
        let filters = numbers("conv1d.weight", &[shape.channels(), 1, shape.kernel])?;
        let rate = numbers("A_log", &[shape.value_heads])?.exp()?;
        let bias = numbers("dt_bias", &[shape.value_heads])?;
        let weight = numbers("norm.weight", &[shape.value_dim])?;
        let rule = DeltaRule {
            shape,
            filters: filters.squeeze(1)?.t()?.flatten_all()?.to_vec1()?,
            rate: rate.to_vec1()?,
            bias: bias.to_vec1()?,
        };
        let norm = GatedNorm { weight: weight.to_vec1()?, eps: config.rms_norm_eps as f32 };
        Ok(Self { block, mixed, gate, write, forget, output, rule, norm })
    }

    pub(super) fn bytes(&self) -> usize {
        [&self.mixed, &self.gate, &self.write, &self.forget, &self.output]
            .into_iter()
            .map(Linear::bytes)
            .sum()
    }

    pub(super) fn forward(&self, x: &Tensor, caches: &mut Caches) -> Result<Tensor> {
        self.rows(x, x, caches)
    }

    pub(super) fn forward_last(&self, x: &Tensor, caches: &mut Caches) -> Result<Tensor> {
        self.rows(x, &x.narrow(0, x.dim(0)? - 1, 1)?, caches)
    }

    /// One token of each of several sequences, `x` `[n, d]`, each with its own state.
    pub(super) fn step(&self, x: &Tensor, caches: &mut [&mut Caches]) -> Result<Tensor> {
        let project = |layer: &Linear| layer.forward_in(Batch::Independent, x);
        let (mixed, gate) = (project(&self.mixed)?, project(&self.gate)?);
        let (write, forget) = (project(&self.write)?, project(&self.forget)?);
        let mut states = Vec::with_capacity(caches.len());
        for caches in caches {
            states.push(caches.state(self.block)?.get_or_insert_with(|| self.blank()));
        }
        let gated =
            with_slices([&mixed, &write, &forget, &gate], |[mixed, write, forget, gate]| {
                let mut steps: Vec<StepState> = states
                    .iter_mut()
                    .map(|state| StepState {
                        window: &state.window,
                        memory: Arc::make_mut(&mut state.memory).as_mut_slice(),
                    })
                    .collect();
                let heads = self.rule.step(Projected { mixed, write, forget }, &mut steps);
                let rows = mixed.chunks_exact(self.rule.shape.channels());
                for (state, row) in states.iter_mut().zip(rows) {
                    state.window = Arc::new(self.rule.next_window(row, &state.window));
                }
                self.norm.apply(&heads, gate)
            })?;
        let gated = Tensor::from_vec(gated, gate.dims(), x.device())?.to_dtype(x.dtype())?;
        self.output.forward_in(Batch::Independent, &gated)
    }

    /// Runs the tokens `x` and returns the outputs of the last ones, as many as `wanted` has rows.
    fn rows(&self, x: &Tensor, wanted: &Tensor, caches: &mut Caches) -> Result<Tensor> {
        let (mixed, write, forget) =
            (self.mixed.forward(x)?, self.write.forward(x)?, self.forget.forward(x)?);
        let gate = self.gate.forward(wanted)?;
        let state = caches.state(self.block)?.get_or_insert_with(|| self.blank());
        let gated =
            with_slices([&mixed, &write, &forget, &gate], |[mixed, write, forget, gate]| {
                let memory = Arc::make_mut(&mut state.memory);
                let heads =
                    self.rule.run(Projected { mixed, write, forget }, &state.window, memory);
                state.window = Arc::new(self.rule.next_window(mixed, &state.window));
                self.norm.apply(&heads, gate)
            })?;
        let gated = Tensor::from_vec(gated, gate.dims(), x.device())?.to_dtype(x.dtype())?;
        self.output.forward(&gated)
    }

    /// The recurrent state before the first token: all zeros.
    fn blank(&self) -> RecurrentState {
        let shape = self.rule.shape;
        RecurrentState {
            window: Arc::new(vec![0.0; shape.window()]),
            memory: Arc::new(vec![0.0; shape.memory()]),
        }
    }
}
