//! Fused kernels for biases and activation functions, applied in place to a fresh matrix product.

use candle_core::{CpuStorage, DType, InplaceOp1, InplaceOp2, Layout, Result, Tensor};
use rayon::prelude::*;

use super::vector::sigmoid;
use super::{CHUNK, f32_slice, f32_slice_mut};
use crate::config::Activation;

/// The constant of quick GELU, `x * sigmoid(1.702 x)`.
const QUICK_GELU: f32 = 1.702;

struct Pointwise(Activation);

impl InplaceOp1 for Pointwise {
    fn name(&self) -> &'static str {
        "activation"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout) -> Result<()> {
        let data = f32_slice_mut(storage, layout, "activation")?;
        data.par_chunks_mut(CHUNK).for_each(|chunk| apply(self.0, chunk));
        Ok(())
    }
}

struct BiasPointwise(Option<Activation>);

impl InplaceOp2 for BiasPointwise {
    fn name(&self) -> &'static str {
        "bias-activation"
    }

    fn cpu_fwd(
        &self,
        storage: &mut CpuStorage,
        layout: &Layout,
        bias: &CpuStorage,
        bias_layout: &Layout,
    ) -> Result<()> {
        let bias = f32_slice(bias, bias_layout, "bias-activation")?;
        let data = f32_slice_mut(storage, layout, "bias-activation")?;
        data.par_chunks_mut(bias.len().max(1)).for_each(|row| bias_apply(row, bias, self.0));
        Ok(())
    }
}

/// `silu(gate) * up` in place of `gate` (`SwiGLU`).
struct SiluGate;

impl InplaceOp2 for SiluGate {
    fn name(&self) -> &'static str {
        "silu-gate"
    }

    fn cpu_fwd(
        &self,
        gate: &mut CpuStorage,
        gate_layout: &Layout,
        up: &CpuStorage,
        up_layout: &Layout,
    ) -> Result<()> {
        let up = f32_slice(up, up_layout, "silu-gate")?;
        let gate = f32_slice_mut(gate, gate_layout, "silu-gate")?;
        gate.par_chunks_mut(CHUNK).zip(up.par_chunks(CHUNK)).for_each(|(gate, up)| {
            for (g, u) in gate.iter_mut().zip(up) {
                *g = *g * sigmoid(*g) * u;
            }
        });
        Ok(())
    }
}

/// `x * sigmoid(gate)` in place of `x`.
struct SigmoidGate;

impl InplaceOp2 for SigmoidGate {
    fn name(&self) -> &'static str {
        "sigmoid-gate"
    }

    fn cpu_fwd(
        &self,
        x: &mut CpuStorage,
        x_layout: &Layout,
        gate: &CpuStorage,
        gate_layout: &Layout,
    ) -> Result<()> {
        let gate = f32_slice(gate, gate_layout, "sigmoid-gate")?;
        let x = f32_slice_mut(x, x_layout, "sigmoid-gate")?;
        x.par_chunks_mut(CHUNK).zip(gate.par_chunks(CHUNK)).for_each(|(x, gate)| {
            for (x, g) in x.iter_mut().zip(gate) {
                *x *= sigmoid(*g);
            }
        });
        Ok(())
    }
}

/// Adds a bias to some values and applies the activation function, if there is one.
pub(crate) fn bias_apply(values: &mut [f32], bias: &[f32], activation: Option<Activation>) {
    for (x, b) in values.iter_mut().zip(bias) {
        *x += b;
    }
    if let Some(activation) = activation {
        apply(activation, values);
    }
}

fn apply(activation: Activation, values: &mut [f32]) {
    match activation {
        Activation::QuickGelu => values.iter_mut().for_each(|x| *x *= sigmoid(QUICK_GELU * *x)),
        Activation::Silu => values.iter_mut().for_each(|x| *x *= sigmoid(*x)),
        Activation::Gelu => values.iter_mut().for_each(|x| *x = gelu(*x)),
        Activation::GeluTanh => values.iter_mut().for_each(|x| *x = gelu_tanh(*x)),
    }
}

