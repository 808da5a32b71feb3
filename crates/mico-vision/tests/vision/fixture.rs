//! Reading the committed expectations.

use std::path::PathBuf;

use mico_vision::decode::{DecodeOptions, decode};
use mico_vision::preprocessor_config::PreprocessorConfig;
use mico_vision::{RgbImage, Size};
use serde_json::Value;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/data/vision")
}

/// The bytes of a fixture file.
pub(crate) fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(folder().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A fixture image, decoded.
pub(crate) fn image(name: &str) -> RgbImage {
    decode(&bytes(name), &DecodeOptions::default()).unwrap()
}

/// The cases of one section.
pub(crate) fn cases(section: &str) -> Vec<Value> {
    serde_json::from_slice(&bytes(&format!("{section}.json"))).unwrap()
}

/// A case's text field.
pub(crate) fn text<'a>(case: &'a Value, field: &str) -> &'a str {
    case[field].as_str().unwrap_or_else(|| panic!("no {field} in {case}"))
}

/// A case's number field.
pub(crate) fn number(case: &Value, field: &str) -> u32 {
    let number = case[field].as_u64().and_then(|number| u32::try_from(number).ok());
    number.unwrap_or_else(|| panic!("no {field} in {case}"))
}

/// The preprocessor configuration a case was made with.
pub(crate) fn config(case: &Value) -> PreprocessorConfig {
    PreprocessorConfig::parse(&case["config"].to_string()).unwrap()
}

/// A case's expected shape.
pub(crate) fn shape(case: &Value) -> Vec<usize> {
    let list = case["shape"].as_array().unwrap();
    list.iter().map(|side| usize::try_from(side.as_u64().unwrap()).unwrap()).collect()
}

/// Compares an image with a case's digest.
pub(crate) fn check_image(case: &Value, image: &RgbImage) {
    assert_eq!(shape(case), [image.height(), image.width(), 3], "{case}");
    if let Some(hex) = case["hex"].as_str() {
        let expected: Vec<u8> = (0..hex.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
            .collect();
        assert_eq!(image.data(), expected, "{case}");
        return;
    }
    for (place, expected) in samples(case) {
        assert_eq!(u32::from(image.data()[place]), expected, "byte {place} of {case}");
    }
    assert_eq!(crc32fast::hash(image.data()), number(case, "crc"), "{case}");
}

/// Compares numbers with a case's digest, bit by bit.
pub(crate) fn check_floats(case: &Value, found: &[f32]) {
    for (place, expected) in samples(case) {
        let (found, expected) = (found[place], f32::from_bits(expected));
        assert_eq!(
            found.to_bits(),
            expected.to_bits(),
            "{found} is not {expected} at {place}: {case}"
        );
    }
    let bytes: Vec<u8> = found.iter().flat_map(|number| number.to_le_bytes()).collect();
    assert_eq!(crc32fast::hash(&bytes), number(case, "crc"), "{case}");
}

fn samples(case: &Value) -> Vec<(usize, u32)> {
    let list = case["samples"].as_array().unwrap();
    list.iter()
        .map(|pair| {
            let [place, value] = [0, 1].map(|i| pair[i].as_u64().unwrap());
            (usize::try_from(place).unwrap(), u32::try_from(value).unwrap())
        })
        .collect()
}

/// A picture with detail everywhere, the same on every run.
pub(crate) fn noise(width: u32, height: u32) -> RgbImage {
    let size = Size::new(width, height);
    let mut state = width.wrapping_mul(31).wrapping_add(height);
    let data = (0..size.area() * 3).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    });
    RgbImage::new(size, data.collect()).unwrap()
}
