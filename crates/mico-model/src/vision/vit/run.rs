//! A run of the tower on a batch of views, block by block.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use candle_core::{Device, Tensor};

use super::super::block::{Mixing, Observe, Seen};
use super::super::{AttentionTaps, TowerBlocks};
use super::{VitOutput, VitTower};
use crate::error::{Error, Result};

/// Views that go through the blocks together: enough rows to keep a product busy, and memory for
/// the activations of so many views and no more.
const VIEWS_AT_ONCE: usize = 4;

/// The tower on its way through a batch of views, a few of them at a time.
#[derive(Debug)]
pub struct VitRun {
    tower: Arc<VitTower>,
    taps: AttentionTaps,
    views: usize,
    /// Pixels of the views whose turn is yet to come, a few together.
    waiting: VecDeque<Tensor>,
    current: Option<Batch>,
    /// Features of the views that are through, `[views, patches, d]` each.
    features: Vec<Tensor>,
    seen: Watched,
    done: usize,
}

/// The views that go through the blocks together.
#[derive(Debug)]
struct Batch {
    views: usize,
    /// Blocks they have been through.
    blocks: usize,
    /// Their tokens, `[views * tokens, d]`.
    hidden: Tensor,
}

/// What the views let see, patch by patch.
#[derive(Debug, Default)]
struct Watched {
    deep: Vec<f32>,
    shallow: Vec<f32>,
    keys: Vec<Tensor>,
}

impl VitTower {
    /// Begins to compute features of a batch of views `[views, 3, side, side]` of normalised pixels, and
    /// what `taps` asks for.
    pub fn begin(self: &Arc<Self>, pixels: &Tensor, taps: AttentionTaps) -> Result<VitRun> {
        let (views, channels, height, width) = pixels.dims4()?;
        let side = self.config.image_size;
        if views == 0 || channels != 3 || height != side || width != side {
            let message = format!("shape {:?}, expected [views, 3, {side}, {side}]", pixels.dims());
            return Err(Error::input("pixels", message));
        }
        if taps != AttentionTaps::default() && self.blocks.is_empty() {
            let message = "the selected layer is the embeddings, which no attention precedes";
            return Err(Error::input("reliability", message));
        }
        let starts = (0..views).step_by(VIEWS_AT_ONCE);
        let parts = starts.map(|start| pixels.narrow(0, start, VIEWS_AT_ONCE.min(views - start)));
        // Once the caller lets go of the pixels, the parts hold them, until the last is embedded.
        let waiting = parts.collect::<candle_core::Result<_>>()?;
        Ok(VitRun {
            tower: Arc::clone(self),
            taps,
            views,
            waiting,
            current: None,
            features: Vec::new(),
            seen: Watched::default(),
            done: 0,
        })
    }
}

impl TowerBlocks for VitRun {
    type Output = VitOutput;

    fn done(&self) -> usize {
        self.done
    }

    fn total(&self) -> usize {
        self.views * self.tower.blocks.len()
    }

    fn advance(&mut self) -> Result<()> {
        let mut batch = match self.current.take() {
            Some(batch) => batch,
            None => self.embed_next()?,
        };
        self.block(&mut batch)?;
        self.done += batch.views;
        if batch.blocks == self.tower.blocks.len() {
            self.features.push(self.patches(&batch, &batch.hidden)?);
        } else {
            self.current = Some(batch);
        }
        Ok(())
    }

    fn finish(mut self) -> Result<VitOutput> {
        // Only a tower without blocks leaves views that have not been embedded.
        while !self.waiting.is_empty() {
            let batch = self.embed_next()?;
            self.features.push(self.patches(&batch, &batch.hidden)?);
        }
        let (views, patches) = (self.views, self.tower.config.patches());
        let rows = |asked: bool, values: Vec<f32>| {
            asked.then(|| Tensor::from_vec(values, (views, patches), &Device::Cpu)).transpose()
        };
        let (taps, seen) = (self.taps, self.seen);
        let keys = taps.keys.then(|| Tensor::cat(&seen.keys, 0)).transpose()?;
        Ok(VitOutput {
            features: Tensor::cat(&self.features, 0)?,
            attention: rows(taps.deep, seen.deep)?,
            shallow: rows(taps.shallow, seen.shallow)?,
            keys,
        })
    }
}

impl VitRun {
    /// The next few views, embedded.
    fn embed_next(&mut self) -> Result<Batch> {
        let Some(pixels) = self.waiting.pop_front() else {
            return Err(Error::input("tower", "all views are through"));
        };
        Ok(Batch { views: pixels.dim(0)?, blocks: 0, hidden: self.tower.embed(&pixels)? })
    }

    /// Runs the batch's next block and observes what was asked for.
    fn block(&mut self, batch: &mut Batch) -> Result<()> {
        let (tower, taps, index) = (Arc::clone(&self.tower), self.taps, batch.blocks);
        let tokens = tower.config.tokens();
        let spans: Vec<Range<usize>> =
            (0..batch.views).map(|view| view * tokens..(view + 1) * tokens).collect();
        let last = index + 1 == tower.blocks.len();
        let early = taps.shallow && index == tower.shallow_block();
        let whose = if tower.class.is_some() { Observe::First } else { Observe::All };
        let observe = ((taps.deep && last) || early).then_some(whose);
        let mixing = Mixing { spans: &spans, rotary: None, observe, keys: taps.keys && last };
        let (next, found) = tower.blocks[index].forward(&batch.hidden, mixing)?;
        batch.hidden = next;
        batch.blocks += 1;
        self.watch(batch, found, early, last)
    }

    /// Takes over what a block let see.
    fn watch(&mut self, batch: &Batch, found: Seen, early: bool, last: bool) -> Result<()> {
        let (tokens, class) = (self.tower.config.tokens(), self.class_tokens());
        if let Some(attention) = found.attention {
            let views = attention.chunks_exact(tokens);
            let own: Vec<f32> = views.flat_map(|view| view[class..].iter().copied()).collect();
            if early {
                self.seen.shallow.extend(&own);
            }
            if self.taps.deep && last {
                self.seen.deep.extend(own);
            }
        }
        if let Some(keys) = found.keys {
            let keys = self.patches(batch, &keys)?.to_device(&Device::Cpu)?;
            self.seen.keys.push(keys);
        }
        Ok(())
    }

    fn class_tokens(&self) -> usize {
        usize::from(self.tower.class.is_some())
    }

    /// Rows of all tokens as `[views, patches, d]`, without those of the class tokens.
    fn patches(&self, batch: &Batch, rows: &Tensor) -> Result<Tensor> {
        let (tokens, class) = (self.tower.config.tokens(), self.class_tokens());
        let views = rows.reshape((batch.views, tokens, rows.dim(1)?))?;
        Ok(views.narrow(1, class, tokens - class)?.contiguous()?)
    }
}
