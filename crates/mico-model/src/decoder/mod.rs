//! One decoder for every family: Llama, Mistral, Qwen2, Qwen3 and the hybrid Qwen3.5 by
//! configuration.
//!
//! It runs any range of blocks on any set of tokens, so the caller can stop after block #K, drop
//! tokens, and continue: position ids are explicit, and each block's KV cache has its own length.

mod block;
mod deepstack;
mod mixer;
mod mlp;
mod step;
mod tap;

pub use deepstack::DeepStack;
pub use step::StepRow;
pub use tap::{Peek, QkTap, Tap};

use std::ops::Range;

use candle_core::{DType, Device, Tensor};

use crate::cache::{Caches, KvFormat, bytes_per_token};
use crate::checkpoint::Part;
use crate::config::{DecoderConfig, LinearAttentionConfig, MixerKind};
use crate::error::{Error, Result};
use crate::linear::Linear;
use crate::norm::RmsNorm;
use crate::rope::{Position, Positions};
use crate::weights::{Builder, LinearShape};
use block::{Block, rms_norm};
use mixer::Tapped;

/// The decoder: embedding table, blocks, final norm and output head.
#[derive(Debug)]
pub struct Decoder {
    config: DecoderConfig,
    device: Device,
    compute: DType,
    embeddings: Tensor,
    blocks: Vec<Block>,
    norm: RmsNorm,
    head: Linear,
}

/// The tokens of a run, as the blocks take them.
#[derive(Debug, Clone, Copy)]
pub struct Tokens<'a> {
    /// Hidden states (residual stream) of the tokens, `[n, d]`.
    pub hidden: &'a Tensor,
    /// Position ids of the tokens, with their `RoPE` tables.
    pub positions: &'a Positions,
    /// DeepStack features for the visual tokens among them; `None` if the model has none.
    pub deepstack: Option<&'a DeepStack>,
}

/// The result of running a range of blocks.
#[derive(Debug)]
pub struct RunOutput {
    /// The residual stream after the last block of the range, `[n, d]`, without the final norm.
    pub hidden: Tensor,
    /// The tapped queries and keys, in the order of the requests.
    pub taps: Vec<QkTap>,
}

impl Decoder {
    pub(crate) fn build(b: &mut Builder, config: &DecoderConfig) -> Result<Self> {
        let (width, vocab) = (config.hidden_size, config.vocab_size);
        let embeddings = b.stored(Part::Decoder, "embed_tokens.weight", &[vocab, width])?;
        let blocks = (0..config.blocks)
            .map(|index| Block::build(b, config, index))
            .collect::<Result<Vec<_>>>()?;
        let norm = rms_norm(b, config, "norm", width)?;
        let head = if config.tied_head && !b.source.contains(Part::Head, "lm_head.weight") {
            Linear::shared(embeddings.clone(), b.compute())
        } else {
            let shape = LinearShape { input: width, output: vocab, bias: false };
            b.linear(Part::Head, "lm_head", shape)?
        };
        Ok(Self {
            config: config.clone(),
            device: b.device.clone(),
            compute: b.compute(),
            embeddings,
            blocks,
            norm,
            head,
        })
    }

    /// The shape the decoder was built with: widths, heads, mixers and `RoPE`.
    pub fn config(&self) -> &DecoderConfig {
        &self.config
    }

    /// The number of blocks, the paper's L.
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// The device the weights are on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Number format of hidden states.
    pub fn dtype(&self) -> DType {
        self.compute
    }

    /// Bytes of all matrices, the embedding table included.
    pub fn bytes(&self) -> usize {
        let table = self.embeddings.elem_count() * self.embeddings.dtype().size_in_bytes();
        table + self.head.bytes() + self.blocks.iter().map(Block::bytes).sum::<usize>()
    }

    /// Whether a block (0-based) has attention that a [`Tap`] can observe; false for a block that
    /// does not exist.
    pub fn has_attention(&self, block: usize) -> bool {
        block < self.blocks.len() && self.config.mixer(block) == MixerKind::FullAttention
    }

    /// Bytes one token takes in the KV cache of one full-attention block, in the compute format.
    pub fn cache_bytes_per_token(&self) -> usize {
        self.cache_bytes_per_token_in(KvFormat::Compute)
    }

    /// [`Self::cache_bytes_per_token`] where keys and values are kept in a given format.
    pub fn cache_bytes_per_token_in(&self, format: KvFormat) -> usize {
        let dtype = format.dtype(self.compute);
        bytes_per_token(self.config.kv_heads, self.config.head_dim, dtype)
    }

    /// Bytes of the caches of a sequence that holds so many tokens in each block, recurrent states
    /// included: what caches take that were reserved for it ([`Caches::reserve`]), known before anything
    /// runs.
    pub fn kv_bytes(&self, tokens_per_block: &[usize], format: KvFormat) -> usize {
        let blocks = tokens_per_block.iter().enumerate();
        let attended = blocks.filter(|&(block, _)| self.has_attention(block));
        let tokens = attended.fold(0_usize, |sum, (_, &tokens)| sum.saturating_add(tokens));
        let bytes = tokens.saturating_mul(self.cache_bytes_per_token_in(format));
        bytes.saturating_add(self.state_bytes())
    }

