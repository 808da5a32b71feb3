//! The limit on newly generated tokens for each benchmark, as the toolkits set it.

use crate::{Profile, Track};

/// The limit that the paper states for VTC-Bench.
const PAPER: usize = 2048;

/// The maximum number of new tokens that a track's toolkit allows.
///
/// Where a toolkit states no limit for a track, the limit is that of the toolkit whose prompt and
/// rule are used instead, and otherwise LLaVA's general 128.
pub fn max_new_tokens(track: Track, profile: Profile) -> usize {
    match (track, profile) {
        (Track::VtcBench, _) => PAPER,
        // Videos are always asked with lmms-eval's prompts, whatever the model.
        (Track::VideoMme | Track::MvBench | Track::LongVideoBench | Track::Mlvu, _)
        | (_, Profile::Lmms) => lmms(track),
        (_, Profile::Llava) => llava(track),
        (_, Profile::InternVl) => 4096,
        (_, Profile::VlmEvalKit | Profile::Qwen2VlCustom | Profile::Qwen3VlCustom) => 2048,
    }
}

/// The limits of LLaVA's loaders, and lmms-eval's for the tracks that LLaVA has no script for.
fn llava(track: Track) -> usize {
    match track {
        Track::MmbenchEn | Track::MmbenchCn | Track::ScienceQaImg => 1024,
        Track::Ai2d | Track::ChartQa | Track::DocVqa => lmms(track),
        _ => 128,
    }
}

/// The limits in lmms-eval's task settings.
fn lmms(track: Track) -> usize {
    match track {
        Track::Gqa
        | Track::ScienceQaImg
        | Track::Mme
        | Track::Ai2d
        | Track::ChartQa
        | Track::VideoMme
        | Track::MvBench
        | Track::Mlvu => 16,
        Track::DocVqa | Track::LongVideoBench => 32,
        Track::MmbenchEn => 1024,
        Track::MmbenchCn => 256,
        _ => 128,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caps_are_those_of_the_toolkits() {
        let cases = [
            (Track::Gqa, Profile::Llava, 128),
            (Track::Pope, Profile::Llava, 128),
            (Track::MmbenchCn, Profile::Llava, 1024),
            (Track::ScienceQaImg, Profile::Llava, 1024),
            (Track::Ai2d, Profile::Llava, 16),
            (Track::Mmmu, Profile::Llava, 128),
            (Track::Gqa, Profile::Lmms, 16),
            (Track::ScienceQaImg, Profile::Lmms, 16),
            (Track::Mme, Profile::Lmms, 16),
            (Track::DocVqa, Profile::Lmms, 32),
            (Track::OcrBench, Profile::Lmms, 128),
            (Track::MmbenchEn, Profile::Lmms, 1024),
            (Track::MmbenchCn, Profile::Lmms, 256),
            (Track::LongVideoBench, Profile::Lmms, 32),
            (Track::Mlvu, Profile::Llava, 16),
            (Track::MmStar, Profile::VlmEvalKit, 2048),
            (Track::MmStar, Profile::InternVl, 4096),
            (Track::VtcBench, Profile::Lmms, 2048),
        ];
        for (track, profile, expected) in cases {
            assert_eq!(max_new_tokens(track, profile), expected, "{track} {}", profile.name());
        }
    }
}
