//! InternVL3: an `InternViT` tower, patches shuffled into channels, a projector behind a norm.

use std::path::Path;
use std::sync::Arc;

use candle_core::Tensor;

use super::qwen::qwen2_7b;
use super::{
    Architecture, Family, Traits, VisionSide, check_views, patch_means, single_state, token_means,
};
use crate::checkpoint::Part;
use crate::config::{
    Activation, Check, DecoderConfig, DecoderKinds, Fields, INTERN_VIT_300M, ModelConfig,
    ProjectorConfig, VisionConfig, VisionSettings, VitConfig, VitKind, bos, dtype, eos,
    read_decoder, read_vit,
};
use crate::error::Result;
use crate::norm::LayerNorm;
use crate::presets::Preset;
use crate::projector::Projector;
use crate::vision::flops::{VisionFlops, two_layer_flops, vit_flops};
use crate::vision::vit::{VitOutput, VitTower};
use crate::vision::{Embedded, Encoded, Grid, Pixels, TowerRun, VisionTaps};
use crate::weights::Builder;

/// The id of `<IMG_CONTEXT>` in the published vocabularies. Original files do not state it; there a
/// tokenizer's word counts.
const IMAGE_TOKEN: u32 = 151_667;
/// The id of `<|im_end|>`, which ends an answer, in the published vocabularies.
const EOS: u32 = 151_645;
/// What InternVL's models decode with: Qwen2 in version 3, Qwen3 in later ones.
const DECODERS: DecoderKinds = &["qwen2", "qwen3", "llama"];
/// Patches a visual token joins along each side.
const SHUFFLE: usize = 2;
/// Epsilon of the projector's norm.
const NORM_EPS: f64 = 1e-5;

/// InternVL3: tiles and a thumbnail per image.
pub static INTERNVL: Architecture = Architecture {
    name: "internvl",
    model_types: &["internvl", "internvl_chat"],
    claims: |_| true,
    read,
    build: |b, config| Ok(Box::new(InternVl::build(b, config)?)),
    traits: Traits::NONE,
    presets: &[Preset::published("internvl3-8b", "OpenGVLab/InternVL3-8B-hf", 4, internvl3_8b)],
};

fn internvl3_8b() -> ModelConfig {
    ModelConfig {
        family: Family::of(&INTERNVL),
        vision: VisionConfig::new(InternVision {
            tower: INTERN_VIT_300M,
            shuffle: SHUFFLE,
            activation: Activation::Gelu,
            tiles: InternTiles::default(),
        }),
        decoder: DecoderConfig { vocab_size: 151_674, ..qwen2_7b() },
        image_token_id: IMAGE_TOKEN,
        eos_token_ids: vec![EOS],
        bos_token_id: None,
        dtype: None,
    }
}

/// The vision side of InternVL3: tiles of one size, patches shuffled into channels.
#[derive(Debug, Clone, PartialEq)]
pub struct InternVision {
    /// InternViT, run on each tile by itself.
    pub tower: VitConfig,
    /// Patches a visual token joins along each side.
    pub shuffle: usize,
    /// The non-linearity between the projector's two matrices.
    pub activation: Activation,
    /// What the file says about tiles.
    pub tiles: InternTiles,
}

/// What a model's file says about the tiles of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InternTiles {
    /// Fewest tiles, where the file says.
    pub min: Option<usize>,
    /// Most tiles, where the file says.
    pub max: Option<usize>,
    /// Whether the whole image follows its tiles once more.
    pub thumbnail: bool,
}

impl Default for InternTiles {
    fn default() -> Self {
        Self { min: None, max: None, thumbnail: true }
    }
}

impl InternVision {
    /// Visual tokens along the side of a tile.
    pub fn side(&self) -> usize {
        self.tower.grid() / self.shuffle.max(1)
    }

    /// Width of the patches of a visual token side by side, which is what the projector takes.
    fn joined_width(&self) -> usize {
        self.tower.hidden_size * self.shuffle.pow(2)
    }
}

impl VisionSettings for InternVision {
    fn feature_width(&self) -> usize {
        self.tower.hidden_size
    }

    fn head_width(&self) -> usize {
        self.tower.head_dim()
    }

    fn tower(&self) -> Option<&VitConfig> {
        Some(&self.tower)
    }

