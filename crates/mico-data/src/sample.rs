//! The unified form of a benchmark item, independent of where it was read from.

use std::path::PathBuf;

use mico_score::Fields;

/// An image or a video that belongs to a sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Visual {
    /// The bytes of an image file, still encoded (PNG, JPEG, ...).
    Encoded(Vec<u8>),
    /// The path of an image file, which need not exist.
    File(PathBuf),
    /// The path of a video file or of a folder of frames, which need not exist.
    Video(PathBuf),
}

/// One question with its images, as every reader delivers it.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// The id in result files, unique within the track.
    pub id: String,
    /// The image or video that the question is about. Samples of one cluster are not independent
    /// and are resampled together.
    pub cluster: String,
    /// Question, options, gold and other values that the rules read, under canonical names.
    pub fields: Fields,
    /// The images or video, in the order in which the prompt refers to them.
    pub visuals: Vec<Visual>,
}