    /// Bytes of all recurrent states, which do not grow with the number of tokens.
    pub fn state_bytes(&self) -> usize {
        let linear = (0..self.blocks.len()).filter(|&block| !self.has_attention(block)).count();
        let one = self.config.linear_attention.as_ref().map_or(0, LinearAttentionConfig::state);
        linear * one * size_of::<f32>()
    }

    /// Empty caches, one of the right kind for each block.
    pub fn new_caches(&self) -> Caches {
        self.new_caches_in(KvFormat::Compute)
    }

    /// [`Self::new_caches`] that keep keys and values in a given format.
    pub fn new_caches_in(&self, format: KvFormat) -> Caches {
        let kinds = (0..self.blocks.len()).map(|block| self.config.mixer(block));
        Caches::of_format(kinds, format)
    }

    /// Input embeddings of token ids, `[n, d]`.
    pub fn embed(&self, ids: &[u32]) -> Result<Tensor> {
        if ids.is_empty() {
            return Err(Error::input("token ids", "0 tokens, at least 1 is needed"));
        }
        let vocab = self.config.vocab_size;
        if let Some(id) = ids.iter().find(|&&id| id as usize >= vocab) {
            let message = format!("{id} is outside the vocabulary of {vocab}");
            return Err(Error::input("token ids", message));
        }
        let rows = self.embeddings.index_select(&Tensor::new(ids, &self.device)?, 0)?;
        Ok(rows.to_dtype(self.compute)?)
    }

    /// `RoPE` tables for one-dimensional position ids, one per token: text, or models with one axis.
    pub fn positions(&self, ids: &[u32]) -> Result<Positions> {
        self.positions_at(ids.iter().map(|&id| Position::text(id)).collect())
    }

    /// `RoPE` tables for explicit position ids, one per token.
    pub fn positions_at(&self, ids: Vec<Position>) -> Result<Positions> {
        Positions::new(self.config.rope, self.config.rotary_dim(), ids, &self.device)
    }

    /// Runs the blocks of `range` (0-based, end exclusive) on `hidden` `[n, d]`; all `n` tokens
    /// enter the cache of each. Tokens build on what their block's cache holds and on the tokens
    /// before them in `hidden`.
    pub fn run(
        &self,
        range: Range<usize>,
        hidden: &Tensor,
        positions: &Positions,
        caches: &mut Caches,
        taps: &[Tap],
    ) -> Result<RunOutput> {
        self.run_tokens(range, Tokens { hidden, positions, deepstack: None }, caches, taps)
    }

    /// [`Self::run`] with DeepStack features for the visual tokens.
    pub fn run_tokens(
        &self,
        range: Range<usize>,
        tokens: Tokens<'_>,
        caches: &mut Caches,
        taps: &[Tap],
    ) -> Result<RunOutput> {
        self.check(&range, tokens, caches)?;
        for tap in taps {
            tap.check(&range, tokens.positions.len())?;
            self.check_attention(tap.block)?;
        }
        let mut found: Vec<Option<QkTap>> = taps.iter().map(|_| None).collect();
        let mut hidden = tokens.hidden.to_dtype(self.compute)?.contiguous()?;
        for index in range {
            let earlier = caches.len(index);
            let (next, tapped) = self.blocks[index].forward(&hidden, tokens.positions, caches)?;
            if let (Some(earlier), Some(tapped)) = (earlier, tapped) {
                let here = |(tap, _): &(&Tap, _)| tap.block == index;
                for (tap, slot) in taps.iter().zip(&mut found).filter(here) {
                    *slot = Some(tap.take(&tapped, earlier, &self.device)?);
                }
            }
            hidden = match tokens.deepstack {
                Some(deepstack) => deepstack.add(index, next)?,
                None => next,
            };
        }
        Ok(RunOutput { hidden, taps: found.into_iter().flatten().collect() })
    }

    /// Queries and keys that a block would compute for these tokens, without running it: only its norm,
    /// projections and `RoPE`. Nothing enters a cache.
    pub fn peek(&self, peek: &Peek, tokens: Tokens<'_>, caches: &Caches) -> Result<QkTap> {
        let Peek { block, ref query_rows, rotary } = *peek;
        self.check(&(block..block + 1), tokens, caches)?;
        Tap { block, query_rows: query_rows.clone() }
            .check(&(block..block + 1), tokens.positions.len())?;
        self.check_attention(block)?;
        let hidden = tokens.hidden.to_dtype(self.compute)?.contiguous()?;
        let seen = self.blocks[block].peek(&hidden, tokens.positions, query_rows, rotary)?;
        let Some(Tapped { q, k }) = seen else {
            return Err(Error::input("peek", format!("block #{} has no attention", block + 1)));
        };
        // As the block's attention would read them, which is from the cache.
        let kept = |k: &Tensor| k.to_dtype(caches.format().dtype(self.compute));
        let k = if rotary { kept(&k)?.to_dtype(self.compute)? } else { k };
        let cached = if rotary { caches.get(block)? } else { None };
        let (earlier, k) = match cached {
            Some((keys, _)) => {
                (keys.dim(1)?, Tensor::cat(&[&keys.to_dtype(self.compute)?, &k], 1)?)
            }
            None => (0, k),
        };
        let query_index = query_rows.iter().map(|&row| earlier + row as usize).collect();
        Ok(QkTap { block, q, k, query_index, earlier })
    }

