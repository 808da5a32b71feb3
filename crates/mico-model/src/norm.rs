//! The two normalisations in use.

use candle_core::Tensor;

use crate::error::Result;
use crate::ops;

/// Division by the root mean square, then a weight; the variance is taken in f32 and the weight
/// applied in the model's own format.
#[derive(Debug, Clone)]
pub(crate) struct RmsNorm {
    weight: Tensor,
    eps: f64,
}

impl RmsNorm {
    pub(crate) fn new(weight: Tensor, eps: f64) -> Self {
        Self { weight, eps }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Result<Tensor> {
        Ok(candle_nn::ops::rms_norm(&x.contiguous()?, &self.weight, self.eps as f32)?)
    }
}

/// Subtraction of the mean, division by the standard deviation, weight and bias.
#[derive(Debug, Clone)]
pub(crate) struct LayerNorm {
    weight: Tensor,
    bias: Tensor,
    eps: f64,
}

impl LayerNorm {
    pub(crate) fn new(weight: Tensor, bias: Tensor, eps: f64) -> Self {
        Self { weight, bias, eps }
    }

    pub(crate) fn forward(&self, x: &Tensor) -> Result<Tensor> {
        Ok(ops::layer_norm(x, &self.weight, &self.bias, self.eps)?)
    }
}
