//! From images to a tower's pixels, as the checkpoint, the switches and the caller say.

use mico_model::config::{InternVision, LlavaVision, QwenVision, VideoVision, VisionConfig};
use mico_model::{Family, ModelConfig, ModelFiles};
use mico_vision::internvl::{InternVl, TileLimits, TileShape};
use mico_vision::llava::{Llava, LlavaNext};
use mico_vision::llava_video::{FrameShape, LlavaVideo};
use mico_vision::preprocessor_config::{PreprocessorConfig, TileCount};
use mico_vision::qwen::{PatchShape, PixelLimits, QwenVl};
use mico_vision::{ParamError, Processed, RgbImage};

use crate::error::{Error, Result, read_text};
use crate::switches::{LimitSource, Packing, Switches};

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
    fn without_pixels(&self, family: Family) -> Result<()> {
        let given = [("min-pixels", self.min_pixels), ("max-pixels", self.max_pixels)];
        refuse(given.map(|(name, value)| (name, value.map(|value| value.to_string()))), family)
    }

    /// Refuses a limit on tiles, for families that cut none.
    fn without_tiles(&self, family: Family) -> Result<()> {
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
    Qwen(QwenVl),
    InternVl(InternVl),
    Video(LlavaVideo),
}

/// What a processor is made of.
struct Given<'a> {
    family: Family,
    preprocessing: PreprocessorConfig,
    switches: &'a Switches,
    limits: &'a ImageLimits,
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
        let family = config.family;
        if !matches!(config.vision, VisionConfig::Qwen(_)) {
            limits.without_pixels(family)?;
        }
        if !matches!(config.vision, VisionConfig::InternVl(_)) {
            limits.without_tiles(family)?;
        }
        let given = Given { family, preprocessing, switches, limits };
        match &config.vision {
            VisionConfig::Llava(vision) => given.llava(vision),
            VisionConfig::Qwen(vision) => given.qwen(vision),
            VisionConfig::InternVl(vision) => given.internvl(vision),
            VisionConfig::LlavaVideo(vision) => given.video(vision),
        }
    }

    /// Pixels and layout of an image, or of the frames of a video.
    pub(crate) fn process(&self, pictures: &[RgbImage], packing: Packing) -> Result<Processed> {
        Ok(match (self, pictures) {
            (Self::Video(processor), frames) => processor.process(frames, packing.row_end)?,
            (Self::Llava(processor), [image]) => processor.process(image),
            (Self::Next(processor), [image]) => processor.process(image, packing.next),
            (Self::Qwen(processor), [image]) => processor.process(image)?,
            (Self::InternVl(processor), [image]) => processor.process(image)?,
            (_, others) => {
                let found = format!("{} frames", others.len());
                return Err(Error::range(
                    "image",
                    found,
                    "one picture, this family takes no video",
                ));
            }
        })
    }
}

