//! The reliability: does attention tell when an object can still be decoded?
//!
//! Probes learn to name objects by the features of their region. Then objects are covered bit by bit,
//! and equal areas beside them, several times each. Where a probe is right in some of these trials and
//! wrong in others, the score (attention, or the norm for comparison) should be higher in the former.

mod summary;
mod trials;

use std::collections::BTreeSet;

use rayon::prelude::*;
use serde::Serialize;

use super::encode::{EncodedPicture, PictureError, norm};
use super::error::{DiagnoseError, Result};
use super::measure::Measure;
use super::probe::{Examples, Probe, ProbeKind, TrainedProbe};
use super::region::tokens_of;
use super::source::{Check, DamagedImage, PixelBox, drawn};
use super::{Diagnose, Progress};
use trials::{ObjectTrials, Outcome, test};

/// Percent of the region that is covered.
pub(super) const STRENGTHS: [usize; 4] = [25, 50, 75, 100];
/// Trials of each arm and strength, with other cells covered.
pub(super) const REPEATS: usize = 6;
/// Heads of each kind of probe.
pub(super) const HEADS: [u64; 3] = [0, 1, 2];
/// Shares of the pictures that are tested on and validated on, in percent; the rest is trained on.
const TESTED: usize = 10;
const VALIDATED: usize = 15;

/// What the check found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reliability {
    /// Which attention the model's Stage 1 takes for reliability.
    pub signal: &'static str,
    /// Pictures and objects to train, validate and test on.
    pub splits: SplitCounts,
    /// Categories among the training objects.
    pub categories: usize,
    /// Validation objects of other categories, and test pictures with such objects alone, which no
    /// probe could name: left out.
    pub unseen: usize,
    /// Arms and strengths left out since there was no room beside the box.
    pub no_room: usize,
    /// Each kind of probe.
    pub probes: Vec<ProbeReport>,
    /// Pictures and objects left out.
    pub damaged: Vec<DamagedImage>,
}

/// Counts for training, validation and test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct SplitCounts {
    /// Pictures of the training, validation and test split.
    pub pictures: [usize; 3],
    /// Objects; of a test picture one is drawn, among those of trained categories.
    pub objects: [usize; 3],
}

/// What one kind of probe showed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProbeReport {
    /// The kind of classifier.
    pub probe: ProbeKind,
    /// The classifiers of this kind, one for each seed.
    pub heads: Vec<HeadReport>,
    /// Accuracy on test objects with nothing covered.
    pub clean: Measure,
    /// Accuracy under each arm and strength.
    pub accuracy: Vec<Accuracy>,
    /// Concordance of each arm and score.
    pub concordance: Vec<Concordance>,
}

/// How a head's training went.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct HeadReport {
    /// The seed of the head's initial weights and of the order of its training examples.
    pub seed: u64,
    /// The epoch that was kept, from 1.
    pub epoch: usize,
    /// Accuracy on the training objects.
    pub training: f64,
    /// Accuracy on the validation objects.
    pub validation: f64,
}

/// Which region of a picture is covered in a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Arm {
    /// Part of the object's box.
    Target,
    /// An equal area outside of it.
    Context,
}

impl Arm {
    /// Both arms, in the order of reports.
    pub const ALL: [Self; 2] = [Self::Target, Self::Context];

    /// The name in reports and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Target => "target",
            Self::Context => "context",
        }
    }
}

/// What should be higher where decoding succeeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Score {
    /// The reliability signal, mean over heads and the region.
    Attention,
    /// The feature norm, mean over the region.
    Norm,
}

impl Score {
    /// Both scores, in the order of reports.
    pub const ALL: [Self; 2] = [Self::Attention, Self::Norm];

    /// The name in reports and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Attention => "attention",
            Self::Norm => "norm",
        }
    }
}

/// A probe's accuracy with some of the picture covered.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Accuracy {
    /// The region that was covered.
    pub arm: Arm,
    /// How much of the region, in percent.
    pub strength: usize,
    /// Share of right answers, mean over heads, repeats and pictures.
    pub accuracy: Measure,
}

