//! InternVL3: an image is tiles of one size and a thumbnail.

use mico_model::config::InternVision;
use mico_model::{ModelConfig, architectures};
use mico_select::Remainder;
use mico_select::schedule::PoolBasis;
use mico_vision::internvl::{InternVl, TileLimits, TileShape};
use mico_vision::layout::VisualLayout;
use mico_vision::preprocessor_config::{PreprocessorConfig, TileCount};
use mico_vision::{Processed, RgbImage, Size};

use super::qwen::{self, CHATML};
use super::{
    BoxUnits, ChatMl, EvaluationProfile, FamilySpec, ImageProcessor, ImageSpec, LimitKind, Packing,
    ProcessorRequest, PromptFormat, PromptSpec, QuestionWords, SchedulePolicy, Toolkit, UsualInput,
};
use crate::error::Result;
use crate::preprocess::{ImageLimits, only, small};
use crate::switches::{IMAGE_LIMITS, INTERN_FEATURE, LimitSource};

/// Marks around the visual tokens of an image.
const OPENS: &str = "<img>";
const CLOSES: &str = "</img>";
/// What the original code says of itself when nothing else is said.
const SYSTEM: &str = "你是书生·万象，英文名是InternVL，是由上海人工智能实验室、清华大学及多家合作单位联合开发的多模态大语言模型。";
/// Columns and rows of tiles, as many as the paper allows.
const TILES: (u32, u32) = (3, 2);

static PROMPT: PromptFormat = PromptFormat {
    name: "internvl",
    render: |messages| {
        let own = ChatMl { system: Some(SYSTEM), image: (OPENS, "</img>\n"), ..CHATML };
        own.render(messages)
    },
};

/// InternVL3: tiles of one size and a thumbnail, patches joined by pixel shuffle.
pub static INTERNVL: FamilySpec = FamilySpec {
    architecture: &architectures::INTERNVL,
    images: ImageSpec {
        defaults: |config| {
            let vision: &InternVision = config.vision.expect()?;
            Ok(PreprocessorConfig::internvl(small("image_size", vision.tower.image_size)?))
        },
        processor,
        limits: &[LimitKind::Tiles],
        packing: |_, _| Packing::PLAIN,
        token_rule: "256 per tile, up to 12 tiles and a thumbnail",
    },
    prompt: PromptSpec {
        formats: &[&PROMPT],
        format: |_| &PROMPT,
        template_must_show_images: true,
        // The configuration of an original folder does not state its id.
        placeholder: Some("<IMG_CONTEXT>"),
        enclosure: Some((OPENS, CLOSES)),
        question: QuestionWords::Telling,
    },
    pruning: SchedulePolicy {
        basis: PoolBasis::Nominal,
        remainder: Remainder::First,
        ..SchedulePolicy::PAPER
    },
    switches: &[&INTERN_FEATURE, &IMAGE_LIMITS],
    usual: UsualInput { paper_size: tiles, photo_size: tiles, ..qwen::USUAL },
    evaluation: EvaluationProfile {
        toolkit: Toolkit::InternVl,
        boxes: BoxUnits::Thousandths,
        image_limits: |track| {
            let tiles = match track {
                "chartqa" | "mmmu" => 12,
                "docvqa" => 18,
                "ocrbench" => 24,
                _ => 6,
            };
            Some(ImageLimits { max_tiles: Some(tiles), ..ImageLimits::default() })
        },
        model_input: None,
    },
};

fn processor(request: &ProcessorRequest<'_>) -> Result<Box<dyn ImageProcessor>> {
    let vision: &InternVision = request.config.vision.expect()?;
    let shape = TileShape {
        side: small("image_size", vision.tower.image_size)?,
        patch: small("patch_size", vision.tower.patch_size)?,
        shuffle: small("downsample_ratio", vision.shuffle)?,
    };
    let count = |stated: Option<usize>| stated.map(|n| small("dynamic_patch", n)).transpose();
    let file = TileCount { min: count(vision.tiles.min)?, max: count(vision.tiles.max)? };
    let own = match request.switches.image_limits {
        LimitSource::Checkpoint => {
            TileLimits::PROCESSOR.unless_stated(file).unless_stated(request.preprocessing.tiles)
        }
        LimitSource::Paper => TileLimits::PAPER,
    };
    let limits = match request.limits.max_tiles {
        Some(max) => TileLimits { min: own.min.min(max), max },
        None => own,
    };
    let thumbnail = vision.tiles.thumbnail;
    let processor = InternVl::from_config(&request.preprocessing, shape, limits, thumbnail);
    let flags = [("max_patches", "max-tiles")];
    Ok(Box::new(processor.map_err(|error| request.at_fault(error, &flags))?))
}

/// The image that fills the paper's tiles exactly.
fn tiles(config: &ModelConfig) -> Result<Size> {
    let vision: &InternVision = config.vision.expect()?;
    let side = small("image_size", vision.tower.image_size)?;
    Ok(Size::new(TILES.0 * side, TILES.1 * side))
}

impl ImageProcessor for InternVl {
    fn process(&self, pictures: &[RgbImage], _: Packing) -> Result<Processed> {
        Ok(Self::process(self, only(pictures)?)?)
    }

    fn layout(&self, sizes: &[Size], _: Packing) -> Result<VisualLayout> {
        Ok(Self::layout(self, *only(sizes)?)?)
    }
}
