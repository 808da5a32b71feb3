//! The key of what the vision side makes of an image: equal keys mean equal bits.

use std::fmt;

use mico_util::digest::Hasher;

use crate::pipeline::EncodeOptions;
use crate::request::ImageInput;

/// Names the way of hashing; another one must have another name.
const SCHEME: &str = "mico image key 1";

/// A SHA-256 over an image's bytes and everything else that decides what the vision side makes of it:
/// the model, its preprocessing, switches, limits, packing, transparency, and what is observed. Two images
/// that decode alike but differ in their bytes have two keys. Keys of an engine without a fingerprint
/// ([`crate::Engine::with_fingerprint`]) mean nothing outside the process.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ImageKey([u8; 32]);

impl ImageKey {
    /// All 256 bits.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The key of these contents, encoded under these conditions and in this way.
    pub(crate) fn new(conditions: &Hasher, content: &ContentDigest, how: &EncodeOptions) -> Self {
        let mut hasher = conditions.clone();
        // Every field counts, so that one added later cannot be forgotten here.
        hasher.update_part(format!("{how:?}"));
        hasher.update_part(content.0);
        Self(hasher.bytes())
    }
}

impl fmt::Display for ImageKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ImageKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ImageKey({self})")
    }
}

/// A hash of everything about a model and a session that decides what becomes of an image, one text each.
pub(crate) fn conditions(parts: &[String]) -> Hasher {
    let mut hasher = Hasher::new();
    hasher.update_part(SCHEME);
    hasher.update_part(env!("CARGO_PKG_VERSION"));
    hasher.update_number(parts.len() as u64);
    for part in parts {
        hasher.update_part(part);
    }
    hasher
}

/// A SHA-256 of what an image came as.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ContentDigest([u8; 32]);

impl ContentDigest {
    /// Of an image, or of the frames of a video in their order; `None` if it came encoded already.
    pub(crate) fn of(images: &[ImageInput]) -> Option<Self> {
        let mut hasher = Hasher::new();
        hasher.update_number(images.len() as u64);
        for image in images {
            match image {
                ImageInput::Encoded(bytes) => {
                    hasher.update_part("file");
                    hasher.update_part(bytes);
                }
                ImageInput::Decoded(image) => {
                    hasher.update_part("pixels");
                    update_pixels(&mut hasher, image);
                }
                ImageInput::Frames(frames) => {
                    hasher.update_part("frames");
                    hasher.update_number(frames.len() as u64);
                    frames.iter().for_each(|frame| update_pixels(&mut hasher, frame));
                }
                ImageInput::Features(_) => return None,
            }
        }
        Some(Self(hasher.bytes()))
    }
}

fn update_pixels(hasher: &mut Hasher, image: &mico_vision::RgbImage) {
    let size = image.size();
    hasher.update_number(u64::from(size.width));
    hasher.update_number(u64::from(size.height));
    hasher.update_part(image.data());
}
