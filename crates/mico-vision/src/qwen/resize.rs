//! Smart resize: the size an image gets, with sides multiples of a factor and the area within limits.

use crate::param::ParamError;
use crate::pixels::Size;

/// The largest accepted ratio of the long side to the short one.
pub const MAX_ASPECT: u32 = 200;
/// Area of a Qwen2.5-VL visual token in pixels, in which its published limits are stated.
const TOKEN: u64 = 28 * 28;

/// The range of a resized image's area, in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PixelLimits {
    /// The smallest area, in pixels.
    pub min: u64,
    /// The largest area, in pixels.
    pub max: u64,
}

impl PixelLimits {
    /// The Qwen2.5-VL processor's defaults when no file states limits.
    pub const QWEN2_5_PROCESSOR: Self = Self { min: 4 * TOKEN, max: 1280 * TOKEN };
    /// The limits used in the paper's evaluation of Qwen2.5-VL.
    pub const QWEN2_5_PAPER: Self = Self { min: 1280 * TOKEN, max: 16_384 * TOKEN };
    /// The limits in the published Qwen3-VL checkpoints.
    pub const QWEN3_PROCESSOR: Self = Self { min: 1 << 16, max: 1 << 24 };

    /// Refuses limits that no image can meet.
    pub(super) fn check(self, factor: u32) -> Result<(), ParamError> {
        let token = u64::from(factor) * u64::from(factor);
        if self.min == 0 {
            return Err(ParamError::new("min_pixels", self.min, "at least 1"));
        }
        if self.max < self.min {
            let accepted = format!("at least min_pixels = {}", self.min);
            return Err(ParamError::new("max_pixels", self.max, accepted));
        }
        if self.max < token {
            let accepted = format!("at least {token}, one visual token");
            return Err(ParamError::new("max_pixels", self.max, accepted));
        }
        Ok(())
    }

    /// The size for an image: sides rounded to multiples of `factor` (halves to even), then, if the
    /// area is out of bounds, the image scaled to the bound and rounded inwards.
    pub fn resize(self, image: Size, factor: u32) -> Result<Size, ParamError> {
        let (long, short) = (image.width.max(image.height), image.width.min(image.height));
        if u64::from(long) > u64::from(MAX_ASPECT) * u64::from(short) {
            let accepted = format!("one side at most {MAX_ASPECT} times the other");
            return Err(ParamError::new("image size", image, accepted));
        }
        let step = f64::from(factor);
        let (height, width) = (f64::from(image.height), f64::from(image.width));
        let near = |side: f64| (side / step).round_ties_even() * step;
        let (mut tall, mut wide) = (near(height), near(width));
        if tall * wide > self.max as f64 {
            let shrink = (height * width / self.max as f64).sqrt();
            let inside = |side: f64| ((side / shrink / step).floor() * step).max(step);
            (tall, wide) = (inside(height), inside(width));
        } else if tall * wide < self.min as f64 {
            let grow = (self.min as f64 / (height * width)).sqrt();
            let outside = |side: f64| (side * grow / step).ceil() * step;
            (tall, wide) = (outside(height), outside(width));
        }
        // A whole number of pixels by construction; an absurd one is caught by the value limit.
        Ok(Size::new(wide as u32, tall as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_sizes() {
        let image = Size::new(640, 480);
        let sized = |limits: PixelLimits, factor| limits.resize(image, factor).unwrap();
        assert_eq!(sized(PixelLimits::QWEN2_5_PROCESSOR, 28), Size::new(644, 476));
        assert_eq!(sized(PixelLimits::QWEN2_5_PAPER, 28), Size::new(1176, 868));
        assert_eq!(sized(PixelLimits::QWEN3_PROCESSOR, 32), image);
    }

    #[test]
    fn small_wide_and_impossible_images() {
        let limits = PixelLimits::QWEN2_5_PROCESSOR;
        assert_eq!(limits.resize(Size::new(1, 1), 28).unwrap(), Size::new(56, 56));
        assert_eq!(limits.resize(Size::new(2000, 10), 28).unwrap(), Size::new(812, 28));
        let error = limits.resize(Size::new(2001, 10), 28).unwrap_err().to_string();
        assert!(error.contains("2001x10"), "{error}");
        let huge = limits.resize(Size::new(40_000, 30_000), 28).unwrap();
        assert!(
            huge.area() <= limits.max
                && huge.width.is_multiple_of(28)
                && huge.height.is_multiple_of(28)
        );
        for (min, max) in [(0, 5000), (5000, 4000), (10, 700)] {
            assert!(PixelLimits { min, max }.check(28).is_err(), "{min} {max}");
        }
    }
}
