//! Chooses the scoring rule of a track under a profile, and names it for result files.

use super::settings::{Boxes, Reader, Rules};
use super::{Judge, JudgeError, boxes, choices, texts};
use crate::rules::grec::Measure;
use crate::rules::mmmu::Parser;
use crate::rules::ocrbench;
use crate::rules::options::Version;
use crate::rules::vqa::Stop;
use crate::{Fields, Grade, Profile, Track};

/// The toolkit whose variant of a rule is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stack {
    Llava,
    VlmEvalKit,
    Lmms,
}

/// Which of the public parsers reads yes or no.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum YesNo {
    LlavaPope,
    VlmEvalKit,
    MmeOfficial,
    LmmsMme,
    LmmsPope,
}

/// A rule that scores single answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    Gqa(Stack),
    Vqa(Stack),
    ChartQa(Stack),
    DocVqa(Stack),
    OcrBench(Stack),
    YesNo(YesNo),
    Options,
    LlavaSqa,
    LmmsSqa,
    LlavaSeed,
    LmmsSeed,
    LmmsAi2d,
    Mmmu(Parser),
    VlmEvalKitMmmu,
    LmmsMmStar,
    LmmsMmbench,
    OneBox(Boxes),
    Grec(Boxes),
    VideoMme,
    MvBench,
    LongVideoBench,
    Mlvu,
}

impl Rule {
    /// The rule that a judge applies; `None` for VTC-Bench, which is computed from logs.
    pub(super) fn of(judge: &Judge) -> Option<Self> {
        let stack = match judge.profile {
            Profile::Llava => Stack::Llava,
            Profile::Lmms => Stack::Lmms,
            Profile::VlmEvalKit
            | Profile::InternVl
            | Profile::Qwen2VlCustom
            | Profile::Qwen3VlCustom => Stack::VlmEvalKit,
        };
        let pick = |llava, kit, lmms| match stack {
            Stack::Llava => llava,
            Stack::VlmEvalKit => kit,
            Stack::Lmms => lmms,
        };
        let yes_no = |llava, lmms| Self::YesNo(pick_yes_no(stack, llava, lmms));
        Some(match judge.track {
            Track::Gqa => Self::Gqa(stack),
            Track::TextVqa => Self::Vqa(stack),
            Track::ChartQa => Self::ChartQa(stack),
            Track::DocVqa => Self::DocVqa(stack),
            Track::OcrBench => Self::OcrBench(stack),
            Track::Pope => yes_no(YesNo::LlavaPope, YesNo::LmmsPope),
            Track::Mme => yes_no(YesNo::MmeOfficial, YesNo::LmmsMme),
            Track::HallusionBench => Self::YesNo(YesNo::VlmEvalKit),
            Track::ScienceQaImg => pick(Self::LlavaSqa, Self::Options, Self::LmmsSqa),
            Track::SeedBenchImg => pick(Self::LlavaSeed, Self::Options, Self::LmmsSeed),
            Track::Ai2d => pick(Self::LmmsAi2d, Self::Options, Self::LmmsAi2d),
            Track::MmbenchEn | Track::MmbenchCn => {
                pick(Self::Options, Self::Options, Self::LmmsMmbench)
            }
            // LLaVA has no script for it.
            Track::MmStar => pick(Self::LmmsMmStar, Self::Options, Self::LmmsMmStar),
            Track::Mmmu => {
                pick(Self::Mmmu(Parser::Official), Self::VlmEvalKitMmmu, Self::Mmmu(Parser::Lmms))
            }
            Track::RefCoco | Track::RefCocoPlus | Track::RefCocoG => Self::OneBox(unit_of(judge)),
            Track::GrefCoco => Self::Grec(unit_of(judge)),
            Track::VideoMme => Self::VideoMme,
            Track::MvBench => Self::MvBench,
            Track::LongVideoBench => Self::LongVideoBench,
            Track::Mlvu => Self::Mlvu,
            Track::VtcBench => return None,
        })
    }

