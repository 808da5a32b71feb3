//! Values and intervals: one pass over the draws serves every number of a summary.

use mico_score::Marked;
use rayon::prelude::*;

use super::{Column, Estimate, GradedAnswer, Row, TrackScore};
use crate::acc::Mean;
use crate::condition::Condition;
use crate::scoring::Values;
use crate::stats::{RESAMPLES, Resamples, wilson};

/// All values of a run, on its items and on every draw of them.
pub(super) struct Draws<'a> {
    columns: &'a [Column],
    /// The settings' numbers in the manifest.
    settings: Vec<usize>,
    /// By setting and track.
    values: Vec<Vec<Values>>,
    /// The value on the items themselves, by setting and track.
    own: Vec<Vec<Option<f64>>>,
    /// By draw, setting and track.
    drawn: Vec<Vec<Vec<Option<f64>>>>,
    mean: Mean,
    unpruned: Option<usize>,
}

impl<'a> Draws<'a> {
    pub(super) fn new(columns: &'a [Column], complete: &[(usize, &Condition)]) -> Self {
        let settings: Vec<usize> = complete.iter().map(|(at, _)| *at).collect();
        let values: Vec<Vec<Values>> = settings
            .iter()
            .map(|&setting| columns.iter().map(|column| values(column, setting)).collect())
            .collect();
        let ones: Vec<Vec<u32>> =
            columns.iter().map(|column| vec![1; column.items.len()]).collect();
        let own = added(&values, &ones);
        let mut sources: Vec<usize> = Vec::new();
        for column in columns {
            if sources.len() <= column.source {
                sources.resize(column.source + 1, 0);
            }
            sources[column.source] = column.clusters;
        }
        let draws = if settings.is_empty() { 0 } else { RESAMPLES };
        let drawn = (0..draws).into_par_iter().map(|draw| {
            let rows: Vec<Vec<u32>> = sources
                .iter()
                .enumerate()
                .map(|(source, &clusters)| {
                    Resamples::new(clusters, RESAMPLES).of_source(source).row(draw)
                })
                .collect();
            let weights = columns.iter().map(|column| {
                let row = &rows[column.source];
                column.items.iter().map(|item| row[item.cluster]).collect()
            });
            added(&values, &weights.collect::<Vec<Vec<u32>>>())
        });
        let drawn = drawn.collect();
        let unpruned = complete.iter().position(|(_, setting)| setting.is_unpruned());
        let mean = Mean::of(columns.iter().map(|column| &column.spec));
        Self { columns, settings, values, own, drawn, mean, unpruned }
    }

    /// Pictures of all sources.
    pub(super) fn clusters(&self) -> usize {
        let mut last = None;
        let mut sum = 0;
        for column in self.columns {
            if last != Some(column.source) {
                sum += column.clusters;
                last = Some(column.source);
            }
        }
        sum
    }

    /// Tracks without which there is no Acc.
    pub(super) fn missing(&self) -> Vec<String> {
        self.mean.missing()
    }

