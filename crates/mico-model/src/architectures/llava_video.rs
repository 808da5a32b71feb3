//! LLaVA-Video: a SigLIP tower without its last block, a projector on all patches, and the mean of
//! each square of patches as a visual token. Its files are the original ones (`llava_qwen`) and
//! those with LLaVA-OneVision's names (`llava_onevision`).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use candle_core::Tensor;

use super::qwen::{QWEN_ENDS, qwen2_7b};
use super::{Architecture, Family, Traits, VisionSide, check_views, single_state};
use crate::checkpoint::Part;
use crate::config::{
    Activation, Check, DecoderKinds, Fields, ModelConfig, ProjectorConfig, SIGLIP_SO400M_384,
    VisionConfig, VisionSettings, VitConfig, VitKind, bos, dtype, eos, original_tower,
    read_decoder, read_vit,
};
use crate::error::Result;
use crate::presets::Preset;
use crate::projector::Projector;
use crate::vision::flops::{VisionFlops, two_layer_flops, vit_flops};
use crate::vision::vit::{VitOutput, VitTower};
use crate::vision::{Embedded, Encoded, Grid, Pixels, TowerRun, VisionTaps};
use crate::weights::Builder;

const DECODERS: DecoderKinds = &["qwen2", "llava_qwen", "qwen3", "llama"];
/// Patches a visual token averages along each side.
const POOL: usize = 2;
/// Frames projected together: what exists of their patches in the decoder's width at a time.
const FRAMES_AT_ONCE: usize = 4;

/// LLaVA-Video: frames of one size, pooled after the projector, two by two patches at a time.
pub static LLAVA_VIDEO: Architecture = Architecture {
    name: "llava_video",
    model_types: &["llava_qwen", "llava_onevision"],
    claims: |_| true,
    read,
    build: |b, config| Ok(Box::new(LlavaVideo::build(b, config)?)),
    traits: Traits { takes_video: true, ..Traits::NONE },
    presets: &[Preset::published(
        "llava-video-7b",
        "lmms-lab/LLaVA-Video-7B-Qwen2",
        6,
        llava_video_7b,
    )],
};

fn llava_video_7b() -> ModelConfig {
    let decoder = qwen2_7b();
    ModelConfig {
        family: Family::of(&LLAVA_VIDEO),
        vision: VisionConfig::new(VideoVision {
            tower: SIGLIP_SO400M_384,
            projector: ProjectorConfig { activation: Activation::Gelu, bias: true },
            pool: POOL,
            tower_folder: None,
        }),
        // The checkpoint has no token of its own for an image: one beyond the vocabulary.
        image_token_id: decoder.vocab_size as u32,
        decoder,
        eos_token_ids: QWEN_ENDS.to_vec(),
        bos_token_id: None,
        dtype: None,
    }
}

/// The vision side of LLaVA-Video: frames of one size, pooled after the projector.
#[derive(Debug, Clone, PartialEq)]
pub struct VideoVision {
    /// The vision transformer (SigLIP in the published models), run on each frame by itself.
    pub tower: VitConfig,
    /// The MLP that brings the tower's features to the decoder's width.
    pub projector: ProjectorConfig,
    /// Patches a visual token averages along each side.
    pub pool: usize,
    /// Folder of a tower that is not part of the checkpoint.
    pub tower_folder: Option<PathBuf>,
}

impl VideoVision {
    /// Tower blocks that run. The model was trained without the tower's last block; files that
    /// describe the published tower already cut mean all of theirs.
    pub fn blocks_that_run(&self) -> usize {
        let known = &SIGLIP_SO400M_384;
        let cut =
            self.tower.hidden_size == known.hidden_size && self.tower.blocks + 1 == known.blocks;
        self.tower.blocks - usize::from(!cut)
    }

    /// Visual tokens along the side of a frame; what does not fill a last one is dropped.
    pub fn side(&self) -> usize {
        self.tower.grid() / self.pool.max(1)
    }
}

