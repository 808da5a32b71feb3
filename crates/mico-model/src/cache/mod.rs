//! Decoder caches: a KV cache per block, each with its own length, or for linear attention a recurrent
//! state of fixed size.

mod format;
mod kv;
#[cfg(test)]
mod tests;

pub use format::KvFormat;

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
    fn new(kind: MixerKind, format: KvFormat) -> Self {
        match kind {
            MixerKind::FullAttention => Self::Attention(KeysValues::new(format)),
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
    format: KvFormat,
}

impl Caches {
    /// Empty caches for a decoder of `blocks` blocks that all have full attention. Memory is allocated
    /// when the first token arrives.
    pub fn new(blocks: usize) -> Self {
        Self::of((0..blocks).map(|_| MixerKind::FullAttention))
    }

    /// Empty caches for blocks of the given kinds.
    pub fn of(kinds: impl IntoIterator<Item = MixerKind>) -> Self {
        Self::of_format(kinds, KvFormat::Compute)
    }

    /// Empty caches for blocks of the given kinds, with keys and values in the given format.
    pub fn of_format(kinds: impl IntoIterator<Item = MixerKind>, format: KvFormat) -> Self {
        let blocks = kinds.into_iter().map(|kind| BlockCache::new(kind, format)).collect();
        Self { blocks, format }
    }

    /// The number format of keys and values.
    pub fn format(&self) -> KvFormat {
        self.format
    }

    /// States how many tokens each block's KV cache will hold (those it holds already included), so that
    /// its memory is allocated once and exactly when the next token arrives that it has no room for.
    /// Entries of blocks with a recurrent state are not looked at. More tokens than that still fit, at the
    /// cost of a copy.
    ///
    /// Caches that were empty then take `tokens_per_block` times the bytes of a token
    /// ([`crate::Decoder::kv_bytes`]); memory that no token was written to yet is not resident.
    pub fn reserve(&mut self, tokens_per_block: &[usize]) -> Result<()> {
        if tokens_per_block.len() != self.blocks.len() {
            let (found, blocks) = (tokens_per_block.len(), self.blocks.len());
            let message = format!("lengths of {found} blocks, the caches have {blocks}");
            return Err(Error::input("reservation", message));
        }
        for (cache, &tokens) in self.blocks.iter_mut().zip(tokens_per_block) {
            if let BlockCache::Attention(cache) = cache {
                cache.reserved = tokens;
            }
        }
        Ok(())
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
        Ok(Self { blocks, format: self.format })
    }

    /// Keys and values of a block (`[kv_heads, len, head_dim]` each, in the format they are kept in); `None`
    /// if it holds none.
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
