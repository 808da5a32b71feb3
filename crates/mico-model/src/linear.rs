//! A linear layer whose matrix is dense, in half precision or quantised.

use std::sync::Arc;

use candle_core::quantized::QTensor;
use candle_core::{DType, Tensor};

use crate::config::Activation;
use crate::error::Result;
use crate::ops::{bias_activation, half_matvec};

/// Up to this many rows a half-precision matrix is widened while it is multiplied; beyond, widening
/// it once and multiplying densely is faster.
const HALF_MATVEC_ROWS: usize = 8;

#[derive(Debug, Clone)]
enum Matrix {
    /// In the compute format.
    Dense(Tensor),
    /// Half precision storage under f32 arithmetic.
    Half(Tensor),
    /// Blocks of a few bits per weight.
    Quantised(Arc<QTensor>),
}

/// `x W^T + b`.
#[derive(Debug, Clone)]
pub(crate) struct Linear {
    matrix: Matrix,
    bias: Option<Tensor>,
}

impl Linear {
    /// A matrix already in the compute format.
    pub(crate) fn dense(weight: Tensor, bias: Option<Tensor>) -> Self {
        Self { matrix: Matrix::Dense(weight), bias }
    }

    /// A matrix in its storage format.
    pub(crate) fn stored(weight: Tensor, bias: Option<Tensor>, compute: DType) -> Self {
        let matrix =
            if weight.dtype() == compute { Matrix::Dense(weight) } else { Matrix::Half(weight) };
        Self { matrix, bias }
    }

    /// A quantised matrix.
    pub(crate) fn quantised(weight: QTensor, bias: Option<Tensor>) -> Self {
        Self { matrix: Matrix::Quantised(Arc::new(weight)), bias }
    }

    /// Bytes the matrix takes.
    pub(crate) fn bytes(&self) -> usize {
        match &self.matrix {
            Matrix::Dense(w) | Matrix::Half(w) => w.elem_count() * w.dtype().size_in_bytes(),
            Matrix::Quantised(w) => w.storage_size_in_bytes(),
        }
    }

    /// Applies the layer to the rows of `x`.
    pub(crate) fn forward(&self, x: &Tensor) -> Result<Tensor> {
        self.forward_with(x, None)
    }

    /// Applies the layer and then a non-linearity.
    pub(crate) fn forward_with(&self, x: &Tensor, act: Option<Activation>) -> Result<Tensor> {
        let product = match &self.matrix {
            Matrix::Dense(weight) => x.matmul(&weight.t()?)?,
            Matrix::Half(weight) if x.dim(0)? <= HALF_MATVEC_ROWS && x.device().is_cpu() => {
                half_matvec(x, weight)?
            }
            Matrix::Half(weight) => x.matmul(&weight.to_dtype(x.dtype())?.t()?)?,
            Matrix::Quantised(weight) => x.contiguous()?.apply_op1_no_bwd(weight.as_ref())?,
        };
        Ok(bias_activation(product, self.bias.as_ref(), act)?)
    }
}
