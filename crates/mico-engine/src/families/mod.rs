//! Families: everything that is particular to a published kind of model, in one file each.
//!
//! Open this to add a family: write a [`FamilySpec`] in a file of its own and add its line to
//! [`FAMILIES`]. One that lives elsewhere goes into [`crate::EngineOptions::families`] instead. The
//! rest of the engine, the laboratory and the command line read the spec and never ask which family
//! it is.

mod evaluation;
mod internvl;
mod llava;
mod llava_next;
mod llava_video;
mod qwen;
mod qwen2_5_vl;
mod qwen3_5;
mod qwen3_vl;

pub use evaluation::{BoxUnits, EvaluationProfile, Toolkit};
pub use internvl::INTERNVL;
pub use llava::LLAVA;
pub use llava_next::LLAVA_NEXT;
pub use llava_video::LLAVA_VIDEO;
pub use qwen2_5_vl::QWEN2_5_VL;
pub use qwen3_5::QWEN3_5;
pub use qwen3_vl::QWEN3_VL;

pub use crate::pipeline::QuestionWords;
pub use crate::preprocess::{ImageProcessor, LimitKind, Packing, ProcessorRequest};
pub use crate::prompt::{ChatMl, Piece, PromptFormat};

use std::fmt;

use mico_model::{Architecture, Family, ModelConfig, Normalization, Preset, Traits};
use mico_select::Remainder;
use mico_select::schedule::{OutOfRange, PoolBasis};
use mico_vision::Size;
use mico_vision::preprocessor_config::PreprocessorConfig;

use crate::error::{Error, Result};
use crate::prompt::{ChatTemplate, PromptStyle};
use crate::switches::{LimitSource, Switch, Switches};
use crate::tokenizer::Tokenizer;

/// Every family that ships with the engine.
pub const FAMILIES: &[&FamilySpec] =
    &[&LLAVA, &LLAVA_NEXT, &QWEN2_5_VL, &QWEN3_VL, &QWEN3_5, &INTERNVL, &LLAVA_VIDEO];

/// Everything that is particular to a family. A new one states what differs and takes the rest from
/// one that exists: `FamilySpec { architecture: &MINE, ..LLAVA }`.
#[derive(Clone, Copy)]
pub struct FamilySpec {
    /// The model half: names, reader of `config.json`, vision side, traits, published models.
    pub architecture: &'static Architecture,
    /// How images become pixels and visual tokens.
    pub images: ImageSpec,
    /// How messages become a prompt.
    pub prompt: PromptSpec,
    /// How budgets become counts.
    pub pruning: SchedulePolicy,
    /// The switches it has besides those of all families.
    pub switches: &'static [&'static Switch],
    /// What is counted and measured on when nobody says.
    pub usual: UsualInput,
    /// How the paper measures its models.
    pub evaluation: EvaluationProfile,
}

/// How a family's images become pixels and visual tokens.
#[derive(Clone, Copy)]
pub struct ImageSpec {
    /// The preprocessing of a checkpoint that does not say.
    pub defaults: fn(&ModelConfig) -> Result<PreprocessorConfig>,
    /// Makes the processor for a checkpoint under given switches and limits.
    pub processor: fn(&ProcessorRequest<'_>) -> Result<Box<dyn ImageProcessor>>,
    /// The limits on image sizes it takes; others are refused by name.
    pub limits: &'static [LimitKind],
    /// How visual tokens stand in the sequence of a run that prunes, or does not.
    pub packing: fn(&Switches, bool) -> Packing,
    /// How many visual tokens N0 an image has, in words.
    pub token_rule: &'static str,
}

/// How a family's messages become a prompt.
#[derive(Clone, Copy)]
pub struct PromptSpec {
    /// The formats its models know, which can be asked for by name.
    pub formats: &'static [&'static PromptFormat],
    /// The one of a checkpoint that brings no template.
    pub format: fn(&ModelConfig) -> &'static PromptFormat,
    /// Whether a checkpoint's template counts only if it has a word for images: original folders may
    /// bring that of their text model.
    pub template_must_show_images: bool,
    /// The tokenizer's word for the place of an image, where the configuration need not state its id.
    pub placeholder: Option<&'static str>,
    /// Marks that stand around every image, whether a template writes them or not.
    pub enclosure: Option<(&'static str, &'static str)>,
    /// The words of a question that methods compare with the image.
    pub question: QuestionWords,
}