impl Given<'_> {
    /// A limit that the caller stated is the caller's to change; else the checkpoint is at fault.
    fn blame(&self, error: ParamError, own: &[(&str, &'static str)]) -> Error {
        let flag = own.iter().find(|(parameter, _)| *parameter == error.parameter);
        match flag {
            Some((_, flag)) if *self.limits != ImageLimits::default() => {
                Error::range(flag, error.found, error.accepted)
            }
            _ => error.into(),
        }
    }

    fn llava(&self, vision: &LlavaVision) -> Result<Preprocessor> {
        let preprocessing = &self.preprocessing;
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
        if self.family == Family::Llava {
            let processor = Llava::from_config(preprocessing, patch, self.switches.llava15_pad)?;
            return Ok(Preprocessor::Llava(processor));
        }
        let listed = vision
            .image_grid_pinpoints
            .iter()
            .map(|&(a, b)| {
                Ok([small("image_grid_pinpoints", a)?, small("image_grid_pinpoints", b)?])
            })
            .collect::<Result<Vec<_>>>()?;
        let replaced = preprocessing.pinpoints.is_none().then_some(listed.as_slice());
        let axis = self.switches.anyres_axis;
        Ok(Preprocessor::Next(LlavaNext::from_config(preprocessing, patch, axis, replaced)?))
    }

    fn qwen(&self, vision: &QwenVision) -> Result<Preprocessor> {
        let shape = PatchShape {
            patch: small("patch_size", vision.patch_size)?,
            merge: small("spatial_merge_size", vision.merge)?,
            frames: small("temporal_patch_size", vision.frames)?,
        };
        let area = self.preprocessing.area;
        let usual = match self.family {
            Family::Qwen25Vl => PixelLimits::QWEN2_5_PROCESSOR,
            _ => PixelLimits::QWEN3_PROCESSOR,
        };
        let own = match (self.switches.image_limits, self.family) {
            (LimitSource::Paper, Family::Qwen25Vl) => PixelLimits::QWEN2_5_PAPER,
            // The paper leaves the newer models at their processors' own limits.
            _ => PixelLimits {
                min: area.min.unwrap_or(usual.min),
                max: area.max.unwrap_or(usual.max),
            },
        };
        let limits = PixelLimits {
            min: self.limits.min_pixels.unwrap_or(own.min),
            max: self.limits.max_pixels.unwrap_or(own.max),
        };
        let processor = QwenVl::from_config(&self.preprocessing, shape, limits);
        let own = [("min_pixels", "min-pixels"), ("max_pixels", "max-pixels")];
        Ok(Preprocessor::Qwen(processor.map_err(|error| self.blame(error, &own))?))
    }

    fn internvl(&self, vision: &InternVision) -> Result<Preprocessor> {
        let shape = TileShape {
            side: small("image_size", vision.tower.image_size)?,
            patch: small("patch_size", vision.tower.patch_size)?,
            shuffle: small("downsample_ratio", vision.shuffle)?,
        };
        let count = |stated: Option<usize>| stated.map(|n| small("dynamic_patch", n)).transpose();
        let file = TileCount { min: count(vision.tiles.min)?, max: count(vision.tiles.max)? };
        let own = match self.switches.image_limits {
            LimitSource::Checkpoint => {
                TileLimits::PROCESSOR.unless_stated(file).unless_stated(self.preprocessing.tiles)
            }
            LimitSource::Paper => TileLimits::PAPER,
        };
        let limits = match self.limits.max_tiles {
            Some(max) => TileLimits { min: own.min.min(max), max },
            None => own,
        };
        let thumbnail = vision.tiles.thumbnail;
        let processor = InternVl::from_config(&self.preprocessing, shape, limits, thumbnail);
        let own = [("max_patches", "max-tiles")];
        Ok(Preprocessor::InternVl(processor.map_err(|error| self.blame(error, &own))?))
    }

    fn video(&self, vision: &VideoVision) -> Result<Preprocessor> {
        let shape = FrameShape {
            side: small("image_size", vision.tower.image_size)?,
            patch: small("patch_size", vision.tower.patch_size)?,
            pool: small("mm_spatial_pool_stride", vision.pool)?,
        };
        Ok(Preprocessor::Video(LlavaVideo::from_config(&self.preprocessing, shape)?))
    }
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
    let side = |tower: &mico_model::config::VitConfig| small("image_size", tower.image_size);
    Ok(match &config.vision {
        VisionConfig::Llava(vision) => PreprocessorConfig::clip(side(&vision.tower)?),
        VisionConfig::Qwen(vision) => {
            let usual = match config.family {
                Family::Qwen25Vl => PreprocessorConfig::qwen2_5(),
                _ => PreprocessorConfig::qwen3(),
            };
            PreprocessorConfig {
                patch: Some(small("patch_size", vision.patch_size)?),
                merge: Some(small("spatial_merge_size", vision.merge)?),
                frames: Some(small("temporal_patch_size", vision.frames)?),
                ..usual
            }
        }
        VisionConfig::InternVl(vision) => PreprocessorConfig::internvl(side(&vision.tower)?),
        VisionConfig::LlavaVideo(vision) => PreprocessorConfig::siglip(side(&vision.tower)?),
    })
}
