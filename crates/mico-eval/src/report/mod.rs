//! From records to numbers: accuracy per track, Acc, Rel, comparisons.

mod markdown;
mod tally;

use serde::Serialize;

use crate::journal::Journal;
use crate::run::Run;
use crate::setting::Setting;
use crate::stats::{RESAMPLES, Resamples, interval, mcnemar};
use crate::task::Item;
pub(crate) use tally::Tally;

/// A number with its 95 % interval, in percent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// The number.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Estimate {
    /// A value with the interval of its draws; with the value alone if there are none.
    pub(crate) fn drawn(value: f64, draws: Vec<f64>) -> Self {
        let (low, high) = interval(draws).unwrap_or((value, value));
        Self { value, low, high }
    }
}

/// A track's accuracy under one setting.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrackScore {
    /// The track.
    pub track: &'static str,
    /// Items asked.
    pub asked: usize,
    /// Items answered rightly.
    pub right: usize,
    /// The share, with Wilson's interval.
    pub accuracy: Estimate,
}

/// One setting's results.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The setting.
    pub setting: String,
    /// Its budget.
    pub tokens: Option<usize>,
    /// Visual tokens averaged over blocks and items.
    pub layer_average: f64,
    /// The tracks.
    pub tracks: Vec<TrackScore>,
    /// Mean of the tracks; its interval by drawing pictures again.
    pub acc: Estimate,
    /// Acc in percent of the unpruned one, if that was measured.
    pub rel: Option<Estimate>,
}

/// Two settings on the same items.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Their budget.
    pub tokens: usize,
    /// The first setting.
    pub first: String,
    /// The second.
    pub second: String,
    /// The first's Acc minus the second's, by paired draws.
    pub difference: Estimate,
    /// Items only the first got right, and only the second.
    pub only: [usize; 2],
    /// McNemar's exact p-value of those two counts, as if all items were independent.
    pub p_value: f64,
}

/// Everything there is to tell about a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// The suite.
    pub suite: String,
    /// Items per setting.
    pub items: usize,
    /// Pictures.
    pub pictures: usize,
    /// What always giving the most frequent answer to a question's form would score.
    pub chance: Vec<TrackScore>,
    /// The settings.
    pub rows: Vec<Row>,
    /// Every pair of settings with the same budget.
    pub comparisons: Vec<Comparison>,
}

impl Summary {
    /// The results of a finished run; settings without all their records are left out.
    pub fn new(run: &Run<'_>, journal: &Journal) -> Self {
        let suite = run.suite;
        let keys = run.keys();
        let right = |item: &Item, answer: &str| {
            suite.tracks()[item.track].scorer.right(answer, &item.answer)
        };
        let mut tallies: Vec<(&Setting, Tally, f64)> = Vec::new();
        for setting in run.settings {
            let records: Option<Vec<_>> =
                suite.items().iter().map(|item| journal.get(&keys.of(item, setting))).collect();
            let Some(records) = records else { continue };
            let marks = suite.items().iter().zip(&records);
            let marks = marks.map(|(item, record)| right(item, &record.answer)).collect();
            let average = records.iter().map(|record| record.layer_average).sum::<f64>();
            let tally = Tally::new(suite.items(), suite.tracks().len(), marks);
            tallies.push((setting, tally, average / records.len().max(1) as f64));
        }
        let chance = Tally::chance(suite.items(), suite.tracks());
        let resamples = Resamples::new(chance.pictures(), RESAMPLES);
        let unpruned = tallies.iter().find(|(setting, ..)| **setting == Setting::Unpruned);
        let unpruned = unpruned.map(|(_, tally, _)| tally);
        let rows = tallies.iter().map(|(setting, tally, layer_average)| Row {
            setting: setting.label(),
            tokens: setting.tokens(),
            layer_average: *layer_average,
            tracks: tally.tracks(suite.tracks()),
            acc: tally.acc(&resamples),
            rel: unpruned.and_then(|unpruned| tally.rel(unpruned, &resamples)),
        });
        Self {
            suite: suite.name(),
            items: suite.items().len(),
            pictures: chance.pictures(),
            chance: chance.tracks(suite.tracks()),
            rows: rows.collect(),
            comparisons: comparisons(&tallies, &resamples),
        }
    }
}

fn comparisons(tallies: &[(&Setting, Tally, f64)], resamples: &Resamples) -> Vec<Comparison> {
    let mut all = Vec::new();
    for (at, (first, a, _)) in tallies.iter().enumerate() {
        for (second, b, _) in &tallies[at + 1..] {
            let Some(tokens) = first.tokens().filter(|_| first.tokens() == second.tokens()) else {
                continue;
            };
            let only = a.only(b);
            let draws = resamples.map(|counts| Some(a.drawn(counts)? - b.drawn(counts)?));
            all.push(Comparison {
                tokens,
                first: first.label(),
                second: second.label(),
                difference: Estimate::drawn(a.value() - b.value(), draws),
                only,
                p_value: mcnemar(only[0], only[1]),
            });
        }
    }
    all
}
