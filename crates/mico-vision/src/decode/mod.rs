//! Decoding of untrusted image files to upright RGB, within explicit limits.
//!
//! The format is detected from the content, never from a file name. Limits are checked against the
//! dimensions in the header, before anything of that size is allocated.
//!
//! PNG, BMP, GIF and lossless WebP give Pillow's pixels exactly. Three differences remain:
//!
//! - JPEG: another inverse transform and chroma upsampling than libjpeg's, typically a difference
//!   of 0 or 1 levels, now and then of several;
//! - 16-bit grey keeps its high byte, where Pillow's `convert("RGB")` turns everything above 255
//!   white;
//! - what the first frame of an opaque GIF leaves uncovered is transparent, as browsers have it,
//!   where Pillow paints the background colour.

mod flatten;
mod formats;
mod jpeg;
mod webp;

use std::error::Error as _;
use std::io::Cursor;

pub use formats::is_animated;
use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder, ImageError, ImageFormat, ImageReader};

use crate::pixels::{RgbImage, Size, SizeError};

/// Default largest encoded file: 64 MiB.
pub const MAX_ENCODED_BYTES: u64 = 64 << 20;
/// Default largest number of pixels: 64 Mi, an 8192 x 8192 image.
pub const MAX_PIXELS: u64 = 64 << 20;
/// Default largest width and height in pixels.
pub const MAX_SIDE: u32 = 32_768;
/// Most bytes per pixel any decoder here writes (16-bit RGBA).
const DECODED_BYTES_PER_PIXEL: u64 = 8;
/// Room for a decoder's own tables and metadata on top of the pixels.
const DECODER_SLACK_BYTES: u64 = 16 << 20;

/// Limits on an image, so that a small file cannot exhaust memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Largest encoded file, in bytes.
    pub encoded_bytes: u64,
    /// Largest number of pixels, width times height.
    pub pixels: u64,
    /// Largest width and largest height, in pixels.
    pub side: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { encoded_bytes: MAX_ENCODED_BYTES, pixels: MAX_PIXELS, side: MAX_SIDE }
    }
}

impl Limits {
    /// Whether a file of this length may be decoded at all; ask before reading one into memory.
    pub fn check_encoded(&self, bytes: u64) -> Result<(), DecodeError> {
        check("encoded bytes", bytes, self.encoded_bytes)
    }

    fn check_size(&self, size: Size) -> Result<(), DecodeError> {
        check("width", size.width.into(), self.side.into())?;
        check("height", size.height.into(), self.side.into())?;
        check("pixels", size.area(), self.pixels)
    }
}

fn check(what: &'static str, found: u64, limit: u64) -> Result<(), DecodeError> {
    if found > limit { Err(DecodeError::TooLarge { what, found, limit }) } else { Ok(()) }
}

/// How transparency is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlphaMode {
    /// Blend onto this colour. White is what Hugging Face processors do since they composite
    /// (transformers 5), and what people expect to see.
    Flatten([u8; 3]),
    /// Forget the alpha channel and keep the colours under it, as Pillow's `convert("RGB")`, older
    /// Hugging Face processors and `transformers.image_utils.load_image` do.
    Drop,
}

impl Default for AlphaMode {
    fn default() -> Self {
        Self::Flatten([255; 3])
    }
}

/// The limits and the treatment of transparency when decoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DecodeOptions {
    /// Limits that an image must not exceed.
    pub limits: Limits,
    /// How transparency is removed.
    pub alpha: AlphaMode,
}

/// Why an image could not be decoded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// There are no bytes at all.
    #[error("the image is empty (0 bytes)")]
    Empty,
    /// The content is in none of the accepted formats.
    #[error("{found} (accepted are PNG, JPEG, WebP, GIF and BMP)")]
    UnknownFormat {
        /// The name of the format and what to do, or the content's first bytes where it has no known name.
        found: String,
    },
    /// A limit is exceeded; nothing of that size has been allocated.
    #[error("image too large: {found} {what}, at most {limit} are accepted")]
    TooLarge {
        /// The quantity that exceeds its limit, such as `pixels`.
        what: &'static str,
        /// The value of that quantity for the image.
        found: u64,
        /// The largest value accepted.
        limit: u64,
    },
    /// The file ends before the image data does.
    #[error("truncated {format} image: the data ends before the picture does ({bytes} bytes read)")]
    Truncated {
        /// The name of the detected format.
        format: &'static str,
        /// The length of the data, in bytes.
        bytes: usize,
    },
    /// The file violates its format, or uses a feature the decoder lacks.
    #[error("damaged or unsupported {format} image: {reason}")]
    Damaged {
        /// The name of the detected format.
        format: &'static str,
        /// The decoder's own message.
        reason: String,
    },
    /// The image has a width or height of 0.
    #[error(transparent)]
    NoPixels(#[from] SizeError),
}

