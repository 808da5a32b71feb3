//! `preprocessor_config.json`: how a checkpoint's images are resized, cropped and normalised.
//!
//! Read are the flat file of every published version (`size` as a number, as `{"shortest_edge"}` or
//! as `{"height", "width"}`), the newer `processor_config.json`, which holds the same fields under
//! `image_processor`, and `video_preprocessor_config.json`, of which only the fields about a frame's
//! pixels are used: the caller chooses the frames. A field that is neither understood nor known to have
//! no effect on pixels is an error: ignoring it would give other pixels than the model was trained on.

mod defaults;
mod demands;
mod fields;

use mico_util::text::quoted;
use serde_json::{Map, Value};

use crate::normalize::{BYTE_SCALE, CLIP_MEAN, CLIP_STD, Normalize, Statistics};
use crate::pixels::Size;
use crate::resample::ResizeBackend;
use fields::{
    area_of, bool_or, count, pinpoints, pixel_area, positive_number, resize, side_or_size,
    small_count, triple,
};

/// Pillow's number for bicubic resampling, the only filter supported.
const BICUBIC: u64 = 3;
/// View side when a file names none: the default of both LLaVA processors.
const DEFAULT_SIDE: u32 = 224;

/// Fields that have no effect on the pixels of an RGB image here.
const WITHOUT_EFFECT: [&str; 16] = [
    "aspect_ratio_setting",
    "auto_map",
    "data_format",
    "device",
    "disable_grouping",
    "do_convert_rgb",
    "feature_extractor_type",
    "image_processor_type",
    "image_seq_length",
    "input_data_format",
    "model_input_names",
    "pad_size",
    "processor_class",
    "return_metadata",
    "return_tensors",
    "video_processor_type",
];

/// Fields that choose a video's frames, which is left to the caller here.
const FRAME_CHOICE: [&str; 8] = [
    "do_sample_frames",
    "fps",
    "initial_shift",
    "max_frames",
    "max_video_tokens",
    "min_frames",
    "num_frames",
    "video_metadata",
];

/// Why a preprocessor configuration was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The text is not JSON; the message is the parser's.
    #[error("preprocessor configuration is not JSON: {}", quoted(&.0.to_string()))]
    Syntax(#[from] serde_json::Error),
    /// The text is JSON, but not an object.
    #[error("preprocessor configuration is {found}: accepted is an object")]
    NotAnObject {
        /// The JSON value found, shortened.
        found: String,
    },
    /// A field has a value that is invalid or not supported.
    #[error(
        "preprocessor configuration: field `{}` is {found}: accepted is {accepted}",
        quoted(field)
    )]
    Field {
        /// The name of the field at fault.
        field: String,
        /// The value of that field, shortened.
        found: String,
        /// The values that are accepted.
        accepted: &'static str,
    },
    /// A field this crate does not know, which may change pixels.
    #[error("preprocessor configuration: unknown field `{}` (value {found})", quoted(field))]
    Unknown {
        /// The name of the unknown field.
        field: String,
        /// The value of that field, shortened.
        found: String,
    },
}

/// How an image is resized before the centre crop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resize {
    /// The short side gets this length, the long side follows (rounded down).
    ShortestEdge(u32),
    /// Exactly this size, whatever the aspect ratio.
    Exact(Size),
}

impl Resize {
    /// The size an image of size `from` gets.
    pub fn target(self, from: Size) -> Size {
        let side = match self {
            Self::Exact(size) => return size,
            Self::ShortestEdge(side) => side,
        };
        let (short, long) = (from.width.min(from.height), from.width.max(from.height));
        // In f64 as the reference divides it: the quotient is cut, and must be cut at the same
        // place.
        let stretched = (f64::from(side) * f64::from(long) / f64::from(short.max(1))) as u32;
        if from.width <= from.height {
            Size::new(side, stretched)
        } else {
            Size::new(stretched, side)
        }
    }
}

