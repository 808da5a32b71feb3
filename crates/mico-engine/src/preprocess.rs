//! From an image to a tower's pixels, as the checkpoint, the switches and the caller say.

use mico_model::config::{LlavaVision, VisionConfig};
use mico_model::{Family, ModelConfig, ModelFiles};
use mico_vision::llava::{Llava, LlavaNext, NextPacking};
use mico_vision::preprocessor_config::PreprocessorConfig;
use mico_vision::{Processed, RgbImage};

use crate::error::{Error, Result, read_text};
use crate::switches::Switches;

/// Files that say how images are prepared, in the order they are looked for.
const FILES: [&str; 2] = ["preprocessor_config.json", "processor_config.json"];

/// How large an image may become for the model, in place of what the checkpoint says. A family whose
/// input has one size refuses any of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ImageLimits {
    /// Fewest pixels an image is resized to.
    pub min_pixels: Option<u64>,
    /// Most pixels an image is resized to.
    pub max_pixels: Option<u64>,
    /// Most tiles an image is cut into, a thumbnail not counted.
    pub max_tiles: Option<u32>,
}

impl ImageLimits {
    /// Refuses limits on pixels, for families that resize to a fixed size.
    pub(crate) fn without_pixels(&self, family: Family) -> Result<()> {
        let given = [("min-pixels", self.min_pixels), ("max-pixels", self.max_pixels)];
        refuse(given.map(|(name, value)| (name, value.map(|value| value.to_string()))), family)
    }

    /// Refuses a limit on tiles, for families that cut none.
    pub(crate) fn without_tiles(&self, family: Family) -> Result<()> {
        refuse([("max-tiles", self.max_tiles.map(|value| value.to_string()))], family)
    }
}

fn refuse<const N: usize>(
    given: [(&'static str, Option<String>); N],
    family: Family,
) -> Result<()> {
    for (name, value) in given {
        if let Some(value) = value {
            let accepted = format!("nothing, the family {} knows no such limit", family.name());
            return Err(Error::range(name, value, accepted));
        }
    }
    Ok(())
}

/// The family's processor.
#[derive(Debug, Clone)]
pub(crate) enum Preprocessor {
    Llava(Llava),
    Next(LlavaNext),
}

impl Preprocessor {
    /// The processor of a model with the given preprocessing.
    pub(crate) fn new(
        config: &ModelConfig,
        preprocessing: &PreprocessorConfig,
        switches: &Switches,
        limits: &ImageLimits,
    ) -> Result<Self> {
        let mut preprocessing = preprocessing.clone();
        preprocessing.backend = switches.resize_backend;
        match &config.vision {
            VisionConfig::Llava(vision) => {
                limits.without_pixels(config.family)?;
                limits.without_tiles(config.family)?;
                llava(config.family, vision, &preprocessing, switches)
            }
        }
    }

    /// Pixels and layout of an image; `packing` matters to LLaVA-NeXT alone.
    pub(crate) fn process(&self, image: &RgbImage, packing: NextPacking) -> Processed {
        match self {
            Self::Llava(processor) => processor.process(image),
            Self::Next(processor) => processor.process(image, packing),
        }
    }
}

fn llava(
    family: Family,
    vision: &LlavaVision,
    preprocessing: &PreprocessorConfig,
    switches: &Switches,
) -> Result<Preprocessor> {
    if preprocessing.area.min.is_some() || preprocessing.area.max.is_some() {
        let accepted = "one size, this family has no limits on pixels";
        return Err(Error::range("size of the preprocessing", "a range of pixels", accepted));
    }
    let side = vision.tower.image_size;
    let crop = preprocessing.crop;
    if (crop.width as usize, crop.height as usize) != (side, side) {
        let accepted = format!("{side}x{side}, the tower's input");
        return Err(Error::range("crop_size of the preprocessing", crop, accepted));
    }
    let patch = small("patch_size", vision.tower.patch_size)?;
    if family == Family::Llava {
        let processor = Llava::from_config(preprocessing, patch, switches.llava15_pad)?;
        return Ok(Preprocessor::Llava(processor));
    }
    let listed = vision
        .image_grid_pinpoints
        .iter()
        .map(|&(a, b)| Ok([small("image_grid_pinpoints", a)?, small("image_grid_pinpoints", b)?]))
        .collect::<Result<Vec<_>>>()?;
    let replaced = preprocessing.pinpoints.is_none().then_some(listed.as_slice());
    let axis = switches.anyres_axis;
    Ok(Preprocessor::Next(LlavaNext::from_config(preprocessing, patch, axis, replaced)?))
}

fn small(what: &'static str, value: usize) -> Result<u32> {
    u32::try_from(value).map_err(|_| Error::range(what, value, "a 32-bit number"))
}

/// What a model folder says about its pixels, or the folder of its tower; the family's own
/// preprocessing if neither says anything.
pub(crate) fn read_preprocessing(
    files: ModelFiles<'_>,
    config: &ModelConfig,
) -> Result<PreprocessorConfig> {
    let places = [Some(files), config.vision.tower_folder().map(ModelFiles::Folder)];
    for files in places.into_iter().flatten() {
        for file in FILES {
            if let Some(text) = read_text(files, file)? {
                let path = files.path(file);
                return PreprocessorConfig::parse(&text)
                    .map_err(|source| Error::Preprocessor { path, source });
            }
        }
    }
    default_preprocessing(config)
}

/// How a family prepares images when no file says.
pub fn default_preprocessing(config: &ModelConfig) -> Result<PreprocessorConfig> {
    match &config.vision {
        VisionConfig::Llava(vision) => {
            Ok(PreprocessorConfig::clip(small("image_size", vision.tower.image_size)?))
        }
    }
}
