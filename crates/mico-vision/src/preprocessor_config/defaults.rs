//! The preprocessing of each model family when a checkpoint has no configuration file.

use super::{DEFAULT_SIDE, PixelArea, PreprocessorConfig, Resize, TileCount};
use crate::normalize::{Normalize, Statistics};
use crate::pixels::Size;
use crate::qwen::PixelLimits;
use crate::resample::ResizeBackend;

impl PreprocessorConfig {
    /// CLIP's preprocessing for square views of the given side: what the original LLaVA
    /// checkpoints, which carry no such file, use.
    pub fn clip(side: u32) -> Self {
        Self {
            resize: Resize::ShortestEdge(side),
            do_resize: true,
            crop: Size::square(side),
            do_center_crop: true,
            do_pad: None,
            ground: Statistics::CLIP.mean_color(),
            normalize: Normalize::CLIP,
            pinpoints: None,
            area: PixelArea::default(),
            tiles: TileCount::default(),
            crop_to_patches: None,
            patch: None,
            merge: None,
            frames: None,
            backend: ResizeBackend::default(),
        }
    }

    /// Preprocessing that states nothing but the normalisation.
    pub fn normalized(normalize: Normalize) -> Self {
        Self { normalize, ..Self::clip(DEFAULT_SIDE) }
    }

    /// Square views of the given side, aspect ignored, with `ImageNet`'s statistics: InternVL.
    pub fn internvl(side: u32) -> Self {
        Self::square(side, Statistics::IMAGENET)
    }

    /// Square views of the given side, aspect ignored, as numbers in [-1, 1]: `SigLIP`, the tower
    /// of LLaVA-Video.
    pub fn siglip(side: u32) -> Self {
        Self::square(side, Statistics::HALF)
    }

    /// Qwen2.5-VL: patches of 14 pixels, CLIP's statistics, the processor's own limits.
    pub fn qwen2_5() -> Self {
        Self::patches(14, PixelLimits::QWEN2_5_PROCESSOR, Statistics::CLIP)
    }

    /// Qwen3-VL and Qwen3.5: patches of 16 pixels as numbers in [-1, 1], the published limits.
    pub fn qwen3() -> Self {
        Self::patches(16, PixelLimits::QWEN3_PROCESSOR, Statistics::HALF)
    }

    fn square(side: u32, statistics: Statistics) -> Self {
        Self {
            resize: Resize::Exact(Size::square(side)),
            do_center_crop: false,
            ..Self::with(statistics, side)
        }
    }

    fn patches(side: u32, limits: PixelLimits, statistics: Statistics) -> Self {
        Self {
            do_center_crop: false,
            area: PixelArea { min: Some(limits.min), max: Some(limits.max) },
            patch: Some(side),
            merge: Some(2),
            frames: Some(2),
            ..Self::with(statistics, DEFAULT_SIDE)
        }
    }

    fn with(statistics: Statistics, side: u32) -> Self {
        Self {
            ground: statistics.mean_color(),
            normalize: Normalize { statistics: Some(statistics), ..Normalize::CLIP },
            ..Self::clip(side)
        }
    }
}
