//! Average accuracy (the paper's Acc) and relative accuracy (Rel) of a model over several benchmarks.

mod raw;

use std::collections::BTreeMap;

use crate::{Profile, Track};

pub(crate) use raw::RAW;

/// MME is reported in points, not percent; its score is divided by this before it enters the average.
const MME_SCALE: f64 = 20.0;

/// A set of benchmarks that is averaged into Acc; which set applies depends on the model family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suite {
    /// The benchmarks reported for LLaVA-1.5 and LLaVA-NeXT, scored by LLaVA's scripts.
    Llava,
    /// The benchmarks reported for Qwen and InternVL models, scored by VLMEvalKit.
    VlmEvalKit,
    /// The video benchmarks reported for LLaVA-Video, scored by lmms-eval.
    Video,
}

impl Suite {
    /// Every suite, in the order of declaration.
    pub const ALL: [Self; 3] = [Self::Llava, Self::VlmEvalKit, Self::Video];

    /// The suite in which models evaluated under this profile are reported.
    pub fn of(profile: Profile) -> Self {
        match profile {
            Profile::Llava => Self::Llava,
            Profile::Lmms => Self::Video,
            Profile::VlmEvalKit
            | Profile::InternVl
            | Profile::Qwen2VlCustom
            | Profile::Qwen3VlCustom => Self::VlmEvalKit,
        }
    }

    /// The benchmarks of the suite, in the column order of the paper's tables.
    pub fn tracks(self) -> &'static [Track] {
        match self {
            Self::Llava => &[
                Track::Gqa,
                Track::ScienceQaImg,
                Track::TextVqa,
                Track::Pope,
                Track::Mme,
                Track::MmbenchEn,
                Track::MmbenchCn,
                Track::SeedBenchImg,
                Track::Ai2d,
                Track::Mmmu,
            ],
            Self::VlmEvalKit => &[
                Track::Ai2d,
                Track::Pope,
                Track::HallusionBench,
                Track::Mme,
                Track::MmbenchEn,
                Track::MmbenchCn,
                Track::MmStar,
                Track::ScienceQaImg,
            ],
            Self::Video => &[Track::VideoMme, Track::MvBench, Track::LongVideoBench, Track::Mlvu],
        }
    }

    /// Acc over the suite's tracks; values of tracks outside the suite are ignored.
    pub fn acc(self, values: &BTreeMap<Track, f64>) -> Acc {
        Acc::over(self.tracks(), values)
    }
}

/// The mean over tracks with MME divided by 20; undefined while any track has no value.
#[derive(Debug, Clone, PartialEq)]
pub struct Acc {
    /// The mean in percent; `None` if a track has no value or no track was named.
    pub value: Option<f64>,
    /// The tracks that have no value yet and so keep the mean undefined.
    pub missing: Vec<Track>,
}

impl Acc {
    /// The mean over an explicit list of tracks, as in the paper's ablations over seven of them.
    pub fn over(tracks: &[Track], values: &BTreeMap<Track, f64>) -> Self {
        let missing: Vec<_> =
            tracks.iter().copied().filter(|track| !values.contains_key(track)).collect();
        let terms = tracks.iter().filter_map(|track| values.get(track).map(|&v| term(*track, v)));
        let complete = missing.is_empty() && !tracks.is_empty();
        Self { value: complete.then(|| terms.sum::<f64>() / tracks.len() as f64), missing }
    }

    /// Rel: this Acc as a percentage of the unpruned model's; `None` if either is undefined or that is 0.
    pub fn relative_to(&self, unpruned: &Self) -> Option<f64> {
        let reference = unpruned.value.filter(|value| *value != 0.0)?;
        Some(100.0 * self.value? / reference)
    }
}

/// A track's contribution to the mean: its value in percent, or MME's points divided by 20.
fn term(track: Track, value: f64) -> f64 {
    if track == Track::Mme { value / MME_SCALE } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_track_leaves_the_mean_undefined() {
        let mut values: BTreeMap<_, _> =
            Suite::Video.tracks().iter().map(|track| (*track, 50.0)).collect();
        // Of another suite.
        values.insert(Track::Gqa, 0.0);
        let full = Suite::Video.acc(&values);
        assert_eq!(full, Acc { value: Some(50.0), missing: vec![] });
        assert_eq!(full.relative_to(&full), Some(100.0));
        values.remove(&Track::Mlvu);
        let short = Suite::Video.acc(&values);
        assert_eq!(short, Acc { value: None, missing: vec![Track::Mlvu] });
        assert_eq!(short.relative_to(&full), None);
        assert_eq!(full.relative_to(&short), None);
        assert_eq!(Acc::over(&[], &values).value, None);
    }

    #[test]
    fn mme_enters_divided_by_twenty_and_a_reference_of_zero_gives_no_ratio() {
        let values = BTreeMap::from([(Track::Mme, 2000.0), (Track::Pope, 0.0)]);
        assert_eq!(Acc::over(&[Track::Mme, Track::Pope], &values).value, Some(50.0));
        let zero = Acc::over(&[Track::Pope], &values);
        assert_eq!(zero.relative_to(&zero), None);
    }

    #[test]
    fn every_profile_has_its_suite() {
        let sizes = Profile::ALL.map(|profile| Suite::of(profile).tracks().len());
        assert_eq!(sizes, [10, 8, 8, 8, 8, 4]);
    }
}
