//! Layer norm with the variance taken around the mean, as torch does (the one-pass formula loses
//! digits on rows with a large mean).

use candle_core::{CpuStorage, CustomOp3, DType, Layout, Result, Shape, Tensor};
use rayon::prelude::*;

use super::f32_slice;
use super::vector::sum;

struct LayerNormOp {
    eps: f32,
}

impl CustomOp3 for LayerNormOp {
    fn name(&self) -> &'static str {
        "layer-norm"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        x_layout: &Layout,
        weight: &CpuStorage,
        weight_layout: &Layout,
        bias: &CpuStorage,
        bias_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let x = f32_slice(x, x_layout, "layer-norm")?;
        let weight = f32_slice(weight, weight_layout, "layer-norm")?;
        let bias = f32_slice(bias, bias_layout, "layer-norm")?;
        let width = weight.len().max(1);
        let mut out = vec![0.0_f32; x.len()];
        out.par_chunks_mut(width).zip(x.par_chunks(width)).for_each(|(out, row)| {
            let mean = sum(row) / width as f32;
            for (o, value) in out.iter_mut().zip(row) {
                *o = value - mean;
            }
            let variance = super::dot(out, out) / width as f32;
            let inverse = 1.0 / (variance + self.eps).sqrt();
            for ((o, w), b) in out.iter_mut().zip(weight).zip(bias) {
                *o = (*o * inverse).mul_add(*w, *b);
            }
        });
        Ok((CpuStorage::F32(out), x_layout.shape().clone()))
    }
}

/// Layer norm of each row of `x`, with weight and bias.
pub(crate) fn layer_norm(x: &Tensor, weight: &Tensor, bias: &Tensor, eps: f64) -> Result<Tensor> {
    if x.device().is_cpu() && x.dtype() == DType::F32 {
        return x.contiguous()?.apply_op3_no_bwd(weight, bias, &LayerNormOp { eps: eps as f32 });
    }
    candle_nn::ops::layer_norm_slow(x, weight, bias, eps as f32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use candle_core::Device;

    #[test]
    fn a_large_mean_does_not_cost_digits() {
        let device = Device::Cpu;
        let values: Vec<f32> = (0..64).map(|i| 4096.0 + (i % 7) as f32).collect();
        let x = Tensor::from_vec(values.clone(), (1, 64), &device).unwrap();
        let one = Tensor::ones(64, DType::F32, &device).unwrap();
        let zero = Tensor::zeros(64, DType::F32, &device).unwrap();
        let found = layer_norm(&x, &one, &zero, 1e-5).unwrap().to_vec2::<f32>().unwrap();
        let mean = values.iter().map(|&v| f64::from(v)).sum::<f64>() / 64.0;
        let variance = values.iter().map(|&v| (f64::from(v) - mean).powi(2)).sum::<f64>() / 64.0;
        for (f, v) in found[0].iter().zip(&values) {
            let expected = (f64::from(*v) - mean) / (variance + 1e-5).sqrt();
            assert!((f64::from(*f) - expected).abs() < 1e-4);
        }
    }
}
