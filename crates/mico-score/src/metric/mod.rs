//! Computes the metric of a track from its judged items, plain or weighted for bootstrap intervals.

mod formula;
mod items;
mod tracks;

use crate::{Fields, Grade, Profile, Track};
use formula::Formula;

/// One item of a track together with the score of its answer.
#[derive(Debug, Clone, Copy)]
pub struct Marked<'a> {
    /// The item's canonical fields, by which metrics group items.
    pub fields: &'a Fields,
    /// The score of the model's answer to the item.
    pub grade: &'a Grade,
}

/// The metric by which a track is reported under a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    track: Track,
    kind: Kind,
}

/// How item scores are combined into the track's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The mean of all item scores.
    Mean,
    /// POPE in the LLaVA tables: the mean of the F1 scores of its categories.
    PopeF1,
    /// POPE elsewhere: accuracy, with an item of several categories counted once in each.
    PopeAccuracy,
    /// MME in the LLaVA tables: the points of the ten perception subtasks.
    MmePerception,
    /// MME elsewhere: the points of all fourteen subtasks, perception and cognition.
    MmeTotal,
    /// MMBench's circular evaluation: a question counts only if all its rotations are right.
    Circular,
    /// HallusionBench: the mean of the accuracies over questions, figures and question groups.
    Hallusion,
    /// RefCOCO, RefCOCO+ and RefCOCOg: the mean of the accuracies of their splits.
    Splits,
    /// The mean of the accuracies of the tasks that occur in the data.
    Tasks,
    /// MLVU: the mean over its seven tasks, of which an absent one counts as 0.
    SevenTasks,
    /// gRefCOCO: the share of samples whose boxes all match, with target and no-target accuracy
    /// beside it.
    Grec,
}

impl Metric {
    /// The metric that is reported for a track under a profile.
    pub fn of(track: Track, profile: Profile) -> Self {
        let kind = match (track, profile) {
            (Track::Pope, Profile::Llava) => Kind::PopeF1,
            (Track::Pope, _) => Kind::PopeAccuracy,
            (Track::Mme, Profile::Llava) => Kind::MmePerception,
            (Track::Mme, _) => Kind::MmeTotal,
            (Track::MmbenchEn | Track::MmbenchCn, _) => Kind::Circular,
            (Track::HallusionBench, _) => Kind::Hallusion,
            (Track::RefCoco | Track::RefCocoPlus | Track::RefCocoG, _) => Kind::Splits,
            (Track::MvBench, _) => Kind::Tasks,
            (Track::Mlvu, _) => Kind::SevenTasks,
            (Track::GrefCoco, _) => Kind::Grec,
            _ => Kind::Mean,
        };
        Self { track, kind }
    }

    /// The metric's name in tables, such as "ANLS".
    pub fn name(self) -> &'static str {
        match (self.kind, self.track) {
            (Kind::Mean, Track::DocVqa) => "ANLS",
            (Kind::Mean, Track::TextVqa) => "VQA accuracy",
            (Kind::Mean, Track::ChartQa) => "relaxed accuracy",
            (Kind::Mean, _) => "accuracy",
            (Kind::PopeF1, _) => "mean F1 of the categories",
            (Kind::PopeAccuracy, _) => "accuracy over all categories",
            (Kind::MmePerception, _) => "perception",
            (Kind::MmeTotal, _) => "perception + cognition",
            (Kind::Circular, _) => "circular accuracy",
            (Kind::Hallusion, _) => "mean of aAcc, fAcc and qAcc",
            (Kind::Splits, _) => "mean over splits",
            (Kind::Tasks, _) => "mean over tasks",
            (Kind::SevenTasks, _) => "mean over the seven tasks",
            (Kind::Grec, _) => "share of samples with F1 = 1",
        }
    }

    /// The unit of the value: "points" for MME, "%" otherwise.
    pub fn unit(self) -> &'static str {
        match self.kind {
            Kind::MmePerception | Kind::MmeTotal => "points",
            _ => "%",
        }
    }

    /// Groups the items as the metric needs them, once, so that many weighted values can be
    /// computed cheaply.
    pub fn prepare(self, marked: &[Marked]) -> Prepared {
        let (formula, parts) = tracks::formula(self.track, self.kind, marked);
        Prepared { metric: self, items: marked.len(), formula, parts }
    }
}

/// A metric bound to the grouped items of one track.
#[derive(Debug, Clone)]
pub struct Prepared {
    metric: Metric,
    items: usize,
    formula: Formula,
    parts: Vec<(String, Formula)>,
}

impl Prepared {
    /// The track's value with each item counted as often as its weight says; `None` where that is
    /// undefined. Items beyond the end of `weights` do not count.
    ///
    /// Metrics over groups (MMBench, MME, HallusionBench) take a group's weight to be the mean of
    /// its items' weights. An MME subtask without any weight leaves the sum undefined.
    pub fn value(&self, weights: &[u32]) -> Option<f64> {
        self.formula.value(weights)
    }

    /// The track's value with every item counted once; `None` where that is undefined.
    pub fn plain(&self) -> Option<f64> {
        self.value(&vec![1; self.items])
    }

    /// The values reported beside the main one, with every item counted once: the terms of a sum or
    /// mean, and the categories. Undefined parts are left out.
    pub fn parts(&self) -> Vec<(String, f64)> {
        let ones = vec![1; self.items];
        let parts = self.parts.iter();
        parts
            .filter_map(|(name, part)| part.value(&ones).map(|value| (name.clone(), value)))
            .collect()
    }

    /// The number of items given to `prepare`, including those that the metric does not count.
    pub fn items(&self) -> usize {
        self.items
    }

    /// The metric's name in tables.
    pub fn name(&self) -> &'static str {
        self.metric.name()
    }

    /// The unit of the value: "points" or "%".
    pub fn unit(&self) -> &'static str {
        self.metric.unit()
    }
}

#[cfg(test)]
mod tests;
