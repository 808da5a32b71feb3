//! Steps of the decoder between two tokens of an answer.

use candle_core::Tensor;
use mico_model::{Caches, Decoder};

use crate::error::{Error, Result};

/// A sequence's next token on its way through the decoder.
pub(crate) struct StepRow<'a> {
    pub(crate) id: u32,
    /// Its logical position in each block.
    pub(crate) positions: &'a [u32],
    /// The caches of its own sequence.
    pub(crate) caches: &'a mut Caches,
}

/// One token through all blocks, at each block's own position; the logits of the token that follows.
pub(crate) fn step(decoder: &Decoder, row: &mut StepRow<'_>) -> Result<Vec<f32>> {
    let mut hidden = decoder.embed(&[row.id])?;
    let mut from = 0;
    for together in row.positions.chunk_by(|a, b| a == b) {
        let end = from + together.len();
        let at = decoder.positions(&together[..1])?;
        hidden = decoder.run(from..end, &hidden, &at, row.caches, &[])?.hidden;
        from = end;
    }
    let logits: Tensor = decoder.logits(&hidden)?.squeeze(0)?;
    logits.to_vec1().map_err(Error::from)
}

/// One token of each of several sequences through all blocks; the logits that follow each.
///
/// **The one place where sequences meet.** Whatever runs them together must give every row the bits of
/// [`step`] alone, and one row's failure must stay its own. At present the rows go one after the other.
pub(crate) fn step_many(decoder: &Decoder, rows: &mut [StepRow<'_>]) -> Vec<Result<Vec<f32>>> {
    rows.iter_mut().map(|row| step(decoder, row)).collect()
}