/// Exact GELU, `x * Phi(x)`, with the error function in double precision.
fn gelu(x: f32) -> f32 {
    let wide = f64::from(x);
    let phi = 0.5 * (1.0 + candle_core::cpu::erf::erf_f64(wide * std::f64::consts::FRAC_1_SQRT_2));
    (wide * phi) as f32
}

/// GELU by tanh, `x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))`, as `(1 + tanh y)/2 = sigmoid(2y)`.
fn gelu_tanh(x: f32) -> f32 {
    const SQRT_2_OVER_PI: f32 = 0.797_884_6;
    x * sigmoid(2.0 * SQRT_2_OVER_PI * (0.044_715 * x * x).mul_add(x, x))
}

/// Adds the bias to every row of a freshly computed matrix and applies the activation function.
pub(crate) fn bias_activation(
    x: Tensor,
    bias: Option<&Tensor>,
    activation: Option<Activation>,
) -> Result<Tensor> {
    if x.device().is_cpu() && x.dtype() == DType::F32 {
        match (bias, activation) {
            (Some(bias), _) => x.inplace_op2(bias, &BiasPointwise(activation))?,
            (None, Some(activation)) => x.inplace_op1(&Pointwise(activation))?,
            (None, None) => {}
        }
        return Ok(x);
    }
    let x = match bias {
        Some(bias) => x.broadcast_add(bias)?,
        None => x,
    };
    match activation {
        None => Ok(x),
        Some(Activation::Silu) => x.silu(),
        Some(Activation::Gelu) => x.gelu_erf(),
        Some(Activation::GeluTanh) => x.gelu(),
        Some(Activation::QuickGelu) => {
            &x * candle_nn::ops::sigmoid(&(&x * f64::from(QUICK_GELU))?)?
        }
    }
}

/// `silu(gate) * up`, reusing the memory of `gate`.
pub(crate) fn gate(gate: Tensor, up: &Tensor) -> Result<Tensor> {
    if gate.device().is_cpu() && gate.dtype() == DType::F32 {
        gate.inplace_op2(up, &SiluGate)?;
        return Ok(gate);
    }
    gate.silu()? * up
}

/// `x * sigmoid(gate)`, reusing the memory of `x`.
pub(crate) fn sigmoid_gate(x: Tensor, gate: &Tensor) -> Result<Tensor> {
    if x.device().is_cpu() && x.dtype() == DType::F32 {
        x.inplace_op2(gate, &SigmoidGate)?;
        return Ok(x);
    }
    x * candle_nn::ops::sigmoid(gate)?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::noise;

    #[test]
    fn in_place_kernels_agree_with_candle() {
        let x = noise(1, 6.0, (5, 33));
        let bias = noise(2, 2.0, 33);
        let sum = x.broadcast_add(&bias).unwrap();
        let quick = (&sum * candle_nn::ops::sigmoid(&(&sum * 1.702).unwrap()).unwrap()).unwrap();
        for (activation, expected) in [
            (Activation::Silu, sum.silu().unwrap()),
            (Activation::Gelu, sum.gelu_erf().unwrap()),
            (Activation::GeluTanh, sum.gelu().unwrap()),
            (Activation::QuickGelu, quick),
        ] {
            let found = bias_activation(x.copy().unwrap(), Some(&bias), Some(activation)).unwrap();
            assert!(largest_difference(&found, &expected) < 2e-6, "{activation:?}");
        }
        let found = gate(x.copy().unwrap(), &sum).unwrap();
        assert!(largest_difference(&found, &(x.silu().unwrap() * &sum).unwrap()) < 2e-5);
        let found = sigmoid_gate(x.copy().unwrap(), &sum).unwrap();
        let expected = (&x * candle_nn::ops::sigmoid(&sum).unwrap()).unwrap();
        assert!(largest_difference(&found, &expected) < 2e-6);
    }

    fn largest_difference(a: &Tensor, b: &Tensor) -> f32 {
        (a - b).unwrap().abs().unwrap().max_all().unwrap().to_scalar().unwrap()
    }
}
