//! A benchmark of the paper, from its files.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use mico_data::{Dataset, Layout, Samples};
use mico_engine::ImageLimits;
use mico_score::{Profile, PromptError, Rules, Segment, Track, max_new_tokens, segments};
use serde_json::json;

use super::{Items, Source};
use crate::error::{Error, Result};
use crate::item::{DamagedRow, Item};
use crate::run::MODEL_INPUT;
use crate::scoring::{Scoring, TrackSpec};

/// Digits of the data's hash that stand in names.
const FINGERPRINT: usize = 16;

/// What to read, and whose rules to follow.
#[derive(Debug, Clone)]
pub struct BenchmarkOptions {
    /// The folder with the files.
    pub root: PathBuf,
    /// The benchmark to read.
    pub track: Track,
    /// Whose prompts and rules.
    pub profile: Profile,
    /// Which of their versions.
    pub rules: Rules,
    /// The number of items after which reading stops; all are read if `None`.
    pub limit: Option<usize>,
    /// The files' layout; whichever is there unless given.
    pub layout: Option<Layout>,
    /// How large its pictures may become; as the engine has it unless given.
    pub limits: Option<ImageLimits>,
}

/// One track, read from its files again whenever its items are asked for.
#[derive(Debug)]
pub struct Benchmark {
    options: BenchmarkOptions,
    dataset: Dataset,
    fingerprint: String,
    tracks: [TrackSpec; 1],
    dropped: AtomicUsize,
}

impl Benchmark {
    /// Finds the benchmark's files and hashes them; no item is read yet.
    pub fn open(options: BenchmarkOptions) -> Result<Self> {
        let BenchmarkOptions { root, track, profile, rules, layout, .. } = &options;
        let dataset = match layout {
            Some(layout) => mico_data::open_as(root, *track, *layout)?,
            // A folder may hold several releases of a benchmark: the toolkit's own comes first.
            None => match mico_data::open_as(root, *track, home(*profile)) {
                Ok(dataset) => dataset,
                Err(_) => mico_data::open(root, *track)?,
            },
        };
        let mut fingerprint = dataset.fingerprint()?;
        fingerprint.truncate(FINGERPRINT);
        let (track, profile, rules) = (*track, *profile, *rules);
        let scoring = Scoring::Benchmark { track, profile, rules };
        let tracks = [TrackSpec { name: track.name().to_owned(), scoring }];
        Ok(Self { options, dataset, fingerprint, tracks, dropped: AtomicUsize::new(0) })
    }

    fn segments(&self, item: &Item) -> std::result::Result<Vec<Segment>, PromptError> {
        let BenchmarkOptions { track, profile, .. } = self.options;
        segments(track, profile, &item.fields, item.visuals.len())
    }
}

/// Describes image limits for the name of a source.
fn sizes(limits: &ImageLimits) -> String {
    let ImageLimits { min_pixels, max_pixels, max_tiles } = limits;
    let tiles = max_tiles.map(u64::from);
    [
        (min_pixels, "at least", "pixels"),
        (max_pixels, "at most", "pixels"),
        (&tiles, "at most", "tiles"),
    ]
    .iter()
    .filter_map(|(limit, which, what)| Some(format!(", {which} {} {what}", (**limit)?)))
    .collect()
}

/// The layout in which a toolkit keeps its benchmarks.
fn home(profile: Profile) -> Layout {
    match profile {
        Profile::Llava => Layout::LlavaFolder,
        Profile::Lmms => Layout::Parquet,
        Profile::VlmEvalKit
        | Profile::InternVl
        | Profile::Qwen2VlCustom
        | Profile::Qwen3VlCustom => Layout::VlmEvalKit,
    }
}

impl Source for Benchmark {
    fn name(&self) -> String {
        let BenchmarkOptions { track, profile, .. } = &self.options;
        let (layout, profile) = (self.dataset.layout, profile.name());
        let sizes = self.options.limits.map_or_else(String::new, |limits| sizes(&limits));
        format!("{track} ({layout} files {}, {profile} prompts{sizes})", self.fingerprint)
    }

    fn tracks(&self) -> &[TrackSpec] {
        &self.tracks
    }

    fn items(&self) -> Result<Items<'_>> {
        let samples = self.dataset.samples()?;
        Ok(Box::new(BenchmarkItems { benchmark: self, samples, position: 0 }))
    }

    fn expected(&self) -> Option<usize> {
        let (rows, limit) = (self.dataset.rows, self.options.limit);
        rows.map_or(limit, |rows| Some(limit.map_or(rows, |limit| limit.min(rows))))
    }

    fn prompt(&self, item: &Item) -> Result<Vec<Segment>> {
        let named = || format!("{} {}", self.options.track, item.id);
        self.segments(item).map_err(|source| Error::Prompt { item: named(), source })
    }

    fn max_new_tokens(&self) -> usize {
        max_new_tokens(self.options.track, self.options.profile)
    }

    fn limits(&self) -> Option<ImageLimits> {
        self.options.limits
    }

    fn dropped(&self) -> usize {
        self.dropped.load(Ordering::Relaxed)
    }
}

/// The file being read.
struct BenchmarkItems<'a> {
    benchmark: &'a Benchmark,
    samples: Samples,
    position: usize,
}

impl Iterator for BenchmarkItems<'_> {
    type Item = std::result::Result<Item, DamagedRow>;

    fn next(&mut self) -> Option<Self::Item> {
        let Benchmark { options, tracks: [spec], dropped, .. } = self.benchmark;
        if options.limit.is_some_and(|limit| self.position >= limit) {
            return None;
        }
        let damaged = |reason: String| DamagedRow { track: spec.name.clone(), reason };
        let sample = self.samples.next();
        dropped.store(
            usize::try_from(self.samples.dropped()).unwrap_or(usize::MAX),
            Ordering::Relaxed,
        );
        let sample = match sample? {
            Ok(sample) => sample,
            Err(error) => return Some(Err(damaged(error.to_string()))),
        };
        let item = Item {
            id: sample.id,
            track: 0,
            position: self.position,
            cluster: sample.cluster,
            fields: sample.fields,
            visuals: sample.visuals.into_iter().map(Into::into).collect(),
        };
        // A row without question or gold cannot be asked, and is told so before it costs anything.
        if let Err(error) = self.benchmark.segments(&item) {
            return Some(Err(damaged(format!("{}: {error}", item.id))));
        }
        // What the model will see is not known yet; any size will do.
        let mut fields = item.fields.clone();
        fields.insert(MODEL_INPUT.to_owned(), json!([1, 1]));
        if let Err(error) = spec.grade(&item.id, &fields, "") {
            return Some(Err(damaged(error.to_string())));
        }
        self.position += 1;
        Some(Ok(item))
    }
}
