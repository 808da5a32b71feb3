//! DeepStack: features of earlier vision blocks that are added to the visual tokens after the first
//! decoder blocks.

use candle_core::Tensor;

use crate::error::{Error, Result, expect_dims};

/// Features that the first decoder blocks add to the residual stream of a run's visual tokens.
#[derive(Debug, Clone)]
pub struct DeepStack {
    rows: Vec<u32>,
    layers: Vec<Tensor>,
}

impl DeepStack {
    /// `layers[i]` `[rows.len(), d]` is added to the run's `rows` after block `i` (0-based).
    pub fn new(rows: Vec<u32>, layers: Vec<Tensor>) -> Self {
        Self { rows, layers }
    }

    /// The rows of the run that features are added to.
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// The features added after each of the first blocks, `[rows, d]` each.
    pub fn layers(&self) -> &[Tensor] {
        &self.layers
    }

    /// Refuses rows and features that do not fit a run of `tokens` tokens of `width`.
    pub(super) fn check(&self, tokens: usize, width: usize) -> Result<()> {
        if let Some(row) = self.rows.iter().find(|&&row| row as usize >= tokens) {
            return Err(Error::input("deepstack", format!("row {row} of {tokens} tokens")));
        }
        let expected = [self.rows.len(), width];
        self.layers.iter().try_for_each(|layer| expect_dims("deepstack", layer, &expected))
    }

    /// Adds the features of block `index`, if it has any, to the residual stream.
    pub(super) fn add(&self, index: usize, hidden: Tensor) -> Result<Tensor> {
        let Some(layer) = self.layers.get(index).filter(|_| !self.rows.is_empty()) else {
            return Ok(hidden);
        };
        let rows = Tensor::new(self.rows.as_slice(), hidden.device())?;
        Ok(hidden.index_add(&rows, &layer.to_dtype(hidden.dtype())?.contiguous()?, 0)?)
    }

    /// [`DeepStack::add`] where only the last of `tokens` rows was computed.
    pub(super) fn add_last(&self, index: usize, row: Tensor, tokens: usize) -> Result<Tensor> {
        let last = self.rows.iter().position(|&at| at as usize + 1 == tokens);
        match (self.layers.get(index), last) {
            (Some(layer), Some(at)) => {
                let added = layer.narrow(0, at, 1)?.to_dtype(row.dtype())?;
                Ok((row + added)?)
            }
            _ => Ok(row),
        }
    }
}
