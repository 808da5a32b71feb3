//! From images to a tower's pixels, as the checkpoint, the switches and the caller say.

use std::fmt::{Debug, Display};

use mico_model::{ModelConfig, ModelFiles};
use mico_vision::layout::VisualLayout;
use mico_vision::llava::NextPacking;
use mico_vision::llava_video::RowEnd;
use mico_vision::preprocessor_config::PreprocessorConfig;
use mico_vision::{ParamError, Processed, RgbImage, Size};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, read_text};
use crate::families::FamilySpec;
use crate::switches::Switches;

/// Files that say how images are prepared, in the order they are looked for.
const FILES: [&str; 2] = ["preprocessor_config.json", "processor_config.json"];

/// How large an image may become for the model, in place of what the checkpoint says. A family whose
/// input has one size refuses any of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ImageLimits {
    /// Fewest pixels an image is resized to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_pixels: Option<u64>,
    /// Most pixels an image is resized to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_pixels: Option<u64>,
    /// Most tiles an image is cut into, a thumbnail not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tiles: Option<u32>,
}

/// A kind of limit that a family may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitKind {
    /// Limits on the resized area: [`ImageLimits::min_pixels`] and [`ImageLimits::max_pixels`].
    Pixels,
    /// A limit on the number of tiles: [`ImageLimits::max_tiles`].
    Tiles,
}

impl ImageLimits {
    /// Refuses a limit that was set and that the family does not know.
    fn check(&self, family: &str, known: &[LimitKind]) -> Result<()> {
        let pixels = |value: Option<u64>| value.map(|value| value.to_string());
        let given = [
            (LimitKind::Pixels, "min-pixels", pixels(self.min_pixels)),
            (LimitKind::Pixels, "max-pixels", pixels(self.max_pixels)),
            (LimitKind::Tiles, "max-tiles", self.max_tiles.map(|value| value.to_string())),
        ];
        for (kind, name, value) in given {
            if let (Some(value), false) = (value, known.contains(&kind)) {
                let accepted = format!("nothing, the family {family} knows no such limit");
                return Err(Error::range(name, value, accepted));
            }
        }
        Ok(())
    }
}

/// How visual tokens stand in the sequence, for the families that have more than one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packing {
    /// How LLaVA-NeXT stitches the crops of an image: with or without the padded rows and columns.
    pub next: NextPacking,
    /// Whether LLaVA-Video ends each row of a frame with a newline token.
    pub row_end: RowEnd,
}

impl Packing {
    /// The one way of all other families, and of every pruned run.
    pub const PLAIN: Self = Self { next: NextPacking::Spatial, row_end: RowEnd::None };
}

/// A family's processor, set up for one checkpoint, one choice of switches and limits.
pub trait ImageProcessor: Debug + Send + Sync {
    /// Pixels and layout of an image, or of the frames of a video.
    fn process(&self, pictures: &[RgbImage], packing: Packing) -> Result<Processed>;

    /// The layout [`Self::process`] would give pictures of these sizes, without touching pixels.
    fn layout(&self, sizes: &[Size], packing: Packing) -> Result<VisualLayout>;
}

/// What a processor is made of.
#[non_exhaustive]
#[derive(Debug, Clone)]
pub struct ProcessorRequest<'a> {
    /// The model whose tower takes the pixels: patch size, view size, merging.
    pub config: &'a ModelConfig,
    /// What the checkpoint says of its pixels, with the resampling the switches ask for.
    pub preprocessing: PreprocessorConfig,
    /// The request's switches, some of which decide how images are resized, padded or tiled.
    pub switches: &'a Switches,
    /// Limits the caller states.
    pub limits: &'a ImageLimits,
}

impl ProcessorRequest<'_> {
    /// The error of a processor that cannot be made. A limit that the caller stated is the caller's to
    /// change; else the checkpoint is at fault. `flags` pairs the processor's words with the caller's.
    pub(crate) fn at_fault(&self, error: ParamError, flags: &[(&str, &'static str)]) -> Error {
        let flag = flags.iter().find(|(parameter, _)| *parameter == error.parameter);
        match flag {
            Some((_, flag)) if *self.limits != ImageLimits::default() => {
                Error::range(flag, error.found, error.accepted)
            }
            _ => error.into(),
        }
    }
}

/// The processor of a model under given switches and limits. Making one reads nothing and is cheap.
#[derive(Debug)]
pub(crate) struct Preprocessor(Box<dyn ImageProcessor>);

impl Preprocessor {
    /// The processor of a model with the given preprocessing. Switches and limits that the family does
    /// not know are refused here, where they meet it.
    pub(crate) fn new(
        family: &FamilySpec,
        config: &ModelConfig,
        preprocessing: &PreprocessorConfig,
        switches: &Switches,
        limits: &ImageLimits,
    ) -> Result<Self> {
        family.check_switches(switches)?;
        limits.check(family.name(), family.images.limits)?;
        let mut preprocessing = preprocessing.clone();
        preprocessing.backend = switches.resize_backend;
        let request = ProcessorRequest { config, preprocessing, switches, limits };
        Ok(Self((family.images.processor)(&request)?))
    }

    /// Pixels and layout of an image, or of the frames of a video.
    pub(crate) fn process(&self, pictures: &[RgbImage], packing: Packing) -> Result<Processed> {
        self.0.process(pictures, packing)
    }

    /// The layout of pictures of these sizes.
    pub(crate) fn layout(&self, sizes: &[Size], packing: Packing) -> Result<VisualLayout> {
        self.0.layout(sizes, packing)
    }
}

/// The only picture, for families that take no video.
pub(crate) fn only<T>(pictures: &[T]) -> Result<&T> {
    match pictures {
        [picture] => Ok(picture),
        others => {
            let found = format!("{} frames", others.len());
            Err(Error::range("image", found, "one picture, this family takes no video"))
        }
    }
}

/// A number of a configuration as processors take it.
pub(crate) fn small(what: &'static str, value: usize) -> Result<u32> {
    u32::try_from(value).map_err(|_| misfit(what, value, "a 32-bit number"))
}

/// The error of a checkpoint whose preprocessing and tower do not belong together.
pub(crate) fn misfit(
    parameter: &'static str,
    found: impl Display,
    accepted: impl Into<String>,
) -> Error {
    let (found, accepted) = (found.to_string(), accepted.into());
    Error::Processor(ParamError { parameter, found, accepted })
}

/// What a model folder says about its pixels, or the folder of its tower; the family's own
/// preprocessing if neither says anything.
pub(crate) fn read_preprocessing(
    files: ModelFiles<'_>,
    family: &FamilySpec,
    config: &ModelConfig,
) -> Result<(PreprocessorConfig, Option<String>)> {
    let places = [Some(files), config.vision.tower_folder().map(ModelFiles::Folder)];
    for files in places.into_iter().flatten() {
        for file in FILES {
            if let Some(text) = read_text(files, file)? {
                let path = files.path(file);
                return PreprocessorConfig::parse(&text)
                    .map(|found| (found, None))
                    .map_err(|source| Error::Preprocessor { path, source });
            }
        }
    }
    let note = format!(
        "{} does not exist: images are prepared as {} does by default, which may not be how this model was trained",
        files.path(FILES[0]).display(),
        family.architecture.name
    );
    Ok((family.default_preprocessing(config)?, Some(note)))
}
