//! The paper's evaluation of a family, in the terms of the scoring rules.

use mico_engine::families::{BoxUnits, EvaluationProfile, Toolkit};
use mico_score::{Boxes, Profile, Rules};

/// Whose prompts and scoring rules the paper measures a family with.
pub fn profile_of(evaluation: &EvaluationProfile) -> Profile {
    match evaluation.toolkit {
        Toolkit::Llava => Profile::Llava,
        Toolkit::VlmEvalKit => Profile::VlmEvalKit,
        Toolkit::InternVl => Profile::InternVl,
        Toolkit::Lmms => Profile::Lmms,
    }
}

/// The rules with the family's own coordinates for boxes.
pub fn rules_of(evaluation: &EvaluationProfile) -> Rules {
    let boxes = match evaluation.boxes {
        BoxUnits::Fractions => Boxes::Fractions,
        BoxUnits::Thousandths => Boxes::Thousandths,
        BoxUnits::ResizedPixels => Boxes::ResizedPixels,
    };
    Rules { boxes, ..Rules::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mico_engine::families::{FAMILIES, FamilySpec};
    use mico_score::Track;

    fn spec(name: &str) -> &'static FamilySpec {
        FAMILIES.iter().copied().find(|spec| spec.name() == name).unwrap()
    }

    #[test]
    fn families_are_measured_as_in_the_paper() {
        for (name, profile, boxes) in [
            ("llava", Profile::Llava, Boxes::Fractions),
            ("llava_next", Profile::Llava, Boxes::Fractions),
            ("qwen2_5_vl", Profile::VlmEvalKit, Boxes::ResizedPixels),
            ("qwen3_vl", Profile::VlmEvalKit, Boxes::Thousandths),
            ("qwen3_5", Profile::VlmEvalKit, Boxes::Thousandths),
            ("internvl", Profile::InternVl, Boxes::Thousandths),
            ("llava_video", Profile::Lmms, Boxes::Fractions),
        ] {
            let evaluation = &spec(name).evaluation;
            assert_eq!(profile_of(evaluation), profile, "{name}");
            assert_eq!(rules_of(evaluation).boxes, boxes, "{name}");
            let in_pixels = boxes == Boxes::ResizedPixels;
            assert_eq!(evaluation.model_input.is_some(), in_pixels, "{name}");
        }
    }

    /// Families name tracks by their words: each of these must be one.
    #[test]
    fn image_sizes_follow_the_tracks() {
        let tiles = |track: Track| {
            (spec("internvl").evaluation.image_limits)(track.name()).and_then(|l| l.max_tiles)
        };
        let found = [Track::ChartQa, Track::Mmmu, Track::DocVqa, Track::OcrBench, Track::Gqa];
        assert_eq!(found.map(tiles), [12, 12, 18, 24, 6].map(Some));
        let least = |name: &str, track: Track| {
            (spec(name).evaluation.image_limits)(track.name()).and_then(|l| l.min_pixels)
        };
        assert_eq!(least("qwen2_5_vl", Track::OcrBench), Some(100 * 28 * 28));
        assert_eq!(least("qwen2_5_vl", Track::Pope), Some(1280 * 28 * 28));
        for name in ["qwen3_vl", "qwen3_5"] {
            assert_eq!(least(name, Track::OcrBench), Some(100 * 32 * 32));
            assert_eq!((spec(name).evaluation.image_limits)(Track::Pope.name()), None);
        }
    }
}
