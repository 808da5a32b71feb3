//! What is measured on: a model, an image of noise and a prompt of ordinary tokens.

use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use mico_engine::families::FamilySpec;
use mico_engine::{Engine, EngineOptions, Error, ImageInput};
use mico_model::{LoadOptions, Model, ModelConfig, Precision, Preset, QuantKind, SyntheticOptions};
use mico_util::SplitMix64;
use mico_vision::RgbImage;

use super::args::BenchArgs;
use super::configuration::About;
use crate::failure::Failure;
use crate::model_args::Located;
use crate::progress::Loading;

/// Text tokens before the image in the paper's prompt, the first token included.
const BEFORE_IMAGE: usize = 35;
/// Ids of ordinary words: past the special tokens at the start of a vocabulary.
const FIRST_WORD: u32 = 3;
const WORDS: u32 = 1000;
const TICK: Duration = Duration::from_millis(200);

/// Said where there is nothing to measure.
pub(super) const NO_SUBJECT: &str = "neither --model nor --synthetic is given";

/// A model and what it is asked.
#[derive(Debug)]
pub(super) struct Subject {
    /// The folder or preset.
    pub(super) name: String,
    pub(super) synthetic: bool,
    pub(super) engine: Engine,
    pub(super) quantisation: Option<QuantKind>,
    /// An image of noise, or a video of noise for families that take one.
    pub(super) image: ImageInput,
    pub(super) ids: Vec<u32>,
    /// Text tokens after the image.
    pub(super) after_image: usize,
    pub(super) load_seconds: f64,
}

impl Subject {
    /// What reports and journals say about it.
    pub(super) fn about(&self, journal: bool) -> Result<About, Failure> {
        let tower = self.engine.model().config().vision.tower_folder();
        let tower = tower.filter(|folder| journal && folder.is_dir());
        let tower = tower.map(|folder| mico_eval::fingerprint(folder.into())).transpose()?;
        let about = self.engine.describe();
        let fused = self.engine.model().decoder().device().is_cpu() && about.dtype == "f32";
        Ok(About {
            model: self.name.clone(),
            preset: about.preset.map(str::to_owned),
            synthetic: self.synthetic,
            quantize: self.quantisation.map(|kind| kind.name().to_owned()),
            dtype: about.dtype,
            vision: about.vision_format,
            attention: if fused { "fused-tiles-cpu" } else { "composed-tiles" }.to_owned(),
            layers: about.layers,
            decoder_bytes: about.decoder_bytes,
            load_seconds: self.load_seconds,
            tower,
        })
    }
}

/// Builds the subject of a call.
pub(super) fn build(args: &BenchArgs) -> Result<Subject, Failure> {
    let quantisation = args.quantize;
    let start = Instant::now();
    let (name, engine) = match (&args.model, &args.synthetic) {
        (Some(folder), _) => {
            let bar = Loading::new();
            let progress = |done| bar.show(done);
            let load = LoadOptions {
                quantise: quantisation,
                progress: Some(&progress),
                ..LoadOptions::default()
            };
            let options = EngineOptions { load, ..EngineOptions::default() };
            let opened = Engine::open(Located::at(folder).files(), &options);
            drop(bar);
            (folder.display().to_string(), opened?.0)
        }
        (None, Some(preset)) => {
            let (family, preset) = FamilySpec::preset(preset.name).map_err(Failure::misused)?;
            (preset.name.to_owned(), synthetic(family, preset, args.seed, quantisation)?)
        }
        (None, None) => return Err(Failure::misused(NO_SUBJECT)),
    };
    let load_seconds = start.elapsed().as_secs_f64();
    check_refine_layer(&engine, args.refine_layer)?;
    let config = engine.model().config();
    let image = noise(&engine, args)?;
    let placeholder = engine.describe().image_token_id;
    let (ids, after_image) = prompt(config, placeholder, args.text_tokens);
    let synthetic = args.synthetic.is_some();
    Ok(Subject { name, synthetic, engine, quantisation, image, ids, after_image, load_seconds })
}

/// A block that the model does not have is a wrong call, whatever the methods make of it.
fn check_refine_layer(engine: &Engine, given: Option<usize>) -> Result<(), Failure> {
    let last = engine.describe().layers.saturating_sub(1);
    match given {
        Some(layer) if !(1..=last).contains(&layer) => {
            Err(Failure::misused(format!("refine-layer {layer}, accepted: 1 to {last}")))
        }
        _ => Ok(()),
    }
}

fn synthetic(
    family: &'static FamilySpec,
    preset: &Preset,
    seed: u64,
    quantise: Option<QuantKind>,
) -> Result<Engine, Error> {
    let config = preset.config();
    let spinner = ProgressBar::new_spinner().with_message("making random weights");
    spinner.enable_steady_tick(TICK);
    // What is not quantised is stored as in the published files where memory is short.
    let precision = if quantise.is_some() { Precision::F16 } else { Precision::F32 };
    let options = SyntheticOptions { seed, precision, quantise, ..SyntheticOptions::default() };
    let preprocessing = family.default_preprocessing(&config)?;
    let (model, _) = Model::synthetic(config, &options)?;
    spinner.finish_and_clear();
    Engine::from_parts(family, model, None, preprocessing, Switches::default())
}

/// Noise of the asked-for size, else of one that fills the family's usual views exactly.
fn noise(engine: &Engine, args: &BenchArgs) -> Result<ImageInput, Failure> {
    let family = engine.family();
    let size = match args.image_size {
        Some(size) => size,
        None => (family.usual.photo_size)(engine.model().config())?,
    };
    let mut rng = SplitMix64::new(args.seed);
    let mut picture = || {
        let bytes = (0..size.area() * 3).map(|_| (rng.next_u64() >> 56) as u8).collect();
        RgbImage::new(size, bytes).map_err(Failure::failed)
    };
    match (family.traits().takes_video, args.frames) {
        (true, frames) => {
            let frames = (0..frames.unwrap_or(family.usual.bench_frames)).map(|_| picture());
            Ok(ImageInput::Frames(frames.collect::<Result<_, _>>()?))
        }
        (false, None) => Ok(ImageInput::Decoded(picture()?)),
        (false, Some(frames)) => Err(Failure::misused(format!(
            "--frames {frames}, but the family {} takes images",
            family.name()
        ))),
    }
}

/// A prompt of `text` tokens around one placeholder, and how many come after it.
fn prompt(config: &ModelConfig, image: u32, text: usize) -> (Vec<u32>, usize) {
    let before = BEFORE_IMAGE.min(text.div_ceil(2));
    let last = (config.decoder.vocab_size as u32).clamp(FIRST_WORD + 1, WORDS);
    let words = (FIRST_WORD..last).filter(|&id| id != image).cycle();
    let first = config.bos_token_id.filter(|&id| id != image);
    let mut ids: Vec<u32> = first.into_iter().chain(words).take(text).collect();
    ids.insert(before.min(ids.len()), image);
    (ids, text - before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_prompt() {
        let config = Preset::find("llava-1.5-7b").unwrap().config();
        let (ids, after) = prompt(&config, config.image_token_id, 69);
        assert_eq!((ids.len(), after), (70, 34));
        assert_eq!(ids.iter().position(|&id| id == config.image_token_id), Some(35));
        assert_eq!(ids[0], 1);
        assert_eq!(prompt(&config, config.image_token_id, 2).0.len(), 3);
    }
}
