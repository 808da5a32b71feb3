//! Observing a block: the queries of chosen rows and the keys of all, as its attention used them.

use std::ops::Range;

use candle_core::{Device, Tensor};

use super::mixer::Tapped;
use crate::error::{Error, Result};

/// A request to observe one block during a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tap {
    /// The block, 0-based (block #K of the paper is index K-1); it must have full attention.
    pub block: usize,
    /// Rows of the run's hidden states whose queries are wanted.
    pub query_rows: Vec<u32>,
}

/// A request to look at a block before it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peek {
    /// The block, 0-based; it must have full attention.
    pub block: usize,
    /// Rows of the hidden states whose queries are wanted.
    pub query_rows: Vec<u32>,
    /// Whether queries and keys are rotated. If not, the keys of earlier turns, which a cache holds
    /// rotated, are left out.
    pub rotary: bool,
}

/// What a tap saw: after the block's own norm, projection, q/k norm and rotary embedding.
#[derive(Debug, Clone)]
pub struct QkTap {
    /// The block, 0-based.
    pub block: usize,
    /// Queries of the chosen rows, `[heads, m, head_dim]`.
    pub q: Tensor,
    /// Keys of everything in the block's cache after this run, `[kv_heads, len, head_dim]`.
    pub k: Tensor,
    /// Index of each chosen query among those keys (its place in sequence order).
    pub query_index: Vec<usize>,
    /// Keys that were in the cache before this run: row `r` of the run is key `earlier + r`.
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
            k: seen.k.clone(),
            query_index: self.query_rows.iter().map(|&row| earlier + row as usize).collect(),
            earlier,
        })
    }
}
