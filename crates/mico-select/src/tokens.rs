//! One group's view of a request's signals, as a selector reads them.

use crate::error::{Error, Result};
use crate::inputs::Inputs;
use crate::matrix::{Dense, Matrix, Rows};
use crate::signal::{Axes, Signal};

/// The checked signals of one group, in the group's own indices `0..n`.
#[derive(Debug, Clone, Copy)]
pub struct Tokens<'a> {
    inputs: &'a Inputs<'a>,
    index: Option<&'a [usize]>,
    n: usize,
    shared: Option<&'a [f64]>,
}

impl<'a> Tokens<'a> {
    pub(crate) fn all(inputs: &'a Inputs<'a>, n: usize, shared: Option<&'a [f64]>) -> Self {
        Self { inputs, index: None, n, shared }
    }

    pub(crate) fn of(
        inputs: &'a Inputs<'a>,
        index: &'a [usize],
        shared: Option<&'a [f64]>,
    ) -> Self {
        Self { inputs, index: Some(index), n: index.len(), shared }
    }

    /// The number of tokens in the group, at least 1.
    pub fn len(&self) -> usize {
        self.n
    }

    /// Whether the group has no token; groups passed to a selector always have one.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// Whether `signal` was given.
    pub fn has(&self, signal: Signal) -> bool {
        self.inputs.get(signal).is_some()
    }

    /// A signal as rows: the group's rows of a visual signal, all rows of a text signal.
    pub fn rows(&self, signal: Signal) -> Result<Rows<'a>> {
        let matrix = self.matrix(signal)?;
        Ok(match (signal.axes(), self.index) {
            (Axes::TextRows, _) | (_, None) => Rows::all(matrix),
            (_, Some(index)) => Rows::of(matrix, index),
        })
    }

    /// A signal with one value per token, as f64 in the group's order.
    pub fn vector(&self, signal: Signal) -> Result<Vec<f64>> {
        let rows = self.rows(signal)?;
        let mut value = [0.0];
        Ok((0..self.n)
            .map(|i| {
                rows.copy_row(i, &mut value);
                f64::from(value[0])
            })
            .collect())
    }

    /// The text-to-visual attention `[m, n]`: one row per text query, the group's tokens as columns.
    pub fn text_attention(&self) -> Result<Dense> {
        let matrix = self.matrix(Signal::TextAttention)?;
        let mut whole = vec![0.0; matrix.cols()];
        let mut dense = Dense::zeros(matrix.rows(), self.n);
        for m in 0..matrix.rows() {
            matrix.copy_row(m, &mut whole);
            let out = dense.row_mut(m);
            match self.index {
                None => out.copy_from_slice(&whole),
                Some(index) => out.iter_mut().zip(index).for_each(|(o, &i)| *o = whole[i]),
            }
        }
        Ok(dense)
    }

    /// The group's part of what [`Selector::prepare`](crate::Selector::prepare) computed over all
    /// groups; `None` if the method prepares nothing.
    pub fn shared(&self) -> Option<Vec<f64>> {
        let shared = self.shared?;
        Some(match self.index {
            None => shared.to_vec(),
            Some(index) => index.iter().map(|&i| shared[i]).collect(),
        })
    }

    fn matrix(&self, signal: Signal) -> Result<Matrix<'a>> {
        self.inputs
            .get(signal)
            .ok_or_else(|| Error::Missing { signal, reason: "the method reads it".into() })
    }
}
