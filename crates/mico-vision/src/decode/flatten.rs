//! Conversion of any decoded pixel format to upright 8-bit RGB.

use image::DynamicImage;
use image::metadata::Orientation;

use super::AlphaMode;
use crate::pixels::{CHANNELS, RgbImage, Size, SizeError};

/// Applies the EXIF orientation and converts the picture to three channels of eight bits.
pub(super) fn to_rgb(
    mut picture: DynamicImage,
    orientation: Orientation,
    alpha: AlphaMode,
) -> Result<RgbImage, SizeError> {
    picture.apply_orientation(orientation);
    let size = Size::new(picture.width(), picture.height());
    let data = match picture {
        DynamicImage::ImageRgb8(image) => image.into_raw(),
        DynamicImage::ImageLuma8(image) => gray(image.as_raw()),
        DynamicImage::ImageLumaA8(image) => blend(image.as_raw(), 2, alpha),
        DynamicImage::ImageRgba8(image) => blend(image.as_raw(), 4, alpha),
        DynamicImage::ImageLuma16(image) => gray(&high_bytes(image.as_raw())),
        DynamicImage::ImageLumaA16(image) => blend(&high_bytes(image.as_raw()), 2, alpha),
        DynamicImage::ImageRgb16(image) => high_bytes(image.as_raw()),
        DynamicImage::ImageRgba16(image) => blend(&high_bytes(image.as_raw()), 4, alpha),
        other => other.into_rgb8().into_raw(),
    };
    RgbImage::new(size, data)
}

fn gray(data: &[u8]) -> Vec<u8> {
    data.iter().flat_map(|&value| [value; CHANNELS]).collect()
}

/// Sixteen bits to eight: the high byte.
fn high_bytes(data: &[u16]) -> Vec<u8> {
    data.iter().map(|value| value.to_be_bytes()[0]).collect()
}

/// Removes the alpha channel, the last of `channels`, as `mode` says.
fn blend(data: &[u8], channels: usize, mode: AlphaMode) -> Vec<u8> {
    let mut out = Vec::with_capacity(data.len() / channels * CHANNELS);
    for pixel in data.chunks_exact(channels) {
        let alpha = pixel[channels - 1];
        for channel in 0..CHANNELS {
            let color = pixel[channel.min(channels - 2)];
            out.push(match mode {
                AlphaMode::Drop => color,
                AlphaMode::Flatten(ground) => over(color, ground[channel], alpha),
            });
        }
    }
    out
}

/// `color` composited over `ground`, rounded to nearest, as Pillow's `alpha_composite` on an opaque
/// background.
fn over(color: u8, ground: u8, alpha: u8) -> u8 {
    let (color, ground, alpha) = (u32::from(color), u32::from(ground), u32::from(alpha));
    ((color * alpha + ground * (255 - alpha) + 127) / 255) as u8
}
