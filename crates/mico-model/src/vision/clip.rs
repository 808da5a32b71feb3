//! The CLIP vision transformer, run exactly as far as the selected layer.

use candle_core::{DType, Device, Tensor};

use crate::attention::{AttentionInput, attention};
use crate::checkpoint::Part;
use crate::config::{Activation, ClipConfig};
use crate::error::{Error, Result};
use crate::linear::Linear;
use crate::norm::LayerNorm;
use crate::relevance::column_means;
use crate::weights::{Builder, LinearShape};

/// What the tower gives for a batch of views.
#[derive(Debug, Clone)]
pub struct ClipOutput {
    /// Features of the selected layer without the class token, `[views, patches, d]`: the raw
    /// residual stream, not normalised.
    pub features: Tensor,
    /// Softmax probabilities of the class token's row, mean over heads, patch columns only and not
    /// renormalised, `[views, patches]` in f32; present when asked for.
    pub cls_attention: Option<Tensor>,
}

/// The tower up to the selected layer.
#[derive(Debug)]
pub struct ClipTower {
    config: ClipConfig,
    device: Device,
    compute: DType,
    patch: Linear,
    class: Tensor,
    positions: Tensor,
    first_norm: LayerNorm,
    blocks: Vec<ClipBlock>,
}

#[derive(Debug)]
struct ClipBlock {
    heads: usize,
    activation: Activation,
    norm1: LayerNorm,
    q: Linear,
    k: Linear,
    v: Linear,
    output: Linear,
    norm2: LayerNorm,
    fc1: Linear,
    fc2: Linear,
}

impl ClipTower {
    /// Builds the embeddings and the first `blocks` blocks.
    pub(crate) fn build(b: &mut Builder, config: &ClipConfig, blocks: usize) -> Result<Self> {
        let (width, patch) = (config.hidden_size, config.patch_size);
        let kernel =
            b.tensor(Part::Vision, "embeddings.patch_embedding.weight", &[width, 3, patch, patch])?;
        let class = b.tensor(Part::Vision, "embeddings.class_embedding", &[width])?;
        let positions = b.tensor(
            Part::Vision,
            "embeddings.position_embedding.weight",
            &[config.patches() + 1, width],
        )?;
        let first_norm =
            b.layer_norm(Part::Vision, "pre_layrnorm", width, config.layer_norm_eps)?;
        let blocks = (0..blocks)
            .map(|index| ClipBlock::build(b, config, index))
            .collect::<Result<Vec<_>>>()?;
        Ok(Self {
            config: config.clone(),
            device: b.device.clone(),
            compute: b.compute(),
            patch: Linear::dense(kernel.reshape((width, 3 * patch * patch))?, None),
            class: class.reshape((1, 1, width))?,
            positions,
            first_norm,
            blocks,
        })
    }

    /// The tower's settings.
    pub fn config(&self) -> &ClipConfig {
        &self.config
    }

    /// Number of blocks that run.
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Features of a batch of views `[views, 3, side, side]` of normalised pixels, and with
    /// `observe` the class token's attention in the block whose output is selected.
    pub fn forward(&self, pixels: &Tensor, observe: bool) -> Result<ClipOutput> {
        let (views, channels, height, width) = pixels.dims4()?;
        let side = self.config.image_size;
        if views == 0 || channels != 3 || height != side || width != side {
            let message = format!("shape {:?}, expected [views, 3, {side}, {side}]", pixels.dims());
            return Err(Error::input("pixels", message));
        }
        if observe && self.blocks.is_empty() {
            let message = "the selected layer is the embeddings, which no attention precedes";
            return Err(Error::input("class attention", message));
        }
        let tokens = self.config.patches() + 1;
        let mut hidden = self.embed(pixels)?;
        let mut cls_attention = None;
        for (index, block) in self.blocks.iter().enumerate() {
            let tap = observe && index + 1 == self.blocks.len();
            let (next, row) = block.forward(&hidden, views, tap)?;
            hidden = next;
            cls_attention = row;
        }
        let features = hidden
            .reshape((views, tokens, self.config.hidden_size))?
            .narrow(1, 1, tokens - 1)?
            .contiguous()?;
        Ok(ClipOutput { features, cls_attention })
    }

