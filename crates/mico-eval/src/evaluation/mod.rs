//! A whole evaluation: from what to ask to scored result files.

mod conditions;
mod result;

use std::path::PathBuf;

use mico_engine::{Engine, Setting};
use mico_video::VideoOptions;

pub use conditions::Conditions;
pub use result::{Document, EvaluationResult, RESULT_FILES};

use crate::error::{Error, Result};
use crate::fingerprint::ModelIdentity;
use crate::journal::Journal;
use crate::manifest::Manifest;
use crate::run::{OverlayStore, Progress, Run, RunOutcome, run};
use crate::shard::Shard;
use crate::source::Source;
use crate::tasks::Tasks;

/// What to ask, how, and where results go.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct EvaluationOptions {
    /// The items to ask, and the rules that score them.
    pub tasks: Tasks,
    /// Switches, image limits and prompt style of the whole evaluation.
    pub base: Setting,
    /// The conditions that are compared on those items.
    pub conditions: Conditions,
    /// Which part of the items.
    pub shard: Shard,
    /// Which frames of a video.
    pub video: VideoOptions,
    /// Pictures under way at once; as many as there are threads and memory unless given.
    pub jobs: Option<usize>,
    /// The folder for records and what is made of them; without one they are in memory alone.
    pub out: Option<PathBuf>,
    /// Items of each track of which pictures are kept in that folder.
    pub pictures: usize,
    /// Whether to go on from the records in that folder.
    pub resume: bool,
    /// How the program was called, for the manifest.
    pub argv: Vec<String>,
}

impl EvaluationOptions {
    /// Everything that can be left open is.
    pub fn new(tasks: Tasks, base: Setting, conditions: Conditions) -> Self {
        Self {
            tasks,
            base,
            conditions,
            shard: Shard::default(),
            video: VideoOptions::default(),
            jobs: None,
            out: None,
            pictures: 0,
            resume: false,
            argv: Vec::new(),
        }
    }
}

/// An evaluation that can be run: nothing is wrong with it that could be known without a model, and its
/// records' file is its own.
#[derive(Debug)]
pub struct Evaluation {
    options: EvaluationOptions,
    journal: Journal,
}

/// What of an evaluation depends on the model.
struct ModelSetup<'a> {
    base: Setting,
    sources: Vec<&'a dyn Source>,
    model: String,
    overlays: Option<OverlayStore>,
}

impl Evaluation {
    /// Checks what can be checked without a model and opens the records.
    pub fn open(mut options: EvaluationOptions) -> Result<Self> {
        if let Conditions::Sweep { sweep, .. } = &options.conditions {
            options.tasks.apply_sweep(sweep)?;
        }
        if options.tasks.selection.is_none() {
            let accepted = "--suite tiny, --tasks NAMES --data DIR, or --sweep";
            return Err(Error::invalid(format!("nothing to ask, accepted: {accepted}")));
        }
        options.conditions.check(&options.base)?;
        let journal = match &options.out {
            Some(folder) => Journal::open(folder, options.resume)?,
            None => Journal::in_memory(),
        };
        Ok(Self { options, journal })
    }

    /// Whether benchmarks are asked, and not the built-in suite; a sweep may have chosen.
    pub fn has_tracks(&self) -> bool {
        self.options.tasks.has_tracks()
    }

    /// Asks everything that the records do not answer yet, on the engine's threads, and scores it.
    pub fn run(
        self,
        engine: &Engine,
        identity: &ModelIdentity,
        progress: &Progress<'_>,
    ) -> Result<EvaluationResult> {
        engine.install(|| self.measure(engine, identity, progress))
    }

    fn measure(
        self,
        engine: &Engine,
        identity: &ModelIdentity,
        progress: &Progress<'_>,
    ) -> Result<EvaluationResult> {
        let options = &self.options;
        let base = options.tasks.base_setting(engine, &options.base);
        let conditions = options.conditions.over(engine, &base)?;
        let sources = options.tasks.open(engine)?;
        let overlays = options.out.as_ref().filter(|_| options.pictures > 0);
        let overlays =
            overlays.map(|folder| OverlayStore::open(folder, options.pictures)).transpose()?;
        let builtin = ModelSetup {
            sources: sources.iter().map(AsRef::as_ref).collect(),
            model: format!("{} {} {base}", identity.fingerprint, identity.loaded),
            base,
            overlays,
        };
        let mut asked = self.run_of(engine, &builtin);
        asked.settings = &conditions;
        let mut manifest = self.manifest(&asked, identity)?;
        self.save(&manifest)?;
        asked.settings = &manifest.settings;
        let finished = run(&asked, &self.journal, progress)?;
        apply_outcome(&mut manifest, finished)?;
        self.save(&manifest)?;
        EvaluationResult::new(manifest, self.journal)
    }

    /// The run, without conditions yet.
    fn run_of<'a>(&self, engine: &'a Engine, builtin: &'a ModelSetup<'_>) -> Run<'a> {
        Run {
            engine,
            model: &builtin.model,
            sources: &builtin.sources,
            base: &builtin.base,
            settings: &[],
            shard: self.options.shard,
            video: self.options.video,
            jobs: self.options.jobs,
            overlays: builtin.overlays.as_ref(),
        }
    }

    /// What will be asked: conditions that the engine refuses are left out.
    fn manifest(&self, run: &Run<'_>, identity: &ModelIdentity) -> Result<Manifest> {
        let (settings, refused) = run.partition_supported()?;
        let pruned = settings.iter().any(|condition| condition.tokens().is_some());
        if let (Some(first), false) = (refused.first(), pruned) {
            return Err(Error::Refused { reason: first.reason.clone() });
        }
        Ok(Manifest {
            title: self.options.conditions.title().to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            model: identity.name.clone(),
            fingerprint: identity.fingerprint.clone(),
            argv: self.options.argv.clone(),
            asked: run.asked(),
            settings,
            refused,
            limit: self.options.tasks.most(),
            shard: self.options.shard,
            finished: false,
            damaged: Vec::new(),
        })
    }

    /// Writes the manifest, before anything is asked and after everything was.
    fn save(&self, manifest: &Manifest) -> Result<()> {
        self.options.out.as_ref().map_or(Ok(()), |folder| manifest.write(folder))
    }
}

/// Enters what a run met into its manifest. It is an error if a source had nothing to ask.
fn apply_outcome(manifest: &mut Manifest, outcome: RunOutcome) -> Result<()> {
    manifest.damaged = outcome.damaged;
    let met = outcome.dropped.into_iter().zip(outcome.items);
    for (asked, met) in manifest.asked.iter_mut().zip(met) {
        (asked.dropped, asked.items) = met;
    }
    let bare = manifest.asked.iter().find(|asked| asked.items.iter().sum::<usize>() == 0);
    if let (Some(bare), true) = (bare, manifest.shard.is_whole()) {
        let first = manifest.damaged.first();
        let reason = first.map_or_else(String::new, |first| format!(": {}", first.reason));
        return Err(Error::Empty { origin: bare.source.clone(), reason });
    }
    manifest.finished = true;
    Ok(())
}
