//! One image through the vision side, in the order of its visual sequence.

use std::sync::Arc;

use candle_core::{DType, Tensor};
use mico_model::{Encoded, Grid, Model, Pixels, TowerRun, VisionTaps};
use mico_select::pruner::Stage1Plan;
use mico_vision::Processed;
use mico_vision::layout::VisualLayout;

use super::{gather, vision_taps};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::features::Features;
use crate::request::Observe;
use crate::sink::{Phase, Step};
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
#[derive(Debug)]
struct Order {
    rows: Vec<u32>,
    /// Rows the vision side gives.
    count: usize,
    /// Whether the sequence is those rows as they are.
    whole: bool,
}

/// What to observe of an image, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

    /// As a turn wants its images, whose plan selects by `plan` before the decoder.
    pub(crate) fn of_turn(
        engine: &Engine,
        switches: &Switches,
        plan: Option<&Stage1Plan>,
        observe: Observe,
    ) -> Self {
        let mut taps = plan.map_or_else(VisionTaps::default, vision_taps);
        taps.features |= observe.tensors;
        taps.attention.deep |= observe.tensors;
        let projects = engine.family.traits().projects_tokens && !observe.tensors;
        Self {
            keep_pixels: observe.tensors,
            unprojected: projects && plan.is_some_and(Stage1Plan::selects_unprojected),
            ..Self::new(engine, switches, taps)
        }
    }

    /// Whether what was encoded this way holds all that `wanted` asks for; pixels are nothing to ask for.
    pub(crate) fn covers(&self, wanted: &Self) -> bool {
        let (own, other) = (self.taps, wanted.taps);
        let pairs = [
            (own.features, other.features),
            (own.attention.deep, other.attention.deep),
            (own.attention.shallow, other.attention.shallow),
            (own.attention.keys, other.attention.keys),
            // Unprojected rows serve only those who project by themselves.
            (!self.unprojected, !wanted.unprojected),
        ];
        pairs.iter().all(|&(has, asks)| has || !asks)
    }
}

/// An image or video on its way through the tower.
#[derive(Debug)]
pub(crate) struct ImageRun {
    tower: TowerRun,
    layout: VisualLayout,
    order: Order,
    how: EncodeOptions,
    pixels: Option<Tensor>,
}

impl ImageRun {
    /// Hands the pixels to the tower, of which no block has run yet.
    pub(crate) fn begin(model: &Model, processed: Processed, how: EncodeOptions) -> Result<Self> {
        let Processed { pixels, shape, layout } = processed;
        let pixels = Pixels {
            values: Tensor::from_vec(pixels, shape, model.decoder().device())?,
            grids: grids(&layout),
        };
        let taps = VisionTaps { features: how.taps.features && !how.projected, ..how.taps };
        let kept_pixels = how.keep_pixels.then(|| pixels.values.clone());
        let order = Order::of(&layout, pixels.tokens());
        let tower = model.begin_encoding(pixels, taps)?;
        Ok(Self { tower, layout, order, how, pixels: kept_pixels })
    }

    /// Runs one block of the tower; `None` once all have run.
    pub(crate) fn advance(&mut self, seconds: &mut Seconds) -> Result<Option<Step>> {
        let total = self.tower.total();
        if self.tower.done() == total {
            return Ok(None);
        }
        timed(&mut seconds.vision, || self.tower.advance())?;
        Ok(Some(Step::new(Phase::Vision, self.tower.done(), total)))
    }

    /// Projects what the tower gave, and takes over what was observed.
    pub(crate) fn finish(self, model: &Model, seconds: &mut Seconds) -> Result<VisionOutput> {
        let Self { tower, layout, order, how, pixels } = self;
        let tower = timed(&mut seconds.vision, || tower.finish())?;
        let mut output = VisionOutput {
            layout: Arc::new(layout),
            pixels,
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
        timed(&mut seconds.stage1, || output.observe(&tower, &how, &order))?;
        Ok(output)
    }
}

impl VisionOutput {
    /// Bytes of everything it holds, the layout's few left out.
    pub(crate) fn bytes(&self) -> usize {
        let tensors = [&self.pixels, &self.embeds, &self.states].into_iter().flatten();
        let tensors = tensors.chain(&self.deepstack);
        let tensors: usize = tensors.map(|t| t.elem_count() * t.dtype().size_in_bytes()).sum();
        let rows = [&self.features, &self.keys].into_iter().flatten().map(Features::numbers);
        let numbers = [&self.reliability, &self.shallow].into_iter().flatten().map(Vec::len);
        tensors + size_of::<f32>() * rows.chain(numbers).sum::<usize>()
    }

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