    /// Patch, class and position embeddings behind the first norm, `[views * tokens, d]`.
    fn embed(&self, pixels: &Tensor) -> Result<Tensor> {
        let (views, _, _, _) = pixels.dims4()?;
        let (grid, patch, width) =
            (self.config.grid(), self.config.patch_size, self.config.hidden_size);
        let covered = grid * patch;
        let patches = pixels
            .to_device(&self.device)?
            .to_dtype(self.compute)?
            .narrow(2, 0, covered)?
            .narrow(3, 0, covered)?
            .reshape(&[views, 3, grid, patch, grid, patch][..])?
            .permute([0, 2, 4, 1, 3, 5])?
            .reshape((views * grid * grid, 3 * patch * patch))?;
        let patches = self.patch.forward(&patches)?.reshape((views, grid * grid, width))?;
        let class = self.class.broadcast_as((views, 1, width))?;
        let tokens = Tensor::cat(&[&class, &patches], 1)?.broadcast_add(&self.positions)?;
        self.first_norm.forward(&tokens.reshape((views * (grid * grid + 1), width))?)
    }
}

impl ClipBlock {
    fn build(b: &mut Builder, config: &ClipConfig, index: usize) -> Result<Self> {
        let (width, inner, eps) =
            (config.hidden_size, config.intermediate_size, config.layer_norm_eps);
        let name = |part: &str| format!("encoder.layers.{index}.{part}");
        let mut linear = |part: &str, input, output| {
            b.dense(Part::Vision, &name(part), LinearShape { input, output, bias: true })
        };
        let q = linear("self_attn.q_proj", width, width)?;
        let k = linear("self_attn.k_proj", width, width)?;
        let v = linear("self_attn.v_proj", width, width)?;
        let output = linear("self_attn.out_proj", width, width)?;
        let fc1 = linear("mlp.fc1", width, inner)?;
        let fc2 = linear("mlp.fc2", inner, width)?;
        let norm1 = b.layer_norm(Part::Vision, &name("layer_norm1"), width, eps)?;
        let norm2 = b.layer_norm(Part::Vision, &name("layer_norm2"), width, eps)?;
        let (heads, activation) = (config.heads, config.activation);
        Ok(Self { heads, activation, norm1, q, k, v, output, norm2, fc1, fc2 })
    }

    /// Runs the block on `[views * tokens, d]`; with `tap` also gives the class rows.
    fn forward(
        &self,
        hidden: &Tensor,
        views: usize,
        tap: bool,
    ) -> Result<(Tensor, Option<Tensor>)> {
        let x = self.norm1.forward(hidden)?;
        let (rows, width) = x.dims2()?;
        let tokens = rows / views;
        let split = |x: Tensor| {
            x.reshape((views, tokens, self.heads, width / self.heads))?
                .transpose(1, 2)?
                .contiguous()
        };
        let q = split(self.q.forward(&x)?)?;
        let k = split(self.k.forward(&x)?)?;
        let v = split(self.v.forward(&x)?)?;
        let mut mixed = Vec::with_capacity(views);
        let mut class_rows = Vec::new();
        for view in 0..views {
            let (q, k, v) = (q.get(view)?, k.get(view)?, v.get(view)?);
            mixed.push(attention(&AttentionInput { q: &q, k: &k, v: &v, causal: false })?);
            if tap {
                let row = column_means(&q.narrow(1, 0, 1)?, &k, &[tokens])?;
                class_rows.extend_from_slice(&row[1..]);
            }
        }
        let hidden = (hidden + self.output.forward(&Tensor::cat(&mixed, 0)?)?)?;
        let x = self.norm2.forward(&hidden)?;
        let x = self.fc1.forward_with(&x, Some(self.activation))?;
        let hidden = (hidden + self.fc2.forward(&x)?)?;
        let class_rows = tap
            .then(|| Tensor::from_vec(class_rows, (views, tokens - 1), &Device::Cpu))
            .transpose()?;
        Ok((hidden, class_rows))
    }
}
