//! Taps: recording a block's queries of chosen rows and keys of all rows, as its attention used them.

use std::ops::Range;

use candle_core::{Device, Tensor};

use super::mixer::Tapped;
use crate::error::{Error, Result};

/// A request to record queries and keys of one block during a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tap {
    /// The block, 0-based (block #K of the paper is index K-1); it must have full attention.
    pub block: usize,
    /// Rows of the run's hidden states whose queries are recorded.
    pub query_rows: Vec<u32>,
}

/// A request for a block's queries and keys before it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peek {
    /// The block, 0-based; it must have full attention.
    pub block: usize,
    /// Rows of the hidden states whose queries are computed.
    pub query_rows: Vec<u32>,
    /// Whether `RoPE` is applied. If not, the keys of earlier turns, which the KV cache holds rotated, are
    /// left out.
    pub rotary: bool,
}

/// Queries and keys of a block, after its norm, projection, q/k norm and `RoPE`.
#[derive(Debug, Clone)]
pub struct QkTap {
    /// The index of the observed block, counted from 0.
    pub block: usize,
    /// Queries of the chosen rows, `[heads, m, head_dim]`.
    pub q: Tensor,
    /// Keys of everything in the block's KV cache after this run, `[kv_heads, len, head_dim]`.
    pub k: Tensor,
    /// Index of each chosen query among those keys (its position in sequence order).
    pub query_index: Vec<usize>,
    /// The number of keys cached before this run: row `r` of the run is key `earlier + r`.
    pub earlier: usize,
}

impl Tap {
    pub(super) fn check(&self, range: &Range<usize>, tokens: usize) -> Result<()> {
        if !range.contains(&self.block) {
            let message = format!("block {} is outside {}..{}", self.block, range.start, range.end);
            return Err(Error::input("tap", message));
        }
        match self.query_rows.iter().find(|&&row| row as usize >= tokens) {
            Some(row) => Err(Error::input("tap", format!("query row {row} of {tokens} tokens"))),
            None if self.query_rows.is_empty() => Err(Error::input("tap", "no query rows")),
            None => Ok(()),
        }
    }

    pub(super) fn take(&self, seen: &Tapped, earlier: usize, device: &Device) -> Result<QkTap> {
        let rows = Tensor::new(self.query_rows.as_slice(), device)?;
        Ok(QkTap {
            block: self.block,
            q: seen.q.index_select(&rows, 1)?,
            k: seen.k.to_dtype(seen.q.dtype())?,
            query_index: self.query_rows.iter().map(|&row| earlier + row as usize).collect(),
            earlier,
        })
    }
}
