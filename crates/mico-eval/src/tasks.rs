//! What to ask: the built-in suite, or benchmarks from their files.

use std::path::PathBuf;

use mico_data::Layout;
use mico_engine::families::Toolkit;
use mico_engine::{Engine, Setting};
use mico_scenes::Split;
use mico_score::{Profile, Track};
use mico_util::text::quoted;

use crate::error::{Error, Result};
use crate::policy::{profile_of, rules_of};
use crate::source::{Benchmark, BenchmarkOptions, Source, TinySuite};
use crate::sweep::Sweep;

/// The built-in suite's name.
const TINY: &str = "tiny";
/// Items per track of the built-in suite unless something else is said.
const SUITE_LIMIT: usize = 250;
const CALIBRATION_LIMIT: usize = 100;

/// Which items are asked: those of the built-in suite, or of benchmarks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskSelection {
    /// The built-in suite of generated scenes.
    Tiny,
    /// Benchmarks, from their files.
    Tracks(Vec<Track>),
}

/// What to ask, and by whose rules. What is not said follows the paper's evaluation of the model's family.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Tasks {
    /// The items; a sweep may say instead.
    pub selection: Option<TaskSelection>,
    /// Which scenes of the built-in suite.
    pub split: Split,
    /// Which of that split's.
    pub seed: u64,
    /// The folder with the benchmarks' files.
    pub data: Option<PathBuf>,
    /// The files' layout; whichever is there unless given.
    pub layout: Option<Layout>,
    /// Whose prompts and scoring rules.
    pub profile: Option<Profile>,
    /// Versions of the scoring rules, by name.
    pub rules: Vec<(String, String)>,
    /// The most items of each track; all of a benchmark unless given.
    pub limit: Option<usize>,
    /// Whether images keep the sizes of the run's settings, also on tracks where the paper sets others.
    pub keep_image_sizes: bool,
}

impl Default for Tasks {
    fn default() -> Self {
        Self {
            selection: None,
            split: Split::Benchmark,
            seed: 0,
            data: None,
            layout: None,
            profile: None,
            rules: Vec::new(),
            limit: None,
            keep_image_sizes: false,
        }
    }
}

/// A benchmark that a model can be asked about, by its name.
pub fn parse_track(name: &str) -> std::result::Result<Track, String> {
    match name.parse() {
        Ok(Track::VtcBench) => {
            Err("task 'vtcbench' is scored from logs: mico score --task vtcbench".to_owned())
        }
        Ok(track) => Ok(track),
        Err(unknown) => Err(unknown.to_string()),
    }
}

impl Tasks {
    /// The built-in suite with at most `limit` items per track, everything else left open.
    pub fn tiny(split: Split, seed: u64, limit: usize) -> Self {
        let selection = Some(TaskSelection::Tiny);
        Self { selection, split, seed, limit: Some(limit), ..Self::default() }
    }

    /// Whether benchmarks are asked, not the built-in suite.
    pub fn has_tracks(&self) -> bool {
        !self.tracks().is_empty()
    }

    /// The benchmarks, each once.
    fn tracks(&self) -> Vec<Track> {
        let mut tracks = Vec::new();
        if let Some(TaskSelection::Tracks(asked)) = &self.selection {
            for track in asked {
                if !tracks.contains(track) {
                    tracks.push(*track);
                }
            }
        }
        tracks
    }

    /// Takes over what a sweep's file asks, where nothing is said here.
    pub(crate) fn apply_sweep(&mut self, sweep: &Sweep) -> Result<()> {
        self.limit = self.limit.or(sweep.limit);
        if self.selection.is_some() {
            return Ok(());
        }
        let selection = match sweep.suite.as_deref() {
            Some(TINY) => TaskSelection::Tiny,
            Some(other) => {
                let message = format!("suite '{}', accepted: {TINY}", quoted(other));
                return Err(sweep.wrong(message));
            }
            None => {
                let tracks = sweep.tasks.iter().map(|name| parse_track(name));
                let tracks: std::result::Result<_, _> = tracks.collect();
                TaskSelection::Tracks(tracks.map_err(|error: String| sweep.wrong(error))?)
            }
        };
        self.selection = Some(selection);
        if self.has_tracks() && self.data.is_none() {
            return Err(sweep.wrong("its tasks need --data DIR"));
        }
        Ok(())
    }

    /// The most items of each track.
    pub fn most(&self) -> Option<usize> {
        if self.has_tracks() {
            return self.limit;
        }
        let usual = match self.split {
            Split::Calibration => CALIBRATION_LIMIT,
            Split::Train | Split::Benchmark => SUITE_LIMIT,
        };
        Some(self.limit.unwrap_or(usual))
    }

    fn profile(&self, engine: &Engine) -> Profile {
        self.profile.unwrap_or_else(|| profile_of(&engine.family().evaluation))
    }

    /// The setting that a model is asked under: a LLaVA model as LLaVA's scripts do, system sentence
    /// included, unless another style was given, for checkpoints' own templates leave that out.
    pub fn base_setting(&self, engine: &Engine, base: &Setting) -> Setting {
        let mut base = base.clone();
        let own = engine.family().evaluation.toolkit == Toolkit::Llava;
        if self.has_tracks() && own && self.profile(engine) == Profile::Llava {
            let style = || engine.family().prompt_style(engine.model().config(), None);
            base.style.get_or_insert_with(style);
        }
        base
    }

    /// Opens what is asked, with the rules of the model's family.
    pub fn open(&self, engine: &Engine) -> Result<Vec<Box<dyn Source>>> {
        let limit = self.most();
        let tracks = self.tracks();
        if tracks.is_empty() {
            let suite = TinySuite::new(self.split, self.seed, limit.unwrap_or(SUITE_LIMIT));
            return Ok(vec![Box::new(suite)]);
        }
        let evaluation = &engine.family().evaluation;
        let profile = self.profile(engine);
        let mut rules = rules_of(evaluation);
        for (name, value) in &self.rules {
            rules.set(name, value).map_err(|error| Error::invalid(format!("rule {error}")))?;
        }
        let Some(root) = &self.data else {
            return Err(Error::invalid("--tasks needs --data DIR"));
        };
        let mut sources: Vec<Box<dyn Source>> = Vec::new();
        for track in tracks {
            let (root, layout) = (root.clone(), self.layout);
            let paper = (evaluation.image_limits)(track.name());
            let limits = paper.filter(|_| !self.keep_image_sizes);
            let options = BenchmarkOptions { root, track, profile, rules, limit, layout, limits };
            sources.push(Box::new(Benchmark::open(options)?));
        }
        Ok(sources)
    }
}