/// The range of a resized image's area in pixels, where a file states it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PixelArea {
    /// The smallest area, `None` if the file does not state it.
    pub min: Option<u64>,
    /// The largest area, `None` if the file does not state it.
    pub max: Option<u64>,
}

/// The range of the number of tiles an image is cut into, where a file states it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TileCount {
    /// The smallest number of tiles, `None` if the file does not state it.
    pub min: Option<u32>,
    /// The largest number of tiles, thumbnail not counted; `None` if the file does not state it.
    pub max: Option<u32>,
}

/// The parts of a preprocessor configuration that affect pixels.
#[derive(Debug, Clone, PartialEq)]
pub struct PreprocessorConfig {
    /// How an image is resized before the centre crop.
    pub resize: Resize,
    /// Whether to resize at all; `true` if the file does not say.
    pub do_resize: bool,
    /// Centre crop, and size of a crop of a tiled image. A file that names none but resizes to an
    /// exact size crops nothing of it.
    pub crop: Size,
    /// Whether to cut out the centre after resizing.
    pub do_center_crop: bool,
    /// Whether to pad to a square first; `None` if the file does not say.
    pub do_pad: Option<bool>,
    /// Colour of padding: the mean, whether or not values are normalised by it.
    pub ground: [u8; 3],
    /// How bytes are rescaled and normalised to the tower's input values.
    pub normalize: Normalize,
    /// Resolutions to tile at (anyres), in the file's own axis order.
    pub pinpoints: Option<Vec<[u32; 2]>>,
    /// Limits on the area, for models that take images at native resolution.
    pub area: PixelArea,
    /// Limits on the number of tiles, for models that cut images into tiles.
    pub tiles: TileCount,
    /// Whether the file asks for tiles, where it says so. The published InternVL files say no and
    /// their processor tiles nevertheless: whoever makes a tiling processor decides.
    pub crop_to_patches: Option<bool>,
    /// Side of a patch in pixels, `None` if the file does not state it.
    pub patch: Option<u32>,
    /// Patches per side that one visual token merges, `None` if the file does not state it.
    pub merge: Option<u32>,
    /// Frames per patch (temporal patch size), `None` if the file does not state it.
    pub frames: Option<u32>,
    /// Which library's resampling to reproduce. No file says; Pillow unless changed.
    pub backend: ResizeBackend,
}

impl PreprocessorConfig {
    /// Parses the text of a configuration file.
    ///
    /// ```
    /// use mico_vision::preprocessor_config::{PreprocessorConfig, Resize};
    ///
    /// let text = r#"{"size": {"shortest_edge": 336}, "crop_size": 336}"#;
    /// let config = PreprocessorConfig::parse(text)?;
    /// assert_eq!(config.resize, Resize::ShortestEdge(336));
    /// let error = PreprocessorConfig::parse(r#"{"image_mean": "grey"}"#).unwrap_err();
    /// assert!(error.to_string().contains("`image_mean` is \"grey\""));
    /// # Ok::<(), mico_vision::preprocessor_config::ConfigError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        let value: Value = serde_json::from_str(text)?;
        let not_an_object = |value: &Value| ConfigError::NotAnObject { found: fields::show(value) };
        let whole = value.as_object().ok_or_else(|| not_an_object(&value))?;
        match whole.get("image_processor") {
            Some(inner) => Self::read(inner.as_object().ok_or_else(|| not_an_object(inner))?),
            None => Self::read(whole),
        }
    }

    fn read(object: &Map<String, Value>) -> Result<Self, ConfigError> {
        let mut fields = StatedFields::new();
        for (field, value) in object {
            // An absent value and a null one both mean the default.
            if !value.is_null() {
                fields.read(field, value)?;
            }
        }
        fields.finish(object)
    }
}

