//! Keys and values of each block, each with its own length.

use candle_core::{DType, Tensor};

use crate::error::{Error, Result};

/// A full buffer is replaced by one this many halves as large, so that appending token by token
/// copies each entry a bounded number of times.
const GROWTH_HALVES: usize = 3;
/// Room left after the first fill for the tokens of an answer.
const FIRST_SLACK: usize = 64;

/// Keys and values of one block: `[kv_heads, length, head_dim]` each.
///
/// Entries once written never change: a truncated cache moves to a fresh buffer before it grows
/// again, so views handed out earlier stay valid.
#[derive(Debug)]
struct BlockCache {
    buffers: Option<(Tensor, Tensor)>,
    capacity: usize,
    len: usize,
}

impl BlockCache {
    fn new() -> Self {
        Self { buffers: None, capacity: 0, len: 0 }
    }

    fn views(&self) -> Result<Option<(Tensor, Tensor)>> {
        match &self.buffers {
            Some((k, v)) if self.len > 0 => {
                Ok(Some((k.narrow(1, 0, self.len)?, v.narrow(1, 0, self.len)?)))
            }
            _ => Ok(None),
        }
    }

    fn append(&mut self, k: &Tensor, v: &Tensor) -> Result<(Tensor, Tensor)> {
        let (kv_heads, added, dim) = k.dims3()?;
        let needed = self.len + added;
        if needed > self.capacity || self.buffers.is_none() {
            let capacity = if self.len == 0 {
                added + FIRST_SLACK
            } else {
                needed.max(self.len * GROWTH_HALVES / 2)
            };
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

    fn truncate(&mut self, len: usize) {
        if len < self.len {
            self.len = len;
            self.capacity = len;
        }
        if len == 0 {
            self.buffers = None;
        }
    }

    fn copy(&self) -> Result<Self> {
        let Some((k, v)) = self.views()? else { return Ok(Self::new()) };
        let own = |t: Tensor| t.force_contiguous().and_then(|t| t.copy());
        Ok(Self { buffers: Some((own(k)?, own(v)?)), capacity: self.len, len: self.len })
    }
}

/// The caches of all blocks of a decoder.
///
/// After in-decoder pruning the blocks hold different numbers of tokens, so there is no common
/// length, and a token's position is never derived from one.
#[derive(Debug)]
pub struct Caches {
    blocks: Vec<BlockCache>,
}

impl Caches {
    /// Empty caches for a decoder of `blocks` blocks. Nothing is allocated before it is needed.
    pub fn new(blocks: usize) -> Self {
        Self { blocks: (0..blocks).map(|_| BlockCache::new()).collect() }
    }

    /// Number of blocks.
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Tokens held by a block (0-based); 0 for a block that does not exist.
    pub fn len(&self, block: usize) -> usize {
        self.blocks.get(block).map_or(0, |cache| cache.len)
    }

    /// Whether no block holds a token.
    pub fn is_empty(&self) -> bool {
        self.blocks.iter().all(|cache| cache.len == 0)
    }

    /// Tokens held by each block.
    pub fn lengths(&self) -> Vec<usize> {
        self.blocks.iter().map(|cache| cache.len).collect()
    }

    /// Bytes allocated, the room for growth included.
    pub fn bytes(&self) -> usize {
        let size = |t: &Tensor| t.elem_count() * t.dtype().size_in_bytes();
        self.blocks
            .iter()
            .filter_map(|cache| cache.buffers.as_ref())
            .map(|(k, v)| size(k) + size(v))
            .sum()
    }

    /// Forgets everything after the first `lengths[b]` tokens of each block.
    pub fn truncate(&mut self, lengths: &[usize]) -> Result<()> {
        if lengths.len() != self.blocks.len() {
            let message = format!("{} lengths for {} blocks", lengths.len(), self.blocks.len());
            return Err(Error::input("cache lengths", message));
        }
        for (cache, &len) in self.blocks.iter_mut().zip(lengths) {
            cache.truncate(len);
        }
        Ok(())
    }

    /// An independent copy, to continue one prefix in two ways.
    pub fn try_clone(&self) -> Result<Self> {
        let blocks = self.blocks.iter().map(BlockCache::copy).collect::<Result<_>>()?;
        Ok(Self { blocks })
    }

    /// Keys and values of a block (`[kv_heads, len, head_dim]`), if it holds any.
    pub fn get(&self, block: usize) -> Result<Option<(Tensor, Tensor)>> {
        self.blocks.get(block).map_or(Ok(None), BlockCache::views)
    }

    /// Appends to a block and returns all its keys and values.
    pub(crate) fn append(
        &mut self,
        block: usize,
        k: &Tensor,
        v: &Tensor,
    ) -> Result<(Tensor, Tensor)> {
        let count = self.blocks.len();
        let cache = self
            .blocks
            .get_mut(block)
            .ok_or_else(|| Error::input("cache", format!("block {block} of {count}")))?;
        cache.append(k, v)
    }
}

/// Bytes one token takes in one block.
pub(crate) fn bytes_per_token(kv_heads: usize, head_dim: usize, dtype: DType) -> usize {
    2 * kv_heads * head_dim * dtype.size_in_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use candle_core::Device;

    fn rows(from: usize, count: usize) -> Tensor {
        let values: Vec<f32> = (0..2)
            .flat_map(|head| (from..from + count).map(move |i| (head * 1000 + i) as f32))
            .flat_map(|x| [x, -x])
            .collect();
        Tensor::from_vec(values, (2, count, 2), &Device::Cpu).unwrap()
    }

    fn content(view: &Tensor) -> Vec<Vec<Vec<f32>>> {
        view.contiguous().unwrap().to_vec3().unwrap()
    }

    #[test]
    fn growth_keeps_every_entry() {
        let mut caches = Caches::new(2);
        assert!(caches.is_empty());
        let mut total = 0;
        for count in [3, 1, 1, 90, 1, 200] {
            let new = rows(total, count);
            let (k, v) = caches.append(1, &new, &new).unwrap();
            total += count;
            assert_eq!(content(&k), content(&rows(0, total)));
            assert_eq!(content(&v), content(&rows(0, total)));
        }
        assert_eq!(caches.lengths(), [0, 296]);
        assert!(caches.append(2, &rows(0, 1), &rows(0, 1)).is_err());
    }

    #[test]
    fn single_tokens_do_not_reallocate_each_time() {
        let mut caches = Caches::new(1);
        let mut capacities = std::collections::BTreeSet::new();
        for i in 0..1000 {
            caches.append(0, &rows(i, 1), &rows(i, 1)).unwrap();
            capacities.insert(caches.bytes());
        }
        assert!(capacities.len() < 10, "{} buffers", capacities.len());
    }

    #[test]
    fn truncation_and_copies_do_not_disturb_each_other() {
        let mut caches = Caches::new(1);
        let (before, _) = caches.append(0, &rows(0, 10), &rows(0, 10)).unwrap();
        let mut other = caches.try_clone().unwrap();
        caches.truncate(&[4]).unwrap();
        let (k, _) = caches.append(0, &rows(50, 2), &rows(50, 2)).unwrap();
        assert_eq!(k.dims(), [2, 6, 2]);
        assert_eq!(content(&before), content(&rows(0, 10)));
        let (k, _) = other.append(0, &rows(10, 1), &rows(10, 1)).unwrap();
        assert_eq!(content(&k), content(&rows(0, 11)));
        assert!(caches.truncate(&[1, 2]).is_err());
        caches.truncate(&[0]).unwrap();
        assert!(caches.get(0).unwrap().is_none());
    }
}