    /// Applies the final norm to rows of the residual stream.
    pub fn normed(&self, hidden: &Tensor) -> Result<Tensor> {
        self.norm.forward(hidden)
    }

    /// Runs the blocks from `start` to the last and returns the last token's output alone, `[1, d]`:
    /// what the next token's logits need. All tokens enter every cache, but the last block computes
    /// queries and MLP for one row, which saves most of that block. Agrees with [`Self::run`] up to
    /// rounding.
    pub fn run_to_last(
        &self,
        start: usize,
        hidden: &Tensor,
        positions: &Positions,
        caches: &mut Caches,
    ) -> Result<Tensor> {
        self.run_tokens_to_last(start, Tokens { hidden, positions, deepstack: None }, caches)
    }

    /// [`Self::run_to_last`] with DeepStack features for the visual tokens.
    pub fn run_tokens_to_last(
        &self,
        start: usize,
        tokens: Tokens<'_>,
        caches: &mut Caches,
    ) -> Result<Tensor> {
        let Some(last) = self.blocks.len().checked_sub(1).filter(|&last| start <= last) else {
            let message = format!("{start}, the decoder has {}", self.blocks.len());
            return Err(Error::input("first block", message));
        };
        self.check(&(start..last + 1), tokens, caches)?;
        let run = self.run_tokens(start..last, tokens, caches, &[])?;
        let row = self.blocks[last].forward_last(&run.hidden, tokens.positions, caches)?;
        match tokens.deepstack {
            Some(deepstack) => deepstack.add_last(last, row, tokens.positions.len()),
            None => Ok(row),
        }
    }

    /// Logits of rows of the residual stream (final norm and output head), `[m, vocab]` in f32.
    pub fn logits(&self, hidden: &Tensor) -> Result<Tensor> {
        let (_, width) = hidden.dims2()?;
        if width != self.config.hidden_size {
            let message = format!("{width} wide, expected {}", self.config.hidden_size);
            return Err(Error::input("hidden states", message));
        }
        Ok(self.head.forward(&self.norm.forward(hidden)?)?.to_dtype(DType::F32)?)
    }

    /// Refuses to observe attention in a block that has none.
    fn check_attention(&self, block: usize) -> Result<()> {
        if self.has_attention(block) {
            return Ok(());
        }
        let others = (0..self.blocks.len()).filter(|&block| self.has_attention(block));
        let others: Vec<String> = others.map(|block| format!("#{}", block + 1)).collect();
        let others = if others.is_empty() { "none".to_owned() } else { others.join(", ") };
        let number = block + 1;
        let message = format!("block #{number} has no attention to observe; blocks with: {others}");
        Err(Error::input("tap", message))
    }

    fn check(&self, range: &Range<usize>, tokens: Tokens<'_>, caches: &Caches) -> Result<()> {
        let count = tokens.positions.len();
        let blocks = self.blocks.len();
        if range.start > range.end || range.end > blocks {
            let message = format!("{}..{}, the decoder has {blocks}", range.start, range.end);
            return Err(Error::input("block range", message));
        }
        let width = self.config.hidden_size;
        crate::error::expect_dims("hidden states", tokens.hidden, &[count, width])?;
        if let Some(deepstack) = tokens.deepstack {
            deepstack.check(count, width)?;
        }
        self.check_caches(range, count, caches)
    }

    /// Refuses caches of another decoder, and those that `count` further tokens do not fit into.
    fn check_caches(&self, range: &Range<usize>, count: usize, caches: &Caches) -> Result<()> {
        let blocks = self.blocks.len();
        if caches.blocks() != blocks {
            let message = format!("{} blocks, the decoder has {blocks}", caches.blocks());
            return Err(Error::input("caches", message));
        }
        let other = |&block: &usize| caches.kind(block) != Some(self.config.mixer(block));
        if let Some(block) = range.clone().find(other) {
            let message = format!("block {block} keeps another kind of state than the decoder's");
            return Err(Error::input("caches", message));
        }
        if let Some(window) = self.config.sliding_window {
            let longest = range.clone().filter_map(|b| caches.len(b)).max().unwrap_or(0);
            let total = longest + count;
            if total > window {
                let message =
                    format!("{total} tokens, the model attends within a window of {window}");
                return Err(Error::input("sequence", message));
            }
        }
        Ok(())
    }
}
