//! One image through the vision side, in the order of its visual sequence.

use std::sync::Arc;

use candle_core::{DType, Tensor};
use mico_model::{Encoded, Grid, Model, Pixels, TowerProgress, VisionTaps};
use mico_vision::Processed;
use mico_vision::layout::VisualLayout;

use super::gather;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::features::Features;
use crate::sink::{Phase, Sink, Step};
use crate::switches::{InternFeature, Switches, VideoFeature};
use crate::trace::{Seconds, timed};

/// What the vision side gives for one image; rows in sequence order.
#[derive(Debug)]
pub(crate) struct VisionOutput {
    pub(crate) layout: Arc<VisualLayout>,
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
pub(crate) struct EncodeOptions {
    pub(crate) taps: VisionTaps,
    /// Keep the tower's input for a tensor dump; otherwise it is dropped as soon as it is embedded.
    pub(crate) keep_pixels: bool,
    /// Features are the embeddings themselves.
    pub(crate) projected: bool,
    /// Leave the projection to whoever knows what stays, where the family's projector takes tokens one
    /// by one.
    pub(crate) unprojected: bool,
}

impl EncodeOptions {
    /// How images are encoded under these switches when `taps` are asked for.
    pub(crate) fn new(engine: &Engine, switches: &Switches, taps: VisionTaps) -> Self {
        let joined = switches.intern_feature == InternFeature::Concat;
        let video = switches.video_stage1_feature == VideoFeature::Projected;
        Self {
            taps: VisionTaps { joined, ..taps },
            keep_pixels: false,
            projected: video && engine.takes_video(),
            unprojected: false,
        }
    }
}

/// Encodes and projects an image or video and observes what was asked for.
pub(crate) fn encode(
    model: &Model,
    processed: Processed,
    how: &EncodeOptions,
    seconds: &mut Seconds,
    sink: &mut dyn Sink,
) -> Result<VisionOutput> {
    let Processed { pixels, shape, layout } = processed;
    let pixels = Pixels {
        values: Tensor::from_vec(pixels, shape, model.decoder().device())?,
        grids: grids(&layout),
    };
    let taps = VisionTaps { features: how.taps.features && !how.projected, ..how.taps };
    let kept_pixels = how.keep_pixels.then(|| pixels.values.clone());
    let order = Order::of(&layout, pixels.tokens());
    let tower = timed(&mut seconds.vision, || {
        let mut tell = |done, total| sink.progress(Step::new(Phase::Vision, done, total));
        model.encode_with_progress(pixels, taps, TowerProgress::new(&mut tell))
    })?;
    let mut output = VisionOutput {
        layout: Arc::new(layout),
        pixels: kept_pixels,
        embeds: None,
        states: None,
        deepstack: Vec::new(),
        features: None,
        reliability: None,
        shallow: None,
        keys: None,
    };
    if let (true, [rows]) = (how.unprojected, tower.states.as_slice()) {
        order.check("tower output", rows)?;
        output.states = Some(order.arrange(rows, None)?);
    } else {
        timed(&mut seconds.projector, || output.embed(model, &tower, &order))?;
    }
    timed(&mut seconds.stage1, || output.observe(&tower, how, &order))?;
    Ok(output)
}

impl VisionOutput {
    /// The embeddings of an image that is projected as a whole.
    pub(super) fn embeddings(&self) -> Result<&Tensor> {
        self.embeds.as_ref().ok_or_else(|| Error::internal("an image was not projected as a whole"))
    }

    /// Projects the tower's output into the decoder's space.
    fn embed(&mut self, model: &Model, tower: &Encoded, order: &Order) -> Result<()> {
        let embedded = model.embed(tower)?;
        order.check("embeddings", &embedded.embeds)?;
        self.embeds = Some(order.arrange(&embedded.embeds, embedded.newline.as_ref())?);
        let deepstack = embedded.deepstack.iter().map(|layer| order.arrange(layer, None));
        self.deepstack = deepstack.collect::<Result<_>>()?;
        Ok(())
    }

    /// Takes over the signals that were observed, in sequence order.
    fn observe(&mut self, tower: &Encoded, how: &EncodeOptions, order: &Order) -> Result<()> {
        if let (true, true, Some(embeds)) = (how.taps.features, how.projected, &self.embeds) {
            self.features = Some(Features::from_tensor(embeds)?);
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
        if let Some(features) = &tower.features {
            self.features = Some(rows("stage1.features", features)?);
        }
        if let Some(keys) = &tower.keys {
            self.keys = Some(rows("stage1.keys", keys)?);
        }
        if let Some(reliability) = &tower.reliability {
            self.reliability = Some(numbers("stage1.reliability", reliability)?);
        }
        if let Some(shallow) = &tower.shallow {
            self.shallow = Some(numbers("stage1.reliability_shallow", shallow)?);
        }
        Ok(())
    }
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
        let expected = self.count;
        Err(Error::internal(format!(
            "{what}: {found} rows, the preprocessing lays out {expected} visual tokens"
        )))
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
