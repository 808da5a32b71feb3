//! The tracks of the paper and the toolkits whose rules they are scored by.

use std::fmt::{self, Display};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A benchmark of the paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "&'static str", try_from = "String")]
pub enum Track {
    /// GQA, test-dev balanced.
    Gqa,
    /// ScienceQA, questions with an image.
    ScienceQaImg,
    /// TextVQA, validation.
    TextVqa,
    /// POPE.
    Pope,
    /// MME.
    Mme,
    /// MMBench, English.
    MmbenchEn,
    /// MMBench, Chinese.
    MmbenchCn,
    /// SEED-Bench, questions about images.
    SeedBenchImg,
    /// AI2D, test.
    Ai2d,
    /// MMMU, validation.
    Mmmu,
    /// HallusionBench, questions with an image.
    HallusionBench,
    /// MMStar.
    MmStar,
    /// RefCOCO.
    RefCoco,
    /// RefCOCO+.
    RefCocoPlus,
    /// RefCOCOg.
    RefCocoG,
    /// gRefCOCO.
    GrefCoco,
    /// ChartQA, test.
    ChartQa,
    /// DocVQA, validation.
    DocVqa,
    /// OCRBench.
    OcrBench,
    /// VTC-Bench.
    VtcBench,
    /// Video-MME without subtitles.
    VideoMme,
    /// MVBench.
    MvBench,
    /// LongVideoBench, validation.
    LongVideoBench,
    /// MLVU, multiple choice.
    Mlvu,
}

impl Track {
    /// Every track with its name.
    pub const ALL: [(&'static str, Self); 24] = [
        ("gqa", Self::Gqa),
        ("scienceqa_img", Self::ScienceQaImg),
        ("textvqa", Self::TextVqa),
        ("pope", Self::Pope),
        ("mme", Self::Mme),
        ("mmbench_en", Self::MmbenchEn),
        ("mmbench_cn", Self::MmbenchCn),
        ("seedbench_img", Self::SeedBenchImg),
        ("ai2d", Self::Ai2d),
        ("mmmu", Self::Mmmu),
        ("hallusionbench", Self::HallusionBench),
        ("mmstar", Self::MmStar),
        ("refcoco", Self::RefCoco),
        ("refcoco+", Self::RefCocoPlus),
        ("refcocog", Self::RefCocoG),
        ("grefcoco", Self::GrefCoco),
        ("chartqa", Self::ChartQa),
        ("docvqa", Self::DocVqa),
        ("ocrbench", Self::OcrBench),
        ("vtcbench", Self::VtcBench),
        ("videomme", Self::VideoMme),
        ("mvbench", Self::MvBench),
        ("longvideobench", Self::LongVideoBench),
        ("mlvu", Self::Mlvu),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, track)| *track == self).map_or("", |(name, _)| name)
    }
}

/// No track has that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("task '{0}', accepted: {list}", list = Track::ALL.map(|(name, _)| name).join(", "))]
pub struct UnknownTrack(pub String);

impl FromStr for Track {
    type Err = UnknownTrack;

    fn from_str(text: &str) -> Result<Self, UnknownTrack> {
        let wanted = text.trim().to_ascii_lowercase();
        let found = Self::ALL.iter().find(|(name, _)| *name == wanted);
        found.map(|(_, track)| *track).ok_or_else(|| UnknownTrack(text.to_owned()))
    }
}

impl TryFrom<String> for Track {
    type Error = UnknownTrack;

    fn try_from(text: String) -> Result<Self, UnknownTrack> {
        text.parse()
    }
}

impl From<Track> for &'static str {
    fn from(track: Track) -> Self {
        track.name()
    }
}

impl Display for Track {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Whose prompts, token caps and scoring rules are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// LLaVA's evaluation scripts.
    Llava,
    /// VLMEvalKit with its own prompts: Qwen2.5-VL, Qwen3-VL, Qwen3.5.
    VlmEvalKit,
    /// VLMEvalKit with InternVL's prompts.
    InternVl,
    /// VLMEvalKit with Qwen2-VL's custom prompts.
    Qwen2VlCustom,
    /// VLMEvalKit with Qwen3-VL's custom prompts.
    Qwen3VlCustom,
    /// lmms-eval.
    Lmms,
}

impl Profile {
    /// Every profile with its name.
    pub const ALL: [(&'static str, Self); 6] = [
        ("llava", Self::Llava),
        ("vlmevalkit", Self::VlmEvalKit),
        ("internvl", Self::InternVl),
        ("qwen2vl-custom", Self::Qwen2VlCustom),
        ("qwen3vl-custom", Self::Qwen3VlCustom),
        ("lmms", Self::Lmms),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, profile)| *profile == self).map_or("", |(name, _)| name)
    }
}