    pub(super) fn columns(&self) -> &'a [Column] {
        self.columns
    }

    /// The judged answers of a row to a track.
    pub(super) fn graded(
        &self,
        row: usize,
        track: usize,
    ) -> impl Iterator<Item = &'a GradedAnswer> + use<'a> {
        self.columns[track].answers[self.settings[row]].iter().flatten()
    }

    /// A statistic of the tracks' values of some rows, with the interval of its draws.
    pub(super) fn estimate(
        &self,
        statistic: impl Fn(&[Vec<Option<f64>>]) -> Option<f64>,
    ) -> Option<Estimate> {
        let value = statistic(&self.own)?;
        let draws = self.drawn.iter().filter_map(|drawn| statistic(drawn)).collect();
        Some(Estimate::from_resamples(value, draws))
    }

    pub(super) fn acc(&self, values: &[Option<f64>]) -> Option<f64> {
        self.mean.acc(values)
    }

    pub(super) fn row(&self, row: usize, setting: &Condition) -> Row {
        let acc = self.estimate(|values| self.acc(&values[row]));
        let rel = self.unpruned.and_then(|unpruned| {
            self.estimate(|values| {
                let (own, whole) = (self.acc(&values[row])?, self.acc(&values[unpruned])?);
                (whole > 0.0).then(|| own / whole * 100.0)
            })
        });
        let tracks = (0..self.columns.len()).map(|track| self.track(row, track)).collect();
        let all: Vec<&GradedAnswer> =
            (0..self.columns.len()).flat_map(|track| self.graded(row, track)).collect();
        let asked = all.iter().filter(|graded| graded.record.failure.is_none());
        let count = asked.clone().count().max(1) as f64;
        let mean = |of: fn(&GradedAnswer) -> f64| {
            asked.clone().map(|graded| of(graded)).sum::<f64>() / count
        };
        let refine_layer = setting.pruning().and_then(|pruning| pruning.refine_layer);
        Row {
            setting: setting.label.clone(),
            tokens: setting.tokens(),
            refine_layer,
            pool: setting.pool(),
            layer_average: mean(|graded| graded.record.layer_average),
            seconds: mean(|graded| {
                let spent = graded.record.seconds;
                spent.pruning + spent.prefill + spent.decode
            }),
            tracks,
            acc,
            rel,
        }
    }

    fn track(&self, row: usize, track: usize) -> TrackScore {
        let column = &self.columns[track];
        let graded: Vec<&GradedAnswer> = self.graded(row, track).collect();
        let count =
            |of: fn(&GradedAnswer) -> bool| graded.iter().filter(|graded| of(graded)).count();
        let (asked, right) = (graded.len(), count(GradedAnswer::is_right));
        let failed = count(|graded| graded.record.failure.is_some());
        let silent = |graded: &GradedAnswer| graded.record.answer.trim().is_empty();
        let empty = graded.iter().filter(|j| silent(j) && j.record.failure.is_none()).count();
        let unreadable = graded.iter().filter(|j| !silent(j) && j.grade.reading.is_none()).count();
        let mut value = self.estimate(|values| values[row][track]);
        let mut interval = "bootstrap over pictures";
        if let (Some(estimate), true) = (&mut value, independent(column, &graded)) {
            let (low, high) = wilson(right, asked);
            let share = 100.0 * right as f64 / asked.max(1) as f64;
            if (estimate.value - share).abs() < 1e-9 {
                (estimate.low, estimate.high) = (100.0 * low, 100.0 * high);
                interval = "Wilson";
            }
        }
        TrackScore {
            track: column.spec.name.clone(),
            asked,
            right,
            empty,
            unreadable,
            failed,
            cut: count(GradedAnswer::is_cut),
            value,
            interval,
            parts: self.values[row][track].parts(),
        }
    }
}

/// Whether each item is about a picture of its own and simply right or wrong.
fn independent(column: &Column, graded: &[&GradedAnswer]) -> bool {
    let mut pictures: Vec<usize> = column.items.iter().map(|item| item.cluster).collect();
    pictures.sort_unstable();
    pictures.windows(2).all(|pair| pair[0] != pair[1])
        && graded.iter().all(|graded| [0.0, 1.0].contains(&graded.grade.score))
}

fn values(column: &Column, setting: usize) -> Values {
    let graded = column.answers[setting].iter();
    let marked: Vec<Marked<'_>> = column
        .items
        .iter()
        .zip(graded)
        .filter_map(|(item, graded)| {
            Some(Marked { fields: &item.fields, grade: &graded.as_ref()?.grade })
        })
        .collect();
    column.spec.values(&marked)
}

fn added(values: &[Vec<Values>], weights: &[Vec<u32>]) -> Vec<Vec<Option<f64>>> {
    let row = |tracks: &Vec<Values>| {
        tracks.iter().zip(weights).map(|(values, weights)| values.value(weights)).collect()
    };
    values.iter().map(row).collect()
}
