//! Measured items added up, with intervals.

use std::collections::BTreeMap;

use mico_score::Marked;

use super::measure::MeasuredItem;
use crate::acc::Mean;
use crate::error::{Error, Result};
use crate::run::Run;
use crate::scoring::{TrackSpec, Values};
use crate::stats::{RESAMPLES, Resamples};
use crate::summary::Estimate;

/// The measured items by track and picture, ready for intervals.
pub(super) struct Table<'a> {
    /// For each track, its items' numbers.
    tracks: Vec<Vec<usize>>,
    /// By setting and track.
    values: Vec<Vec<Values>>,
    /// The picture of each item.
    pictures: Vec<usize>,
    resamples: Resamples,
    mean: Mean,
    measured: &'a [MeasuredItem],
}

impl<'a> Table<'a> {
    pub(super) fn new(run: &Run<'_>, measured: &'a [MeasuredItem], settings: usize) -> Self {
        let specs: Vec<_> = run.sources.iter().flat_map(|source| source.tracks()).collect();
        let mut tracks = vec![Vec::new(); specs.len()];
        for (number, each) in measured.iter().enumerate() {
            let before = run.sources[..each.sampled.source].iter();
            let before: usize = before.map(|source| source.tracks().len()).sum();
            tracks[before + each.sampled.item.track].push(number);
        }
        let values = (0..settings).map(|setting| {
            let of = |(track, spec): (usize, &&TrackSpec)| {
                let marked: Vec<Marked<'_>> = tracks[track]
                    .iter()
                    .map(|&at| Marked {
                        fields: &measured[at].sampled.item.fields,
                        grade: &measured[at].results[setting].grade,
                    })
                    .collect();
                spec.values(&marked)
            };
            specs.iter().enumerate().map(of).collect()
        });
        let values = values.collect();
        let picture =
            |each: &'a MeasuredItem| (each.sampled.source, each.sampled.item.cluster.as_str());
        let mut clusters: BTreeMap<(usize, &str), usize> =
            measured.iter().map(|each| (picture(each), 0)).collect();
        (0..).zip(clusters.values_mut()).for_each(|(number, value)| *value = number);
        let pictures = measured.iter().map(|each| clusters[&picture(each)]).collect();
        let resamples = Resamples::new(clusters.len(), RESAMPLES);
        let mean = Mean::any(specs.iter().copied());
        Self { tracks, values, pictures, resamples, mean, measured }
    }

    pub(super) fn acc(&self, setting: usize) -> Result<Estimate> {
        let sampled = |counts: &[u32]| {
            let values = self.tracks.iter().zip(&self.values[setting]).map(|(items, values)| {
                let weights: Vec<u32> = items.iter().map(|&at| counts[self.pictures[at]]).collect();
                values.value(&weights)
            });
            self.mean.acc(&values.collect::<Vec<_>>())
        };
        let ones = vec![1; self.measured.len()];
        let value = sampled(&ones).ok_or_else(|| Error::OutOfRange {
            what: "items",
            found: format!("{} that have no value together", self.measured.len()),
            accepted: "more items".into(),
        })?;
        Ok(Estimate::from_resamples(value, self.resamples.map(sampled)))
    }

    /// The mean over items, with its interval by drawing pictures again.
    pub(super) fn mean(&self, values: &[f64]) -> Estimate {
        let mean = |counts: &[u32]| {
            let add = |(sum, count): (f64, f64), (value, &picture): (&f64, &usize)| {
                let times = f64::from(counts[picture]);
                (sum + times * value, count + times)
            };
            let (sum, count) = values.iter().zip(&self.pictures).fold((0.0, 0.0), add);
            (count > 0.0).then(|| sum / count)
        };
        let ones = vec![1; self.measured.len()];
        Estimate::from_resamples(mean(&ones).unwrap_or(0.0), self.resamples.map(mean))
    }
}
