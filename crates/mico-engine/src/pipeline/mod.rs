//! The two-stage pipeline: pixels to visual embeddings, Stage 1, decoder blocks, Stage 2, the rest.

mod blocks;
mod context;
mod live;
mod prefill;
mod question;
mod signals;
mod stage1;
mod stage2;
mod vision;

pub(crate) use blocks::Prefilled;
pub(crate) use context::{Turn, TurnContext};
pub use prefill::{Advance, Prefill, Ready};
pub use question::QuestionWords;
pub(crate) use signals::vision_taps;
pub(crate) use stage1::Stage1;
pub(crate) use vision::{EncodeOptions, ImageRun, VisionOutput, grids};

use candle_core::{Device, Tensor};
use mico_select::{Rows, Selection};

use crate::error::Result;
use crate::features::Features;

/// Rows of `[n, d]` in the given order.
fn gather(rows: &Tensor, index: &[u32]) -> Result<Tensor> {
    Ok(rows.index_select(&Tensor::new(index, rows.device())?, 0)?)
}

/// The rows of `[n, d]` that a selection leaves, merges carried out, in the order in which they stand
/// afterwards.
fn arrange(rows: &Tensor, selection: &Selection) -> Result<Tensor> {
    if selection.merges.is_empty() && selection.replaced.is_empty() {
        return filtered(rows, selection);
    }
    let features = Features::from_tensor(rows)?;
    let merged = selection.apply(&Rows::all(features.matrix()?));
    let place = |token: &usize| selection.kept.binary_search(token).ok();
    let order = selection.in_sequence().iter().filter_map(place);
    let values: Vec<f32> = order.flat_map(|row| merged.row(row).to_vec()).collect();
    let merged = Tensor::from_vec(values, (merged.rows(), merged.cols()), &Device::Cpu)?;
    Ok(merged.to_device(rows.device())?.to_dtype(rows.dtype())?)
}

/// The same with every token as it was: what is added to tokens later stays with those that are kept.
fn filtered(rows: &Tensor, selection: &Selection) -> Result<Tensor> {
    let index: Vec<u32> = selection.in_sequence().iter().map(|&row| row as u32).collect();
    gather(rows, &index)
}
