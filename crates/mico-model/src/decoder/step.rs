//! Decode steps of several sequences at once. Open this to change how their rows share a step.
//!
//! Embedding, norms and linear layers see one row of every sequence, so a weight is read once for all of
//! them; attention and recurrent states are each sequence's own. A sequence's logits and caches have the
//! same bits whoever steps with it.

use candle_core::{DType, Tensor};

use super::Decoder;
use crate::cache::Caches;
use crate::error::{Error, Result};
use crate::linear::Batch;
use crate::rope::Positions;

/// The next token of one sequence.
#[derive(Debug)]
pub struct StepRow<'a> {
    /// The token's id.
    pub id: u32,
    /// The token's logical position in each block.
    pub positions: &'a [u32],
    /// The sequence's caches, which the token enters.
    pub caches: &'a mut Caches,
}

impl Decoder {
    /// Runs one token of each of several sequences through all blocks and returns the logits that follow,
    /// `[n, vocab]` in f32.
    ///
    /// On the CPU a row's logits and caches have, to the bit, what a step of that sequence alone gives,
    /// in every number format and for any number of rows and threads. A refused or failed call leaves all
    /// caches as they were.
    pub fn step_many(&self, rows: &mut [StepRow<'_>]) -> Result<Tensor> {
        let ids: Vec<u32> = rows.iter().map(|row| row.id).collect();
        let hidden = self.embed(&ids)?;
        for (index, row) in rows.iter().enumerate() {
            self.check_step(index, row)?;
        }
        let positions: Vec<&[u32]> = rows.iter().map(|row| row.positions).collect();
        let mut caches: Vec<&mut Caches> = rows.iter_mut().map(|row| &mut *row.caches).collect();
        let marks: Vec<_> = caches.iter().map(|caches| caches.mark()).collect();
        let done = self.step_blocks(hidden, &positions, &mut caches);
        if done.is_err() {
            for (caches, mark) in caches.iter_mut().zip(marks) {
                caches.restore(mark)?;
            }
        }
        done
    }

    fn step_blocks(
        &self,
        mut hidden: Tensor,
        positions: &[&[u32]],
        caches: &mut [&mut Caches],
    ) -> Result<Tensor> {
        let mut tables = StepTables::new(self, positions)?;
        for (index, block) in self.blocks.iter().enumerate() {
            hidden = block.step(&hidden, tables.at(index)?, caches)?;
        }
        let normed = self.norm.forward(&hidden)?;
        Ok(self.head.forward_in(Batch::Independent, &normed)?.to_dtype(DType::F32)?)
    }

    /// Refuses a row that could not be stepped, before any cache is touched.
    fn check_step(&self, index: usize, row: &StepRow<'_>) -> Result<()> {
        let blocks = self.blocks.len();
        if row.positions.len() != blocks {
            let found = row.positions.len();
            let message = format!("positions in {found} blocks, the decoder has {blocks}");
            return Err(Error::input("step", format!("row {index}: {message}")));
        }
        self.check_caches(&(0..blocks), 1, row.caches).map_err(|error| match error {
            Error::Input { what, message } => {
                Error::input("step", format!("row {index}: {what}: {message}"))
            }
            other => other,
        })
    }
}

/// The `RoPE` tables of a step's rows, made anew only where a row stands elsewhere than in the block
/// before.
struct StepTables<'a> {
    decoder: &'a Decoder,
    positions: &'a [&'a [u32]],
    /// The tables in use, and the block they were made for.
    present: (usize, Positions),
}

impl<'a> StepTables<'a> {
    fn new(decoder: &'a Decoder, positions: &'a [&'a [u32]]) -> Result<Self> {
        let present = (0, Self::make(decoder, positions, 0)?);
        Ok(Self { decoder, positions, present })
    }

    /// The tables for a block.
    fn at(&mut self, block: usize) -> Result<&Positions> {
        let made = self.present.0;
        let moved = |row: &&[u32]| row[block] != row[made];
        if self.decoder.has_attention(block) && self.positions.iter().any(moved) {
            self.present = (block, Self::make(self.decoder, self.positions, block)?);
        }
        Ok(&self.present.1)
    }

    fn make(decoder: &Decoder, positions: &[&[u32]], block: usize) -> Result<Positions> {
        let ids: Vec<u32> = positions.iter().filter_map(|row| row.get(block).copied()).collect();
        decoder.positions(&ids)
    }
}