/// How well a score orders right and wrong answers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Concordance {
    /// The region that was covered.
    pub arm: Arm,
    /// The score whose order is compared with right and wrong answers.
    pub score: Score,
    /// The concordance; 0.5 says nothing.
    pub concordance: Measure,
    /// Pictures with at least one defined stratum.
    pub pictures: usize,
    /// Strata (object, arm, strength, head) with both right and wrong answers.
    pub defined: usize,
    /// Strata with one of the two alone.
    pub undefined: usize,
}

/// What a probe and a score are given of a region.
pub(super) struct RegionFeatures {
    /// The mean feature of the region's tokens, scaled to unit length.
    pub(super) feature: Vec<f32>,
    pub(super) attention: f64,
    pub(super) norm: f64,
}

impl RegionFeatures {
    pub(super) fn of(
        encoded: &EncodedPicture,
        tokens: &[usize],
    ) -> std::result::Result<Self, PictureError> {
        let features = encoded.features()?;
        let count = tokens.len().max(1) as f64;
        let width = tokens.first().map_or(0, |&token| features.row(token).len());
        let (mut sums, mut attention, mut lengths) = (vec![0.0_f64; width], 0.0, 0.0);
        for &token in tokens {
            let row = features.row(token);
            sums.iter_mut().zip(row).for_each(|(sum, &value)| *sum += f64::from(value));
            attention += encoded.reliability(token)? / count;
            lengths += norm(row) / count;
        }
        let length = sums.iter().map(|sum| sum * sum).sum::<f64>().sqrt();
        let unit = |sum: f64| if length > 0.0 { (sum / length) as f32 } else { 0.0 };
        Ok(Self { feature: sums.into_iter().map(unit).collect(), attention, norm: lengths })
    }
}

/// The objects of a picture to learn from.
struct TrainingPicture {
    readings: Vec<(String, Vec<f32>)>,
    damaged: Vec<String>,
    picture: usize,
}

/// Probes ready to be tested.
pub(super) struct Heads {
    /// The names of the training categories in ascending order; a probe's outputs have this order.
    pub(super) categories: Vec<String>,
    /// The heads of the first kind of probe, then those of the next.
    pub(super) trained: Vec<TrainedProbe>,
}

/// Trains probes that name objects, covers parts of test pictures, and measures whether attention
/// is higher where the probes still succeed.
pub fn reliability(on: &Diagnose<'_>, progress: &Progress<'_>) -> Result<Reliability> {
    let pictures = drawn(on.source, Check::Reliability, on.seed, on.limit);
    if pictures.len() < 3 {
        return Err(too_few(&format!("{} pictures with objects", pictures.len()), None));
    }
    let share = |percent: usize| (pictures.len() * percent / 100).max(1);
    let (tested, rest) = pictures.split_at(share(TESTED));
    let (validated, trained) = rest.split_at(share(VALIDATED));
    // A tested picture is looked at once for every trial.
    let trials = 1 + Arm::ALL.len() * STRENGTHS.len() * REPEATS;
    let total = rest.len() + trials * tested.len();
    let learning = |done: usize, _: usize| progress(done, total);
    let learnt = on.gather(rest, &learning, |picture| lesson(on, picture))?;
    let mut damaged = learnt.damaged;
    let (mut lessons, mut checks) = (Vec::new(), Vec::new());
    let validated: BTreeSet<usize> = validated.iter().copied().collect();
    for lesson in learnt.found {
        let picture = on.source.title(lesson.picture);
        let named =
            |reason: &String| DamagedImage { picture: picture.clone(), reason: reason.clone() };
        damaged.extend(lesson.damaged.iter().map(named));
        if validated.contains(&lesson.picture) { &mut checks } else { &mut lessons }.push(lesson);
    }
    let names: BTreeSet<&str> = categories(&lessons).collect();
    let categories: Vec<String> = names.into_iter().map(ToOwned::to_owned).collect();
    if categories.len() < 2 {
        let found =
            format!("{} categories among {} training pictures", categories.len(), trained.len());
        return Err(too_few(&found, damaged.first()));
    }
    let (training, _) = examples(&lessons, &categories);
    let (validation, unseen) = examples(&checks, &categories);
    let heads = heads(categories, &training, &validation);
    let testing = |done: usize, _: usize| progress(rest.len() + done * trials, total);
    let outcomes = on.gather(tested, &testing, |picture| test(on, &heads, picture))?;
    damaged.extend(outcomes.damaged);
    let count = |outcome: &Outcome| usize::from(matches!(outcome, Outcome::Unseen));
    let unseen = unseen + outcomes.found.iter().map(count).sum::<usize>();
    let found = |outcome: Outcome| match outcome {
        Outcome::Tested(tested) => Some(tested),
        Outcome::Unseen => None,
    };
    let tested: Vec<ObjectTrials> = outcomes.found.into_iter().filter_map(found).collect();
    if tested.is_empty() {
        let found = format!("no object to test on, {unseen} of categories not trained on");
        return Err(too_few(&found, damaged.first()));
    }
    Ok(Reliability {
        signal: signal(on),
        splits: SplitCounts {
            pictures: [lessons.len(), checks.len(), tested.len()],
            objects: [training.categories.len(), validation.categories.len(), tested.len()],
        },
        categories: heads.categories.len(),
        unseen,
        no_room: tested.iter().map(|tested| tested.no_room).sum(),
        probes: summary::probes(&heads, &tested),
        damaged,
    })
}

