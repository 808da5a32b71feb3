//! Qwen2.5-VL: images at their own resolution, a tower with window attention.

use mico_model::{ModelConfig, architectures};
use mico_select::schedule::PoolBasis;
use mico_vision::Size;
use mico_vision::layout::VisualLayout;
use mico_vision::preprocessor_config::PreprocessorConfig;
use mico_vision::qwen::PixelLimits;

use super::qwen::{self, CHATML, preprocessing, processor, token_side};
use super::{
    BoxUnits, EvaluationProfile, FamilySpec, ImageSpec, Packing, PromptFormat, PromptSpec,
    SchedulePolicy, Toolkit, UsualInput,
};
use crate::preprocess::ImageLimits;
use crate::switches::{IMAGE_LIMITS, LimitSource};

/// Pixels of a visual token, in which the toolkit states its limits.
const TOKEN_PIXELS: u64 = 28 * 28;

static PROMPT: PromptFormat =
    PromptFormat { name: "qwen2.5-vl", render: |messages| CHATML.render(messages) };

/// Qwen2.5-VL, with the pixel limits of its processor unless a request states others.
pub static QWEN2_5_VL: FamilySpec = FamilySpec {
    architecture: &architectures::QWEN2_5_VL,
    images: ImageSpec {
        defaults: |config| preprocessing(config, PreprocessorConfig::qwen2_5()),
        processor: |request| {
            let paper = Some(PixelLimits::QWEN2_5_PAPER);
            processor(request, PixelLimits::QWEN2_5_PROCESSOR, paper)
        },
        limits: qwen::LIMITS,
        packing: |_, _| Packing::PLAIN,
        token_rule: "one per 28 x 28 pixels",
    },
    prompt: PromptSpec {
        formats: &[&PROMPT],
        format: |_| &PROMPT,
        template_must_show_images: false,
        placeholder: None,
        enclosure: None,
        question: qwen::QUESTION,
    },
    pruning: SchedulePolicy { basis: PoolBasis::Nominal, ..SchedulePolicy::PAPER },
    switches: &[&IMAGE_LIMITS],
    usual: UsualInput { limits: LimitSource::Paper, ..qwen::USUAL },
    evaluation: EvaluationProfile {
        toolkit: Toolkit::VlmEvalKit,
        boxes: BoxUnits::ResizedPixels,
        image_limits: |track| {
            let least = if track == "ocrbench" { 10 * 10 } else { 1280 };
            Some(ImageLimits {
                min_pixels: Some(least * TOKEN_PIXELS),
                max_pixels: Some(16_384 * TOKEN_PIXELS),
                max_tiles: None,
            })
        },
        model_input: Some(model_input),
    },
};

/// Width and height of the resized picture.
fn model_input(config: &ModelConfig, layout: &VisualLayout) -> Option<Size> {
    let [group] = layout.groups() else { return None };
    let side = token_side(config.vision.get()?);
    let pixels = |tokens: usize| u32::try_from(tokens * side).ok();
    Some(Size::new(pixels(group.columns)?, pixels(group.rows)?))
}
