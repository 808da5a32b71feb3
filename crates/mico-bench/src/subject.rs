//! What is measured on: a model with its input, and how the model came about.

use std::sync::Arc;

use mico_engine::families::FamilySpec;
use mico_engine::{Engine, MemoryCheck};
use mico_model::{Model, Precision, QuantKind, SyntheticOptions};

use crate::configuration::About;
use crate::error::Result;
use crate::input::Input;

/// How a model came about, as reports tell it.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Loaded {
    /// The folder, hub id or preset.
    pub name: String,
    /// Whether its weights are random.
    pub synthetic: bool,
    /// Quantisation of the decoder's matrices.
    pub quantize: Option<QuantKind>,
    /// How long loading took.
    pub seconds: f64,
    /// A hash of the tower's files where they are a folder of their own, if a journal is kept.
    pub tower: Option<String>,
}

impl Loaded {
    /// A model of that name.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }
}

/// A model and what it is asked.
#[derive(Debug)]
#[non_exhaustive]
pub struct Subject {
    /// The engine with the model that is measured; shared, since a scheduler's thread needs it, too.
    pub engine: Arc<Engine>,
    /// What it is asked.
    pub input: Input,
    /// What reports and journals say about it.
    pub about: About,
}

impl Subject {
    /// A loaded model with its input.
    pub fn new(engine: Engine, input: Input, loaded: Loaded) -> Self {
        let about = about(&engine, loaded);
        Self { engine: Arc::new(engine), input, about }
    }
}

fn about(engine: &Engine, loaded: Loaded) -> About {
    let about = engine.describe();
    let fused = engine.model().decoder().device().is_cpu() && about.dtype == "f32";
    About {
        model: loaded.name,
        preset: about.preset.map(str::to_owned),
        synthetic: loaded.synthetic,
        quantize: loaded.quantize.map(|kind| kind.name().to_owned()),
        dtype: about.dtype,
        vision: about.vision_format,
        attention: if fused { "fused-tiles-cpu" } else { "composed-tiles" }.to_owned(),
        layers: about.layers,
        decoder_bytes: about.decoder_bytes,
        load_seconds: loaded.seconds,
        tower: loaded.tower,
    }
}

/// A published model's shape with random weights, by the preset's name. There is no file whose format
/// `stored` could mean: it stands for f32, or for f16 beside quantised matrices, as in the published
/// files where memory is short. A model for which there is not enough memory is refused before it is made.
pub fn synthetic(
    preset: &str,
    seed: u64,
    (precision, quantize): (Precision, Option<QuantKind>),
    memory: MemoryCheck,
) -> Result<Engine> {
    let (family, preset) = FamilySpec::preset(preset)?;
    let config = preset.config();
    let precision = match precision {
        Precision::Stored if quantize.is_some() => Precision::F16,
        Precision::Stored => Precision::F32,
        given => given,
    };
    let options = SyntheticOptions { seed, precision, quantize, ..SyntheticOptions::default() };
    let preprocessing = family.default_preprocessing(&config)?;
    memory.synthetic(&config, &options)?;
    let (model, _) = Model::synthetic(config, &options).map_err(mico_engine::Error::from)?;
    let engine = Engine::from_parts(family, model, None, preprocessing)?;
    Ok(engine.with_memory_check(memory))
}
