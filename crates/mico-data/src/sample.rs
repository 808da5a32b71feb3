//! One question with what it shows.

use std::path::PathBuf;

use mico_score::Fields;

/// A picture or video of a sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Visual {
    /// An image file's bytes.
    Encoded(Vec<u8>),
    /// An image file.
    File(PathBuf),
    /// A video file, or a folder of frames.
    Video(PathBuf),
}

/// One question as every reader delivers it.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// The name in records, unique in its track.
    pub id: String,
    /// The picture or video it is about: samples alike in this are not independent of one another.
    pub cluster: String,
    /// Question, options, gold and whatever else the rules read, in canonical names.
    pub fields: Fields,
    /// What is shown, in the order of the prompt's images.
    pub visuals: Vec<Visual>,
}
