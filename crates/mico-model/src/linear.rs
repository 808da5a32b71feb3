//! Linear layers, whose matrix is dense, in half precision or quantised, and on the CPU packed for its
//! kernels.

use std::sync::Arc;

use candle_core::quantized::QTensor;
use candle_core::{DType, Tensor};

use crate::config::Activation;
use crate::error::Result;
use crate::matmul::PackedMatrix;
use crate::ops::{bias_activation, bias_apply, row_product, with_slices};

/// Up to this many rows of one sequence a matrix that is not packed is multiplied by inner products,
/// and in half precision widened on the way; beyond, widening it once and multiplying densely is
/// faster.
const ROW_PRODUCT_ROWS: usize = 8;

/// Whose rows a layer is applied to, which decides what may share a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Batch {
    /// Rows of one sequence: the fastest kernel for their number.
    Sequence,
    /// One row of each of several sequences: a row's result has the same bits whatever the other rows
    /// are and however many, those of the row alone.
    Independent,
}

#[derive(Debug, Clone)]
enum Matrix {
    /// In the compute format, as candle stores it.
    Dense(Tensor),
    /// Packed for a CPU kernel: f32, 16-bit fixed point, or in GGML blocks.
    Packed(Arc<PackedMatrix>),
    /// Stored in half precision, multiplied in f32.
    Half(Tensor),
    /// In GGML blocks of a few bits per weight, where there is no kernel of ours for them.
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
        if weight.device().is_cpu() {
            let shape = weight.shape().dims2()?;
            let packed = PackedMatrix::quantized(weight.dtype(), &weight.data()?, shape);
            if let Some(packed) = packed {
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
        self.apply(x, Batch::Sequence, None, None)
    }

    /// Applies the layer and then an activation function.
    pub fn forward_with(&self, x: &Tensor, activation: Activation) -> Result<Tensor> {
        self.apply(x, Batch::Sequence, Some(activation), None)
    }

    /// [`Self::forward`] for rows of one sequence or of several.
    pub(crate) fn forward_in(&self, batch: Batch, x: &Tensor) -> Result<Tensor> {
        self.apply(x, batch, None, None)
    }

    /// Applies the layer and adds the result to `residual`.
    pub(crate) fn forward_onto(&self, residual: &Tensor, x: &Tensor) -> Result<Tensor> {
        self.apply(x, Batch::Sequence, None, Some(residual))
    }

    /// [`Self::forward_onto`] for rows of one sequence or of several.
    pub(crate) fn forward_onto_in(
        &self,
        batch: Batch,
        residual: &Tensor,
        x: &Tensor,
    ) -> Result<Tensor> {
        self.apply(x, batch, None, Some(residual))
    }

    fn apply(
        &self,
        x: &Tensor,
        batch: Batch,
        activation: Option<Activation>,
        residual: Option<&Tensor>,
    ) -> Result<Tensor> {
        let product = match &self.matrix {
            Matrix::Packed(weight) => return self.packed(weight, x, activation, residual),
            Matrix::Dense(weight) | Matrix::Half(weight) if by_rows(x, batch)? => {
                row_product(x, weight)?
            }
            Matrix::Dense(weight) => x.matmul(&weight.t()?)?,
            Matrix::Half(weight) => x.matmul(&weight.to_dtype(x.dtype())?.t()?)?,
            Matrix::Quantized(weight) => quantized_product(x, weight, batch)?,
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

/// Whether a product with a matrix that is not packed is computed by inner products.
fn by_rows(x: &Tensor, batch: Batch) -> Result<bool> {
    let here = x.device().is_cpu() && x.dtype() == DType::F32 && x.rank() == 2;
    Ok(here && (batch == Batch::Independent || x.dim(0)? <= ROW_PRODUCT_ROWS))
}

/// candle's product, whose kernel depends on the number of rows: those of several sequences go through
/// it one by one.
fn quantized_product(x: &Tensor, weight: &QTensor, batch: Batch) -> Result<Tensor> {
    let x = x.contiguous()?;
    if batch == Batch::Sequence || !x.device().is_cpu() || x.dim(0)? == 1 {
        return Ok(x.apply_op1_no_bwd(weight)?);
    }
    let rows = (0..x.dim(0)?).map(|row| x.narrow(0, row, 1)?.apply_op1_no_bwd(weight));
    Ok(Tensor::cat(&rows.collect::<candle_core::Result<Vec<_>>>()?, 0)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::noise;
    use candle_core::quantized::GgmlDType;

    /// Every kind of matrix, one without a kernel of ours among them.
    #[test]
    fn rows_of_several_sequences_are_independent() {
        let weight = noise(1, 0.2, (48, 256));
        let half = |dtype| Linear::stored(weight.to_dtype(dtype).unwrap(), None, DType::F32);
        let quantized = |kind| Linear::quantized(QTensor::quantize(&weight, kind).unwrap(), None);
        let bias = Some(noise(3, 1.0, 48));
        let layers = [
            Linear::dense(weight.clone(), bias.clone()).unwrap(),
            Linear::rounded(weight.clone(), bias).unwrap(),
            Linear::shared(weight.clone(), DType::F32),
            half(DType::F16).unwrap(),
            half(DType::BF16).unwrap(),
            quantized(GgmlDType::Q4K).unwrap(),
            quantized(GgmlDType::Q6K).unwrap(),
            quantized(GgmlDType::Q8_0).unwrap(),
            quantized(GgmlDType::Q5K).unwrap(),
        ];
        let x = noise(2, 2.0, (17, 256));
        for (index, layer) in layers.iter().enumerate() {
            let row = |row| layer.forward(&x.narrow(0, row, 1).unwrap()).unwrap();
            let alone = Tensor::cat(&(0..17).map(row).collect::<Vec<_>>(), 0).unwrap();
            let alone = alone.to_vec2::<f32>().unwrap();
            for count in 1..=17 {
                let some = x.narrow(0, 17 - count, count).unwrap();
                let some = layer.forward_in(Batch::Independent, &some).unwrap();
                assert_eq!(some.to_vec2::<f32>().unwrap(), alone[17 - count..], "layer {index}");
            }
        }
    }
}
