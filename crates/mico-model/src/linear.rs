//! Linear layers, whose matrix is dense, in half precision or quantised, and on the CPU packed for its
//! kernels.

use std::sync::Arc;

use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{DType, Tensor};

use crate::config::Activation;
use crate::error::Result;
use crate::matmul::PackedMatrix;
use crate::ops::{bias_activation, bias_apply, half_matvec, with_slices};

/// Up to this many rows a half-precision matrix is widened while it is multiplied; beyond, widening
/// it once and multiplying densely is faster.
const HALF_MATVEC_ROWS: usize = 8;

#[derive(Debug, Clone)]
enum Matrix {
    /// In the compute format, as candle stores it.
    Dense(Tensor),
    /// Packed for a CPU kernel: f32, 16-bit fixed point or `Q4K`.
    Packed(Arc<PackedMatrix>),
    /// Stored in half precision, multiplied in f32.
    Half(Tensor),
    /// In GGML blocks of a few bits per weight.
    Quantized(Arc<QTensor>),
}

/// A linear layer, `x W^T + b`.
#[derive(Debug, Clone)]
pub struct Linear {
    matrix: Matrix,
    bias: Option<Tensor>,
}

impl Linear {
    /// A layer whose matrix is already in the compute format; packed on the CPU.
    pub(crate) fn dense(weight: Tensor, bias: Option<Tensor>) -> Result<Self> {
        if !weight.device().is_cpu() || weight.dtype() != DType::F32 {
            return Ok(Self { matrix: Matrix::Dense(weight), bias });
        }
        let (_, input) = weight.dims2()?;
        let packed = with_slices([&weight], |[weight]| PackedMatrix::dense(weight, input))?;
        Ok(Self { matrix: Matrix::Packed(Arc::new(packed)), bias })
    }

    /// A layer rounded to 16-bit fixed point on the CPU, as accurate as half precision and faster than
    /// f32; on other devices in the compute format.
    pub(crate) fn rounded(weight: Tensor, bias: Option<Tensor>) -> Result<Self> {
        if !weight.device().is_cpu() || weight.dtype() != DType::F32 {
            return Self::dense(weight, bias);
        }
        let (_, input) = weight.dims2()?;
        let packed = with_slices([&weight], |[weight]| PackedMatrix::fixed(weight, input))?;
        Ok(Self { matrix: Matrix::Packed(Arc::new(packed)), bias })
    }

    /// A layer whose matrix stays in its storage format.
    pub(crate) fn stored(weight: Tensor, bias: Option<Tensor>, compute: DType) -> Result<Self> {
        if weight.dtype() == compute {
            return Self::dense(weight, bias);
        }
        Ok(Self { matrix: Matrix::Half(weight), bias })
    }

    /// A layer on a matrix that is also used elsewhere, and so not packed: that would be a copy.
    pub(crate) fn shared(weight: Tensor, compute: DType) -> Self {
        let matrix =
            if weight.dtype() == compute { Matrix::Dense(weight) } else { Matrix::Half(weight) };
        Self { matrix, bias: None }
    }

    /// A layer whose matrix is quantised.
    pub(crate) fn quantized(weight: QTensor, bias: Option<Tensor>) -> Result<Self> {
        if weight.device().is_cpu() && weight.dtype() == GgmlDType::Q4K {
            let shape = weight.shape().dims2()?;
            if let Some(packed) = PackedMatrix::q4k(&weight.data()?, shape) {
                return Ok(Self { matrix: Matrix::Packed(Arc::new(packed)), bias });
            }
        }
        Ok(Self { matrix: Matrix::Quantized(Arc::new(weight)), bias })
    }

    /// Bytes the matrix takes in memory.
    pub(crate) fn bytes(&self) -> usize {
        match &self.matrix {
            Matrix::Dense(w) | Matrix::Half(w) => w.elem_count() * w.dtype().size_in_bytes(),
            Matrix::Packed(w) => w.bytes(),
            Matrix::Quantized(w) => w.storage_size_in_bytes(),
        }
    }

    /// Applies the layer to the rows of `x`, `[.., input]` to `[.., output]`.
    pub fn forward(&self, x: &Tensor) -> Result<Tensor> {
        self.apply(x, None, None)
    }

    /// Applies the layer and then an activation function.
    pub fn forward_with(&self, x: &Tensor, activation: Activation) -> Result<Tensor> {
        self.apply(x, Some(activation), None)
    }

    /// Applies the layer and adds the result to `residual`.
    pub(crate) fn forward_onto(&self, residual: &Tensor, x: &Tensor) -> Result<Tensor> {
        self.apply(x, None, Some(residual))
    }

    fn apply(
        &self,
        x: &Tensor,
        activation: Option<Activation>,
        residual: Option<&Tensor>,
    ) -> Result<Tensor> {
        let product = match &self.matrix {
            Matrix::Packed(weight) => return self.packed(weight, x, activation, residual),
            Matrix::Dense(weight) => x.matmul(&weight.t()?)?,
            Matrix::Half(weight) if x.dim(0)? <= HALF_MATVEC_ROWS && x.device().is_cpu() => {
                half_matvec(x, weight)?
            }
            Matrix::Half(weight) => x.matmul(&weight.to_dtype(x.dtype())?.t()?)?,
            Matrix::Quantized(weight) => x.contiguous()?.apply_op1_no_bwd(weight.as_ref())?,
        };
        let out = bias_activation(product, self.bias.as_ref(), activation)?;
        match residual {
            Some(residual) => Ok((residual + out)?),
            None => Ok(out),
        }
    }

    /// A packed product that applies bias, activation and residual where it writes its result.
    fn packed(
        &self,
        weight: &PackedMatrix,
        x: &Tensor,
        activation: Option<Activation>,
        residual: Option<&Tensor>,
    ) -> Result<Tensor> {
        let ((rows, width), (output, input)) = (x.dims2()?, weight.shape());
        if width != input || residual.is_some_and(|residual| residual.dims() != [rows, output]) {
            return Err(candle_core::Error::ShapeMismatchBinaryOp {
                lhs: residual.unwrap_or(x).shape().clone(),
                rhs: (output, input).into(),
                op: "linear",
            }
            .bt()
            .into());
        }
        let none = Tensor::zeros(0, DType::F32, x.device())?;
        let (bias, residual) = (self.bias.as_ref().unwrap_or(&none), residual.unwrap_or(&none));
        let out = with_slices([x, bias, residual], |[x, bias, residual]| {
            weight.product(x, &|row, first, part| {
                bias_apply(part, bias.get(first..).unwrap_or_default(), activation);
                let residual = residual.get(row * output + first..).unwrap_or_default();
                part.iter_mut().zip(residual).for_each(|(out, residual)| *out += residual);
            })
        })?;
        Ok(Tensor::from_vec(out, (rows, output), x.device())?)
    }
}
