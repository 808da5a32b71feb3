//! Rows of numbers on the host, one per token: signals as selectors read them.

use candle_core::{DType, Device, Tensor};
use mico_select::Matrix;

use crate::error::Result;

/// Rows of numbers, one per token.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Features {
    values: Vec<f32>,
    width: usize,
}

impl Features {
    /// From a tensor `[n, width]` of any float format.
    pub(crate) fn from_tensor(tensor: &Tensor) -> Result<Self> {
        let (_, width) = tensor.dims2()?;
        let values = tensor.to_dtype(DType::F32)?.flatten_all()?.to_vec1()?;
        Ok(Self { values, width })
    }

    pub(crate) fn to_tensor(&self) -> Result<Tensor> {
        let shape = (self.len(), self.width);
        Ok(Tensor::from_slice(&self.values, shape, &Device::Cpu)?)
    }

    /// How many numbers there are in all rows.
    pub(crate) fn numbers(&self) -> usize {
        self.values.len()
    }

    /// Number of rows, one per token.
    pub fn len(&self) -> usize {
        self.values.len() / self.width.max(1)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// One row; empty beyond the last.
    pub fn row(&self, index: usize) -> &[f32] {
        self.values.chunks_exact(self.width.max(1)).nth(index).unwrap_or_default()
    }

    /// All rows as a matrix.
    pub fn matrix(&self) -> Result<Matrix<'_>> {
        Ok(Matrix::from_f32(&self.values, self.len(), self.width)?)
    }
}
