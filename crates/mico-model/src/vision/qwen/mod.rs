//! The vision transformers of the Qwen models, which take an image at its own resolution.
//!
//! Patches arrive in the order of the visual tokens they belong to, and leave in that order.
//! Qwen2.5-VL works in an order of windows in between.

mod run;

pub use run::QwenRun;

use std::ops::Range;

use candle_core::{DType, Device, Tensor};

use super::Grid;
use super::axial::{Place, places, rotary_tables, table_at};
use super::block::{BlockNames, BlockShape, MlpNames, NormKind, QkvNames, VisionBlock};
use super::windows::windows;
use crate::checkpoint::Part;
use crate::config::{QwenTowerKind, QwenVision};
use crate::error::Result;
use crate::linear::Linear;
use crate::weights::Builder;

/// Epsilon of the norms of all these towers and their mergers.
pub(crate) const NORM_EPS: f64 = 1e-6;

const WINDOWED: BlockNames = BlockNames {
    norms: ["norm1", "norm2"],
    qkv: QkvNames::Fused("attn.qkv"),
    output: "attn.proj",
    mlp: MlpNames::Gated(["mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"]),
    scales: None,
};

const POSITIONED: BlockNames =
    BlockNames { mlp: MlpNames::Plain(["mlp.linear_fc1", "mlp.linear_fc2"]), ..WINDOWED };

/// What the tower gives; rows are patches in the order of their visual tokens.
#[derive(Debug)]
pub struct QwenOutput {
    /// The last block's output `[patches, d]`.
    pub hidden: Tensor,
    /// Outputs of the blocks that are also added inside the decoder.
    pub deepstack: Vec<Tensor>,
    /// The attention each patch receives in the last block, mean over heads and queries; present
    /// when asked for.
    pub attention: Option<Vec<f32>>,
    /// The same in the first block whose attention spans an image.
    pub shallow: Option<Vec<f32>>,
    /// Keys of the last block before they are rotated, mean over heads, `[patches, head width]` in
    /// f32; present when asked for.
    pub keys: Option<Tensor>,
}

/// A Qwen vision transformer: patch embedding and blocks, without the merger behind them.
#[derive(Debug)]
pub struct QwenTower {
    config: QwenVision,
    device: Device,
    compute: DType,
    patch: Linear,
    /// Learned positions on a square, interpolated to an image's grid.
    table: Option<Tensor>,
    blocks: Vec<VisionBlock>,
}

/// How the blocks of one image see its patches.
#[derive(Debug)]
struct Order {
    /// Patch that stands at each place; `None`: as they came.
    patches: Option<Vec<u32>>,
    /// Place at which each patch stands, the inverse of that.
    back: Option<Vec<u32>>,
    /// Patches of a whole image.
    images: Vec<Range<usize>>,
    /// Patches of a window.
    windows: Vec<Range<usize>>,
}

impl Order {
    /// Rows in the order in which the patches came.
    fn restore(&self, rows: &Tensor) -> Result<Tensor> {
        rearranged(rows, self.back.as_deref())
    }

    /// Values of patches in the order in which the patches came.
    fn restore_values(&self, values: &mut Vec<f32>) {
        if let Some(back) = &self.back {
            *values = back.iter().map(|&place| values[place as usize]).collect();
        }
    }
}

impl QwenTower {
    /// Builds the tower out of a checkpoint's tensors.
    pub fn build(b: &mut Builder, config: &QwenVision) -> Result<Self> {
        let (width, side) = (config.hidden_size, config.patch_size);
        let kernel = [width, 3, config.frames, side, side];
        let kernel = b.tensor(Part::Vision, "patch_embed.proj.weight", &kernel)?;
        let kernel = kernel.reshape((width, config.patch_values()))?;
        let (bias, table, names, norm) = match &config.kind {
            QwenTowerKind::Windowed { .. } => (None, None, WINDOWED, NormKind::Rms),
            QwenTowerKind::Positioned { side, .. } => {
                let bias = b.tensor(Part::Vision, "patch_embed.proj.bias", &[width])?;
                let table = b.tensor(Part::Vision, "pos_embed.weight", &[side * side, width])?;
                (Some(bias), Some(table), POSITIONED, NormKind::Layer)
            }
        };
        let shape = BlockShape {
            width,
            inner: config.intermediate_size,
            heads: config.heads,
            qkv_bias: true,
            norm,
            eps: NORM_EPS,
            activation: config.activation,
        };
        let block = |index: usize| VisionBlock::build(b, &format!("blocks.{index}"), shape, names);
        let blocks = (0..config.blocks).map(block).collect::<Result<Vec<_>>>()?;
        Ok(Self {
            config: config.clone(),
            device: b.device.clone(),
            compute: b.compute(),
            patch: Linear::dense(kernel, bias)?,
            table,
            blocks,
        })
    }