fn too_few(found: &str, first: Option<&DamagedImage>) -> DiagnoseError {
    let first =
        first.map_or(String::new(), |first| format!(" ({}: {})", first.picture, first.reason));
    DiagnoseError::TooFew {
        check: Check::Reliability,
        found: format!("{found}{first}"),
        accepted: "at least 3 pictures with objects of 2 categories".to_owned(),
    }
}

/// Which attention Stage 1 observes in this model.
fn signal(on: &Diagnose<'_>) -> &'static str {
    let tower = on.engine.model().config().vision.tower();
    if tower.is_some_and(|tower| tower.kind.has_class()) {
        "attention of the class token"
    } else {
        "mean attention received"
    }
}

/// The tokens of a box, or why there are none.
pub(super) fn region(
    encoded: &EncodedPicture,
    place: &PixelBox,
) -> std::result::Result<Vec<usize>, String> {
    let clipped = place.clipped(encoded.layout().image());
    let place = clipped.ok_or_else(|| format!("{place} lies outside the picture"))?;
    let tokens = tokens_of(encoded.layout(), &place);
    if tokens.is_empty() { Err(format!("no token shows {place}")) } else { Ok(tokens) }
}

fn lesson(on: &Diagnose<'_>, picture: usize) -> std::result::Result<TrainingPicture, PictureError> {
    let encoded = on.encode(on.source.image(picture)?)?;
    let mut lesson = TrainingPicture { readings: Vec::new(), damaged: Vec::new(), picture };
    for object in on.source.objects(picture) {
        match region(&encoded, &object.place) {
            Ok(tokens) => {
                let reading = RegionFeatures::of(&encoded, &tokens)?;
                lesson.readings.push((object.category, reading.feature));
            }
            Err(reason) => lesson.damaged.push(reason),
        }
    }
    Ok(lesson)
}

fn categories(lessons: &[TrainingPicture]) -> impl Iterator<Item = &str> {
    lessons.iter().flat_map(|lesson| lesson.readings.iter().map(|(name, _)| name.as_str()))
}

/// Examples of known categories, and the number of others.
fn examples(lessons: &[TrainingPicture], categories: &[String]) -> (Examples, usize) {
    let (mut examples, mut unseen) = (Examples::default(), 0);
    for (name, feature) in lessons.iter().flat_map(|lesson| &lesson.readings) {
        match categories.binary_search(name) {
            Ok(category) => {
                examples.categories.push(category);
                examples.features.push(feature.clone());
            }
            Err(_) => unseen += 1,
        }
    }
    (examples, unseen)
}

fn heads(categories: Vec<String>, training: &Examples, validation: &Examples) -> Heads {
    let kinds = ProbeKind::ALL.into_iter().flat_map(|kind| HEADS.map(|seed| (kind, seed)));
    let kinds: Vec<(ProbeKind, u64)> = kinds.collect();
    let count = categories.len();
    let train =
        |&(kind, seed): &(ProbeKind, u64)| Probe::train(kind, count, training, validation, seed);
    Heads { trained: kinds.par_iter().map(train).collect(), categories }
}
