//! What the Qwen families share: images at their own resolution, within limits on pixels.

use mico_model::ModelConfig;
use mico_model::config::QwenVision;
use mico_vision::layout::VisualLayout;
use mico_vision::preprocessor_config::PreprocessorConfig;
use mico_vision::qwen::{PatchShape, PixelLimits, QwenVl};
use mico_vision::{Processed, RgbImage, Size};

use super::{
    ChatMl, ImageProcessor, LimitKind, Packing, ProcessorRequest, QuestionWords, UsualInput,
};
use crate::error::Result;
use crate::preprocess::{only, small};
use crate::switches::LimitSource;

/// The limits on image sizes these families take.
pub(super) const LIMITS: &[LimitKind] = &[LimitKind::Pixels];

/// The whole question counts, under the heading of the authors' code for these models.
pub(super) const QUESTION: QuestionWords = QuestionWords::Whole { heading: "Question: " };

/// The instructions of a conversation that brings none.
pub(super) const ASSISTANT: &str = "You are a helpful assistant.";

/// The prompt of Qwen2.5-VL, which the others change.
pub(super) const CHATML: ChatMl = ChatMl {
    system: Some(ASSISTANT),
    image: ("<|vision_start|>", "<|vision_end|>"),
    answer: "",
    trims: false,
};

/// Columns and rows of visual tokens: the mean number of them that the paper's pruning ratios imply,
/// and those of a usual photograph.
const PAPER_TOKENS: (u32, u32) = (36, 36);
const PHOTO_TOKENS: (u32, u32) = (40, 32);

pub(super) const USUAL: UsualInput = UsualInput {
    paper_size: |config| tokens(config, PAPER_TOKENS),
    photo_size: |config| tokens(config, PHOTO_TOKENS),
    paper_frames: 1,
    bench_frames: 1,
    text_tokens: 69,
    text_before_image: 15,
    limits: LimitSource::Checkpoint,
};

/// The image of so many columns and rows of visual tokens.
fn tokens(config: &ModelConfig, (columns, rows): (u32, u32)) -> Result<Size> {
    let side = small("patch_size", token_side(config.vision.expect()?))?;
    Ok(Size::new(columns * side, rows * side))
}

/// Side of a visual token in pixels.
pub(super) fn token_side(vision: &QwenVision) -> usize {
    vision.patch_size * vision.merge
}

/// A family's own preprocessing with the sizes the configuration states.
pub(super) fn preprocessing(
    config: &ModelConfig,
    own: PreprocessorConfig,
) -> Result<PreprocessorConfig> {
    let vision: &QwenVision = config.vision.expect()?;
    Ok(PreprocessorConfig {
        patch: Some(small("patch_size", vision.patch_size)?),
        merge: Some(small("spatial_merge_size", vision.merge)?),
        frames: Some(small("temporal_patch_size", vision.frames)?),
        ..own
    })
}

/// The processor: `usual` are the limits of a checkpoint that states none, `paper` those of the
/// paper's evaluation, if it has its own.
pub(super) fn processor(
    request: &ProcessorRequest<'_>,
    usual: PixelLimits,
    paper: Option<PixelLimits>,
) -> Result<Box<dyn ImageProcessor>> {
    let vision: &QwenVision = request.config.vision.expect()?;
    let shape = PatchShape {
        patch: small("patch_size", vision.patch_size)?,
        merge: small("spatial_merge_size", vision.merge)?,
        frames: small("temporal_patch_size", vision.frames)?,
    };
    let area = request.preprocessing.area;
    let own = match (request.switches.image_limits, paper) {
        (LimitSource::Paper, Some(paper)) => paper,
        _ => PixelLimits { min: area.min.unwrap_or(usual.min), max: area.max.unwrap_or(usual.max) },
    };
    let limits = PixelLimits {
        min: request.limits.min_pixels.unwrap_or(own.min),
        max: request.limits.max_pixels.unwrap_or(own.max),
    };
    let flags = [("min_pixels", "min-pixels"), ("max_pixels", "max-pixels")];
    let processor = QwenVl::from_config(&request.preprocessing, shape, limits);
    Ok(Box::new(processor.map_err(|error| request.at_fault(error, &flags))?))
}

impl ImageProcessor for QwenVl {
    fn process(&self, pictures: &[RgbImage], _: Packing) -> Result<Processed> {
        Ok(Self::process(self, only(pictures)?)?)
    }

    fn layout(&self, sizes: &[Size], _: Packing) -> Result<VisualLayout> {
        Ok(Self::layout(self, *only(sizes)?)?)
    }
}
