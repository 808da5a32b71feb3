//! What to ask: a built-in suite, or benchmarks from their files.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, RangedU64ValueParser};
use mico_data::Layout;
use mico_eval::{Split, TaskSelection, Tasks};
use mico_score::{Profile, Rules, Track};
use mico_util::text::quoted;
use mico_video::VideoOptions;

use crate::choices;
use crate::failure::Failure;
use crate::files::Outputs;
use crate::model_args::ModelArgs;

/// The names that `--suite` accepts.
pub(crate) const SUITES: [&str; 1] = ["tiny"];
/// The most items per track.
pub(crate) const MAX_LIMIT: u64 = 1_000_000;
/// The most frames one may ask for.
const MAX_FRAMES: u64 = mico_vision::llava_video::MAX_FRAMES as u64;

/// The flags that choose what is asked and how it is scored.
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
        value_parser = choices::evaluable_track(),
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
    /// Which scenes of the built-in suite, or which sample of a benchmark; 0 unless given.
    #[arg(long, allow_negative_numbers = true)]
    pub(crate) seed: Option<u64>,
    /// Frames taken of each second of a video; 1 unless given.
    #[arg(long, value_name = "F", allow_negative_numbers = true, conflicts_with = "suite")]
    pub(crate) fps: Option<f64>,
    /// Most frames taken of a video, 64 unless given. A model that takes no videos sees each as an image.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MAX_FRAMES), conflicts_with = "suite")]
    pub(crate) max_frames: Option<u64>,
}

/// Rules by name, and the default rules with these in place.
type ReadRules = (Vec<(String, String)>, Rules);

/// Reads `NAME=VALUE` pairs; what no rules have is an error.
pub(crate) fn read_rules(pairs: &[String]) -> Result<ReadRules, Failure> {
    let mut rules = Rules::default();
    let mut read = Vec::new();
    for pair in pairs {
        let Some((name, value)) = pair.split_once('=') else {
            return Err(Failure::misused(format!(
                "--rule '{}', accepted: NAME=VALUE",
                quoted(pair)
            )));
        };
        rules.set(name, value).map_err(|error| Failure::misused(format!("--rule {error}")))?;
        read.push((name.to_owned(), value.to_owned()));
    }
    Ok((read, rules))
}

impl TaskArgs {
    /// Keeps outputs away from the benchmarks' files.
    pub(crate) fn protect(&self, outputs: &mut Outputs) -> Result<(), Failure> {
        self.data.as_ref().map_or(Ok(()), |folder| outputs.reads_data("--data", folder))
    }

    /// Refuses flags that nothing of what is asked has a use for.
    pub(crate) fn check_used(&self, tracks: bool, seeded: bool) -> Result<(), Failure> {
        let given = [
            ("--fps", self.fps.is_some() && !tracks, "the built-in suite has no videos"),
            (
                "--max-frames",
                self.max_frames.is_some() && !tracks,
                "the built-in suite has no videos",
            ),
            ("--seed", self.seed.is_some() && !seeded, "benchmarks are asked as they are"),
        ];
        match given.iter().find(|(_, unused, _)| *unused) {
            Some((flag, _, why)) => {
                Err(Failure::misused(format!("{flag} (or its variable) has no effect: {why}")))
            }
            None => Ok(()),
        }
    }

    /// Which frames of a video.
    pub(crate) fn video(&self) -> Result<VideoOptions, Failure> {
        let usual = VideoOptions::default();
        let fps = self.fps.unwrap_or(usual.fps);
        if !(fps.is_finite() && fps > 0.0) {
            return Err(Failure::misused(format!("--fps is {fps}, accepted: a number above 0")));
        }
        let max_frames = self.max_frames.map_or(usual.max_frames, |most| most as usize);
        Ok(VideoOptions { fps, max_frames, ..usual })
    }

    /// What to ask, scenes of the built-in suite from that split.
    pub(crate) fn tasks(&self, model: &ModelArgs, split: Split) -> Result<Tasks, Failure> {
        let mut tasks = Tasks::default();
        if !self.tasks.is_empty() {
            tasks.selection = Some(TaskSelection::Tracks(self.tasks.clone()));
        } else if self.suite.is_some() {
            tasks.selection = Some(TaskSelection::Tiny);
        }
        (tasks.split, tasks.seed, tasks.limit) = (split, self.seed.unwrap_or(0), self.limit);
        (tasks.data, tasks.layout) = (self.data.clone(), self.layout);
        (tasks.profile, tasks.rules) = (self.profile, read_rules(&self.rules)?.0);
        tasks.keep_image_sizes = model.overrides_image_size();
        Ok(tasks)
    }
}
