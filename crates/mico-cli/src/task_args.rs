//! What to ask: a built-in suite, or benchmarks from their files.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, RangedU64ValueParser};
use mico_data::Layout;
use mico_engine::Engine;
use mico_engine::families::Toolkit;
use mico_eval::policy::{profile_of, rules_of};
use mico_eval::{Benchmark, BenchmarkOptions, Source, Split, TinySuite};
use mico_score::{Profile, Rules, Track};
use mico_video::VideoOptions;

use crate::choices;
use crate::failure::Failure;
use crate::model_args::ModelArgs;

/// The built-in suites.
pub(crate) const SUITES: [&str; 1] = ["tiny"];
/// The most items per track.
pub(crate) const MAX_LIMIT: u64 = 1_000_000;
/// The most frames one may ask for.
const MAX_FRAMES: u64 = mico_vision::llava_video::MAX_FRAMES as u64;

/// What to ask.
#[derive(Debug, Clone, Args)]
pub(crate) struct TaskArgs {
    /// A built-in benchmark: `tiny`, generated scenes with a track for every kind of question.
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(SUITES), conflicts_with = "tasks")]
    pub(crate) suite: Option<String>,
    /// Benchmarks, separated by commas.
    #[arg(
        long,
        visible_alias = "task",
        value_name = "NAMES",
        value_delimiter = ',',
        value_parser = choices::asked_track(),
        requires = "data"
    )]
    pub(crate) tasks: Vec<Track>,
    /// The folder with the benchmarks' files: `VLMEvalKit` TSV, LLaVA's evaluation folders or lmms-eval
    /// parquet.
    #[arg(long, value_name = "DIR", conflicts_with = "suite")]
    pub(crate) data: Option<PathBuf>,
    /// The files' layout; whichever is there unless given.
    #[arg(long, value_name = "NAME", value_parser = choices::layout(), conflicts_with = "suite")]
    pub(crate) layout: Option<Layout>,
    /// Whose prompts and scoring rules; the paper's for the model's family unless given.
    #[arg(long, value_name = "NAME", value_parser = choices::profile(), conflicts_with = "suite")]
    pub(crate) profile: Option<Profile>,
    /// A version of the scoring rules, such as `extract=2025-08` or `boxes=thousandths`.
    #[arg(
        long = "rule",
        value_name = "NAME=VALUE",
        value_delimiter = ',',
        conflicts_with = "suite"
    )]
    pub(crate) rules: Vec<String>,
    /// The most items per track; 250 of the built-in suite and all of a benchmark unless given.
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=MAX_LIMIT))]
    pub(crate) limit: Option<usize>,
    /// Which scenes of the built-in suite.
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    pub(crate) seed: u32,
    /// Frames taken of each second of a video.
    #[arg(long, value_name = "F", default_value_t = 1.0, allow_negative_numbers = true)]
    pub(crate) fps: f64,
    /// Most frames taken of a video. A model that takes no videos sees each as an image.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..=MAX_FRAMES))]
    pub(crate) max_frames: u64,
}

/// Sets `name=value` pairs.
pub(crate) fn set_rules(rules: &mut Rules, pairs: &[String]) -> Result<(), Failure> {
    for pair in pairs {
        let Some((name, value)) = pair.split_once('=') else {
            return Err(Failure::misused(format!("--rule '{pair}', accepted: NAME=VALUE")));
        };
        rules.set(name, value).map_err(|error| Failure::misused(format!("--rule {error}")))?;
    }
    Ok(())
}

/// What is asked when nothing says how much.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usual {
    /// Items per track of the built-in suite.
    pub(crate) suite: usize,
    /// Items per track of a benchmark.
    pub(crate) benchmark: Option<usize>,
    /// The built-in suite's scenes.
    pub(crate) split: Split,
}

impl TaskArgs {
    /// Lets a LLaVA model be asked as LLaVA's scripts do, system sentence included, unless another style was
    /// given; checkpoints' own templates leave that out. What decides answers, `model`, is told.
    pub(crate) fn speak(&self, engine: &mut Engine, args: &ModelArgs, model: &mut String) {
        let evaluation = &engine.family().evaluation;
        let llava = self.profile.unwrap_or_else(|| profile_of(evaluation)) == Profile::Llava;
        let own = evaluation.toolkit == Toolkit::Llava;
        if !self.tasks.is_empty() && llava && own && args.prompt_style.is_none() {
            let style = engine.family().prompt_style(engine.model().config(), None);
            engine.set_style(style);
            model.push_str(" style=");
            model.push_str(style.name());
        }
    }

    /// The benchmarks, each once.
    fn tracks(&self) -> Vec<Track> {
        let mut tracks = Vec::new();
        for &track in &self.tasks {
            if !tracks.contains(&track) {
                tracks.push(track);
            }
        }
        tracks
    }

    /// Which frames of a video.
    pub(crate) fn video(&self) -> Result<VideoOptions, Failure> {
        if !(self.fps.is_finite() && self.fps > 0.0) {
            let message = format!("--fps is {}, accepted: a number above 0", self.fps);
            return Err(Failure::misused(message));
        }
        let max_frames = self.max_frames as usize;
        Ok(VideoOptions { fps: self.fps, max_frames, ..VideoOptions::default() })
    }

    /// The most items of each track.
    pub(crate) fn most(&self, usual: Usual) -> Option<usize> {
        if self.tasks.is_empty() {
            return Some(self.limit.unwrap_or(usual.suite));
        }
        self.limit.or(usual.benchmark)
    }

    /// Opens what is asked, with the rules of the model's family.
    pub(crate) fn sources(
        &self,
        engine: &Engine,
        args: &ModelArgs,
        usual: Usual,
    ) -> Result<Vec<Box<dyn Source>>, Failure> {
        let limit = self.most(usual);
        let mut sources: Vec<Box<dyn Source>> = Vec::new();
        if self.tasks.is_empty() {
            let limit = limit.unwrap_or(usual.suite);
            sources.push(Box::new(TinySuite::new(usual.split, self.seed.into(), limit)));
        }
        let evaluation = &engine.family().evaluation;
        let profile = self.profile.unwrap_or_else(|| profile_of(evaluation));
        let mut rules = rules_of(evaluation);
        set_rules(&mut rules, &self.rules)?;
        for track in self.tracks() {
            let Some(root) = self.data.clone() else {
                return Err(Failure::misused("--tasks needs --data DIR"));
            };
            let layout = self.layout;
            let paper = (evaluation.image_limits)(track.name());
            let limits = paper.filter(|_| !args.says_sizes());
            let options = BenchmarkOptions { root, track, profile, rules, limit, layout, limits };
            sources.push(Box::new(Benchmark::open(options)?));
        }
        Ok(sources)
    }
}
