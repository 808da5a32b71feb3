//! One image through the vision side, in the order of its visual sequence.

use candle_core::{DType, Tensor};
use mico_model::{Grid, Model, Pixels, VisionTaps, Watch};
use mico_vision::Processed;
use mico_vision::layout::VisualLayout;

use super::gather;
use crate::error::{Error, Result};
use crate::pruner::Features;
use crate::trace::{Seconds, timed};

/// What the vision side gives for one image; rows in sequence order.
#[derive(Debug)]
pub(crate) struct SeenImage {
    pub(crate) layout: VisualLayout,
    /// Kept for dumps alone.
    pub(crate) pixels: Option<Tensor>,
    /// One embedding per visual token; `None` if only what stays is to be projected.
    pub(crate) embeds: Option<Tensor>,
    /// The tower's vectors in its stead.
    pub(crate) states: Option<Tensor>,
    /// What the first decoder blocks add, `[N0, d]` each.
    pub(crate) deepstack: Vec<Tensor>,
    pub(crate) features: Option<Features>,
    pub(crate) reliability: Option<Vec<f32>>,
    /// Attention of an early block.
    pub(crate) shallow: Option<Vec<f32>>,
    pub(crate) keys: Option<Features>,
}

/// Which rows of the vision side, group by group in raster order, make the sequence.
struct Order {
    rows: Vec<u32>,
    /// Rows the vision side gives.
    count: usize,
    /// Whether the sequence is those rows as they are.
    whole: bool,
}

/// What to observe of an image, and how.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seeing<'a> {
    pub(crate) taps: VisionTaps,
    /// For dumps alone.
    pub(crate) keep_pixels: bool,
    /// Features are the embeddings themselves.
    pub(crate) projected: bool,
    /// Leave the projection to whoever knows what stays, where the family's projector takes tokens one
    /// by one.
    pub(crate) unprojected: bool,
    /// Told how far the tower has come.
    pub(crate) watch: Watch<'a>,
}

/// Encodes and projects an image or video and observes what was asked for.
pub(crate) fn see(
    model: &Model,
    processed: Processed,
    how: &Seeing<'_>,
    seconds: &mut Seconds,
) -> Result<SeenImage> {
    let Processed { pixels, shape, layout } = processed;
    let pixels = Pixels {
        values: Tensor::from_vec(pixels, shape, model.decoder().device())?,
        grids: grids(&layout),
    };
    let taps = VisionTaps { features: how.taps.features && !how.projected, ..how.taps };
    let seen = timed(&mut seconds.vision, || model.encode_watched(&pixels, taps, how.watch))?;
    let kept_pixels = how.keep_pixels.then(|| pixels.values.clone());
    let order = Order::of(&layout, pixels.tokens());
    drop(pixels);
    let states = match (how.unprojected, seen.states.as_slice()) {
        (true, [rows]) => {
            order.check("tower output", rows)?;
            Some(order.arrange(rows, None)?)
        }
        _ => None,
    };
    let (mut embeds, mut deepstack) = (None, Vec::new());
    if states.is_none() {
        (embeds, deepstack) = timed(&mut seconds.projector, || {
            let embedded = model.embed(&seen)?;
            order.check("embeddings", &embedded.embeds)?;
            let embeds = order.arrange(&embedded.embeds, embedded.newline.as_ref())?;
            let deepstack = embedded.deepstack.iter().map(|layer| order.arrange(layer, None));
            Ok::<_, Error>((Some(embeds), deepstack.collect::<Result<Vec<_>>>()?))
        })?;
    }
    let mut found = SeenImage {
        layout,
        pixels: kept_pixels,
        embeds,
        states,
        deepstack,
        features: None,
        reliability: None,
        shallow: None,
        keys: None,
    };
    timed(&mut seconds.stage1, || {
        if let (true, true, Some(embeds)) = (how.taps.features, how.projected, &found.embeds) {
            found.features = Some(Features::from_tensor(embeds)?);
        }
        let rows = |what, rows: &Tensor| {
            order.check(what, rows)?;
            Features::from_tensor(&order.arrange(&rows.to_dtype(DType::F32)?, None)?)
        };
        let numbers = |what, values: &Tensor| {
            let column = values.to_dtype(DType::F32)?.unsqueeze(1)?;
            order.check(what, &column)?;
            Ok::<_, Error>(order.arrange(&column, None)?.flatten_all()?.to_vec1()?)
        };
        if let Some(features) = &seen.features {
            found.features = Some(rows("stage1.features", features)?);
        }
        if let Some(keys) = &seen.keys {
            found.keys = Some(rows("stage1.keys", keys)?);
        }
        if let Some(reliability) = &seen.reliability {
            found.reliability = Some(numbers("stage1.reliability", reliability)?);
        }
        if let Some(shallow) = &seen.shallow {
            found.shallow = Some(numbers("stage1.reliability_shallow", shallow)?);
        }
        Ok::<(), Error>(())
    })?;
    Ok(found)
}

/// The grids of a layout's groups, as the vision side takes them.
pub(crate) fn grids(layout: &VisualLayout) -> Vec<Grid> {
    let grid =
        |group: &mico_vision::layout::Group| Grid { rows: group.rows, columns: group.columns };
    layout.groups().iter().map(grid).collect()
}

impl Order {
    fn of(layout: &VisualLayout, count: usize) -> Self {
        let groups = layout.groups();
        let starts: Vec<usize> = groups
            .iter()
            .scan(0, |next, group| {
                let start = *next;
                *next += group.patches();
                Some(start)
            })
            .collect();
        // One past the last row stands for tokens that are no patch.
        let row = |token: &mico_vision::layout::VisualToken| {
            token.patch.map_or(count, |patch| starts[patch.group] + patch.local) as u32
        };
        let rows: Vec<u32> = layout.tokens().iter().map(row).collect();
        let whole = rows.len() == count && (0_u32..).zip(&rows).all(|(at, &row)| at == row);
        Self { rows, count, whole }
    }

    fn check(&self, what: &'static str, rows: &Tensor) -> Result<()> {
        let found = rows.dim(0)?;
        if found == self.count {
            return Ok(());
        }
        let accepted = format!("{}, as the preprocessing lays them out", self.count);
        Err(Error::range(what, format!("{found} rows"), accepted))
    }

    /// Rows `[count, d]` in sequence order; `inserted` (else zeros) for tokens that are no patch.
    fn arrange(&self, rows: &Tensor, inserted: Option<&Tensor>) -> Result<Tensor> {
        if self.whole {
            return Ok(rows.clone());
        }
        let extra = match inserted {
            Some(row) => row.unsqueeze(0)?.to_dtype(rows.dtype())?,
            None => Tensor::zeros((1, rows.dim(1)?), rows.dtype(), rows.device())?,
        };
        gather(&Tensor::cat(&[rows, &extra], 0)?, &self.rows)
    }
}
