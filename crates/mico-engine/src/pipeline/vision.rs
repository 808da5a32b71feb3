//! One image through tower and projector, in the order of its visual sequence.

use candle_core::{DType, Tensor};
use mico_model::{Model, VisionTaps};
use mico_vision::Processed;
use mico_vision::layout::VisualLayout;

use super::gather;
use crate::error::{Error, Result};
use crate::pruner::{Features, Stage1Signals};
use crate::trace::{Seconds, timed};

/// What the vision side gives for one image; rows in sequence order.
#[derive(Debug)]
pub(crate) struct SeenImage {
    pub(crate) layout: VisualLayout,
    pub(crate) pixels: Tensor,
    pub(crate) embeds: Tensor,
    pub(crate) features: Option<Features>,
    pub(crate) reliability: Option<Vec<f32>>,
}

/// Encodes and projects an image and observes what `signals` asks for.
pub(crate) fn see(
    model: &Model,
    processed: Processed,
    signals: Stage1Signals,
    seconds: &mut Seconds,
) -> Result<SeenImage> {
    let Processed { pixels, views, height, width, layout } = processed;
    let device = model.decoder().device();
    let pixels = Tensor::from_vec(pixels, (views, 3, height, width), device)?;
    let taps = VisionTaps { cls_attention: signals.reliability };
    let seen = timed(&mut seconds.vision, || model.encode_images(&pixels, taps))?;
    let (_, patches, _) = seen.features.dims3()?;
    let expected = layout.groups().first().map_or(0, mico_vision::layout::Group::patches);
    if patches != expected {
        let accepted = format!("{expected}, as the preprocessing lays them out");
        return Err(Error::range("patches per view", patches, accepted));
    }
    let order = order(&layout, views * patches, patches);
    let embeds = timed(&mut seconds.projector, || {
        let projected = model.project(&seen.features)?.flatten(0, 1)?;
        let rows = match model.image_newline() {
            Some(newline) => {
                let newline = newline.unsqueeze(0)?.to_dtype(projected.dtype())?;
                Tensor::cat(&[&projected, &newline], 0)?
            }
            None => projected,
        };
        gather(&rows, &order)
    })?;
    let mut found = SeenImage { layout, pixels, embeds, features: None, reliability: None };
    timed(&mut seconds.stage1, || {
        if signals.features {
            let rows = with_zero_row(&seen.features.flatten(0, 1)?)?;
            found.features = Some(Features::from_tensor(&gather(&rows, &order)?)?);
        }
        if let Some(attention) = &seen.cls_attention {
            let rows = with_zero_row(&attention.flatten_all()?.unsqueeze(1)?)?;
            found.reliability = Some(gather(&rows, &order)?.flatten_all()?.to_vec1()?);
        }
        Ok::<(), Error>(())
    })?;
    Ok(found)
}

/// The row of each visual token among the views' patches; `inserted` for one that is no patch.
fn order(layout: &VisualLayout, inserted: usize, patches: usize) -> Vec<u32> {
    let row = |token: &mico_vision::layout::VisualToken| {
        token.patch.map_or(inserted, |patch| patch.group * patches + patch.local) as u32
    };
    layout.tokens().iter().map(row).collect()
}

/// Tokens that are no patch have no features: zeros stand for them.
fn with_zero_row(rows: &Tensor) -> Result<Tensor> {
    let rows = rows.to_dtype(DType::F32)?;
    let zero = Tensor::zeros((1, rows.dim(1)?), DType::F32, rows.device())?;
    Ok(Tensor::cat(&[&rows, &zero], 0)?)
}
