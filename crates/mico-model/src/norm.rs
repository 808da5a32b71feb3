//! RMS norm and layer norm.

use candle_core::{DType, Tensor};

use crate::error::Result;
use crate::ops;

/// RMS norm: division by the root mean square, then a weight. The mean square is computed in f32 and
/// the weight applied in its own format: the model's, or f32 for a zero-centred weight.
#[derive(Debug, Clone)]
pub struct RmsNorm {
    weight: Tensor,
    eps: f64,
}

impl RmsNorm {
    pub(crate) fn new(weight: Tensor, eps: f64) -> Self {
        Self { weight, eps }
    }

    /// A norm that multiplies by `1 + weight` (zero-centred weights).
    pub(crate) fn zero_centered(weight: &Tensor, eps: f64) -> Result<Self> {
        Ok(Self { weight: (weight.to_dtype(DType::F32)? + 1.0)?, eps })
    }

    /// Normalises every row of `x` over its last dimension.
    pub fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let wide = x.to_dtype(self.weight.dtype())?.contiguous()?;
        let normed = candle_nn::ops::rms_norm(&wide, &self.weight, self.eps as f32)?;
        Ok(normed.to_dtype(x.dtype())?)
    }
}

/// Layer norm: subtraction of the mean, division by the standard deviation, then weight and bias.
#[derive(Debug, Clone)]
pub struct LayerNorm {
    weight: Tensor,
    bias: Tensor,
    eps: f64,
}

impl LayerNorm {
    pub(crate) fn new(weight: Tensor, bias: Tensor, eps: f64) -> Self {
        Self { weight, bias, eps }
    }

    /// Normalises every row of `x` over its last dimension.
    pub fn forward(&self, x: &Tensor) -> Result<Tensor> {
        Ok(ops::layer_norm(x, &self.weight, &self.bias, self.eps)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use candle_core::Device;

    #[test]
    fn a_weight_centered_on_zero_is_one_more() {
        let weight = Tensor::new(&[0.0_f32, -0.25, 0.5], &Device::Cpu).unwrap();
        let x = Tensor::new(&[[1.0_f32, -2.0, 2.0]], &Device::Cpu).unwrap();
        let norm = RmsNorm::zero_centered(&weight, 1e-6).unwrap();
        let root = 3.0_f32.sqrt();
        let found = norm.forward(&x).unwrap().to_vec2::<f32>().unwrap();
        for (f, e) in found[0].iter().zip([1.0 / root, -1.5 / root, 3.0 / root]) {
            assert!((f - e).abs() < 1e-6);
        }
        let half = norm.forward(&x.to_dtype(DType::F16).unwrap()).unwrap();
        assert_eq!(half.dtype(), DType::F16);
    }
}
