//! The MLP projector from vision features to decoder embeddings.

use candle_core::Tensor;

use crate::checkpoint::Part;
use crate::config::{Activation, ProjectorConfig};
use crate::error::{Error, Result};
use crate::linear::Linear;
use crate::weights::{Builder, LinearShape};

/// The two-layer MLP `linear_2(activation(linear_1(x)))`.
#[derive(Debug)]
pub struct Projector {
    input: usize,
    first: Linear,
    second: Linear,
    activation: Activation,
}

impl Projector {
    /// Builds the projector from `input`-wide features to `output`-wide embeddings.
    pub fn build(
        b: &mut Builder,
        config: ProjectorConfig,
        input: usize,
        output: usize,
    ) -> Result<Self> {
        let bias = config.bias;
        let first = b.dense(Part::Projector, "linear_1", LinearShape { input, output, bias })?;
        let second =
            b.dense(Part::Projector, "linear_2", LinearShape { input: output, output, bias })?;
        Ok(Self { input, first, second, activation: config.activation })
    }

    /// Projects features `[.., d_vision]` to `[.., d_decoder]`.
    pub fn forward(&self, features: &Tensor) -> Result<Tensor> {
        let mut dims = features.dims().to_vec();
        let Some(width) = dims.last_mut().filter(|width| **width == self.input) else {
            let message =
                format!("shape {:?}, the last dimension must be {}", features.dims(), self.input);
            return Err(Error::input("features", message));
        };
        let rows = features.elem_count() / self.input;
        let x = features.reshape((rows, self.input))?;
        let x = self.first.forward_with(&x, self.activation)?;
        let x = self.second.forward(&x)?;
        *width = x.dim(1)?;
        Ok(x.reshape(dims)?)
    }
}