    fn tokens_per_view(&self) -> Option<usize> {
        Some(self.side().pow(2))
    }

    fn blocks(&self) -> Result<usize> {
        Ok(self.tower.blocks)
    }

    fn validate(&self, file: &str) -> Result<()> {
        self.tower.validate(file)?;
        let check = Check { file, part: "vision_config" };
        let grid = self.tower.grid();
        check.range("downsample_ratio", self.shuffle, grid.max(1))?;
        check.divides("1 / downsample_ratio", self.shuffle, "patches per side", grid)
    }

    fn flops(&self, grids: &[Grid], width: usize) -> Result<VisionFlops> {
        let tokens = grids.len() * self.side().pow(2);
        Ok(VisionFlops {
            encoder: grids.len() as f64 * vit_flops(&self.tower, self.tower.blocks),
            projector: two_layer_flops(tokens, self.joined_width(), width),
            pooling: 0.0,
        })
    }
}

/// Reads the settings of a model folder.
fn read(_folder: &Path, root: &Fields) -> Result<ModelConfig> {
    if root.text("model_type")? == Some("internvl_chat") { original(root) } else { converted(root) }
}

/// A file with `text_config` and `vision_config`.
fn converted(root: &Fields) -> Result<ModelConfig> {
    root.only("vision_feature_select_strategy", "default")?;
    last_layer(root, "vision_feature_layer")?;
    let vision = match root.object("vision_config")? {
        Some(fields) => {
            fields.must("use_qk_norm", false)?;
            fields.must("use_mean_pooling", true)?;
            fields.must("use_absolute_position_embeddings", true)?;
            fields.only("norm_type", "layer_norm")?;
            let qkv_bias = fields.flag("attention_bias")?.unwrap_or(false);
            VitConfig { qkv_bias, ..read_vit(&fields, VitKind::InternVit)? }
        }
        None => INTERN_VIT_300M,
    };
    let activation = root.activation("projector_hidden_act")?.unwrap_or(Activation::Gelu);
    let text = root.part("text_config")?;
    model(root, &text, vision, activation, InternTiles::default())
}

/// A file of the original code base: `llm_config`, `vision_config`, and tiling at the root.
fn original(root: &Fields) -> Result<ModelConfig> {
    root.only("ps_version", "v2")?;
    root.must("pad2square", false)?;
    last_layer(root, "select_layer")?;
    let fields = root.part("vision_config")?;
    fields.must("qk_normalization", false)?;
    fields.only("norm_type", "layer_norm")?;
    let mut vision = read_vit(&fields, VitKind::InternVit)?;
    vision.qkv_bias = fields.flag("qkv_bias")?.unwrap_or(vision.qkv_bias);
    vision.image_size = root.usize("force_image_size")?.unwrap_or(vision.image_size);
    let dynamic = root.flag("dynamic_image_size")?.unwrap_or(true);
    let tiles = InternTiles {
        min: root.usize("min_dynamic_patch")?,
        max: if dynamic { root.usize("max_dynamic_patch")? } else { Some(1) },
        thumbnail: root.flag("use_thumbnail")?.unwrap_or(true),
    };
    let text = root.part("llm_config")?;
    model(root, &text, vision, Activation::Gelu, tiles)
}

fn model(
    root: &Fields,
    text: &Fields,
    tower: VitConfig,
    activation: Activation,
    tiles: InternTiles,
) -> Result<ModelConfig> {
    let mut image_token = None;
    for key in ["image_token_id", "image_token_index", "img_context_token_id"] {
        image_token = image_token.or(root.token(key)?);
    }
    Ok(ModelConfig {
        family: Family::of(&INTERNVL),
        vision: VisionConfig::new(InternVision {
            tower,
            shuffle: shuffle(root)?,
            activation,
            tiles,
        }),
        decoder: read_decoder(text, root.flag("tie_word_embeddings")?, DECODERS)?,
        image_token_id: image_token.unwrap_or(IMAGE_TOKEN),
        eos_token_ids: eos(root, Some(text), &[EOS])?,
        bos_token_id: bos(root, Some(text))?,
        dtype: dtype(root, Some(text))?,
    })
}

