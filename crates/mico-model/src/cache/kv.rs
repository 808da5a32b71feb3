//! The KV cache of one decoder block.

use candle_core::Tensor;

use crate::error::{Error, Result};

/// A full buffer is replaced by one 3/2 as large, so that appending token by token copies each entry
/// a bounded number of times.
const GROWTH_HALVES: usize = 3;
/// Spare room after the first fill, in tokens, for the answer.
const FIRST_SLACK: usize = 64;

/// Tokens that a buffer has room for which replaces one that holds `len`, when `needed` must fit.
fn grown(len: usize, needed: usize) -> usize {
    if len == 0 { needed + FIRST_SLACK } else { needed.max(len * GROWTH_HALVES / 2) }
}

/// Tokens that a cache has room for after a prompt of `first` tokens and `later` ones one by one.
pub(super) fn reserved(first: usize, later: usize) -> usize {
    let mut capacity = grown(0, first);
    while capacity < first.saturating_add(later) {
        capacity = grown(capacity, capacity + 1);
    }
    capacity
}

/// The KV cache of one block: keys and values, `[kv_heads, length, head_dim]` each.
///
/// Entries once written never change: a truncated cache moves to a fresh buffer before it grows
/// again, so views handed out earlier stay valid.
#[derive(Debug, Default)]
pub(super) struct KeysValues {
    buffers: Option<(Tensor, Tensor)>,
    capacity: usize,
    pub(super) len: usize,
}

impl KeysValues {
    pub(super) fn views(&self) -> Result<Option<(Tensor, Tensor)>> {
        match &self.buffers {
            Some((k, v)) if self.len > 0 => {
                Ok(Some((k.narrow(1, 0, self.len)?, v.narrow(1, 0, self.len)?)))
            }
            _ => Ok(None),
        }
    }

    pub(super) fn append(&mut self, k: &Tensor, v: &Tensor) -> Result<(Tensor, Tensor)> {
        let (kv_heads, added, dim) = k.dims3()?;
        let needed = self.len + added;
        if needed > self.capacity || self.buffers.is_none() {
            let capacity = grown(self.len, needed);
            let old = self.views()?;
            let fresh = || Tensor::zeros((kv_heads, capacity, dim), k.dtype(), k.device());
            let (new_k, new_v) = (fresh()?, fresh()?);
            if let Some((old_k, old_v)) = old {
                new_k.slice_set(&old_k.contiguous()?, 1, 0)?;
                new_v.slice_set(&old_v.contiguous()?, 1, 0)?;
            }
            self.buffers = Some((new_k, new_v));
            self.capacity = capacity;
        }
        if let Some((buffer_k, buffer_v)) = &self.buffers {
            buffer_k.slice_set(&k.contiguous()?, 1, self.len)?;
            buffer_v.slice_set(&v.contiguous()?, 1, self.len)?;
        }
        self.len = needed;
        self.views()?.ok_or_else(|| Error::input("cache", "nothing to append"))
    }

    pub(super) fn truncate(&mut self, len: usize) {
        if len < self.len {
            self.len = len;
            self.capacity = len;
        }
        if len == 0 {
            self.buffers = None;
        }
    }

    pub(super) fn copy(&self) -> Result<Self> {
        let Some((k, v)) = self.views()? else { return Ok(Self::default()) };
        let own = |t: Tensor| t.force_contiguous().and_then(|t| t.copy());
        Ok(Self { buffers: Some((own(k)?, own(v)?)), capacity: self.len, len: self.len })
    }

    /// Bytes allocated, including the room for growth.
    pub(super) fn bytes(&self) -> usize {
        let size = |t: &Tensor| t.elem_count() * t.dtype().size_in_bytes();
        self.buffers.as_ref().map_or(0, |(k, v)| size(k) + size(v))
    }
}
