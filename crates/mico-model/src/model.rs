//! A whole model: a family's vision side and the decoder.

use std::path::PathBuf;
use std::sync::Arc;

use candle_core::Device;

use crate::architectures::{ARCHITECTURES, VisionSide};
use crate::checkpoint::CheckpointSource;
use crate::config::ModelConfig;
use crate::decoder::Decoder;
use crate::error::Result;
use crate::files::ModelFiles;
use crate::quant::{QuantKind, QuantNote};
use crate::synthetic::{SyntheticOptions, SyntheticSource};
use crate::vision::{Embedded, Encoded, Pixels, TowerRun, VisionTaps};
use crate::weights::{Builder, Precision, ProgressFn};

/// How to load a model.
#[derive(Clone)]
pub struct LoadOptions {
    /// Where the weights go.
    pub device: Device,
    /// Number format of the decoder's matrices.
    pub precision: Precision,
    /// Quantisation of the decoder's matrices.
    pub quantize: Option<QuantKind>,
    /// Folder of the vision tower, for original checkpoints that do not contain it; by default the
    /// folder the configuration names, if it lies beside the model.
    pub vision_tower: Option<PathBuf>,
    /// Called after every tensor; a break stops loading with [`crate::Error::Cancelled`].
    pub progress: Option<Arc<ProgressFn>>,
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self {
            device: Device::Cpu,
            precision: Precision::default(),
            quantize: None,
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
    pub quantization: Vec<QuantNote>,
    /// What was decided in place of a file that is missing, one sentence each.
    pub notes: Vec<String>,
}

/// Vision side and decoder.
#[derive(Debug)]
pub struct Model {
    config: ModelConfig,
    /// Whether tower and projector are in 16-bit fixed point.
    rounded: bool,
    vision: Arc<dyn VisionSide>,
    decoder: Decoder,
}

impl Model {
    /// Loads a model folder, or a model in memory, of an architecture that ships with the crate.
    pub fn load<'a>(
        files: impl Into<ModelFiles<'a>>,
        options: &LoadOptions,
    ) -> Result<(Self, LoadReport)> {
        let files = files.into();
        Self::load_as(ModelConfig::read(files, ARCHITECTURES)?, files, options)
    }

    /// Loads the weights of a model whose settings were read already, whatever its architecture.
    pub fn load_as<'a>(
        config: ModelConfig,
        files: impl Into<ModelFiles<'a>>,
        options: &LoadOptions,
    ) -> Result<(Self, LoadReport)> {
        let files = files.into();
        let tower = options.vision_tower.as_deref().or(config.vision.tower_folder());
        let blocks = config.vision.blocks()?;
        let mut source = CheckpointSource::open(files, tower, blocks, options.progress.clone())?;
        let LoadOptions { device, precision, quantize, .. } = options;
        let builder = Builder::new(&mut source, device, *precision, *quantize);
        let (model, quantization) = Self::build(builder, config)?;
        Ok((model, LoadReport { unexpected: source.unexpected(), quantization, notes: Vec::new() }))
    }

    /// Builds a model of the given shape with random weights, for benchmarks and tests.
    pub fn synthetic(
        config: ModelConfig,
        options: &SyntheticOptions,
    ) -> Result<(Self, LoadReport)> {
        config.validate("configuration")?;
        let mut source = SyntheticSource::new(options.seed);
        let SyntheticOptions { device, precision, quantize, .. } = options;
        let builder = Builder::new(&mut source, device, *precision, *quantize);
        let (model, quantization) = Self::build(builder, config)?;
        Ok((model, LoadReport { unexpected: Vec::new(), quantization, notes: Vec::new() }))
    }

    /// Also says what could not be quantised as asked.
    fn build(mut b: Builder, config: ModelConfig) -> Result<(Self, Vec<QuantNote>)> {
        let vision = Arc::from((config.family.architecture().build)(&mut b, &config)?);
        let decoder = Decoder::build(&mut b, &config.decoder)?;
        let rounded = b.rounds();
        Ok((Self { config, rounded, vision, decoder }, b.notes))
    }

    /// The settings read from `config.json`, or those of the preset.
    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// Number format of the tower's and projector's matrices.
    pub fn vision_format(&self) -> String {
        if self.rounded {
            return "fixed16".to_owned();
        }
        format!("{:?}", self.decoder.dtype()).to_lowercase()
    }

    /// The vision side: tower and projector, from pixels to embeddings.
    pub fn vision(&self) -> &dyn VisionSide {
        self.vision.as_ref()
    }

    /// The decoder: embedding table, blocks and output head.
    pub fn decoder(&self) -> &Decoder {
        &self.decoder
    }

    /// Begins to run the tower on one image, to be followed block by block, and to observe what `taps`
    /// asks for.
    pub fn begin_encoding(&self, pixels: Pixels, taps: VisionTaps) -> Result<TowerRun> {
        Arc::clone(&self.vision).begin(pixels, taps)
    }

    /// Runs the tower on one image from beginning to end.
    pub fn encode(&self, pixels: Pixels, taps: VisionTaps) -> Result<Encoded> {
        self.begin_encoding(pixels, taps)?.finish()
    }

    /// Brings rows of Stage-1 features into the decoder's space where the family's projector takes
    /// them one by one; else `None`.
    pub fn project(&self, features: &candle_core::Tensor) -> Result<Option<candle_core::Tensor>> {
        self.vision.project(features)
    }

    /// Brings what the tower gave into the decoder's space.
    pub fn embed(&self, encoded: &Encoded) -> Result<Embedded> {
        self.vision.embed(encoded)
    }
}
