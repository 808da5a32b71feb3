//! What a pruner gets to see: the signals it declared, and nothing else.

use mico_select::{Inputs, Matrix, Tensor};
use mico_vision::layout::VisualLayout;

use crate::error::{Error, Result};

/// Rows of numbers, one per token.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Features {
    values: Vec<f32>,
    width: usize,
}

impl Features {
    /// From a tensor `[n, width]` of any float format.
    pub(crate) fn from_tensor(tensor: &candle_core::Tensor) -> Result<Self> {
        let (_, width) = tensor.dims2()?;
        let values = tensor.to_dtype(candle_core::DType::F32)?.flatten_all()?.to_vec1()?;
        Ok(Self { values, width })
    }

    pub(crate) fn to_tensor(&self) -> Result<candle_core::Tensor> {
        let shape = (self.len(), self.width);
        Ok(candle_core::Tensor::from_slice(&self.values, shape, &candle_core::Device::Cpu)?)
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.values.len() / self.width.max(1)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// All rows as a matrix.
    pub fn matrix(&self) -> Result<Matrix<'_>> {
        Ok(Matrix::from_f32(&self.values, self.len(), self.width)?)
    }

    /// A copy of some rows.
    pub fn rows(&self, index: &[usize]) -> Self {
        let row = |&i: &usize| self.values[i * self.width..(i + 1) * self.width].iter().copied();
        Self { values: index.iter().flat_map(row).collect(), width: self.width }
    }
}

/// One image before the decoder. Rows are in sequence order; tokens that are no patch have zeros.
#[derive(Debug, Clone, Copy)]
pub struct Stage1View<'a> {
    /// Number of the image, counted through the session.
    pub image: usize,
    /// Its sequence and groups.
    pub layout: &'a VisualLayout,
    pub(crate) features: Option<&'a Features>,
    pub(crate) reliability: Option<&'a [f32]>,
    pub(crate) projected: Option<&'a Features>,
}

impl<'a> Stage1View<'a> {
    /// Features of the vision tower.
    pub fn features(&self) -> Result<&'a Features> {
        self.features.ok_or_else(|| undeclared("stage1.features"))
    }

    /// The class token's attention.
    pub fn reliability(&self) -> Result<&'a [f32]> {
        self.reliability.ok_or_else(|| undeclared("stage1.reliability"))
    }

    /// Embeddings as the decoder would take them.
    pub fn projected(&self) -> Result<&'a Features> {
        self.projected.ok_or_else(|| undeclared("visual_embeds"))
    }

    /// Positions of each group's tokens in the sequence, ascending.
    pub fn members(&self) -> Vec<Vec<usize>> {
        let mut members = vec![Vec::new(); self.layout.groups().len()];
        for token in 0..self.layout.len() {
            if let Some(group) = self.layout.group_of(token) {
                members[group].push(token);
            }
        }
        members
    }
}

/// The visual tokens left after a decoder block, in sequence order over all images.
#[derive(Debug, Clone, Copy)]
pub struct Stage2View<'a> {
    /// The block, counted from 1.
    pub block: usize,
    /// Number of visual tokens.
    pub tokens: usize,
    pub(crate) features: Option<&'a Features>,
    pub(crate) attention: Option<&'a [f32]>,
    pub(crate) text: Option<&'a Features>,
}

impl<'a> Stage2View<'a> {
    /// The block's output at the visual tokens.
    pub fn features(&self) -> Result<&'a Features> {
        self.features.ok_or_else(|| undeclared("stage2.features"))
    }

    /// The attention declared, one value per visual token.
    pub fn attention(&self) -> Result<&'a [f32]> {
        self.attention.ok_or_else(|| undeclared("stage2.relevance"))
    }

    /// Everything observed, as a selector reads it.
    pub fn inputs(&self) -> Result<Inputs<'a>> {
        let mut inputs = Inputs::new();
        if let Some(features) = self.features {
            inputs = inputs.with(Tensor::Features, features.matrix()?);
        }
        if let Some(text) = self.text {
            inputs = inputs.with(Tensor::Text, text.matrix()?);
        }
        if let Some(attention) = self.attention {
            inputs = inputs.with_vector(Tensor::Relevance, attention)?;
        }
        Ok(inputs)
    }
}

fn undeclared(signal: &str) -> Error {
    Error::Pruner { pruner: "unnamed", message: format!("reads {signal} without declaring it") }
}