    /// The shape the tower was built with: patches, blocks and attention windows.
    pub fn config(&self) -> &QwenVision {
        &self.config
    }

    /// Patch embeddings `[patches, d]`, with learned positions where the tower has them.
    fn embed(&self, values: Tensor, grids: &[Grid]) -> Result<Tensor> {
        let hidden =
            self.patch.forward(&values.to_device(&self.device)?.to_dtype(self.compute)?)?;
        // The pixels are large: they go before the table is read.
        drop(values);
        match (&self.table, &self.config.kind) {
            (Some(table), QwenTowerKind::Positioned { side, .. }) => {
                Ok((hidden + table_at(table, *side, grids, self.config.merge)?)?)
            }
            _ => Ok(hidden),
        }
    }

    /// Cosines and sines of every patch's row and column, in the order in which the blocks see them.
    fn rotary(&self, grids: &[Grid], order: &Order) -> Result<(Tensor, Tensor)> {
        let places: Vec<Place> =
            grids.iter().flat_map(|grid| places(*grid, self.config.merge)).collect();
        let places = match &order.patches {
            Some(patches) => patches.iter().map(|&patch| places[patch as usize]).collect(),
            None => places,
        };
        let head_width = self.config.hidden_size / self.config.heads;
        rotary_tables(&places, head_width, self.config.theta, &self.device)
    }

    /// The patches that attend to each other in a block: those of a window, or of an image.
    fn spans<'a>(&self, block: usize, order: &'a Order) -> &'a [Range<usize>] {
        match &self.config.kind {
            QwenTowerKind::Windowed { full, .. } if !full.contains(&block) => &order.windows,
            _ => &order.images,
        }
    }

    /// The block (0-based) whose attention counts as shallow: the first that spans an image where
    /// others do not, else the one at a quarter of the tower's depth.
    pub fn shallow_block(&self) -> usize {
        let quarter = (self.blocks.len() / 4).saturating_sub(1);
        match &self.config.kind {
            QwenTowerKind::Windowed { full, .. } => full.iter().min().copied().unwrap_or(quarter),
            QwenTowerKind::Positioned { .. } => quarter,
        }
    }

    /// Means over the queries of a window become means over those of its image, should the block be
    /// one with windows: the others give nothing.
    fn over_all_queries(&self, block: usize, attention: &mut [f32], order: &Order) {
        let QwenTowerKind::Windowed { full, .. } = &self.config.kind else { return };
        if full.contains(&block) {
            return;
        }
        for window in &order.windows {
            let image = order.images.iter().find(|image| image.contains(&window.start));
            let queries = image.map_or(window.len(), Range::len);
            let share = window.len() as f32 / queries as f32;
            attention[window.clone()].iter_mut().for_each(|value| *value *= share);
        }
    }

    fn order(&self, grids: &[Grid]) -> Order {
        let joined = self.config.joined();
        let mut images = Vec::with_capacity(grids.len());
        let (mut tokens, mut spans) = (Vec::new(), Vec::new());
        let mut first = 0;
        for grid in grids {
            images.push(first * joined..(first + grid.tokens()) * joined);
            if self.config.window() > 0 {
                for window in windows(*grid, self.config.window()) {
                    let start = tokens.len();
                    tokens.extend(window.into_iter().map(|token| first + token));
                    spans.push(start * joined..tokens.len() * joined);
                }
            }
            first += grid.tokens();
        }
        let patch = |token: usize| (0..joined).map(move |inner| (token * joined + inner) as u32);
        let patches: Option<Vec<u32>> =
            (!tokens.is_empty()).then(|| tokens.into_iter().flat_map(patch).collect());
        let back = patches.as_deref().map(inverse);
        Order { patches, back, images, windows: spans }
    }
}

/// Rows in the given order.
fn rearranged(rows: &Tensor, order: Option<&[u32]>) -> Result<Tensor> {
    match order {
        Some(order) => Ok(rows.index_select(&Tensor::new(order, rows.device())?, 0)?),
        None => Ok(rows.clone()),
    }
}

/// Where each row of an order came to stand.
fn inverse(order: &[u32]) -> Vec<u32> {
    let mut back = vec![0; order.len()];
    for (place, &row) in (0_u32..).zip(order) {
        back[row as usize] = place;
    }
    back
}
