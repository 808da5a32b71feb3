//! LLaVA-Video: frames of one size, budgets per frame.

use mico_model::config::VideoVision;
use mico_model::{ModelConfig, architectures};
use mico_vision::layout::VisualLayout;
use mico_vision::llava_video::{FrameShape, LlavaVideo, RowEnd};
use mico_vision::preprocessor_config::PreprocessorConfig;
use mico_vision::{Processed, RgbImage, Size};

use super::qwen::{self, CHATML};
use super::{
    BoxUnits, ChatMl, EvaluationProfile, FamilySpec, ImageProcessor, ImageSpec, Packing,
    PromptFormat, PromptSpec, QuestionWords, SchedulePolicy, Toolkit, UsualInput,
};
use crate::error::Result;
use crate::preprocess::small;
use crate::switches::{VIDEO_NEWLINE, VIDEO_STAGE1_FEATURE};

static PROMPT: PromptFormat = PromptFormat {
    name: "llava-video",
    render: |messages| ChatMl { image: ("", "\n"), ..CHATML }.render(messages),
};

/// LLaVA-Video: frames of one size, pooled after the projector; budgets count per frame.
pub static LLAVA_VIDEO: FamilySpec = FamilySpec {
    architecture: &architectures::LLAVA_VIDEO,
    images: ImageSpec {
        defaults: |config| {
            let vision: &VideoVision = config.vision.expect()?;
            Ok(PreprocessorConfig::siglip(small("image_size", vision.tower.image_size)?))
        },
        processor: |request| {
            let vision: &VideoVision = request.config.vision.expect()?;
            let shape = FrameShape {
                side: small("image_size", vision.tower.image_size)?,
                patch: small("patch_size", vision.tower.patch_size)?,
                pool: small("mm_spatial_pool_stride", vision.pool)?,
            };
            Ok(Box::new(LlavaVideo::from_config(&request.preprocessing, shape)?))
        },
        limits: &[],
        packing: |switches, prunes| {
            let own = if prunes { RowEnd::None } else { RowEnd::Newline };
            Packing { row_end: switches.video_newline.unwrap_or(own), ..Packing::PLAIN }
        },
        token_rule: "169 per frame, up to 64 frames",
    },
    prompt: PromptSpec {
        formats: &[&PROMPT],
        format: |_| &PROMPT,
        template_must_show_images: true,
        placeholder: None,
        enclosure: None,
        question: QuestionWords::Telling,
    },
    pruning: SchedulePolicy { per_frame: true, ..SchedulePolicy::PAPER },
    switches: &[&VIDEO_NEWLINE, &VIDEO_STAGE1_FEATURE],
    usual: UsualInput {
        paper_size: frame,
        photo_size: frame,
        paper_frames: 64,
        bench_frames: 8,
        text_tokens: 105,
        ..qwen::USUAL
    },
    evaluation: EvaluationProfile {
        toolkit: Toolkit::Lmms,
        boxes: BoxUnits::Fractions,
        image_limits: |_| None,
        model_input: None,
    },
};

/// A frame of the tower's input size.
fn frame(config: &ModelConfig) -> Result<Size> {
    let vision: &VideoVision = config.vision.expect()?;
    Ok(Size::square(small("image_size", vision.tower.image_size)?))
}

impl ImageProcessor for LlavaVideo {
    fn process(&self, frames: &[RgbImage], packing: Packing) -> Result<Processed> {
        Ok(Self::process(self, frames, packing.row_end)?)
    }

    fn layout(&self, frames: &[Size], packing: Packing) -> Result<VisualLayout> {
        Ok(Self::layout(self, frames, packing.row_end)?)
    }
}
