//! The value of a track from its judged items.

mod formula;
mod items;
mod tracks;

use crate::{Fields, Grade, Profile, Track};
use formula::Formula;

/// A judged item.
#[derive(Debug, Clone, Copy)]
pub struct Marked<'a> {
    /// What it is.
    pub fields: &'a Fields,
    /// What its answer is worth.
    pub grade: &'a Grade,
}

/// How a track's items add up to its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    track: Track,
    kind: Kind,
}

/// The ways there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The mean of the scores.
    Mean,
    /// POPE in the LLaVA tables: the mean of its categories' F1.
    PopeF1,
    /// POPE elsewhere: accuracy, an item once per category.
    PopeAccuracy,
    /// MME in the LLaVA tables: ten subtasks.
    MmePerception,
    /// MME elsewhere: all fourteen.
    MmeTotal,
    /// MMBench: all rotations of a question must be right.
    Circular,
    /// HallusionBench: the mean of three accuracies.
    Hallusion,
    /// The mean over splits.
    Splits,
    /// The mean over the tasks that occur.
    Tasks,
    /// The mean over MLVU's seven tasks.
    SevenTasks,
    /// gRefCOCO.
    Grec,
}

impl Metric {
    /// The metric a profile's tables report for a track.
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

    /// What the value is called.
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

    /// What the value is counted in: points for MME, percent else.
    pub fn unit(self) -> &'static str {
        match self.kind {
            Kind::MmePerception | Kind::MmeTotal => "points",
            _ => "%",
        }
    }

    /// Sorts items into the groups the metric needs, so that values come cheaply afterwards.
    pub fn prepare(self, marked: &[Marked]) -> Prepared {
        let (formula, parts) = tracks::formula(self.track, self.kind, marked);
        Prepared { metric: self, items: marked.len(), formula, parts }
    }
}

/// A metric with the items of a track in their groups.
#[derive(Debug, Clone)]
pub struct Prepared {
    metric: Metric,
    items: usize,
    formula: Formula,
    parts: Vec<(String, Formula)>,
}

impl Prepared {
    /// The track's value if every item counts as often as its weight says; `None` where that is not defined.
    /// Items beyond the weights do not count.
    ///
    /// A value over groups (MMBench, MME, HallusionBench) takes a group's weight to be the mean of its
    /// items' weights. An MME subtask without any weight leaves the sum undefined.
    pub fn value(&self, weights: &[u32]) -> Option<f64> {
        self.formula.value(weights)
    }

    /// The track's value, every item counting once.
    pub fn plain(&self) -> Option<f64> {
        self.value(&vec![1; self.items])
    }

    /// What is reported beside the value, every item counting once: the terms of a sum or mean, and
    /// categories. Undefined parts are left out.
    pub fn parts(&self) -> Vec<(String, f64)> {
        let ones = vec![1; self.items];
        let parts = self.parts.iter();
        parts
            .filter_map(|(name, part)| part.value(&ones).map(|value| (name.clone(), value)))
            .collect()
    }

    /// How many items there are, those that do not count included.
    pub fn items(&self) -> usize {
        self.items
    }

    /// What the value is called.
    pub fn name(&self) -> &'static str {
        self.metric.name()
    }

    /// What the value is counted in.
    pub fn unit(&self) -> &'static str {
        self.metric.unit()
    }
}

#[cfg(test)]
mod tests;
