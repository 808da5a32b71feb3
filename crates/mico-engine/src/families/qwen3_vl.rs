//! Qwen3-VL: images at their own resolution, tower features added to the first decoder blocks
//! (DeepStack).

use mico_model::architectures;
use mico_vision::preprocessor_config::PreprocessorConfig;
use mico_vision::qwen::PixelLimits;

use super::qwen::{self, CHATML, preprocessing, processor};
use super::{
    BoxUnits, ChatMl, EvaluationProfile, FamilySpec, ImageSpec, Packing, PromptFormat, PromptSpec,
    QWEN2_5_VL, SchedulePolicy, Toolkit,
};
use crate::preprocess::ImageLimits;
use crate::switches::IMAGE_LIMITS;

/// Pixels of a visual token, in which the toolkit states its limits.
const TOKEN_PIXELS: u64 = 32 * 32;

static PROMPT: PromptFormat = PromptFormat {
    name: "qwen3-vl",
    render: |messages| ChatMl { system: None, ..CHATML }.render(messages),
};

/// Qwen3-VL. The paper leaves images at the processor's own limits.
pub static QWEN3_VL: FamilySpec = FamilySpec {
    architecture: &architectures::QWEN3_VL,
    images: ImageSpec {
        defaults: |config| preprocessing(config, PreprocessorConfig::qwen3()),
        processor: |request| processor(request, PixelLimits::QWEN3_PROCESSOR, None),
        limits: qwen::LIMITS,
        packing: |_, _| Packing::PLAIN,
        token_rule: "one per 32 x 32 pixels",
    },
    prompt: PromptSpec { formats: &[&PROMPT], format: |_| &PROMPT, ..QWEN2_5_VL.prompt },
    pruning: SchedulePolicy::PAPER,
    switches: &[&IMAGE_LIMITS],
    usual: qwen::USUAL,
    evaluation: EvaluationProfile {
        toolkit: Toolkit::VlmEvalKit,
        boxes: BoxUnits::Thousandths,
        image_limits: |track| {
            let least = Some(10 * 10 * TOKEN_PIXELS);
            (track == "ocrbench").then(|| ImageLimits { min_pixels: least, ..Default::default() })
        },
        model_input: None,
    },
};