impl VisionSettings for VideoVision {
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
        Ok(self.blocks_that_run())
    }

    fn tower_folder(&self) -> Option<&Path> {
        self.tower_folder.as_deref()
    }

    fn validate(&self, file: &str) -> Result<()> {
        self.tower.validate(file)?;
        let check = Check { file, part: "vision_config" };
        check.range("mm_spatial_pool_stride", self.pool, self.tower.grid().max(1))
    }

    /// The projector sees every patch, pooling comes after it: one addition for each number it
    /// reads.
    fn flops(&self, grids: &[Grid], width: usize) -> Result<VisionFlops> {
        let frames = grids.len();
        let pooled = (frames * (self.side() * self.pool).pow(2)) as f64;
        let patches = frames * self.tower.patches();
        Ok(VisionFlops {
            encoder: frames as f64 * vit_flops(&self.tower, self.blocks_that_run()),
            projector: two_layer_flops(patches, self.tower.hidden_size, width),
            pooling: pooled * width as f64,
        })
    }
}

/// Reads the settings of a model folder.
fn read(folder: &Path, root: &Fields) -> Result<ModelConfig> {
    root.only("mm_spatial_pool_mode", "average")?;
    let pool = root.usize("mm_spatial_pool_stride")?.unwrap_or(POOL);
    if root.text("model_type")? == Some("llava_onevision") {
        converted(root, pool)
    } else {
        original(folder, root, pool)
    }
}

/// A file with `text_config` and `vision_config`.
fn converted(root: &Fields, pool: usize) -> Result<ModelConfig> {
    let text = root.part("text_config")?;
    last_trained(root, "vision_feature_layer")?;
    let tower = match root.object("vision_config")? {
        Some(vision) => read_vit(&vision, VitKind::Siglip)?,
        None => SIGLIP_SO400M_384,
    };
    let image_token = root.token_of(&["image_token_index", "image_token_id"])?;
    let decoder = read_decoder(&text, root.flag("tie_word_embeddings")?, DECODERS)?;
    let beyond = u32::try_from(decoder.vocab_size).unwrap_or(u32::MAX);
    Ok(ModelConfig {
        family: Family::of(&LLAVA_VIDEO),
        vision: VisionConfig::new(VideoVision {
            tower,
            projector: ProjectorConfig {
                activation: root.activation("projector_hidden_act")?.unwrap_or(Activation::Gelu),
                bias: root.flag("multimodal_projector_bias")?.unwrap_or(true),
            },
            pool,
            tower_folder: None,
        }),
        decoder,
        image_token_id: image_token.unwrap_or(beyond),
        eos_token_ids: eos(root, Some(&text), &QWEN_ENDS)?,
        bos_token_id: bos(root, Some(&text))?,
        dtype: dtype(root, Some(&text))?,
    })
}

/// A file of the original code base: the decoder's settings at the root, the rest as `mm_*`.
fn original(folder: &Path, root: &Fields, pool: usize) -> Result<ModelConfig> {
    last_trained(root, "mm_vision_select_layer")?;
    root.must("add_faster_video", false)?;
    root.must("mm_use_im_start_end", false)?;
    root.only("mm_projector_type", "mlp2x_gelu")?;
    root.only("mm_vision_select_feature", "patch")?;
    root.only("mm_newline_position", "grid")?;
    root.only("mm_patch_merge_type", "spatial_unpad")?;
    let decoder = read_decoder(root, None, DECODERS)?;
    let (tower, tower_folder) = original_tower(folder, root, VitKind::Siglip)?;
    let beyond = u32::try_from(decoder.vocab_size).unwrap_or(u32::MAX);
    Ok(ModelConfig {
        family: Family::of(&LLAVA_VIDEO),
        vision: VisionConfig::new(VideoVision {
            tower,
            projector: ProjectorConfig { activation: Activation::Gelu, bias: true },
            pool,
            tower_folder,
        }),
        decoder,
        image_token_id: root.token("image_token_index")?.unwrap_or(beyond),
        eos_token_ids: eos(root, None, &QWEN_ENDS)?,
        bos_token_id: bos(root, None)?,
        dtype: dtype(root, None)?,
    })
}