/// The fields of a file as far as they were read: those that stand for themselves in `config`, and
/// those whose meaning depends on others.
struct StatedFields {
    config: PreprocessorConfig,
    /// `size` where it states an area.
    area: Option<PixelArea>,
    /// `default_to_square`.
    square: bool,
    do_rescale: bool,
    rescale_factor: f64,
    do_normalize: bool,
    statistics: Statistics,
}

impl StatedFields {
    fn new() -> Self {
        Self {
            config: PreprocessorConfig::clip(DEFAULT_SIDE),
            area: None,
            square: false,
            do_rescale: true,
            rescale_factor: BYTE_SCALE,
            do_normalize: true,
            statistics: Statistics { mean: CLIP_MEAN, std: CLIP_STD },
        }
    }

    fn read(&mut self, field: &str, value: &Value) -> Result<(), ConfigError> {
        let config = &mut self.config;
        match field {
            "size" if area_of(value) => self.area = Some(pixel_area(field, value)?),
            "size" => config.resize = resize(field, value)?,
            "min_pixels" => config.area.min = Some(count(field, value)?),
            "max_pixels" => config.area.max = Some(count(field, value)?),
            "patch_size" => config.patch = Some(small_count(field, value)?),
            "merge_size" => config.merge = Some(small_count(field, value)?),
            "temporal_patch_size" => config.frames = Some(small_count(field, value)?),
            "default_to_square" => self.square = bool_or(field, value)?,
            "crop_size" => config.crop = side_or_size(field, value)?,
            "do_resize" => config.do_resize = bool_or(field, value)?,
            "do_center_crop" => config.do_center_crop = bool_or(field, value)?,
            "do_pad" => config.do_pad = Some(bool_or(field, value)?),
            "crop_to_patches" => config.crop_to_patches = Some(bool_or(field, value)?),
            "min_patches" => config.tiles.min = Some(small_count(field, value)?),
            "max_patches" => config.tiles.max = Some(small_count(field, value)?),
            "do_rescale" => self.do_rescale = bool_or(field, value)?,
            "rescale_factor" => self.rescale_factor = positive_number(field, value)?,
            "do_normalize" => self.do_normalize = bool_or(field, value)?,
            "image_mean" => self.statistics.mean = triple(field, value)?,
            "image_std" => self.statistics.std = triple(field, value)?,
            "image_grid_pinpoints" => config.pinpoints = Some(pinpoints(field, value)?),
            "resample" if value.as_u64() == Some(BICUBIC) => {}
            "resample" => return Err(fields::wrong(field, value, "3 (bicubic)")),
            known if WITHOUT_EFFECT.contains(&known) || known.starts_with('_') => {}
            known if FRAME_CHOICE.contains(&known) => {}
            _ => {
                let (field, found) = (field.to_owned(), fields::show(value));
                return Err(ConfigError::Unknown { field, found });
            }
        }
        Ok(())
    }

    /// Settles what several fields decide together.
    fn finish(self, object: &Map<String, Value>) -> Result<PreprocessorConfig, ConfigError> {
        let Self { mut config, statistics, .. } = self;
        // The older pair of fields wins over the newer object.
        if let Some(PixelArea { min, max }) = self.area {
            config.area.min = config.area.min.or(min);
            config.area.max = config.area.max.or(max);
        }
        // A bare number is the short side, unless the file says that it means a square.
        if let (true, Some(size)) = (self.square, object.get("size").filter(|v| v.is_number())) {
            config.resize = Resize::Exact(side_or_size("size", size)?);
        }
        let crop_stated = object.get("crop_size").is_some_and(|value| !value.is_null());
        if let (Resize::Exact(size), false) = (config.resize, crop_stated) {
            config.crop = size;
        }
        config.ground = statistics.mean_color();
        config.normalize = Normalize {
            rescale: self.do_rescale.then_some(self.rescale_factor),
            statistics: self.do_normalize.then_some(statistics),
        };
        Ok(config)
    }
}