/// The accepted formats, with the names used in messages.
const FORMATS: [(ImageFormat, &str); 5] = [
    (ImageFormat::Png, "PNG"),
    (ImageFormat::Jpeg, "JPEG"),
    (ImageFormat::WebP, "WebP"),
    (ImageFormat::Gif, "GIF"),
    (ImageFormat::Bmp, "BMP"),
];

/// Leading bytes of an unknown file shown in the error.
const SHOWN_BYTES: usize = 8;

/// Decodes the first (or only) picture of a PNG, JPEG, WebP, GIF or BMP file, upright.
///
/// ```
/// use mico_vision::decode::{DecodeError, DecodeOptions, decode};
///
/// let error = decode(b"just some text", &DecodeOptions::default()).unwrap_err();
/// assert!(matches!(error, DecodeError::UnknownFormat { .. }));
/// ```
pub fn decode(bytes: &[u8], options: &DecodeOptions) -> Result<RgbImage, DecodeError> {
    if bytes.is_empty() {
        return Err(DecodeError::Empty);
    }
    options.limits.check_encoded(bytes.len() as u64)?;
    let (format, name) = sniff(bytes)?;
    let (picture, orientation) =
        read(bytes, format, &options.limits).map_err(|error| match error {
            ReadError::Limit(error) => error,
            ReadError::Decoder(error) => explain(&error, name, bytes.len()),
        })?;
    if format == ImageFormat::Jpeg && !jpeg::is_complete(bytes) {
        return Err(DecodeError::Truncated { format: name, bytes: bytes.len() });
    }
    flatten::to_rgb(picture, orientation, options.alpha).map_err(DecodeError::from)
}

/// Width and height of a picture as its header states them, which must not exceed the limits; no pixel is decoded.
pub fn dimensions(bytes: &[u8], limits: &Limits) -> Result<Size, DecodeError> {
    if bytes.is_empty() {
        return Err(DecodeError::Empty);
    }
    limits.check_encoded(bytes.len() as u64)?;
    let (format, name) = sniff(bytes)?;
    let reader = ImageReader::with_format(Cursor::new(bytes), format);
    let (width, height) =
        reader.into_dimensions().map_err(|error| explain(&error, name, bytes.len()))?;
    let size = Size::new(width, height);
    limits.check_size(size)?;
    Ok(size)
}

fn sniff(bytes: &[u8]) -> Result<(ImageFormat, &'static str), DecodeError> {
    let found = image::guess_format(bytes).ok();
    FORMATS.into_iter().find(|(format, _)| Some(*format) == found).ok_or_else(|| {
        let found = formats::describe(bytes).unwrap_or_else(|| {
            let start = bytes[..bytes.len().min(SHOWN_BYTES)].escape_ascii();
            format!("unknown image format, content starts with \"{start}\"")
        });
        DecodeError::UnknownFormat { found }
    })
}

enum ReadError {
    Limit(DecodeError),
    Decoder(ImageError),
}

fn read(
    bytes: &[u8],
    format: ImageFormat,
    limits: &Limits,
) -> Result<(DynamicImage, Orientation), ReadError> {
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    let mut guard = image::Limits::no_limits();
    guard.max_alloc = Some(limits.pixels * DECODED_BYTES_PER_PIXEL + DECODER_SLACK_BYTES);
    reader.limits(guard);
    let mut decoder = reader.into_decoder().map_err(ReadError::Decoder)?;
    let (width, height) = decoder.dimensions();
    limits.check_size(Size::new(width, height)).map_err(ReadError::Limit)?;
    // Invalid EXIF data is no reason to refuse the picture.
    let whole = format != ImageFormat::WebP || webp::has_whole_chunks(bytes);
    let orientation = whole.then(|| decoder.orientation().ok()).flatten();
    let orientation = orientation.unwrap_or(Orientation::NoTransforms);
    let picture = DynamicImage::from_decoder(decoder).map_err(ReadError::Decoder)?;
    Ok((picture, orientation))
}

/// Maps the decoders' different reports of an early end to one error.
fn explain(error: &ImageError, format: &'static str, bytes: usize) -> DecodeError {
    /// Phrases in the decoders' messages that mean the data ended early.
    const EARLY_END: [&str; 5] = [
        "unexpected end",
        "unexpected eof",
        "no more data",
        "not enough bytes",
        "failed to fill whole buffer",
    ];
    let reason = error.source().map_or_else(|| error.to_string(), ToString::to_string);
    let reason = reason.replace(['\n', '\r'], " ");
    let told = reason.to_lowercase();
    if EARLY_END.iter().any(|sign| told.contains(sign)) {
        return DecodeError::Truncated { format, bytes };
    }
    DecodeError::Damaged { format, reason }
}
