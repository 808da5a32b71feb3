//! The vision transformers whose input has one size (CLIP, SigLIP, `InternViT`), run exactly as far
//! as the selected layer.

mod run;

pub use run::VitRun;

use candle_core::{DType, Device, Tensor};

use super::block::{BlockNames, BlockShape, MlpNames, NormKind, QkvNames, VisionBlock};
use super::{Encoded, VisionTaps};
use crate::checkpoint::Part;
use crate::config::{VitConfig, VitKind};
use crate::error::Result;
use crate::linear::Linear;
use crate::norm::LayerNorm;
use crate::weights::Builder;

/// What the tower gives for a batch of views.
#[derive(Debug, Clone)]
pub struct VitOutput {
    /// Features of the selected layer without the class token, `[views, patches, d]`: the raw
    /// residual stream, not normalised.
    pub features: Tensor,
    /// The attention each patch receives in the block whose output is selected: softmax
    /// probabilities, mean over heads, not renormalised, `[views, patches]` in f32. From the class
    /// token where the tower has one, else the mean over all patches. Present when asked for.
    pub attention: Option<Tensor>,
    /// The same in an early block.
    pub shallow: Option<Tensor>,
    /// Keys of the block whose output is selected, mean over heads, `[views, patches, head width]`
    /// in f32. Present when asked for.
    pub keys: Option<Tensor>,
}

impl VitOutput {
    /// As a family gives it whose visual tokens are the patches of its views: rows of all views one after
    /// the other, and the features if `taps` asks for them.
    pub fn flattened(self, taps: VisionTaps) -> Result<Encoded> {
        let rows = self.features.flatten(0, 1)?;
        let flat = |views: Option<Tensor>| views.map(|views| views.flatten_all()).transpose();
        Ok(Encoded {
            features: taps.features.then(|| rows.clone()),
            reliability: flat(self.attention)?,
            shallow: flat(self.shallow)?,
            keys: self.keys.map(|views| views.flatten(0, 1)).transpose()?,
            states: vec![rows],
        })
    }
}

/// The tower up to the selected layer.
#[derive(Debug)]
pub struct VitTower {
    config: VitConfig,
    device: Device,
    compute: DType,
    patch: Linear,
    class: Option<Tensor>,
    positions: Tensor,
    first_norm: Option<LayerNorm>,
    blocks: Vec<VisionBlock>,
}

/// How a checkpoint names the tensors of a tower.
struct Names {
    patch: &'static str,
    class: Option<&'static str>,
    positions: &'static str,
    /// Leading dimensions of size 1 that the class token, and one fewer the positions, have.
    leading: usize,
    blocks: &'static str,
    block: BlockNames,
}

const CLIP: Names = Names {
    patch: "embeddings.patch_embedding",
    class: Some("embeddings.class_embedding"),
    positions: "embeddings.position_embedding.weight",
    leading: 0,
    blocks: "encoder.layers",
    block: BlockNames {
        norms: ["layer_norm1", "layer_norm2"],
        qkv: QkvNames::Split(["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"]),
        output: "self_attn.out_proj",
        mlp: MlpNames::Plain(["mlp.fc1", "mlp.fc2"]),
        scales: None,
    },
};

const SIGLIP: Names = Names { class: None, ..CLIP };

/// `InternViT` as the converted (`-hf`) checkpoints name it.
const INTERN: Names = Names {
    patch: "embeddings.patch_embeddings.projection",
    class: Some("embeddings.cls_token"),
    positions: "embeddings.position_embeddings",
    leading: 2,
    blocks: "encoder.layer",
    block: BlockNames {
        norms: ["layernorm_before", "layernorm_after"],
        qkv: QkvNames::Split(["attention.q_proj", "attention.k_proj", "attention.v_proj"]),
        output: "attention.projection_layer",
        mlp: MlpNames::Plain(["mlp.fc1", "mlp.fc2"]),
        scales: Some(["lambda_1", "lambda_2"]),
    },
};

