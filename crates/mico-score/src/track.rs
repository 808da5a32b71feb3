//! The benchmarks (tracks) of the paper, and the toolkits (profiles) whose prompts and rules they
//! are run with.

use std::fmt::{self, Display};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A benchmark of the paper, with the split that is evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "&'static str", try_from = "String")]
pub enum Track {
    /// GQA, test-dev balanced split: short answers to compositional questions.
    Gqa,
    /// ScienceQA, test split: the multiple-choice questions that have an image.
    ScienceQaImg,
    /// TextVQA, validation split: questions about text in images.
    TextVqa,
    /// POPE: yes/no questions about object hallucination.
    Pope,
    /// MME: yes/no questions on perception and cognition, scored in points.
    Mme,
    /// MMBench, English development split, with circular evaluation.
    MmbenchEn,
    /// MMBench, Chinese development split, with circular evaluation.
    MmbenchCn,
    /// SEED-Bench, restricted to questions about images.
    SeedBenchImg,
    /// AI2D, test split: multiple-choice questions about diagrams.
    Ai2d,
    /// MMMU, validation split: college-level questions, with options or open.
    Mmmu,
    /// HallusionBench, restricted to questions that have an image.
    HallusionBench,
    /// MMStar: multiple-choice questions that cannot be answered without the image.
    MmStar,
    /// RefCOCO: one bounding box for a referring expression.
    RefCoco,
    /// RefCOCO+: as RefCOCO, with expressions that avoid words of location.
    RefCocoPlus,
    /// RefCOCOg: as RefCOCO, with longer expressions.
    RefCocoG,
    /// gRefCOCO: any number of boxes for a referring expression, possibly none.
    GrefCoco,
    /// ChartQA, test split: questions about charts, scored by relaxed accuracy.
    ChartQa,
    /// DocVQA, validation split: questions about document images, scored by ANLS.
    DocVqa,
    /// OCRBench: text recognition and questions about text in images.
    OcrBench,
    /// VTC-Bench: computed from logs of other tracks, on questions that need full resolution.
    VtcBench,
    /// Video-MME without subtitles: multiple-choice questions about videos.
    VideoMme,
    /// MVBench: multiple-choice questions on twenty tasks of temporal understanding.
    MvBench,
    /// LongVideoBench, validation split: multiple-choice questions about long videos.
    LongVideoBench,
    /// MLVU, development split: the seven multiple-choice tasks.
    Mlvu,
}

impl Track {
    /// Every track, in the order of declaration.
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

    /// The name on the command line and in result files.
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

/// The error for a name that no track has; its message lists the accepted names.
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

/// The toolkit whose prompts, token limits and scoring rules are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// LLaVA's evaluation scripts, for LLaVA-1.5 and LLaVA-NeXT.
    Llava,
    /// VLMEvalKit with its default prompts, for Qwen2.5-VL, Qwen3-VL and Qwen3.5.
    VlmEvalKit,
    /// VLMEvalKit with the custom prompts of its InternVL wrapper.
    InternVl,
    /// VLMEvalKit with the custom prompts of its Qwen2-VL wrapper.
    Qwen2VlCustom,
    /// VLMEvalKit with the custom prompts of its Qwen3-VL wrapper.
    Qwen3VlCustom,
    /// lmms-eval with its task prompts, for LLaVA-Video.
    Lmms,
}

impl Profile {
    /// Every profile, in the order of declaration.
    pub const ALL: [Self; 6] = [
        Self::Llava,
        Self::VlmEvalKit,
        Self::InternVl,
        Self::Qwen2VlCustom,
        Self::Qwen3VlCustom,
        Self::Lmms,
    ];

    /// The name on the command line and in result files.
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
