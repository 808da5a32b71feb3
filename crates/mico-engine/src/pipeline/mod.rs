//! The two-stage pipeline: pixels to visual embeddings, Stage 1, decoder blocks, Stage 2, the rest.

mod prefill;
mod stage1;
mod stage2;
mod vision;

pub(crate) use prefill::{Prefilled, Turn, Watched, prefill};
pub(crate) use stage1::{Stage1, stage1};
pub(crate) use vision::{Seeing, SeenImage, see};

use candle_core::{Device, Tensor};
use mico_select::{Rows, Selection};

use crate::error::{Error, Result};
use crate::pruner::Features;

/// Rows of `[n, d]` in the given order.
fn gather(rows: &Tensor, index: &[u32]) -> Result<Tensor> {
    Ok(rows.index_select(&Tensor::new(index, rows.device())?, 0)?)
}

/// The rows of `[n, d]` that a selection leaves, merges carried out.
fn reduce(rows: &Tensor, selection: &Selection) -> Result<Tensor> {
    if selection.merges.is_empty() && selection.replaced.is_empty() {
        let index: Vec<u32> = selection.kept.iter().map(|&row| row as u32).collect();
        return gather(rows, &index);
    }
    let features = Features::from_tensor(rows)?;
    let merged = selection.apply(&Rows::all(features.matrix()?));
    let values: Vec<f32> = (0..merged.rows()).flat_map(|row| merged.row(row).to_vec()).collect();
    let merged = Tensor::from_vec(values, (merged.rows(), merged.cols()), &Device::Cpu)?;
    Ok(merged.to_device(rows.device())?.to_dtype(rows.dtype())?)
}

/// Holds a selection against what was agreed: ascending, in range, and of the right number.
fn check(pruner: &'static str, selection: &Selection, count: usize, of: usize) -> Result<()> {
    let kept = &selection.kept;
    let ascending = kept.windows(2).all(|pair| pair[0] < pair[1]);
    if kept.len() == count && ascending && kept.last().is_none_or(|&last| last < of) {
        return Ok(());
    }
    let message = format!(
        "kept {} of {of} tokens (ascending: {ascending}, last {:?}), the plan says {count}",
        kept.len(),
        kept.last()
    );
    Err(Error::Pruner { pruner, message })
}