/// `InternViT` as the original checkpoints name it.
const INTERN_ORIGINAL: Names = Names {
    patch: "embeddings.patch_embedding",
    class: Some("embeddings.class_embedding"),
    positions: "embeddings.position_embedding",
    leading: 2,
    blocks: "encoder.layers",
    block: BlockNames {
        norms: ["norm1", "norm2"],
        qkv: QkvNames::Fused("attn.qkv"),
        output: "attn.proj",
        mlp: MlpNames::Plain(["mlp.fc1", "mlp.fc2"]),
        scales: Some(["ls1", "ls2"]),
    },
};

impl VitTower {
    /// Builds the embeddings and the first `blocks` blocks.
    pub fn build(b: &mut Builder, config: &VitConfig, blocks: usize) -> Result<Self> {
        let (width, side, eps) = (config.hidden_size, config.patch_size, config.layer_norm_eps);
        let names = match config.kind {
            VitKind::Clip => &CLIP,
            VitKind::Siglip => &SIGLIP,
            VitKind::InternVit if b.source.contains(Part::Vision, "embeddings.class_embedding") => {
                &INTERN_ORIGINAL
            }
            VitKind::InternVit => &INTERN,
        };
        let kernel = format!("{}.weight", names.patch);
        let kernel = b.tensor(Part::Vision, &kernel, &[width, 3, side, side])?;
        let bias = match config.kind {
            VitKind::Clip => None,
            VitKind::Siglip | VitKind::InternVit => {
                Some(b.tensor(Part::Vision, &format!("{}.bias", names.patch), &[width])?)
            }
        };
        let shaped = |leading: usize, rest: &[usize]| [&[1, 1][..leading], rest].concat();
        let class = match names.class {
            Some(name) => Some(b.tensor(Part::Vision, name, &shaped(names.leading, &[width]))?),
            None => None,
        };
        let shape = shaped(names.leading.saturating_sub(1), &[config.tokens(), width]);
        let positions = b.tensor(Part::Vision, names.positions, &shape)?;
        let first_norm = match config.kind {
            VitKind::Clip => Some(b.layer_norm(Part::Vision, "pre_layrnorm", width, eps)?),
            VitKind::Siglip | VitKind::InternVit => None,
        };
        let shape = BlockShape {
            width,
            inner: config.intermediate_size,
            heads: config.heads,
            qkv_bias: config.qkv_bias,
            norm: NormKind::Layer,
            eps,
            activation: config.activation,
        };
        let block = |index: usize| {
            VisionBlock::build(b, &format!("{}.{index}", names.blocks), shape, names.block)
        };
        let blocks = (0..blocks).map(block).collect::<Result<Vec<_>>>()?;
        Ok(Self {
            config: config.clone(),
            device: b.device.clone(),
            compute: b.compute(),
            patch: Linear::dense(kernel.reshape((width, 3 * side * side))?, bias)?,
            class: class.map(|class| class.reshape((1, 1, width))).transpose()?,
            positions: positions.reshape((config.tokens(), width))?,
            first_norm,
            blocks,
        })
    }

    /// The shape the tower was built with: view size, patches, blocks and norms.
    pub fn config(&self) -> &VitConfig {
        &self.config
    }

    /// Number of blocks that run.
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// The block (0-based) whose attention counts as shallow: a quarter of the tower's depth, which
    /// is the sixth of CLIP's 24, and no later than the selected one.
    pub fn shallow_block(&self) -> usize {
        (self.config.blocks / 4).saturating_sub(1).min(self.blocks.len().saturating_sub(1))
    }

    /// Patch, class and position embeddings, `[views * tokens, d]`.
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
        let tokens = match &self.class {
            Some(class) => Tensor::cat(&[&class.broadcast_as((views, 1, width))?, &patches], 1)?,
            None => patches,
        };
        let tokens = tokens.broadcast_add(&self.positions)?;
        let tokens = tokens.reshape((views * self.config.tokens(), width))?;
        match &self.first_norm {
            Some(norm) => norm.forward(&tokens),
            None => Ok(tokens),
        }
    }
}
