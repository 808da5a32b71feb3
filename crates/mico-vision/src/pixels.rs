//! The image type of this crate: upright, 8-bit RGB, never empty.

use image::codecs::{jpeg::JpegEncoder, png::PngEncoder, webp::WebPEncoder};
use image::{ExtendedColorType, ImageEncoder};

/// Channels of an [`RgbImage`]: red, green, blue.
pub(crate) const CHANNELS: usize = 3;

/// A width and a height in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Size {
    /// Pixels from left to right.
    pub width: u32,
    /// Pixels from top to bottom.
    pub height: u32,
}

impl Size {
    /// A size of `width` by `height` pixels.
    pub const fn new(width: u32, height: u32) -> Self {
        Self { width, height }
    }

    /// A square of the given side.
    pub const fn square(side: u32) -> Self {
        Self::new(side, side)
    }

    /// This size with each side at least one pixel.
    pub(crate) fn non_empty(self) -> Self {
        Self::new(self.width.max(1), self.height.max(1))
    }

    /// The number of pixels, width times height.
    pub const fn area(self) -> u64 {
        self.width as u64 * self.height as u64
    }
}

impl std::fmt::Display for Size {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}x{}", self.width, self.height)
    }
}

/// Pixel data whose length does not match the size given with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "pixel data of {found} bytes does not fit a {size} RGB image: {expected} bytes (and at least one pixel) are needed"
)]
#[non_exhaustive]
pub struct SizeError {
    /// The size the image was to have.
    pub size: Size,
    /// The number of bytes given.
    pub found: usize,
    /// The number of bytes that size needs.
    pub expected: u64,
}

/// Why an image could not be encoded as PNG.
#[derive(Debug, thiserror::Error)]
#[error("a {size} image cannot be written as PNG: {reason}")]
#[non_exhaustive]
pub struct EncodeError {
    size: Size,
    reason: String,
}

/// An upright RGB image of 8 bits per channel with at least one pixel, rows from top to bottom.
#[derive(Clone, PartialEq, Eq)]
pub struct RgbImage {
    size: Size,
    data: Vec<u8>,
}

impl std::fmt::Debug for RgbImage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RgbImage({})", self.size)
    }
}

impl RgbImage {
    /// Wraps `data`, which must hold exactly `width * height * 3` bytes and at least one pixel.
    pub fn new(size: Size, data: Vec<u8>) -> Result<Self, SizeError> {
        let expected = size.area() * CHANNELS as u64;
        if expected == 0 || data.len() as u64 != expected {
            return Err(SizeError { size, found: data.len(), expected });
        }
        Ok(Self { size, data })
    }

    /// An image of a single colour; a side of 0 is taken as 1.
    pub fn filled(size: Size, color: [u8; 3]) -> Self {
        let size = size.non_empty();
        let pixels = size.width as usize * size.height as usize;
        Self { size, data: color.repeat(pixels) }
    }

    /// The width and height in pixels.
    pub fn size(&self) -> Size {
        self.size
    }

    /// The width in pixels.
    pub fn width(&self) -> usize {
        self.size.width as usize
    }

    /// The height in pixels.
    pub fn height(&self) -> usize {
        self.size.height as usize
    }

    /// The bytes of all pixels, RGB interleaved, rows from top to bottom.
    pub fn data(&self) -> &[u8] {
        &self.data
    }

    /// The bytes of all pixels for writing, in the order of [`RgbImage::data`].
    pub fn data_mut(&mut self) -> &mut [u8] {
        &mut self.data
    }

    /// The bytes of one row; empty for a row below the image.
    pub fn row(&self, y: usize) -> &[u8] {
        if y >= self.height() {
            return &[];
        }
        let stride = self.width() * CHANNELS;
        &self.data[y * stride..(y + 1) * stride]
    }

    /// The RGB colour at (x, y), `None` outside the image.
    pub fn pixel(&self, x: usize, y: usize) -> Option<[u8; 3]> {
        let inside = x < self.width() && y < self.height();
        inside.then(|| {
            let at = (y * self.width() + x) * CHANNELS;
            [self.data[at], self.data[at + 1], self.data[at + 2]]
        })
    }

    /// Sets the RGB colour at (x, y); does nothing outside the image.
    pub fn put(&mut self, x: usize, y: usize, color: [u8; 3]) {
        if x < self.width() && y < self.height() {
            let at = (y * self.width() + x) * CHANNELS;
            self.data[at..at + CHANNELS].copy_from_slice(&color);
        }
    }

    /// Copies `other` with its top left corner at (x, y), clipped to this image.
    pub fn paste(&mut self, other: &Self, x: usize, y: usize) {
        let columns = other.width().min(self.width().saturating_sub(x)) * CHANNELS;
        let stride = self.width() * CHANNELS;
        for row in 0..other.height().min(self.height().saturating_sub(y)) {
            let at = (y + row) * stride + x * CHANNELS;
            self.data[at..at + columns].copy_from_slice(&other.row(row)[..columns]);
        }
    }
}

/// Encodes an image as a PNG file.
pub fn encode_png(image: &RgbImage) -> Result<Vec<u8>, EncodeError> {
    let mut bytes = Vec::new();
    write(image, PngEncoder::new(&mut bytes))?;
    Ok(bytes)
}

/// Encodes an image as a JPEG file of a quality from 1 to 100.
pub fn encode_jpeg(image: &RgbImage, quality: u8) -> Result<Vec<u8>, EncodeError> {
    let mut bytes = Vec::new();
    write(image, JpegEncoder::new_with_quality(&mut bytes, quality))?;
    Ok(bytes)
}

/// Encodes an image as a WebP file without loss.
pub fn encode_webp(image: &RgbImage) -> Result<Vec<u8>, EncodeError> {
    let mut bytes = Vec::new();
    write(image, WebPEncoder::new_lossless(&mut bytes))?;
    Ok(bytes)
}

fn write(image: &RgbImage, encoder: impl ImageEncoder) -> Result<(), EncodeError> {
    let Size { width, height } = image.size();
    encoder
        .write_image(image.data(), width, height, ExtendedColorType::Rgb8)
        .map_err(|error| EncodeError { size: image.size(), reason: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_must_fit_the_size() {
        assert!(RgbImage::new(Size::new(2, 1), vec![0; 6]).is_ok());
        let short = RgbImage::new(Size::new(2, 2), vec![0; 6]).unwrap_err();
        assert!(short.to_string().contains("6 bytes does not fit a 2x2"), "{short}");
        assert!(RgbImage::new(Size::new(0, 2), vec![]).is_err());
    }

    #[test]
    fn paste_is_cut_at_the_border() {
        let mut ground = RgbImage::filled(Size::new(3, 3), [0; 3]);
        ground.paste(&RgbImage::filled(Size::new(2, 2), [9; 3]), 2, 2);
        assert_eq!(ground.pixel(2, 2), Some([9; 3]));
        assert_eq!(ground.pixel(1, 2), Some([0; 3]));
        assert_eq!(ground.pixel(3, 2), None);
    }
}
