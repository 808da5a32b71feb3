//! A run of the tower on one image, block by block.

use std::sync::Arc;

use candle_core::Tensor;

use super::super::block::{Mixing, Observe};
use super::super::{AttentionTaps, Pixels, TowerBlocks};
use super::{Order, QwenOutput, QwenTower, rearranged};
use crate::error::{Error, Result};

/// The tower on its way through the patches of an image, all of them at a time.
#[derive(Debug)]
pub struct QwenRun {
    tower: Arc<QwenTower>,
    taps: AttentionTaps,
    order: Order,
    /// Cosines and sines of every patch's row and column.
    rotary: (Tensor, Tensor),
    state: State,
    /// Blocks that have run.
    done: usize,
    seen: Observations,
}

/// The patches before the first block and after it.
#[derive(Debug)]
enum State {
    Pixels(Pixels),
    Hidden(Tensor),
    /// A block failed.
    Lost,
}

/// What the blocks have shown so far, as [`QwenOutput`] holds it.
#[derive(Debug, Default)]
struct Observations {
    deepstack: Vec<Tensor>,
    attention: Option<Vec<f32>>,
    shallow: Option<Vec<f32>>,
    keys: Option<Tensor>,
}

impl QwenTower {
    /// Begins to run the tower on patches `[patches, values]`, each grid by itself.
    pub fn begin(self: &Arc<Self>, pixels: Pixels, taps: AttentionTaps) -> Result<QwenRun> {
        let expected = [pixels.tokens() * self.config.joined(), self.config.patch_values()];
        if pixels.grids.is_empty() || pixels.values.dims() != expected {
            let message = format!("shape {:?}, expected {expected:?}", pixels.values.dims());
            return Err(Error::input("pixels", message));
        }
        let order = self.order(&pixels.grids);
        let rotary = self.rotary(&pixels.grids, &order)?;
        Ok(QwenRun {
            tower: Arc::clone(self),
            taps,
            order,
            rotary,
            state: State::Pixels(pixels),
            done: 0,
            seen: Observations::default(),
        })
    }
}

impl TowerBlocks for QwenRun {
    type Output = QwenOutput;

    fn done(&self) -> usize {
        self.done
    }

    fn total(&self) -> usize {
        self.tower.blocks.len()
    }

    fn advance(&mut self) -> Result<()> {
        let hidden = self.hidden()?;
        self.state = State::Hidden(self.block(&hidden)?);
        self.done += 1;
        Ok(())
    }

    fn finish(mut self) -> Result<QwenOutput> {
        let hidden = self.hidden()?;
        let Observations { deepstack, attention, shallow, keys } = self.seen;
        Ok(QwenOutput { hidden: self.order.restore(&hidden)?, deepstack, attention, shallow, keys })
    }
}

impl QwenRun {
    /// The patches' hidden states, taken out; embedded if they are pixels still.
    fn hidden(&mut self) -> Result<Tensor> {
        match std::mem::replace(&mut self.state, State::Lost) {
            State::Hidden(hidden) => Ok(hidden),
            State::Pixels(Pixels { values, grids }) => {
                let hidden = self.tower.embed(values, &grids)?;
                rearranged(&hidden, self.order.patches.as_deref())
            }
            State::Lost => Err(Error::input("tower", "its run failed before")),
        }
    }

    /// Runs the next block and observes what was asked for.
    fn block(&mut self, hidden: &Tensor) -> Result<Tensor> {
        let (tower, taps, index) = (&self.tower, self.taps, self.done);
        let last = index + 1 == tower.blocks.len();
        let early = taps.shallow && index == tower.shallow_block();
        let mixing = Mixing {
            spans: tower.spans(index, &self.order),
            rotary: Some((&self.rotary.0, &self.rotary.1)),
            observe: ((taps.deep && last) || early).then_some(Observe::All),
            keys: taps.keys && last,
        };
        let (hidden, mut observed) = tower.blocks[index].forward(hidden, mixing)?;
        if let Some(values) = &mut observed.attention {
            tower.over_all_queries(index, values, &self.order);
            self.order.restore_values(values);
        }
        if early {
            self.seen.shallow.clone_from(&observed.attention);
        }
        if last && taps.deep {
            self.seen.attention = observed.attention;
        }
        if let Some(keys) = &observed.keys {
            self.seen.keys = Some(self.order.restore(keys)?);
        }
        if tower.config.deepstack().contains(&index) {
            self.seen.deepstack.push(self.order.restore(&hidden)?);
        }
        Ok(hidden)
    }
}
