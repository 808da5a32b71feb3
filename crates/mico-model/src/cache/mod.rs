//! Decoder caches: a KV cache per block, each with its own length, or for linear attention a recurrent
//! state of fixed size.

mod kv;

use std::sync::Arc;

use candle_core::{DType, Tensor};

use crate::config::MixerKind;
use crate::error::{Error, Result};
use kv::KeysValues;

/// The recurrent state of a linear-attention block, on the CPU in f32 like the rule that updates it.
///
/// Clones share the values until one is updated (copy on write), so a clone stays as it was.
#[derive(Debug, Clone)]
pub(crate) struct RecurrentState {
    /// The last inputs of the convolution, `[kernel - 1, channels]`, zeros before the beginning.
    pub(crate) window: Arc<Vec<f32>>,
    /// The state of each value head, `[value_heads, key_dim, value_dim]`.
    pub(crate) memory: Arc<Vec<f32>>,
}

impl RecurrentState {
    fn bytes(&self) -> usize {
        size_of::<f32>() * (self.window.len() + self.memory.len())
    }
}

#[derive(Debug)]
enum BlockCache {
    Attention(KeysValues),
    /// A recurrent state; `None` before the first token.
    Recurrent(Option<RecurrentState>),
}

impl BlockCache {
    fn new(kind: MixerKind) -> Self {
        match kind {
            MixerKind::FullAttention => Self::Attention(KeysValues::default()),
            MixerKind::LinearAttention => Self::Recurrent(None),
        }
    }

    fn kind(&self) -> MixerKind {
        match self {
            Self::Attention(_) => MixerKind::FullAttention,
            Self::Recurrent(_) => MixerKind::LinearAttention,
        }
    }

    fn len(&self) -> Option<usize> {
        match self {
            Self::Attention(cache) => Some(cache.len),
            Self::Recurrent(_) => None,
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::Attention(cache) => cache.len == 0,
            Self::Recurrent(state) => state.is_none(),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Attention(cache) => cache.bytes(),
            Self::Recurrent(state) => state.as_ref().map_or(0, RecurrentState::bytes),
        }
    }

    fn copy(&self) -> Result<Self> {
        Ok(match self {
            Self::Attention(cache) => Self::Attention(cache.copy()?),
            Self::Recurrent(state) => Self::Recurrent(state.clone()),
        })
    }

    fn mark(&self) -> BlockMark {
        match self {
            Self::Attention(cache) => BlockMark::Length(cache.len),
            Self::Recurrent(state) => BlockMark::State(state.clone()),
        }
    }
}

#[derive(Debug, Clone)]
enum BlockMark {
    Length(usize),
    State(Option<RecurrentState>),
}

/// A snapshot of the lengths of [`Caches`], to return to. Cheap: no entry is copied.
#[derive(Debug, Clone)]
pub struct CacheMark {
    blocks: Vec<BlockMark>,
}

/// The KV caches and recurrent states of all blocks of a decoder.
///
/// After in-decoder pruning the blocks hold different numbers of tokens, so there is no common
/// length, and a token's position is never derived from one. Blocks with linear attention hold no
/// tokens at all but a state, which has no length.
#[derive(Debug)]
pub struct Caches {
    blocks: Vec<BlockCache>,
}

impl Caches {
    /// Empty caches for a decoder of `blocks` blocks that all have full attention. Memory is allocated
    /// when the first token arrives.
    pub fn new(blocks: usize) -> Self {
        Self::of((0..blocks).map(|_| MixerKind::FullAttention))
    }

    /// Empty caches for blocks of the given kinds.
    pub fn of(kinds: impl IntoIterator<Item = MixerKind>) -> Self {
        Self { blocks: kinds.into_iter().map(BlockCache::new).collect() }
    }

    /// The number of decoder blocks.
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// The kind of a block (0-based); `None` for a block that does not exist.
    pub fn kind(&self, block: usize) -> Option<MixerKind> {
        self.blocks.get(block).map(BlockCache::kind)
    }

    /// Tokens in a block's KV cache (0-based); `None` if it has a recurrent state or does not exist.
    pub fn len(&self, block: usize) -> Option<usize> {
        self.blocks.get(block).and_then(BlockCache::len)
    }

    /// Whether every cache is empty.
    pub fn is_empty(&self) -> bool {
        self.blocks.iter().all(BlockCache::is_empty)
    }

    /// Tokens in each block's KV cache; `None` for blocks with a recurrent state.
    pub fn lengths(&self) -> Vec<Option<usize>> {
        self.blocks.iter().map(BlockCache::len).collect()
    }

    /// Bytes allocated, including the room for growth.
    pub fn bytes(&self) -> usize {
        self.blocks.iter().map(BlockCache::bytes).sum()
    }

    /// Tokens that the KV cache of a block has room for after a prompt of `first` tokens and `later` generated
    /// ones: caches grow by steps, so that this is more than their sum.
    pub fn room_for(first: usize, later: usize) -> usize {
        kv::reserved(first, later)
    }

    /// A snapshot of the present state, for [`Self::restore`].
    pub fn mark(&self) -> CacheMark {
        CacheMark { blocks: self.blocks.iter().map(BlockCache::mark).collect() }
    }

    /// Drops everything added since `mark`, which must have been taken of these caches.
    pub fn restore(&mut self, mark: CacheMark) -> Result<()> {
        self.check(&mark)?;
        for (cache, mark) in self.blocks.iter_mut().zip(mark.blocks) {
            match (cache, mark) {
                (BlockCache::Attention(cache), BlockMark::Length(len)) => cache.truncate(len),
                (BlockCache::Recurrent(state), BlockMark::State(before)) => *state = before,
                _ => {}
            }
        }
        Ok(())
    }

