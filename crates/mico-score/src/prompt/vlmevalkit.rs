//! Prompts of VLMEvalKit: its default ones and the custom ones of its model wrappers.

use super::ask::{Ask, is_chinese};
use super::instruction::{
    DIRECT, DIRECT_CN, LETTER, LETTER_CN, LETTER_ONLY, SELECT, SHORT, SHORT_QWEN2, SHORT_QWEN3,
    YES_NO,
};
use crate::{Profile, Track};

/// Which wording of the prompts is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// The toolkit's default prompts, used for models without a custom one.
    Default,
    /// The custom prompts of the Qwen2-VL wrapper.
    Qwen2,
    /// The custom prompts of the Qwen3-VL wrapper.
    Qwen3,
    /// The custom prompts of the InternVL wrapper.
    InternVl,
}

impl Style {
    /// The wording of a profile; `None` for profiles of other toolkits.
    pub(super) fn of(profile: Profile) -> Option<Self> {
        match profile {
            Profile::VlmEvalKit => Some(Self::Default),
            Profile::InternVl => Some(Self::InternVl),
            Profile::Qwen2VlCustom => Some(Self::Qwen2),
            Profile::Qwen3VlCustom => Some(Self::Qwen3),
            Profile::Llava | Profile::Lmms => None,
        }
    }
}

/// The type of a dataset, which decides the form of its prompts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Multiple choice: the question is followed by lettered options.
    Choice,
    /// MMMU: with or without options, and with several images.
    Mmmu,
    /// A question to be answered in a few words.
    Short,
    /// OCRBench: a free answer, to which the default prompts add no instruction.
    Ocr,
    /// POPE: a yes/no question about an object.
    Pope,
    /// MME: a yes/no question that already contains its instruction.
    Mme,
    /// HallusionBench: a yes/no question about a figure.
    Hallusion,
    /// A request for a bounding box; the data's question is used as it is.
    Grounding,
}

/// The datasets by file name (without ending), each with its type.
pub(super) const DATASETS: [(&str, Kind); 16] = [
    ("MMBench_DEV_EN", Kind::Choice),
    ("MMBench_DEV_CN", Kind::Choice),
    ("AI2D_TEST", Kind::Choice),
    ("ScienceQA_TEST", Kind::Choice),
    ("MMStar", Kind::Choice),
    ("SEEDBench_IMG", Kind::Choice),
    ("MMMU_DEV_VAL", Kind::Mmmu),
    ("POPE", Kind::Pope),
    ("MME", Kind::Mme),
    ("HallusionBench", Kind::Hallusion),
    ("TextVQA_VAL", Kind::Short),
    ("ChartQA_TEST", Kind::Short),
    ("DocVQA_VAL", Kind::Short),
    ("GQA_TestDev_Balanced", Kind::Short),
    ("OCRBench", Kind::Ocr),
    ("RefCOCO", Kind::Grounding),
];

impl Kind {
    /// The type of an image track; `None` for tracks that this toolkit has no prompt for.
    pub(super) fn of(track: Track) -> Option<Self> {
        match track {
            Track::ScienceQaImg
            | Track::MmbenchEn
            | Track::MmbenchCn
            | Track::SeedBenchImg
            | Track::Ai2d
            | Track::MmStar => Some(Self::Choice),
            Track::Mmmu => Some(Self::Mmmu),
            Track::Gqa | Track::TextVqa | Track::ChartQa | Track::DocVqa => Some(Self::Short),
            Track::OcrBench => Some(Self::Ocr),
            Track::Pope => Some(Self::Pope),
            Track::Mme => Some(Self::Mme),
            Track::HallusionBench => Some(Self::Hallusion),
            Track::RefCoco | Track::RefCocoPlus | Track::RefCocoG | Track::GrefCoco => {
                Some(Self::Grounding)
            }
            Track::VtcBench
            | Track::VideoMme
            | Track::MvBench
            | Track::LongVideoBench
            | Track::Mlvu => None,
        }
    }
}

/// The text of a prompt, without the image placeholder.
pub(super) fn text(kind: Kind, style: Style, ask: &Ask) -> String {
    let question = &ask.question;
    match (kind, style) {
        (Kind::Choice | Kind::Mmmu, Style::InternVl) => internvl_choice(ask),
        (Kind::Choice | Kind::Mmmu, _) => choice(kind, style, ask),
        (Kind::Short, Style::Default) | (Kind::Short | Kind::Ocr, Style::InternVl) => {
            format!("{question}\n{SHORT}")
        }
        // The custom prompts go by the toolkit's dataset types, in which OCRBench is a free-answer
        // dataset.
        (Kind::Short | Kind::Ocr, Style::Qwen2) => format!("{question}\n{SHORT_QWEN2}"),
        (Kind::Short | Kind::Ocr, Style::Qwen3) => format!("{question}\n{SHORT_QWEN3}"),
        (Kind::Pope | Kind::Hallusion, Style::Qwen2 | Style::Qwen3) | (Kind::Mme, Style::Qwen3) => {
            format!("{question} {YES_NO}")
        }
        (Kind::Mme, Style::InternVl) => format!("{question} {SHORT}"),
        (Kind::Hallusion, Style::InternVl) => format!("{question} {YES_NO} {SHORT}"),
        (Kind::Ocr | Kind::Mme | Kind::Hallusion | Kind::Pope | Kind::Grounding, _) => {
            question.clone()
        }
    }
}

/// Hint, question, options and instruction, each with its heading.
fn choice(kind: Kind, style: Style, ask: &Ask) -> String {
    let hint = ask.hint.as_ref().map(|hint| format!("Hint: {hint}\n")).unwrap_or_default();
    let question = format!("{hint}Question: {}\n", ask.question);
    if ask.options.is_empty() {
        let bare = if style == Style::Default { &question } else { question.trim_end() };
        return bare.to_owned();
    }
    let text = format!("{question}Options:\n{}\n", ask.lines("", ". "));
    let instruction = match (kind, style) {
        // The space before the line break is in the toolkit's text.
        (_, Style::Default) => return format!("{text}{SELECT} \n"),
        (Kind::Choice, Style::Qwen2) if is_chinese(&text) => LETTER_CN,
        (Kind::Choice, Style::Qwen3) => LETTER_ONLY,
        _ => SELECT,
    };
    format!("{text}{instruction}")
}

/// InternVL: no headings, and an instruction even where there are no options.
fn internvl_choice(ask: &Ask) -> String {
    let options = (!ask.options.is_empty()).then(|| ask.lines("", ". "));
    let lines = ask.hint.iter().chain([&ask.question]).chain(&options);
    let text = lines.map(String::as_str).collect::<Vec<_>>().join("\n");
    let instruction = match (options.is_some(), is_chinese(&text)) {
        (true, false) => LETTER,
        (true, true) => LETTER_CN,
        (false, false) => DIRECT,
        (false, true) => DIRECT_CN,
    };
    format!("{text}\n{instruction}")
}
