//! The vision transformers whose input has one size (CLIP, SigLIP, `InternViT`), run exactly as far
//! as the selected layer.

use std::ops::Range;

use candle_core::{DType, Device, Tensor};

use super::block::{
    BlockNames, BlockShape, Mixing, MlpNames, NormKind, Observe, QkvNames, VisionBlock,
};
use super::{AttentionTaps, TowerProgress};
use crate::checkpoint::Part;
use crate::config::{VitConfig, VitKind};
use crate::error::{Error, Result};
use crate::linear::Linear;
use crate::norm::LayerNorm;
use crate::weights::Builder;

/// Views that go through the blocks together: enough rows to keep a product busy, and memory for
/// the activations of so many views and no more.
pub(crate) const VIEWS_AT_ONCE: usize = 4;

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

/// What a few views let see, patch by patch.
#[derive(Default)]
struct Watched {
    deep: Vec<f32>,
    shallow: Vec<f32>,
    keys: Vec<Tensor>,
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

    /// Features of a batch of views `[views, 3, side, side]` of normalised pixels, and what `taps`
    /// asks for.
    pub fn forward(
        &self,
        pixels: Tensor,
        taps: AttentionTaps,
        mut progress: TowerProgress<'_>,
    ) -> Result<VitOutput> {
        let (views, channels, height, width) = pixels.dims4()?;
        let side = self.config.image_size;
        if views == 0 || channels != 3 || height != side || width != side {
            let message = format!("shape {:?}, expected [views, 3, {side}, {side}]", pixels.dims());
            return Err(Error::input("pixels", message));
        }
        if taps != AttentionTaps::default() && self.blocks.is_empty() {
            let message = "the selected layer is the embeddings, which no attention precedes";
            return Err(Error::input("reliability", message));
        }
        let starts = (0..views).step_by(VIEWS_AT_ONCE);
        let parts = starts.map(|start| pixels.narrow(0, start, VIEWS_AT_ONCE.min(views - start)));
        let parts = parts.collect::<candle_core::Result<Vec<_>>>()?;
        // The parts are all that holds the pixels now, so they are gone once the last is embedded.
        drop(pixels);
        let (mut features, mut seen, mut before) = (Vec::new(), Watched::default(), 0);
        for part in parts {
            let count = part.dim(0)?;
            let steps = |blocks: usize| before * self.blocks.len() + count * blocks;
            let mut tell = |done| progress.tell(steps(done), views * self.blocks.len());
            features.push(self.batch(part, taps, &mut seen, &mut tell)?);
            before += count;
        }
        let patches = self.config.patches();
        let rows = |asked: bool, values: Vec<f32>| {
            asked.then(|| Tensor::from_vec(values, (views, patches), &Device::Cpu)).transpose()
        };
        let keys = taps.keys.then(|| Tensor::cat(&seen.keys, 0)).transpose()?;
        Ok(VitOutput {
            features: Tensor::cat(&features, 0)?,
            attention: rows(taps.deep, seen.deep)?,
            shallow: rows(taps.shallow, seen.shallow)?,
            keys,
        })
    }

    /// A few views at once: `[views, patches, d]`; what is observed of their patches goes to `seen`.
    fn batch(
        &self,
        pixels: Tensor,
        taps: AttentionTaps,
        seen: &mut Watched,
        tell: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<Tensor> {
        let (views, tokens) = (pixels.dim(0)?, self.config.tokens());
        let class = usize::from(self.class.is_some());
        let spans: Vec<Range<usize>> =
            (0..views).map(|view| view * tokens..(view + 1) * tokens).collect();
        let whose = if class > 0 { Observe::First } else { Observe::All };
        let patches = |rows: &Tensor| {
            let width = rows.dim(1)?;
            let views = rows.reshape((views, tokens, width))?;
            Ok::<_, Error>(views.narrow(1, class, tokens - class)?.contiguous()?)
        };
        let mut hidden = self.embed(&pixels)?;
        drop(pixels);
        for (index, block) in self.blocks.iter().enumerate() {
            let last = index + 1 == self.blocks.len();
            let early = taps.shallow && index == self.shallow_block();
            let observe = ((taps.deep && last) || early).then_some(whose);
            let keys = taps.keys && last;
            let mixing = Mixing { spans: &spans, rotary: None, observe, keys };
            let (next, found) = block.forward(&hidden, mixing)?;
            hidden = next;
            if let Some(attention) = found.attention {
                let views = attention.chunks_exact(tokens);
                let own: Vec<f32> = views.flat_map(|view| view[class..].iter().copied()).collect();
                if early {
                    seen.shallow.extend(&own);
                }
                if taps.deep && last {
                    seen.deep.extend(own);
                }
            }
            if let Some(keys) = found.keys {
                seen.keys.push(patches(&keys)?.to_device(&Device::Cpu)?);
            }
            tell(index + 1)?;
        }
        patches(&hidden)
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