    /// Refuses a mark that cannot have been taken of these caches.
    fn check(&self, mark: &CacheMark) -> Result<()> {
        let refuse = |message: String| Err(Error::input("cache mark", message));
        if mark.blocks.len() != self.blocks.len() {
            let (found, blocks) = (mark.blocks.len(), self.blocks.len());
            return refuse(format!("of {found} blocks, the caches have {blocks}"));
        }
        for (block, (cache, mark)) in self.blocks.iter().zip(&mark.blocks).enumerate() {
            match (cache, mark) {
                (BlockCache::Attention(cache), BlockMark::Length(len)) if *len <= cache.len => {}
                (BlockCache::Attention(cache), BlockMark::Length(len)) => {
                    let held = cache.len;
                    return refuse(format!("{len} tokens in block {block}, which holds {held}"));
                }
                (BlockCache::Recurrent(_), BlockMark::State(_)) => {}
                _ => return refuse(format!("block {block} is of another kind")),
            }
        }
        Ok(())
    }

    /// An independent copy, to continue one prefix in two ways.
    pub fn try_clone(&self) -> Result<Self> {
        let blocks = self.blocks.iter().map(BlockCache::copy).collect::<Result<_>>()?;
        Ok(Self { blocks })
    }

    /// Keys and values of a block (`[kv_heads, len, head_dim]` each); `None` if it holds none.
    pub fn get(&self, block: usize) -> Result<Option<(Tensor, Tensor)>> {
        match self.blocks.get(block) {
            Some(BlockCache::Attention(cache)) => cache.views(),
            _ => Ok(None),
        }
    }

    /// Appends keys and values to a block's cache and returns all of them.
    pub(crate) fn append(
        &mut self,
        block: usize,
        k: &Tensor,
        v: &Tensor,
    ) -> Result<(Tensor, Tensor)> {
        match self.blocks.get_mut(block) {
            Some(BlockCache::Attention(cache)) => cache.append(k, v),
            _ => Err(self.no_such(block, "keys and values")),
        }
    }

    /// The recurrent state of a linear-attention block, for updating; `None` before its first
    /// token.
    pub(crate) fn state(&mut self, block: usize) -> Result<&mut Option<RecurrentState>> {
        let error = self.no_such(block, "a recurrent state");
        match self.blocks.get_mut(block) {
            Some(BlockCache::Recurrent(state)) => Ok(state),
            _ => Err(error),
        }
    }

    fn no_such(&self, block: usize, what: &str) -> Error {
        let count = self.blocks.len();
        Error::input("cache", format!("block {block} of {count} is not one that keeps {what}"))
    }
}

/// Bytes that one token takes in the KV cache of one block.
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
        assert_eq!(caches.lengths(), [Some(0), Some(296)]);
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
    fn returning_and_copies_do_not_disturb_each_other() {
        let mut caches = Caches::new(1);
        let empty = caches.mark();
        caches.append(0, &rows(0, 4), &rows(0, 4)).unwrap();
        let four = caches.mark();
        let (before, _) = caches.append(0, &rows(4, 6), &rows(4, 6)).unwrap();
        let mut other = caches.try_clone().unwrap();
        caches.restore(four.clone()).unwrap();
        let (k, _) = caches.append(0, &rows(50, 2), &rows(50, 2)).unwrap();
        assert_eq!(k.dims(), [2, 6, 2]);
        assert_eq!(content(&before), content(&rows(0, 10)));
        let (k, _) = other.append(0, &rows(10, 1), &rows(10, 1)).unwrap();
        assert_eq!(content(&k), content(&rows(0, 11)));
        caches.restore(empty).unwrap();
        assert!(caches.get(0).unwrap().is_none() && caches.is_empty());
        let error = caches.restore(four).unwrap_err().to_string();
        assert!(error.contains("4 tokens in block 0, which holds 0"), "{error}");
        assert!(caches.restore(Caches::new(2).mark()).is_err());
    }

    #[test]
    fn a_state_has_no_length_and_returns_whole() {
        use MixerKind::{FullAttention, LinearAttention};
        let set = |caches: &mut Caches, value: f32| {
            let state = caches.state(1).unwrap().get_or_insert_with(|| RecurrentState {
                window: Arc::new(vec![0.0; 12]),
                memory: Arc::new(vec![0.0; 4]),
            });
            Arc::make_mut(&mut state.memory)[0] = value;
        };
        let first = |caches: &mut Caches| caches.state(1).unwrap().as_ref().unwrap().memory[0];
        let mut caches = Caches::of([FullAttention, LinearAttention]);
        assert_eq!((caches.lengths(), caches.bytes()), (vec![Some(0), None], 0));
        let empty = caches.mark();
        set(&mut caches, 1.0);
        assert!(!caches.is_empty());
        assert_eq!(caches.bytes(), 4 * (12 + 4));
        let (one, mut other) = (caches.mark(), caches.try_clone().unwrap());
        set(&mut caches, 2.0);
        set(&mut other, 3.0);
        assert_eq!((first(&mut caches), first(&mut other)), (2.0, 3.0));
        caches.restore(one).unwrap();
        assert_eq!(first(&mut caches), 1.0);
        caches.restore(empty).unwrap();
        assert!(caches.is_empty() && caches.state(1).unwrap().is_none());
        // Neither kind is taken for the other.
        assert!(caches.append(1, &rows(0, 1), &rows(0, 1)).is_err());
        assert!(caches.state(0).is_err() && caches.state(2).is_err());
        assert!(caches.restore(Caches::new(2).mark()).is_err());
    }
}
