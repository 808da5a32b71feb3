//! One object, covered again and again.

use mico_util::SplitMix64;
use mico_vision::RgbImage;

use super::{Arm, HEADS, Heads, REPEATS, RegionFeatures, STRENGTHS, region};
use crate::diagnose::Diagnose;
use crate::diagnose::encode::PictureError;
use crate::diagnose::mask::{Cells, cover, draw};
use crate::diagnose::probe::ProbeKind;
use crate::diagnose::source::LabeledObject;

/// Sets these random numbers apart from others.
const OBJECT: u64 = 0x6f62_6a65;
const MASK: u64 = 0x6d61_736b;
/// Heads of all probes.
pub(super) const ALL_HEADS: usize = ProbeKind::ALL.len() * HEADS.len();

/// What became of a picture to test on.
pub(super) enum Outcome {
    Tested(ObjectTrials),
    /// No training object had a category of its objects.
    Unseen,
}

/// The trials of one object.
#[derive(Debug, Clone, Default)]
pub(super) struct ObjectTrials {
    /// Which heads are right with nothing covered.
    pub(super) clean: [bool; ALL_HEADS],
    pub(super) strata: Vec<Stratum>,
    /// Arms and strengths for which there was no room.
    pub(super) no_room: usize,
}

/// The trials of one arm and strength.
#[derive(Debug, Clone)]
pub(super) struct Stratum {
    pub(super) arm: Arm,
    pub(super) strength: usize,
    pub(super) trials: Vec<Trial>,
}

/// One trial: the scores, and which heads are right.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trial {
    pub(super) attention: f64,
    pub(super) norm: f64,
    pub(super) right: [bool; ALL_HEADS],
}

/// Tests one object of a picture.
pub(super) fn test(
    on: &Diagnose<'_>,
    heads: &Heads,
    picture: usize,
) -> std::result::Result<Outcome, PictureError> {
    let known = |object: LabeledObject| {
        let category = heads.categories.binary_search(&object.category).ok()?;
        Some((object, category))
    };
    let objects: Vec<(LabeledObject, usize)> =
        on.source.objects(picture).into_iter().filter_map(known).collect();
    let mut rng = SplitMix64::keyed(&[OBJECT, on.seed, picture as u64]);
    let Some((object, category)) = rng.pick(&objects) else { return Ok(Outcome::Unseen) };
    let category = *category;
    TrialContext { on, heads, picture, category }.tested(object).map(Outcome::Tested)
}

/// What trials of one object have in common.
struct TrialContext<'a> {
    on: &'a Diagnose<'a>,
    heads: &'a Heads,
    picture: usize,
    category: usize,
}

impl TrialContext<'_> {
    fn tested(&self, object: &LabeledObject) -> std::result::Result<ObjectTrials, PictureError> {
        let image = self.on.source.image(self.picture)?;
        let outside = || format!("{} lies outside the picture", object.place);
        let place = object.place.clipped(image.size()).ok_or_else(outside)?;
        let encoded = self.on.encode(image.clone())?;
        // The region stays the same whatever is covered.
        let tokens = region(&encoded, &place)?;
        let clean = RegionFeatures::of(&encoded, &tokens)?;
        let mut tested =
            ObjectTrials { clean: self.right(&clean.feature), ..ObjectTrials::default() };
        let cells = Cells::new(&place, image.size());
        for arm in Arm::ALL {
            let from = match arm {
                Arm::Target => &cells.target,
                Arm::Context => &cells.context,
            };
            for strength in STRENGTHS {
                let count = cells.count(strength);
                if count > from.len() {
                    tested.no_room += 1;
                    continue;
                }
                let mut trials = Vec::with_capacity(REPEATS);
                for repeat in 0..REPEATS {
                    // Where every cell is covered there is one way to do it.
                    let same = trials.first().filter(|_| count == from.len()).copied();
                    let keys = [arm as u64, strength as u64, repeat as u64];
                    let fresh = || {
                        let chosen = draw(from, count, &mut self.random(keys));
                        self.trial(cover(&image, &chosen), &tokens)
                    };
                    trials.push(same.map_or_else(fresh, Ok)?);
                }
                tested.strata.push(Stratum { arm, strength, trials });
            }
        }
        Ok(tested)
    }

    fn random(&self, [arm, strength, repeat]: [u64; 3]) -> SplitMix64 {
        SplitMix64::keyed(&[MASK, self.on.seed, self.picture as u64, arm, strength, repeat])
    }

    fn trial(&self, image: RgbImage, tokens: &[usize]) -> std::result::Result<Trial, PictureError> {
        let reading = RegionFeatures::of(&self.on.encode(image)?, tokens)?;
        let RegionFeatures { attention, norm, feature } = reading;
        Ok(Trial { attention, norm, right: self.right(&feature) })
    }

    fn right(&self, feature: &[f32]) -> [bool; ALL_HEADS] {
        let mut right = [false; ALL_HEADS];
        for (right, head) in right.iter_mut().zip(&self.heads.trained) {
            *right = head.probe.predict(feature) == self.category;
        }
        right
    }
}
