//! Putting items to an engine.

mod batches;
mod encodings;
mod overlays;
mod rss;
mod runner;

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

use mico_engine::{Engine, Setting, Sink, Step};
use mico_video::VideoOptions;
use rayon::prelude::*;

use batches::Batches;
pub(crate) use encodings::ItemEncodings;
pub use overlays::{OverlayStore, PICTURES};
use rss::RssProbe;
pub(crate) use runner::{
    BUDGET_TOLERANCE, MODEL_INPUT, SourceRunner, budget_excess, budget_excess_message,
};

use crate::condition::Condition;
use crate::error::Result;
use crate::item::{DamagedRow, Item};
use crate::journal::Journal;
use crate::manifest::{RefusedSetting, SourceEntry};
use crate::record::RunKey;
use crate::shard::Shard;
use crate::source::Source;

/// Called with the number of answers so far, and with the total if it is known: after each answer, and after each
/// step of the engine on the way to one. Answering [`ControlFlow::Break`] ends the run there with
/// [`mico_engine::Error::Cancelled`]; answers that were recorded stay.
pub type Progress<'a> = dyn Fn(usize, Option<usize>) -> ControlFlow<()> + Sync + 'a;

/// Asks whether to go on, told how many answers have become known since it was last asked.
pub(crate) type Advance<'a> = dyn Fn(usize) -> ControlFlow<()> + Sync + 'a;

/// The error that ends a run where its caller stops it.
pub(crate) fn unless_stopped(flow: ControlFlow<()>) -> Result<(), mico_engine::Error> {
    match flow {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(mico_engine::Error::Cancelled),
    }
}

/// Lets a run's caller stop it at any step of the engine.
pub(crate) struct Stoppable<'a, S> {
    pub(crate) sink: S,
    pub(crate) advance: &'a Advance<'a>,
}

impl<S: Sink> Sink for Stoppable<'_, S> {
    fn progress(&mut self, step: Step) -> ControlFlow<()> {
        self.sink.progress(step)?;
        (self.advance)(0)
    }

    fn text(&mut self, piece: &str) -> ControlFlow<()> {
        self.sink.text(piece)
    }

    fn steer(&mut self, logits: &[f32]) -> Option<u32> {
        self.sink.steer(logits)
    }
}

/// What is measured with what. `model` must hold all that decides answers and is not in the items or
/// settings.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    /// The engine that answers.
    pub engine: &'a Engine,
    /// Its fingerprint and how it was loaded.
    pub model: &'a str,
    /// The sources of the items, asked one after the other.
    pub sources: &'a [&'a dyn Source],
    /// Switches, limits and prompt style of the whole run; a source may have limits of its own.
    pub base: &'a Setting,
    /// How they are run.
    pub settings: &'a [Condition],
    /// Which part of the items.
    pub shard: Shard,
    /// Which frames of a video.
    pub video: VideoOptions,
    /// Pictures under way at once; as many as there are threads and memory unless given.
    pub jobs: Option<usize>,
    /// Where pictures of the first items go, if anywhere.
    pub overlays: Option<&'a OverlayStore>,
}

impl std::fmt::Debug for Run<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// What a run met beside answers.
#[derive(Debug, Default)]
pub struct RunOutcome {
    /// Rows that could not be asked.
    pub damaged: Vec<DamagedRow>,
    /// Rows that each source's own rules leave out.
    pub dropped: Vec<usize>,
    /// Items asked, by source and track.
    pub items: Vec<Vec<usize>>,
}

impl Run<'_> {
    /// The key that all records of a source have in common: everything that decides answers apart from
    /// item, prompt and setting.
    pub fn run_key(&self, source: &dyn Source) -> RunKey {
        let layer = self.engine.schedule().policy.refine_layer;
        let (version, model) = (env!("CARGO_PKG_VERSION"), self.model);
        let (most, VideoOptions { fps, max_frames, .. }) = (source.max_new_tokens(), self.video);
        let asked = source.name();
        RunKey::new(&format!("{version} {model} K={layer} {most} {fps} {max_frames} {asked}"))
    }

    /// What is asked, for the manifest.
    pub fn asked(&self) -> Vec<SourceEntry> {
        let asked = self.sources.iter().map(|source| SourceEntry {
            source: source.name(),
            tracks: source.tracks().to_vec(),
            run: self.run_key(*source),
            dropped: 0,
            items: Vec::new(),
        });
        asked.collect()
    }

    /// How many answers there will be, if every source knows its items.
    fn expected(&self) -> Option<usize> {
        let items = self.sources.iter().map(|source| source.expected());
        Some(items.sum::<Option<usize>>()? * self.settings.len())
    }

    /// Takes out the settings that the engine refuses for the first picture of each source.
    pub fn partition_supported(&self) -> Result<(Vec<Condition>, Vec<RefusedSetting>)> {
        let mut kept = self.settings.to_vec();
        let mut refused = Vec::new();
        for source in self.sources {
            let Some(Ok(item)) = source.items()?.find(Result::is_ok) else { continue };
            let mut encodings = ItemEncodings::new(self, *source, source.prompt(&item)?);
            if encodings.layouts(&item).is_err() {
                continue;
            }
            let mut still = Vec::new();
            for setting in kept {
                match encodings.refusal(&item, &setting)? {
                    None => still.push(setting),
                    Some(reason) => refused.push(RefusedSetting {
                        setting: setting.label.clone(),
                        budget: setting.tokens(),
                        reason,
                    }),
                }
            }
            kept = still;
        }
        Ok((kept, refused))
    }
}

/// Answers every item under every setting, apart from what the journal already holds. The answers
/// do not depend on the number of threads; the order of records does.
pub fn run(run: &Run<'_>, journal: &Journal, progress: &Progress<'_>) -> Result<RunOutcome> {
    let (mut finished, total) = (RunOutcome::default(), run.expected());
    let done = AtomicUsize::new(0);
    let advance = |answers: usize| {
        let before = done.fetch_add(answers, Ordering::Relaxed);
        progress(before + answers, total)
    };
    unless_stopped(advance(0))?;
    let threads = rayon::current_num_threads();
    let mut jobs = run.jobs.unwrap_or(threads).clamp(1, threads);
    let mut watch = run.jobs.is_none().then(RssProbe::new);
    for source in run.sources {
        let runner = SourceRunner {
            run,
            source: *source,
            run_key: run.run_key(*source),
            journal,
            progress: &advance,
        };
        let mut batches = Batches::new(source.items()?, run.shard);
        loop {
            // The first picture runs alone, to see what one costs.
            let together = if watch.is_some() { 1 } else { jobs };
            let chunk: Vec<Vec<Item>> = batches.by_ref().take(together).collect();
            if chunk.is_empty() {
                break;
            }
            let answered = chunk.par_iter().map(|batch| runner.answer(batch));
            let asked: usize = answered.collect::<Result<Vec<_>>>()?.into_iter().sum();
            if asked > 0
                && let Some(watch) = watch.take()
            {
                jobs = watch.jobs(jobs);
            }
            unless_stopped(advance(batches.take_passed() * run.settings.len()))?;
        }
        unless_stopped(advance(batches.take_passed() * run.settings.len()))?;
        finished.items.push(batches.taken(source.tracks().len()));
        finished.damaged.extend(batches.into_damaged());
        finished.dropped.push(source.dropped());
    }
    Ok(finished)
}
