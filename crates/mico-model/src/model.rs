//! A whole model: LLaVA-1.5 and LLaVA-NeXT put together from their parts.
//!
//! Both families are a CLIP tower, a two-layer projector and a decoder; LLaVA-NeXT adds the
//! embedding that ends a row of its native packing.

use std::path::{Path, PathBuf};

use candle_core::{Device, Tensor};

use crate::checkpoint::{CheckpointSource, Part};
use crate::config::{Family, ModelConfig};
use crate::decoder::Decoder;
use crate::error::Result;
use crate::projector::Projector;
use crate::quant::{QuantKind, QuantNote};
use crate::synthetic::{SyntheticOptions, SyntheticSource};
use crate::vision::clip::ClipTower;
use crate::vision::{VisionOutput, VisionTaps};
use crate::weights::{Builder, Precision, ProgressFn};

/// How to load a model.
pub struct LoadOptions<'a> {
    /// Where the weights go.
    pub device: Device,
    /// Number format of the decoder's matrices.
    pub precision: Precision,
    /// Quantisation of the decoder's matrices.
    pub quantise: Option<QuantKind>,
    /// Folder of the vision tower, for original checkpoints that do not contain it; by default the
    /// folder the configuration names, if it lies beside the model.
    pub vision_tower: Option<PathBuf>,
    /// Called after every tensor.
    pub progress: Option<&'a ProgressFn<'a>>,
}

impl Default for LoadOptions<'_> {
    fn default() -> Self {
        Self {
            device: Device::Cpu,
            precision: Precision::default(),
            quantise: None,
            vision_tower: None,
            progress: None,
        }
    }
}

/// What is worth telling about a load that succeeded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoadReport {
    /// Tensors in the files that no part of the model uses; the caller may warn or refuse.
    pub unexpected: Vec<String>,
    /// Matrices that could not be quantised as asked.
    pub quantisation: Vec<QuantNote>,
}

/// Tower, projector and decoder.
#[derive(Debug)]
pub struct Model {
    config: ModelConfig,
    vision: ClipTower,
    projector: Projector,
    decoder: Decoder,
    image_newline: Option<Tensor>,
}

impl Model {
    /// Loads a model folder.
    pub fn load(folder: &Path, options: &LoadOptions) -> Result<(Self, LoadReport)> {
        let config = ModelConfig::read(folder)?;
        let tower = options.vision_tower.as_deref().or(config.vision_tower.as_deref());
        let blocks = config.vision_blocks()?;
        let mut source = CheckpointSource::open(folder, tower, blocks, options.progress)?;
        let mut builder = Builder {
            source: &mut source,
            device: options.device.clone(),
            precision: options.precision,
            quant: options.quantise,
            notes: Vec::new(),
        };
        let model = Self::build(&mut builder, config)?;
        let quantisation = std::mem::take(&mut builder.notes);
        Ok((model, LoadReport { unexpected: source.unexpected(), quantisation }))
    }

    /// Builds a model of the given shape with random weights, for benchmarks and tests.
    pub fn synthetic(
        config: ModelConfig,
        options: &SyntheticOptions,
    ) -> Result<(Self, LoadReport)> {
        config.vision.validate("configuration")?;
        config.decoder.validate("configuration")?;
        let mut source = SyntheticSource::new(options.seed);
        let mut builder = Builder {
            source: &mut source,
            device: options.device.clone(),
            precision: options.precision,
            quant: options.quantise,
            notes: Vec::new(),
        };
        let model = Self::build(&mut builder, config)?;
        Ok((model, LoadReport { unexpected: Vec::new(), quantisation: builder.notes }))
    }

    fn build(b: &mut Builder, config: ModelConfig) -> Result<Self> {
        let (vision_width, width) = (config.vision.hidden_size, config.decoder.hidden_size);
        let vision = ClipTower::build(b, &config.vision, config.vision_blocks()?)?;
        let projector = Projector::build(b, config.projector, vision_width, width)?;
        let decoder = Decoder::build(b, &config.decoder)?;
        let image_newline = match config.family {
            Family::Llava => None,
            Family::LlavaNext => Some(b.tensor(Part::Newline, "image_newline", &[width])?),
        };
        Ok(Self { config, vision, projector, decoder, image_newline })
    }

    /// The model's settings.
    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// The vision tower.
    pub fn vision(&self) -> &ClipTower {
        &self.vision
    }

    /// The decoder.
    pub fn decoder(&self) -> &Decoder {
        &self.decoder
    }

    /// The embedding that ends a row in LLaVA-NeXT's native packing, `[d]`.
    pub fn image_newline(&self) -> Option<&Tensor> {
        self.image_newline.as_ref()
    }

    /// Runs the tower on views `[views, 3, side, side]` of normalised pixels.
    pub fn encode_images(&self, pixels: &Tensor, taps: VisionTaps) -> Result<VisionOutput> {
        self.vision.forward(pixels, taps)
    }

    /// Projects tower features `[.., d_vision]` into the decoder's embedding space `[.., d]`.
    pub fn project(&self, features: &Tensor) -> Result<Tensor> {
        self.projector.forward(features)
    }
}
