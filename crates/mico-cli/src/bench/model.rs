//! The model that is measured: a checkpoint, or random weights of a published model's shape.

use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use mico_bench::{Configuration, Input, InputOptions, Loaded, Subject, synthetic};
use mico_engine::Engine;
use mico_eval::fingerprint;
use mico_model::{Preset, QuantKind};

use super::args::BenchArgs;
use super::commit::commit;
use crate::failure::Failure;
use crate::model_args::Located;

const TICK: Duration = Duration::from_millis(200);

/// Where the weights come from.
pub(super) enum Source {
    Files(Located),
    Random(&'static Preset),
}

impl Source {
    /// Finds what the call names.
    pub(super) fn find(args: &BenchArgs) -> Result<Self, Failure> {
        match args.synthetic {
            Some(preset) => Ok(Self::Random(preset)),
            None => Ok(Self::Files(args.model.locate()?)),
        }
    }

    fn name<'a>(&self, args: &'a BenchArgs) -> &'a str {
        match self {
            Self::Files(_) => &args.model.model,
            Self::Random(preset) => preset.name,
        }
    }

    /// What two calls must have in common for their runs to be compared. Reads the model's files only if
    /// a journal needs to know them.
    pub(super) fn configuration(&self, args: &BenchArgs) -> Result<Configuration, Failure> {
        let weights = match self {
            Self::Files(located) if args.out.is_some() => fingerprint(located.files())?,
            Self::Files(_) => "not read".to_owned(),
            Self::Random(_) => "random".to_owned(),
        };
        let or = |given: Option<String>, absent: &str| given.unwrap_or_else(|| absent.to_owned());
        let size = args.image_size.map(|size| format!("{}x{}", size.width, size.height));
        let model = &args.model;
        let threads = model.threads.map_or_else(rayon::current_num_threads, |n| n as usize);
        let others = [
            ("model", self.name(args).to_owned()),
            ("weights", weights),
            ("quantize", model.quantize.map_or("none", QuantKind::name).to_owned()),
            ("dtype", model.dtype.name().to_owned()),
            ("image-size", or(size, "usual")),
            ("frames", or(args.frames.map(|frames| frames.to_string()), "usual")),
            ("text-tokens", args.text_tokens.to_string()),
            ("new-tokens", args.new_tokens.to_string()),
            ("seed", args.seed.to_string()),
            ("version", env!("CARGO_PKG_VERSION").to_owned()),
        ];
        Ok(Configuration::new(threads, commit(), others))
    }

    /// Loads the model and makes its input.
    pub(super) fn load(&self, args: &BenchArgs) -> Result<Subject, Failure> {
        let start = Instant::now();
        let engine = match self {
            Self::Files(located) => args.model.load(located)?,
            Self::Random(preset) => random(preset, args)?,
        };
        let mut loaded = Loaded::named(self.name(args));
        loaded.seconds = start.elapsed().as_secs_f64();
        loaded.synthetic = matches!(self, Self::Random(_));
        loaded.quantize = args.model.quantize;
        let tower = engine.model().config().vision.tower_folder();
        let tower = tower.filter(|folder| args.out.is_some() && folder.is_dir());
        loaded.tower = tower.map(|folder| fingerprint(folder.into())).transpose()?;
        check_refine_layer(&engine, args.refine_layer)?;
        let mut options = InputOptions::default();
        (options.image_size, options.frames) = (args.image_size, args.frames);
        (options.text_tokens, options.seed) = (args.text_tokens, args.seed);
        let input = Input::noise(&engine, &options)?;
        Ok(Subject::new(engine, input, loaded))
    }
}

fn random(preset: &Preset, args: &BenchArgs) -> Result<Engine, Failure> {
    let spinner = ProgressBar::new_spinner().with_message("making random weights");
    spinner.enable_steady_tick(TICK);
    let model = &args.model;
    let check = model.memory_check();
    let engine = synthetic(preset.name, args.seed, (model.dtype, model.quantize), check);
    spinner.finish_and_clear();
    Ok(engine?.with_threads(model.threads.map_or(0, |threads| threads as usize))?)
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
