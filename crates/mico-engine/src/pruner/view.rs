//! What a pruner gets to see: the signals it declared, and nothing else.

use mico_model::Family;
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

    /// One row; empty beyond the last.
    pub fn row(&self, index: usize) -> &[f32] {
        self.values.chunks_exact(self.width.max(1)).nth(index).unwrap_or_default()
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
    /// The model's family.
    pub family: Family,
    /// The image's sequence and groups.
    pub layout: &'a VisualLayout,
    /// The signals by name: one row or number for each token, or one row for each word.
    pub(crate) rows: &'a [(Tensor, &'a Features)],
    pub(crate) vectors: &'a [(Tensor, &'a [f32])],
}

impl<'a> Stage1View<'a> {
    /// A signal that has a row of numbers for each token (or word).
    pub fn rows(&self, tensor: Tensor) -> Result<&'a Features> {
        let found = self.rows.iter().find(|(name, _)| *name == tensor);
        found.map(|&(_, rows)| rows).ok_or_else(|| undeclared("stage1", tensor))
    }

    /// A signal that has a number for each token.
    pub fn vector(&self, tensor: Tensor) -> Result<&'a [f32]> {
        let found = self.vectors.iter().find(|(name, _)| *name == tensor);
        found.map(|&(_, values)| values).ok_or_else(|| undeclared("stage1", tensor))
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

    /// The signals of some tokens.
    pub(super) fn of(&self, members: &[usize]) -> GroupSignals {
        let own = |&(tensor, rows): &(Tensor, &Features)| {
            (tensor, if tensor == Tensor::Text { rows.clone() } else { rows.rows(members) })
        };
        let values = |&(tensor, values): &(Tensor, &[f32])| {
            (tensor, members.iter().map(|&token| values[token]).collect())
        };
        GroupSignals {
            rows: self.rows.iter().map(own).collect(),
            vectors: self.vectors.iter().map(values).collect(),
            // A selector that looks at nothing still has to know how many there are.
            counted: vec![1.0; members.len()],
        }
    }
}

/// The signals of one group of tokens.
pub(super) struct GroupSignals {
    rows: Vec<(Tensor, Features)>,
    vectors: Vec<(Tensor, Vec<f32>)>,
    counted: Vec<f32>,
}

impl GroupSignals {
    /// As a selector reads them.
    pub(super) fn inputs(&self) -> Result<Inputs<'_>> {
        let mut inputs = Inputs::new();
        if self.rows.is_empty() && self.vectors.is_empty() {
            inputs = inputs.with_vector(Tensor::Weights, &self.counted)?;
        }
        for (tensor, rows) in &self.rows {
            inputs = inputs.with(*tensor, rows.matrix()?);
        }
        for (tensor, values) in &self.vectors {
            inputs = inputs.with_vector(*tensor, values)?;
        }
        Ok(inputs)
    }
}

/// The visual tokens left after a decoder block, in sequence order over all images.
#[derive(Debug, Clone, Copy)]
pub struct Stage2View<'a> {
    /// The block, counted from 1.
    pub block: usize,
    /// Number of visual tokens.
    pub tokens: usize,
    /// The model's family.
    pub family: Family,
    pub(crate) features: Option<&'a Features>,
    pub(crate) attention: Option<&'a [f32]>,
    pub(crate) text: Option<&'a Features>,
    pub(crate) keys: Option<&'a Features>,
    pub(crate) text_keys: Option<&'a Features>,
}

impl<'a> Stage2View<'a> {
    /// The block's output at the visual tokens.
    pub fn features(&self) -> Result<&'a Features> {
        self.features.ok_or_else(|| undeclared("stage2", Tensor::Features))
    }

    /// The attention declared, one value per visual token.
    pub fn attention(&self) -> Result<&'a [f32]> {
        self.attention.ok_or_else(|| undeclared("stage2", Tensor::Relevance))
    }

    /// Everything observed, as a selector reads it.
    pub fn inputs(&self) -> Result<Inputs<'a>> {
        let mut inputs = Inputs::new();
        let rows = [
            (Tensor::Features, self.features),
            (Tensor::Text, self.text),
            (Tensor::Keys, self.keys),
            (Tensor::TextKeys, self.text_keys),
        ];
        for (tensor, rows) in rows {
            if let Some(rows) = rows {
                inputs = inputs.with(tensor, rows.matrix()?);
            }
        }
        if let Some(attention) = self.attention {
            inputs = inputs.with_vector(Tensor::Relevance, attention)?;
        }
        Ok(inputs)
    }
}

fn undeclared(stage: &str, tensor: Tensor) -> Error {
    let message = format!("reads {stage}.{tensor} without declaring it");
    Error::Pruner { pruner: "unnamed", message }
}
