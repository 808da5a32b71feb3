//! Rescaling and normalisation: from bytes to the values a vision tower takes.
//!
//! The order of operations is that of Hugging Face's numpy path, to the bit: the byte times the
//! rescale factor in f64, rounded to f32; then, in f32, less the mean and divided by the deviation.

use rayon::prelude::*;

use crate::param::ParamError;
use crate::pixels::{CHANNELS, RgbImage};

/// Per-channel mean of CLIP's training images, for values in [0, 1].
pub const CLIP_MEAN: [f64; 3] = [0.481_454_66, 0.457_827_5, 0.408_210_73];
/// Per-channel standard deviation of CLIP's training images, for values in [0, 1].
pub const CLIP_STD: [f64; 3] = [0.268_629_54, 0.261_302_58, 0.275_777_11];
/// Per-channel mean of `ImageNet`'s training images, for values in [0, 1].
pub const IMAGENET_MEAN: [f64; 3] = [0.485, 0.456, 0.406];
/// Per-channel standard deviation of `ImageNet`'s training images, for values in [0, 1].
pub const IMAGENET_STD: [f64; 3] = [0.229, 0.224, 0.225];
/// Mean and standard deviation that map [0, 1] to [-1, 1].
pub const HALF: [f64; 3] = [0.5; 3];
/// The rescale factor that maps bytes to [0, 1].
pub const BYTE_SCALE: f64 = 1.0 / 255.0;

/// Mean and standard deviation of each channel, red, green, blue.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Statistics {
    /// Subtracted from each channel.
    pub mean: [f64; 3],
    /// Each channel is divided by it, after the subtraction.
    pub std: [f64; 3],
}

impl Statistics {
    /// CLIP's statistics, also those of Qwen2.5-VL.
    pub const CLIP: Self = Self { mean: CLIP_MEAN, std: CLIP_STD };

    /// `ImageNet`'s statistics, those of InternVL.
    pub const IMAGENET: Self = Self { mean: IMAGENET_MEAN, std: IMAGENET_STD };

    /// One half for both, which maps [0, 1] to [-1, 1] (`SigLIP`, Qwen3-VL).
    pub const HALF: Self = Self { mean: HALF, std: HALF };

    /// The mean as a colour (for padding), truncated rather than rounded, as the reference does.
    pub fn mean_color(&self) -> [u8; 3] {
        self.mean.map(|mean| (mean * 255.0) as u8)
    }
}

/// How bytes become values; either step may be left out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Normalize {
    /// Factor each byte is multiplied by; `None` leaves bytes as they are.
    pub rescale: Option<f64>,
    /// Mean and standard deviation to normalise with; `None` skips the step.
    pub statistics: Option<Statistics>,
}

impl Normalize {
    /// Bytes over 255, less CLIP's mean, over CLIP's deviation.
    pub const CLIP: Self = Self { rescale: Some(BYTE_SCALE), statistics: Some(Statistics::CLIP) };

    /// Bytes over 255, less `ImageNet`'s mean, over `ImageNet`'s deviation.
    pub const IMAGENET: Self =
        Self { rescale: Some(BYTE_SCALE), statistics: Some(Statistics::IMAGENET) };

    /// Bytes over 255, brought to [-1, 1].
    pub const HALF: Self = Self { rescale: Some(BYTE_SCALE), statistics: Some(Statistics::HALF) };

    /// Refuses parameters that would make values infinite or NaN.
    pub fn check(&self) -> Result<(), ParamError> {
        if let Some(scale) = self.rescale.filter(|scale| !scale.is_finite()) {
            return Err(ParamError::new("rescale_factor", scale, "a finite number"));
        }
        let Some(statistics) = self.statistics else { return Ok(()) };
        if let Some(mean) = statistics.mean.iter().find(|mean| !mean.is_finite()) {
            return Err(ParamError::new("image_mean", mean, "finite numbers"));
        }
        // Checked as the f32 it is used as: a tiny deviation would otherwise turn pixels infinite.
        let usable = |std: f64| (std as f32).is_normal();
        match statistics.std.iter().find(|std| !usable(**std)) {
            Some(std) => Err(ParamError::new("image_std", std, "finite numbers other than 0")),
            None => Ok(()),
        }
    }

    /// The value of `byte` in `channel`.
    fn value(&self, byte: u8, channel: usize) -> f32 {
        let value = self.rescale.map_or(f32::from(byte), |scale| (f64::from(byte) * scale) as f32);
        self.statistics.map_or(value, |Statistics { mean, std }| {
            (value - mean[channel] as f32) / std[channel] as f32
        })
    }

    /// The value of every byte in every channel, as a lookup table.
    fn table(&self) -> [[f32; 256]; CHANNELS] {
        std::array::from_fn(|channel| std::array::from_fn(|byte| self.value(byte as u8, channel)))
    }

    /// The values `[views, 3, height, width]` of several views, which have one size.
    pub fn apply(&self, views: &[RgbImage]) -> Vec<f32> {
        let table = self.table();
        let area = views.first().map_or(0, |view| view.width() * view.height());
        let mut out = vec![0.0; views.len() * CHANNELS * area];
        if area > 0 {
            out.par_chunks_exact_mut(area).enumerate().for_each(|(plane, numbers)| {
                let (view, channel) = (&views[plane / CHANNELS], plane % CHANNELS);
                for (number, pixel) in numbers.iter_mut().zip(view.data().chunks_exact(CHANNELS)) {
                    *number = table[channel][usize::from(pixel[channel])];
                }
            });
        }
        out
    }
}
