//! From records to numbers: a value per track, Acc, Rel, comparisons. Needs neither model nor data.

mod chance;
mod columns;
mod compare;
mod draws;
mod markdown;
mod missing;
mod paper;

use mico_score::Track;
use serde::Serialize;

use crate::condition::UNPRUNED;
use crate::error::Result;
use crate::item::DamagedRow;
use crate::journal::Journal;
use crate::manifest::{Manifest, RefusedSetting};
use crate::shard::Shard;
use crate::stats::interval;
pub use columns::columns_of;
pub(crate) use columns::missing_records;
pub use columns::{Column, GradedAnswer, TrackItem};
pub(crate) use compare::verdict;
pub use compare::{Comparison, TrackComparison};
use draws::Draws;
pub use paper::paper_table;

/// A number with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// The point estimate itself.
    pub value: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

impl Estimate {
    /// A value with the interval of its draws; with the value alone if there are none.
    pub(crate) fn from_resamples(value: f64, draws: Vec<f64>) -> Self {
        let (low, high) = interval(value, draws).unwrap_or((value, value));
        Self { value, low, high }
    }
}

impl From<Estimate> for mico_chart::Interval {
    fn from(Estimate { value, low, high }: Estimate) -> Self {
        Self { value, low, high }
    }
}

/// A track's value under one setting.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrackScore {
    /// The name of the track.
    pub track: String,
    /// Items asked; all of them are in the denominator.
    pub asked: usize,
    /// Items with at least half a point.
    pub right: usize,
    /// Answers without a word.
    pub empty: usize,
    /// Answers with words that the rule could not read.
    pub unreadable: usize,
    /// Items that could not be asked, which counts as wrong: a picture that cannot be read, a prompt
    /// that is too long.
    pub failed: usize,
    /// Answers that were cut at the longest allowed.
    pub cut: usize,
    /// The track's value; `None` where its metric is not defined.
    pub value: Option<Estimate>,
    /// How the interval was made.
    pub interval: &'static str,
    /// What the value is made of.
    pub parts: Vec<(String, f64)>,
}

/// What the answers under one setting come to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The label of the setting.
    pub setting: String,
    /// The budget T of the setting; `None` if it prunes nothing.
    pub tokens: Option<usize>,
    /// Refinement block, where the setting has its own.
    pub refine_layer: Option<usize>,
    /// Stage-1 pool as a multiple of the budget.
    pub pool: Option<usize>,
    /// Visual tokens averaged over blocks and items.
    pub layer_average: f64,
    /// Seconds per answer in the decoder, pruning included, averaged over items.
    pub seconds: f64,
    /// The scores of each track, in the order of the manifest.
    pub tracks: Vec<TrackScore>,
    /// The paper's mean of tracks; its interval by drawing pictures again. `None` if a track is
    /// missing.
    pub acc: Option<Estimate>,
    /// Acc in percent of the unpruned one, if both are known.
    pub rel: Option<Estimate>,
}

/// A setting that has not been asked everything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Incomplete {
    /// The label of the setting.
    pub setting: String,
    /// The budget T of the setting; `None` if it prunes nothing.
    pub tokens: Option<usize>,
    /// The name of the track.
    pub track: String,
    /// Items with an answer.
    pub answered: usize,
    /// Items of the track.
    pub of: usize,
}

/// Everything there is to tell about a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// The names of the sources that were asked.
    pub suite: String,
    /// Which part of it.
    pub shard: Shard,
    /// Whether every item of every part was asked.
    pub finished: bool,
    /// The number of items that each setting was asked.
    pub items: usize,
    /// The number of distinct pictures (clusters) that those items are about.
    pub pictures: usize,
    /// The rule of each track.
    pub rules: Vec<(String, String)>,
    /// Tracks whose values need all rows and were given some.
    pub limited: Vec<String>,
    /// Why there is no Acc, if there is none.
    pub acc_missing: Vec<String>,
    /// What always giving the most frequent answer to a question's form would score, on the generated
    /// scenes.
    pub chance: Vec<(String, f64)>,
    /// The results of each setting that answered every item.
    pub rows: Vec<Row>,
    /// Every pair of settings with the same budget.
    pub comparisons: Vec<Comparison>,
    /// Settings that were left out.
    pub incomplete: Vec<Incomplete>,
    /// Settings that cannot be run.
    pub refused: Vec<RefusedSetting>,
    /// Rows that could not be asked, and are in no denominator.
    pub damaged: Vec<DamagedRow>,
    /// Rows that the benchmarks' own rules leave out.
    pub dropped: usize,
}

impl Summary {
    /// The results of a run, or of what there is of it.
    pub fn new(manifest: &Manifest, journal: &Journal) -> Result<Self> {
        let columns = columns::columns_of(manifest, journal)?;
        let mut incomplete = Vec::new();
        let mut complete = Vec::new();
        for (at, setting) in manifest.settings.iter().enumerate() {
            let lacking = columns.iter().find(|column| !column.is_complete(at));
            match lacking {
                None => complete.push((at, setting)),
                Some(column) => incomplete.push(Incomplete {
                    setting: setting.label.clone(),
                    tokens: setting.tokens(),
                    track: column.spec.name.clone(),
                    answered: column.answered(at),
                    of: column.items.len(),
                }),
            }
        }
        if columns.iter().all(|column| column.items.is_empty()) {
            complete.clear();
        }
        let draws = Draws::new(&columns, &complete);
        let sources: Vec<&str> = manifest.asked.iter().map(|asked| asked.source.as_str()).collect();
        Ok(Self {
            suite: sources.join("; "),
            shard: manifest.shard,
            finished: manifest.finished,
            items: columns.iter().map(|column| column.items.len()).sum(),
            pictures: draws.clusters(),
            rules: columns.iter().map(|c| (c.spec.name.clone(), c.spec.rule())).collect(),
            limited: limited(manifest, &columns),
            acc_missing: draws.missing(),
            chance: columns.iter().filter_map(chance::of).collect(),
            rows: complete
                .iter()
                .enumerate()
                .map(|(row, (_, setting))| draws.row(row, setting))
                .collect(),
            comparisons: compare::pairs(&draws, &complete),
            incomplete,
            refused: manifest.refused.clone(),
            damaged: manifest.damaged.clone(),
            dropped: manifest.asked.iter().map(|asked| asked.dropped).sum(),
        })
    }

    /// The row of the unpruned model.
    pub fn unpruned(&self) -> Option<&Row> {
        self.rows.iter().find(|row| row.setting == UNPRUNED)
    }
}

/// Tracks that were cut by the limit and whose rows count only together.
fn limited(manifest: &Manifest, columns: &[Column]) -> Vec<String> {
    let together = |column: &&Column| {
        let track = column.spec.benchmark();
        let grouped = [Track::Mme, Track::MmbenchEn, Track::MmbenchCn, Track::HallusionBench];
        track.is_some_and(|track| grouped.contains(&track))
            && manifest.limit.is_some_and(|limit| column.items.len() >= limit)
    };
    columns.iter().filter(together).map(|column| column.spec.name.clone()).collect()
}