/// How a family's budgets become counts; the refinement block is each model's own.
#[derive(Debug, Clone, Copy)]
pub struct SchedulePolicy {
    /// The count that refinement is computed from.
    pub basis: PoolBasis,
    /// Leftover of the split over groups.
    pub remainder: Remainder,
    /// What becomes of budgets no count meets.
    pub out_of_range: OutOfRange,
    /// Whether budgets are per frame of a video.
    pub per_frame: bool,
    /// How text-to-visual attention is normalised.
    pub relevance: Normalization,
}

impl SchedulePolicy {
    /// What most families have.
    pub const PAPER: Self = Self {
        basis: PoolBasis::Realized,
        remainder: Remainder::Drop,
        out_of_range: OutOfRange::Clip,
        per_frame: false,
        relevance: Normalization::FullCausal,
    };
}

/// What a family's models are counted and measured on when nobody says.
#[derive(Clone, Copy)]
pub struct UsualInput {
    /// The image that gives the number of tokens the paper counts FLOPs with.
    pub paper_size: fn(&ModelConfig) -> Result<Size>,
    /// The image speed is measured on.
    pub photo_size: fn(&ModelConfig) -> Result<Size>,
    /// Frames the paper counts with; 1 for an image.
    pub paper_frames: usize,
    /// Frames speed is measured on; 1 for an image.
    pub bench_frames: usize,
    /// Text tokens of the paper's prompts.
    pub text_tokens: usize,
    /// Those before the image.
    pub text_before_image: usize,
    /// The limits on image sizes that the paper's number of tokens comes from.
    pub limits: LimitSource,
}

impl FamilySpec {
    /// The name used in traces and tables.
    pub fn name(&self) -> &'static str {
        self.architecture.name
    }

    /// How its visual tokens come about.
    pub fn traits(&self) -> Traits {
        self.architecture.traits
    }

    /// The model halves of these families.
    pub fn architectures(families: &[&'static Self]) -> Vec<&'static Architecture> {
        families.iter().map(|family| family.architecture).collect()
    }

    /// The models known by name, of the families that ship with the engine.
    pub fn presets() -> Vec<&'static Preset> {
        Preset::of(&Self::architectures(FAMILIES))
    }

    /// The model of that name with its family.
    pub fn preset(name: &str) -> Result<(&'static Self, &'static Preset)> {
        let preset = Preset::find_among(&Self::architectures(FAMILIES), name)?;
        Ok((Self::find(preset.family())?, preset))
    }

    /// The spec of a family that ships with the engine.
    pub fn find(family: Family) -> Result<&'static Self> {
        Self::among(FAMILIES, family)
    }

    /// The spec of a family among these.
    pub fn among(families: &[&'static Self], family: Family) -> Result<&'static Self> {
        let found = families.iter().copied().find(|spec| spec.name() == family.name());
        found.ok_or_else(|| {
            let known: Vec<&str> = families.iter().map(|spec| spec.name()).collect();
            Error::Unknown { what: "family", found: family.name().into(), known: known.join(", ") }
        })
    }

    /// How images are prepared when no file says.
    pub fn default_preprocessing(&self, config: &ModelConfig) -> Result<PreprocessorConfig> {
        (self.images.defaults)(config)
    }

    /// How visual tokens stand in the sequence of a run that prunes, or does not.
    pub fn packing(&self, switches: &Switches, prunes: bool) -> Packing {
        (self.images.packing)(switches, prunes)
    }

    /// Refuses a switch that was set and that the family does not know.
    pub fn check_switches(&self, switches: &Switches) -> Result<()> {
        switches.check(self.name(), self.switches)
    }

    /// How messages become the prompt of a checkpoint with this template, or without one.
    pub fn prompt_style(
        &self,
        config: &ModelConfig,
        template: Option<&ChatTemplate>,
    ) -> PromptStyle {
        let usable = |template: &&ChatTemplate| {
            !self.prompt.template_must_show_images || template.shows_images()
        };
        match template.filter(usable) {
            Some(_) => PromptStyle::Template,
            None => PromptStyle::Format((self.prompt.format)(config)),
        }
    }

    /// The id that stands for an image: the tokenizer's, where the family has a word for it.
    pub(crate) fn placeholder(&self, config: &ModelConfig, tokenizer: Option<&Tokenizer>) -> u32 {
        let named = self.prompt.placeholder.and_then(|word| tokenizer?.id(word));
        named.unwrap_or(config.image_token_id)
    }
}

impl fmt::Debug for FamilySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests;
