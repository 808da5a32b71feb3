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
    /// Every track.
    pub const ALL: [Self; 24] = [
        Self::Gqa,
        Self::ScienceQaImg,
        Self::TextVqa,
        Self::Pope,
        Self::Mme,
        Self::MmbenchEn,
        Self::MmbenchCn,
        Self::SeedBenchImg,
        Self::Ai2d,
        Self::Mmmu,
        Self::HallusionBench,
        Self::MmStar,
        Self::RefCoco,
        Self::RefCocoPlus,
        Self::RefCocoG,
        Self::GrefCoco,
        Self::ChartQa,
        Self::DocVqa,
        Self::OcrBench,
        Self::VtcBench,
        Self::VideoMme,
        Self::MvBench,
        Self::LongVideoBench,
        Self::Mlvu,
    ];

    /// The name it goes by on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gqa => "gqa",
            Self::ScienceQaImg => "scienceqa_img",
            Self::TextVqa => "textvqa",
            Self::Pope => "pope",
            Self::Mme => "mme",
            Self::MmbenchEn => "mmbench_en",
            Self::MmbenchCn => "mmbench_cn",
            Self::SeedBenchImg => "seedbench_img",
            Self::Ai2d => "ai2d",
            Self::Mmmu => "mmmu",
            Self::HallusionBench => "hallusionbench",
            Self::MmStar => "mmstar",
            Self::RefCoco => "refcoco",
            Self::RefCocoPlus => "refcoco+",
            Self::RefCocoG => "refcocog",
            Self::GrefCoco => "grefcoco",
            Self::ChartQa => "chartqa",
            Self::DocVqa => "docvqa",
            Self::OcrBench => "ocrbench",
            Self::VtcBench => "vtcbench",
            Self::VideoMme => "videomme",
            Self::MvBench => "mvbench",
            Self::LongVideoBench => "longvideobench",
            Self::Mlvu => "mlvu",
        }
    }
}

/// No track has that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("task '{0}', accepted: {list}", list = Track::ALL.map(Track::name).join(", "))]
pub struct UnknownTrack(pub String);

impl FromStr for Track {
    type Err = UnknownTrack;

    fn from_str(text: &str) -> Result<Self, UnknownTrack> {
        let wanted = text.trim().to_ascii_lowercase();
        let found = Self::ALL.into_iter().find(|track| track.name() == wanted);
        found.ok_or_else(|| UnknownTrack(text.to_owned()))
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
    /// Every profile.
    pub const ALL: [Self; 6] = [
        Self::Llava,
        Self::VlmEvalKit,
        Self::InternVl,
        Self::Qwen2VlCustom,
        Self::Qwen3VlCustom,
        Self::Lmms,
    ];

    /// The name it goes by on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Llava => "llava",
            Self::VlmEvalKit => "vlmevalkit",
            Self::InternVl => "internvl",
            Self::Qwen2VlCustom => "qwen2vl-custom",
            Self::Qwen3VlCustom => "qwen3vl-custom",
            Self::Lmms => "lmms",
        }
    }
}