    /// The rule's name, with a version suffix unless it is the current version.
    pub(super) fn name(self, rules: &Rules) -> String {
        let stop = if rules.vqa == Stop::BetweenNoDigits { "" } else { ".before_2025_05" };
        let legacy = |reader| if reader == Reader::Current { "" } else { ".legacy" };
        let of_stack = |stack, task: &str| match stack {
            Stack::Llava => format!("llava.{task}"),
            Stack::VlmEvalKit => format!("vlmevalkit.{task}"),
            Stack::Lmms => format!("lmms.{task}"),
        };
        match self {
            Self::Gqa(stack) => of_stack(stack, "gqa"),
            Self::Vqa(stack @ Stack::VlmEvalKit) => of_stack(stack, "textvqa") + stop,
            Self::Vqa(stack) => of_stack(stack, "textvqa"),
            Self::ChartQa(stack) => of_stack(sibling(stack), "chartqa"),
            Self::DocVqa(stack) => of_stack(sibling(stack), "docvqa"),
            Self::OcrBench(Stack::Lmms) => match rules.ocrbench {
                ocrbench::Version::Folded => "lmms.ocrbench".to_owned(),
                ocrbench::Version::Plain => "lmms.ocrbench.before_2026_07".to_owned(),
                ocrbench::Version::Lowered => "lmms.ocrbench.before_2026_04".to_owned(),
            },
            Self::OcrBench(_) => "vlmevalkit.ocrbench".to_owned(),
            Self::YesNo(YesNo::VlmEvalKit) => format!("vlmevalkit.yorn{stop}"),
            Self::Options => format!("vlmevalkit.mcq{}", extract_suffix(rules.extract)),
            Self::VlmEvalKitMmmu => format!("vlmevalkit.mmmu{}", extract_suffix(rules.extract)),
            Self::LmmsMmStar if rules.mmstar == Reader::Legacy => "mmstar.official".to_owned(),
            Self::VideoMme => format!("lmms.videomme{}", legacy(rules.video)),
            Self::Mlvu => format!("lmms.mlvu{}", legacy(rules.video)),
            Self::Grec(_) if rules.grec == Measure::Iou => "grec.iou".to_owned(),
            rule => rule.plain_name().to_owned(),
        }
    }

    /// The name of a rule that has only one version.
    fn plain_name(self) -> &'static str {
        match self {
            Self::YesNo(YesNo::LlavaPope) => "llava.pope",
            Self::YesNo(YesNo::MmeOfficial) => "mme.official",
            Self::YesNo(YesNo::LmmsMme) => "lmms.mme",
            Self::YesNo(YesNo::LmmsPope) => "lmms.pope",
            Self::LlavaSqa => "llava.sqa",
            Self::LmmsSqa => "lmms.sqa",
            Self::LlavaSeed => "llava.seed",
            Self::LmmsSeed => "lmms.seed",
            Self::LmmsAi2d => "lmms.ai2d",
            Self::Mmmu(Parser::Official) => "mmmu.official",
            Self::Mmmu(Parser::Lmms) => "lmms.mmmu",
            Self::LmmsMmStar => "lmms.mmstar",
            Self::LmmsMmbench => "lmms.mmbench",
            Self::OneBox(Boxes::Profile) => "lmms.refcoco_rec",
            Self::OneBox(Boxes::Magnitude) => "vlmevalkit.refcoco",
            Self::OneBox(Boxes::Thousandths) => "paper.thousandths",
            Self::OneBox(Boxes::Fractions) => "paper.fractions",
            Self::OneBox(Boxes::ResizedPixels) => "paper.abs_resized",
            Self::Grec(_) => "grec.giou",
            Self::MvBench => "lmms.mvbench",
            Self::LongVideoBench => "lmms.lvb",
            _ => "",
        }
    }

    /// Scores one answer against the gold in `fields`.
    pub(super) fn grade(
        self,
        rules: &Rules,
        fields: &Fields,
        prediction: &str,
    ) -> Result<Grade, JudgeError> {
        match self {
            Self::Gqa(_)
            | Self::Vqa(_)
            | Self::ChartQa(_)
            | Self::DocVqa(_)
            | Self::OcrBench(_)
            | Self::YesNo(_) => texts::grade(self, rules, fields, prediction),
            Self::OneBox(_) | Self::Grec(_) => boxes::grade(self, rules, fields, prediction),
            _ => choices::grade(self, rules, fields, prediction),
        }
    }
}

/// The toolkit used for tracks that LLaVA's scripts do not cover: VLMEvalKit in place of LLaVA.
fn sibling(stack: Stack) -> Stack {
    if stack == Stack::Lmms { stack } else { Stack::VlmEvalKit }
}

fn pick_yes_no(stack: Stack, llava: YesNo, lmms: YesNo) -> YesNo {
    match stack {
        Stack::Llava => llava,
        Stack::VlmEvalKit => YesNo::VlmEvalKit,
        Stack::Lmms => lmms,
    }
}

fn extract_suffix(version: Version) -> &'static str {
    match version {
        Version::June2026 => "",
        Version::August2025 => ".before_2026_06",
        Version::Before => ".before_2025_08",
    }
}

/// The unit that box numbers are read in. `Profile` remains only for lmms-eval, which has its own parser.
fn unit_of(judge: &Judge) -> Boxes {
    match (judge.rules.boxes, judge.profile) {
        (Boxes::Profile, Profile::Llava) => Boxes::Fractions,
        (Boxes::Profile, Profile::InternVl | Profile::Qwen2VlCustom | Profile::Qwen3VlCustom) => {
            Boxes::Thousandths
        }
        (Boxes::Profile, Profile::VlmEvalKit) => Boxes::Magnitude,
        (unit, _) => unit,
    }
}
