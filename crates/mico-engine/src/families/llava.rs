//! LLaVA-1.5: an image is one square view.

use mico_model::config::LlavaVision;
use mico_model::{ModelConfig, architectures};
use mico_vision::layout::VisualLayout;
use mico_vision::llava::Llava;
use mico_vision::preprocessor_config::PreprocessorConfig;
use mico_vision::{Processed, RgbImage, Size};

use super::{
    BoxUnits, EvaluationProfile, FamilySpec, ImageProcessor, ImageSpec, Packing, ProcessorRequest,
    PromptSpec, QuestionWords, SchedulePolicy, Toolkit, UsualInput,
};
use crate::error::Result;
use crate::preprocess::{misfit, only, small};
use crate::prompt::VICUNA;
use crate::switches::{LLAVA15_PAD, LimitSource};

/// LLaVA-1.5: one square view of an image, projected token by token.
pub static LLAVA: FamilySpec = FamilySpec {
    architecture: &architectures::LLAVA,
    images: ImageSpec {
        defaults: clip_preprocessing,
        processor: |request| {
            let (_, patch) = clip_tower(request)?;
            let pad = request.switches.llava15_pad;
            Ok(Box::new(Llava::from_config(&request.preprocessing, patch, pad)?))
        },
        limits: &[],
        packing: |_, _| Packing::PLAIN,
        token_rule: "576",
    },
    prompt: PromptSpec {
        formats: &[&VICUNA],
        format: |_| &VICUNA,
        template_must_show_images: false,
        placeholder: None,
        enclosure: None,
        question: QuestionWords::Telling,
    },
    pruning: SchedulePolicy::PAPER,
    switches: &[&LLAVA15_PAD],
    usual: UsualInput {
        paper_size: |config| views(config, 1),
        photo_size: |config| views(config, 1),
        paper_frames: 1,
        bench_frames: 1,
        text_tokens: 69,
        text_before_image: 35,
        limits: LimitSource::Checkpoint,
    },
    evaluation: EvaluationProfile {
        toolkit: Toolkit::Llava,
        boxes: BoxUnits::Fractions,
        image_limits: |_| None,
        model_input: None,
    },
};

impl ImageProcessor for Llava {
    fn process(&self, pictures: &[RgbImage], _: Packing) -> Result<Processed> {
        Ok(Self::process(self, only(pictures)?))
    }

    fn layout(&self, sizes: &[Size], _: Packing) -> Result<VisualLayout> {
        Ok(Self::layout(self, *only(sizes)?))
    }
}

/// CLIP's preprocessing at the tower's input size.
pub(super) fn clip_preprocessing(config: &ModelConfig) -> Result<PreprocessorConfig> {
    let vision: &LlavaVision = config.vision.expect()?;
    Ok(PreprocessorConfig::clip(small("image_size", vision.tower.image_size)?))
}

/// The tower and its patch size; the preprocessing must give what it takes.
pub(super) fn clip_tower<'a>(request: &ProcessorRequest<'a>) -> Result<(&'a LlavaVision, u32)> {
    let vision: &LlavaVision = request.config.vision.expect()?;
    let preprocessing = &request.preprocessing;
    if preprocessing.area.min.is_some() || preprocessing.area.max.is_some() {
        let accepted = "one size, this family has no limits on pixels";
        return Err(misfit("size", "a range of pixels", accepted));
    }
    let side = vision.tower.image_size;
    let crop = preprocessing.crop;
    if (crop.width as usize, crop.height as usize) != (side, side) {
        let accepted = format!("{side}x{side}, the tower's input");
        return Err(misfit("crop_size", crop, accepted));
    }
    Ok((vision, small("patch_size", vision.tower.patch_size)?))
}

/// A square of so many views along each side.
pub(super) fn views(config: &ModelConfig, count: u32) -> Result<Size> {
    let vision: &LlavaVision = config.vision.expect()?;
    Ok(Size::square(count * small("image_size", vision.tower.image_size)?))
}
