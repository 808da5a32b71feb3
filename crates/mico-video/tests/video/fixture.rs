//! Reading the committed expectations.

use std::path::PathBuf;

use mico_video::{Video, VideoError, VideoOptions};
use mico_vision::RgbImage;
use serde_json::Value;

/// Where a fixture file is.
pub(crate) fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/data/video").join(name)
}

/// The bytes of a fixture file.
pub(crate) fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The cases of one section.
pub(crate) fn cases(section: &str) -> Vec<Value> {
    let all: Value = serde_json::from_slice(&bytes("expected.json")).unwrap();
    all[section].as_array().unwrap().clone()
}

/// A case's whole number.
pub(crate) fn number(case: &Value, field: &str) -> usize {
    let number = case[field].as_u64().unwrap_or_else(|| panic!("no {field} in {case}"));
    usize::try_from(number).unwrap()
}

/// A case's fraction.
pub(crate) fn fraction(case: &Value, field: &str) -> f64 {
    case[field].as_f64().unwrap_or_else(|| panic!("no {field} in {case}"))
}

/// The checksum of a frame's bytes.
pub(crate) fn checksum(frame: &RgbImage) -> u64 {
    crc32fast::hash(frame.data()).into()
}

/// Options that take every frame.
pub(crate) fn every_frame() -> VideoOptions {
    VideoOptions { fps: 1e6, max_frames: usize::MAX, ..VideoOptions::default() }
}

/// Writes a file and opens it as a video.
pub(crate) fn open_bytes(bytes: &[u8], options: &VideoOptions) -> Result<Video, VideoError> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("clip");
    std::fs::write(&file, bytes).unwrap();
    Video::open(&file, options)
}

/// What is wrong with a video made of these bytes, without the file's name.
pub(crate) fn problem(bytes: &[u8], options: &VideoOptions) -> String {
    open_bytes(bytes, options).unwrap_err().problem.to_string()
}

/// Replaces the only occurrence of `old`.
pub(crate) fn replaced(bytes: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let places: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at..].starts_with(old)).collect();
    let [at] = places[..] else { panic!("{} places", places.len()) };
    [&bytes[..at], new, &bytes[at + old.len()..]].concat()
}