/// The features are those of the last block that was trained, whichever way a file says so: see
/// [`VideoVision::blocks_that_run`].
fn last_trained(root: &Fields, key: &str) -> Result<()> {
    match root.int(key)? {
        None | Some(-1 | -2) => Ok(()),
        Some(other) => Err(root.error(key, format!("is {other}, accepted: -1, -2"))),
    }
}

/// Tower, projector and newline.
#[derive(Debug)]
struct LlavaVideo {
    config: VideoVision,
    tower: Arc<VitTower>,
    projector: Projector,
    newline: Tensor,
}

impl LlavaVideo {
    fn build(b: &mut Builder, config: &ModelConfig) -> Result<Self> {
        let width = config.decoder.hidden_size;
        let config: &VideoVision = config.vision.expect()?;
        let tower = Arc::new(VitTower::build(b, &config.tower, config.blocks_that_run())?);
        let projector = Projector::build(b, config.projector, config.tower.hidden_size, width)?;
        let newline = b.tensor(Part::Newline, "image_newline", &[width])?;
        Ok(Self { config: config.clone(), tower, projector, newline })
    }

    /// Means over squares of patches: `[frames, patches, d]` to `[frames * tokens, d]`. Rows and
    /// columns that do not fill a square are left out.
    fn pool(&self, frames: &Tensor) -> Result<Tensor> {
        let (count, _, width) = frames.dims3()?;
        let (grid, side, pool) = (self.config.tower.grid(), self.config.side(), self.config.pool);
        let covered = side * pool;
        let pooled = frames
            .reshape((count, grid, grid, width))?
            .narrow(1, 0, covered)?
            .narrow(2, 0, covered)?
            .contiguous()?
            .reshape((count * side, pool, side, pool, width))?
            .sum([1, 3])?;
        Ok((pooled / (pool * pool) as f64)?.reshape((count * side * side, width))?)
    }

    /// Patches as visual tokens, and what was observed of them.
    fn read(&self, seen: VitOutput, taps: VisionTaps) -> Result<Encoded> {
        let features = taps.features.then(|| self.pool(&seen.features)).transpose()?;
        let pooled = |frames: Option<Tensor>| match frames {
            Some(frames) => Ok(Some(self.pool(&frames.unsqueeze(2)?)?.flatten_all()?)),
            None => Ok::<_, crate::error::Error>(None),
        };
        Ok(Encoded {
            features,
            reliability: pooled(seen.attention)?,
            shallow: pooled(seen.shallow)?,
            keys: seen.keys.map(|keys| self.pool(&keys)).transpose()?,
            states: vec![seen.features],
        })
    }
}

impl VisionSide for LlavaVideo {
    fn begin(self: Arc<Self>, pixels: Pixels, taps: VisionTaps) -> Result<TowerRun> {
        let side = self.config.side();
        check_views(&pixels, Grid { rows: side, columns: side })?;
        let run = self.tower.begin(&pixels.values, taps.attention)?;
        Ok(TowerRun::new(run, move |seen| self.read(seen, taps)))
    }

    fn embed(&self, encoded: &Encoded) -> Result<Embedded> {
        let features = single_state(encoded)?;
        let frames = features.dim(0)?;
        let parts = (0..frames).step_by(FRAMES_AT_ONCE).map(|start| {
            let count = FRAMES_AT_ONCE.min(frames - start);
            self.pool(&self.projector.forward(&features.narrow(0, start, count)?.contiguous()?)?)
        });
        let embeds = Tensor::cat(&parts.collect::<Result<Vec<_>>>()?, 0)?;
        Ok(Embedded { embeds, deepstack: Vec::new(), newline: Some(self.newline.clone()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_video_tower_projector_and_pooling_come_out() {
        let config = llava_video_7b();
        let grids = vec![Grid { rows: 13, columns: 13 }; 64];
        let work = config.vision.flops(&grids, config.decoder.hidden_size).unwrap();
        for (found, paper) in
            [(work.encoder, 41_228.062), (work.projector, 1585.032), (work.pooling, 0.155)]
        {
            assert!((found / 1e9 / paper - 1.0).abs() < 0.01, "{} against {paper}", found / 1e9);
        }
    }
}
