//! Putting items to an engine.

mod album;
mod ask;
mod batches;
mod memory;

use std::sync::atomic::{AtomicUsize, Ordering};

use mico_engine::{Engine, Setting};
use mico_video::VideoOptions;
use rayon::prelude::*;

pub use album::{Album, PICTURES};
pub(crate) use ask::{Asking, Looks, MODEL_INPUT, ROUNDING, missed, missing_it};
use batches::Batches;
use memory::Watch;

use crate::condition::Condition;
use crate::error::Result;
use crate::item::{Damaged, Item};
use crate::journal::Journal;
use crate::manifest::{Asked, Refused};
use crate::record::Keys;
use crate::shard::Shard;
use crate::source::Source;

/// Told after each answer how many there are, and how many there will be if that is known.
pub type Progress<'a> = dyn Fn(usize, Option<usize>) + Sync + 'a;

/// What is measured with what. `model` must hold all that decides answers and is not in the items or
/// settings.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    /// The model.
    pub engine: &'a Engine,
    /// Its fingerprint and how it was loaded.
    pub model: &'a str,
    /// The items.
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
    pub album: Option<&'a Album>,
}

impl std::fmt::Debug for Run<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// What a run met beside answers.
#[derive(Debug, Default)]
pub struct Finished {
    /// Rows that could not be asked.
    pub damaged: Vec<Damaged>,
    /// Rows that each source's own rules leave out.
    pub dropped: Vec<usize>,
    /// Items asked, by source and track.
    pub items: Vec<Vec<usize>>,
}

impl Run<'_> {
    /// The keys of a source's records.
    pub fn keys(&self, source: &dyn Source) -> Keys {
        let layer = self.engine.schedule().policy.refine_layer;
        let (version, model) = (env!("CARGO_PKG_VERSION"), self.model);
        let (most, VideoOptions { fps, max_frames, .. }) = (source.max_new_tokens(), self.video);
        let asked = source.name();
        Keys::new(&format!("{version} {model} K={layer} {most} {fps} {max_frames} {asked}"))
    }

    /// What is asked, for the manifest.
    pub fn asked(&self) -> Vec<Asked> {
        let asked = self.sources.iter().map(|source| Asked {
            source: source.name(),
            tracks: source.tracks().to_vec(),
            run: self.keys(*source),
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
    pub fn sift(&self) -> Result<(Vec<Condition>, Vec<Refused>)> {
        let mut kept = self.settings.to_vec();
        let mut refused = Vec::new();
        for source in self.sources {
            let Some(Ok(item)) = source.items()?.find(Result::is_ok) else { continue };
            let mut looks = Looks::new(self, *source, source.prompt(&item)?);
            if looks.layouts(&item).is_err() {
                continue;
            }
            let mut still = Vec::new();
            for setting in kept {
                match looks.refusal(&item, &setting)? {
                    None => still.push(setting),
                    Some(reason) => refused.push(Refused {
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
pub fn run(run: &Run<'_>, journal: &Journal, progress: &Progress<'_>) -> Result<Finished> {
    let (mut finished, total) = (Finished::default(), run.expected());
    let done = AtomicUsize::new(0);
    let tell = |answers: usize| {
        let before = done.fetch_add(answers, Ordering::Relaxed);
        progress(before + answers, total);
    };
    tell(0);
    let threads = rayon::current_num_threads();
    let mut jobs = run.jobs.unwrap_or(threads).clamp(1, threads);
    let mut watch = run.jobs.is_none().then(Watch::new);
    for source in run.sources {
        let asking = Asking { run, source: *source, keys: run.keys(*source), journal, tell: &tell };
        let mut batches = Batches::new(source.items()?, run.shard);
        loop {
            // The first picture runs alone, to see what one costs.
            let together = if watch.is_some() { 1 } else { jobs };
            let chunk: Vec<Vec<Item>> = batches.by_ref().take(together).collect();
            if chunk.is_empty() {
                break;
            }
            let answered = chunk.par_iter().map(|batch| asking.answer(batch));
            let asked: usize = answered.collect::<Result<Vec<_>>>()?.into_iter().sum();
            if asked > 0
                && let Some(watch) = watch.take()
            {
                jobs = watch.jobs(jobs);
            }
            tell(batches.take_passed() * run.settings.len());
        }
        tell(batches.take_passed() * run.settings.len());
        finished.items.push(batches.taken(source.tracks().len()));
        finished.damaged.extend(batches.into_damaged());
        finished.dropped.push(source.dropped());
    }
    Ok(finished)
}
