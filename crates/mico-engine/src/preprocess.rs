//! From an image to a tower's pixels, as the checkpoint and the switches say.

use std::path::Path;

use mico_model::{Family, ModelConfig};
use mico_vision::llava::{Llava, LlavaNext, NextPacking};
use mico_vision::preprocessor_config::PreprocessorConfig;
use mico_vision::{Processed, RgbImage};

use crate::error::{Error, Result, read_optional};
use crate::switches::Switches;

/// Files that say how images are prepared, in the order they are looked for.
const FILES: [&str; 2] = ["preprocessor_config.json", "processor_config.json"];

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
    ) -> Result<Self> {
        let side = config.vision.image_size;
        let crop = preprocessing.crop;
        if (crop.width as usize, crop.height as usize) != (side, side) {
            let accepted = format!("{side}x{side}, the tower's input");
            return Err(Error::range("crop_size of the preprocessing", crop, accepted));
        }
        let patch = small("patch_size", config.vision.patch_size)?;
        let mut preprocessing = preprocessing.clone();
        preprocessing.backend = switches.resize_backend;
        Ok(match config.family {
            Family::Llava => {
                Self::Llava(Llava::from_config(&preprocessing, patch, switches.llava15_pad)?)
            }
            Family::LlavaNext => {
                let listed = config
                    .image_grid_pinpoints
                    .iter()
                    .map(|&(a, b)| {
                        Ok([small("image_grid_pinpoints", a)?, small("image_grid_pinpoints", b)?])
                    })
                    .collect::<Result<Vec<_>>>()?;
                let replaced = preprocessing.pinpoints.is_none().then_some(listed.as_slice());
                let axis = switches.anyres_axis;
                Self::Next(LlavaNext::from_config(&preprocessing, patch, axis, replaced)?)
            }
        })
    }

    /// Pixels and layout of an image.
    pub(crate) fn process(&self, image: &RgbImage, packing: NextPacking) -> Processed {
        match self {
            Self::Llava(processor) => processor.process(image),
            Self::Next(processor) => processor.process(image, packing),
        }
    }
}

fn small(what: &'static str, value: usize) -> Result<u32> {
    u32::try_from(value).map_err(|_| Error::range(what, value, "a 32-bit number"))
}

/// What a model folder says about its pixels, or the folder of its tower; CLIP's own preprocessing if
/// neither says anything.
pub(crate) fn read_preprocessing(
    folder: &Path,
    config: &ModelConfig,
) -> Result<PreprocessorConfig> {
    let folders = [Some(folder), config.vision_tower.as_deref()];
    for folder in folders.into_iter().flatten() {
        for file in FILES {
            let path = folder.join(file);
            if let Some(text) = read_optional(&path)? {
                return PreprocessorConfig::parse(&text)
                    .map_err(|source| Error::Preprocessor { path, source });
            }
        }
    }
    Ok(PreprocessorConfig::clip(small("image_size", config.vision.image_size)?))
}