/// `downsample_ratio` is one over the patches joined along each side.
fn shuffle(root: &Fields) -> Result<usize> {
    let Some(ratio) = root.positive("downsample_ratio")? else { return Ok(SHUFFLE) };
    let whole = (1.0 / ratio).round();
    if (whole * ratio - 1.0).abs() > 1e-9 || !(1.0..=16.0).contains(&whole) {
        let message = format!("is {ratio}, expected one over a whole number up to 16");
        return Err(root.error("downsample_ratio", message));
    }
    Ok(whole as usize)
}

/// The tower's last output is the only one offered.
fn last_layer(root: &Fields, key: &str) -> Result<()> {
    match root.int(key)? {
        None | Some(-1) => Ok(()),
        Some(other) => Err(root.error(key, format!("is {other}, accepted: -1"))),
    }
}

/// Tower, norm and projector.
#[derive(Debug)]
struct InternVl {
    config: InternVision,
    tower: Arc<VitTower>,
    norm: LayerNorm,
    projector: Projector,
}

impl InternVl {
    fn build(b: &mut Builder, config: &ModelConfig) -> Result<Self> {
        let width = config.decoder.hidden_size;
        let config: &InternVision = config.vision.expect()?;
        let tower = Arc::new(VitTower::build(b, &config.tower, config.tower.blocks)?);
        let wide = config.joined_width();
        let norm = b.layer_norm(Part::Projector, "layer_norm", wide, NORM_EPS)?;
        let shape = ProjectorConfig { activation: config.activation, bias: true };
        let projector = Projector::build(b, shape, wide, width)?;
        Ok(Self { config: config.clone(), tower, norm, projector })
    }

    /// Patches of a tile in the order of the visual tokens they make: raster order of tokens, and
    /// inside a token row by row.
    fn order(&self) -> Vec<usize> {
        let (side, join) = (self.config.side(), self.config.shuffle);
        let patch = |token: usize, inner: usize| {
            let row = token / side * join + inner / join;
            let column = token % side * join + inner % join;
            row * side * join + column
        };
        (0..side * side).flat_map(|token| (0..join * join).map(move |i| patch(token, i))).collect()
    }

    /// Patches as visual tokens, and what was observed of them.
    fn read(&self, seen: VitOutput, taps: VisionTaps) -> Result<Encoded> {
        let side = self.config.side();
        let (tiles, patches, width) = seen.features.dims3()?;
        let order = self.order();
        let joined = self.config.shuffle * self.config.shuffle;
        let index_of: Vec<u32> = (0..tiles)
            .flat_map(|tile| order.iter().map(move |&patch| (tile * patches + patch) as u32))
            .collect();
        let index = Tensor::new(index_of.as_slice(), seen.features.device())?;
        let rows = seen.features.flatten(0, 1)?.index_select(&index, 0)?;
        let shuffled = rows.reshape((tiles * side * side, joined * width))?;
        let features = match (taps.features, taps.joined) {
            (false, _) => None,
            (true, true) => Some(shuffled.clone()),
            (true, false) => Some(patch_means(&rows, joined)?),
        };
        let means = |views: Option<Tensor>| match views {
            Some(views) => {
                let flat: Vec<f32> = views.flatten_all()?.to_vec1()?;
                let arranged: Vec<f32> = index_of.iter().map(|&row| flat[row as usize]).collect();
                token_means(&arranged, joined).map(Some)
            }
            None => Ok(None),
        };
        let (reliability, shallow) = (means(seen.attention)?, means(seen.shallow)?);
        let keys = match seen.keys {
            Some(keys) => {
                let index = Tensor::new(index_of, keys.device())?;
                Some(patch_means(&keys.flatten(0, 1)?.index_select(&index, 0)?, joined)?)
            }
            None => None,
        };
        Ok(Encoded { features, reliability, shallow, keys, states: vec![shuffled] })
    }
}

impl VisionSide for InternVl {
    fn begin(self: Arc<Self>, pixels: Pixels, taps: VisionTaps) -> Result<TowerRun> {
        let side = self.config.side();
        check_views(&pixels, Grid { rows: side, columns: side })?;
        let run = self.tower.begin(&pixels.values, taps.attention)?;
        Ok(TowerRun::new(run, move |seen| self.read(seen, taps)))
    }

    fn embed(&self, encoded: &Encoded) -> Result<Embedded> {
        let embeds = self.projector.forward(&self.norm.forward(single_state(encoded)?)?)?;
        Ok(Embedded { embeds, deepstack: Vec::new(), newline: None })
    }
}
