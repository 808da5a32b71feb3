//! What is asked, and what it shows.

use std::path::PathBuf;

use mico_engine::ImageInput;
use mico_score::Fields;
use mico_util::input::read_regular;
use mico_video::{Video, VideoOptions};
use mico_vision::RgbImage;
use mico_vision::decode::{DecodeOptions, decode};

/// A picture or video of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Visual {
    /// An image file's bytes.
    Encoded(Vec<u8>),
    /// An image file, read when the item is asked.
    File(PathBuf),
    /// A video file, or a folder of frames.
    Video(PathBuf),
    /// An image that is already decoded.
    Pixels(RgbImage),
}

impl From<mico_data::Visual> for Visual {
    fn from(visual: mico_data::Visual) -> Self {
        match visual {
            mico_data::Visual::Encoded(bytes) => Self::Encoded(bytes),
            mico_data::Visual::File(path) => Self::File(path),
            mico_data::Visual::Video(path) => Self::Video(path),
        }
    }
}

impl Visual {
    /// Its pixels, those of every sampled frame for a video; what is wrong with it otherwise.
    pub fn pixels(&self, video: &VideoOptions) -> Result<Vec<RgbImage>, String> {
        let decoded = |bytes: &[u8]| {
            decode(bytes, &DecodeOptions::default())
                .map(|image| vec![image])
                .map_err(|error| error.to_string())
        };
        match self {
            Self::Pixels(image) => Ok(vec![image.clone()]),
            Self::Encoded(bytes) => decoded(bytes),
            Self::File(path) => {
                let named = |error: String| format!("{}: {error}", path.display());
                let limit = DecodeOptions::default().limits.encoded_bytes;
                let bytes = read_regular(path, limit).map_err(|error| named(error.to_string()))?;
                decoded(&bytes).map_err(named)
            }
            Self::Video(path) => {
                let video = Video::open(path, video).map_err(|error| error.to_string())?;
                Ok(video.frames)
            }
        }
    }

    /// What the engine is given: one video to a model that takes them, else each frame as an image.
    pub(crate) fn inputs(&self, options: &VisualOptions) -> Result<Vec<ImageInput>, String> {
        let mut frames = self.pixels(&options.video)?;
        if options.blank {
            for frame in &mut frames {
                *frame = RgbImage::filled(frame.size(), [GRAY; 3]);
            }
        }
        let video = matches!(self, Self::Video(_)) && options.takes_video;
        if video {
            return Ok(vec![ImageInput::Frames(frames)]);
        }
        Ok(frames.into_iter().map(ImageInput::Decoded).collect())
    }
}

/// The blank picture's grey.
const GRAY: u8 = 128;

/// How visuals are turned into inputs.
#[derive(Debug, Clone)]
pub(crate) struct VisualOptions {
    /// Which frames of a video.
    pub(crate) video: VideoOptions,
    /// Whether the model takes a video as such.
    pub(crate) takes_video: bool,
    /// Whether to show plain grey of the same size in their place.
    pub(crate) blank: bool,
}

/// A question about pictures.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// The name in records, unique in its track.
    pub id: String,
    /// Index of its track in the source.
    pub track: usize,
    /// Its place among the track's items, from 0.
    pub position: usize,
    /// The picture it is about. Items about the same picture are not independent of one another.
    pub cluster: String,
    /// Question, options, gold and what else the rules read.
    pub fields: Fields,
    /// What is shown, in the order of the prompt's images.
    pub visuals: Vec<Visual>,
}

/// A row that could not be asked.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct DamagedRow {
    /// The name of the track that the row belongs to.
    pub track: String,
    /// The file and row, and what is wrong with it.
    pub reason: String,
}
