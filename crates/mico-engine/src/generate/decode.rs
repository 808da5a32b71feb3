//! Steps of the decoder between two tokens of an answer.

use mico_model::{Decoder, StepRow};

use crate::error::{Error, Result};

/// One token of one sequence through all blocks, at each block's own position; the logits of the token
/// that follows.
pub(crate) fn step(decoder: &Decoder, row: &mut StepRow<'_>) -> Result<Vec<f32>> {
    let logits = decoder.step_many(std::slice::from_mut(row))?.squeeze(0)?;
    logits.to_vec1().map_err(Error::from)
}

/// One token of each of several sequences through all blocks; the logits that follow each.
///
/// **The one place where sequences meet.** Every row gets the bits of [`step`] alone. A joint step that
/// fails has changed no cache, so its rows then go one after the other: the failure stays with the
/// row that caused it.
pub(crate) fn step_many(decoder: &Decoder, rows: &mut [StepRow<'_>]) -> Vec<Result<Vec<f32>>> {
    if rows.is_empty() {
        return Vec::new();
    }
    match decoder.step_many(rows).and_then(|logits| Ok(logits.to_vec2()?)) {
        Ok(logits) => logits.into_iter().map(Ok).collect(),
        Err(_) => rows.iter_mut().map(|row| step(decoder, row)).collect(),
    }
}
