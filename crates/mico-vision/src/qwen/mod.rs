//! The image processor of the Qwen-VL models: an image at its native resolution, as a list of patches.
//!
//! An image is resized to the nearest size whose sides are whole numbers of merged patches and
//! whose area lies within limits. There is no universal default: the caller states the
//! limits.

mod resize;

pub use resize::{MAX_ASPECT, PixelLimits};

use rayon::prelude::*;

use crate::layout::{Group, GroupKind, VisualLayout};
use crate::normalize::Normalize;
use crate::param::{MAX_PIXEL_VALUES, ParamError};
use crate::pixels::{CHANNELS, RgbImage, Size};
use crate::preprocessor_config::PreprocessorConfig;
use crate::processed::Processed;
use crate::resample::{Canvas, ResizeBackend};
use crate::view::View;

/// The largest side of a patch in pixels, and the most patches merged along a side.
const MAX_PATCH: u32 = 256;
const MAX_MERGE: u32 = 16;

/// The patches the vision tower expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PatchShape {
    /// Side of a patch, in pixels.
    pub patch: u32,
    /// Patches per side that are merged into one visual token.
    pub merge: u32,
    /// Frames per patch (temporal patch size); a still image is repeated.
    pub frames: u32,
}

impl PatchShape {
    /// Side of a visual token, in pixels.
    pub fn factor(&self) -> u32 {
        self.patch * self.merge
    }

    /// The number of values of one patch: channels x frames x side x side.
    pub fn values(&self) -> usize {
        CHANNELS * self.frames as usize * (self.patch * self.patch) as usize
    }
}

/// The Qwen-VL image processor, made by [`QwenVl::new`] or [`QwenVl::from_config`].
#[derive(Debug, Clone, PartialEq)]
pub struct QwenVl {
    shape: PatchShape,
    limits: PixelLimits,
    normalize: Normalize,
    backend: ResizeBackend,
}

impl QwenVl {
    /// A processor for a tower's patches; every image is resized within `limits`.
    pub fn new(
        shape: PatchShape,
        limits: PixelLimits,
        normalize: Normalize,
        backend: ResizeBackend,
    ) -> Result<Self, ParamError> {
        for (parameter, value, most) in [
            ("patch_size", shape.patch, MAX_PATCH),
            ("merge_size", shape.merge, MAX_MERGE),
            ("temporal_patch_size", shape.frames, MAX_MERGE),
        ] {
            if !(1..=most).contains(&value) {
                return Err(ParamError::new(parameter, value, format!("1 to {most}")));
            }
        }
        limits.check(shape.factor())?;
        normalize.check()?;
        Ok(Self { shape, limits, normalize, backend })
    }

    /// The processor a `preprocessor_config.json` describes, for a tower with patches of `shape`,
    /// which the file must not contradict.
    pub fn from_config(
        config: &PreprocessorConfig,
        shape: PatchShape,
        limits: PixelLimits,
    ) -> Result<Self, ParamError> {
        if !config.do_resize {
            let accepted = "true (sides must be whole numbers of merged patches)";
            return Err(ParamError::new("do_resize", false, accepted));
        }
        for (parameter, stated, expected) in [
            ("patch_size", config.patch, shape.patch),
            ("merge_size", config.merge, shape.merge),
            ("temporal_patch_size", config.frames, shape.frames),
        ] {
            if let Some(stated) = stated.filter(|stated| *stated != expected) {
                let accepted = format!("{expected}, as the vision tower has it");
                return Err(ParamError::new(parameter, stated, accepted));
            }
        }
        Self::new(shape, limits, config.normalize, config.backend)
    }

    /// The pixels and token layout of an image. Patches are in the order of their visual tokens, row by
    /// row, and inside a visual token row by row again; a patch is `[3, frames, side, side]`.
    pub fn process(&self, image: &RgbImage) -> Result<Processed, ParamError> {
        let layout = self.layout(image.size())?;
        let view = self.view(image.size())?;
        let picture = view.render(image, self.backend);
        let planes = self.normalize.apply(std::slice::from_ref(&picture));
        let patches = layout.len() * (self.shape.merge * self.shape.merge) as usize;
        let pixels = self.patches(&planes, view.size);
        Ok(Processed { pixels, shape: vec![patches, self.shape.values()], layout })
    }

    /// The layout of an image of this size, without pixels.
    pub fn layout(&self, image: Size) -> Result<VisualLayout, ParamError> {
        let image = image.non_empty();
        let view = self.view(image)?;
        let factor = self.shape.factor();
        let rows = (view.size.height / factor) as usize;
        let columns = (view.size.width / factor) as usize;
        let group = Group { kind: GroupKind::Whole, rows, columns };
        let tokens =
            group.tokens(0, |row, column| view.patch_region(image, factor, row, column)).collect();
        Ok(VisualLayout::trusted(image, vec![group], tokens))
    }

    fn view(&self, image: Size) -> Result<View, ParamError> {
        let image = image.non_empty();
        let size = self.limits.resize(image, self.shape.factor())?;
        let values = size.area().saturating_mul(CHANNELS as u64 * u64::from(self.shape.frames));
        if values > MAX_PIXEL_VALUES {
            let accepted = format!("what gives at most {MAX_PIXEL_VALUES} pixel values");
            return Err(ParamError::new("max_pixels", self.limits.max, accepted));
        }
        Ok(View::whole(Canvas::bare(image), size))
    }

    /// Rearranges values `[3, height, width]` into patches.
    fn patches(&self, planes: &[f32], size: Size) -> Vec<f32> {
        let PatchShape { patch, merge, frames } = self.shape;
        let (side, merge, frames) = (patch as usize, merge as usize, frames as usize);
        let (height, width) = (size.height as usize, size.width as usize);
        let columns = width / (side * merge);
        let mut out = vec![0.0; planes.len() * frames];
        out.par_chunks_exact_mut(self.shape.values()).enumerate().for_each(|(index, out)| {
            let (token, inner) = (index / (merge * merge), index % (merge * merge));
            let top = ((token / columns) * merge + inner / merge) * side;
            let left = ((token % columns) * merge + inner % merge) * side;
            let rows = out.chunks_exact_mut(side).enumerate();
            rows.for_each(|(row, out)| {
                let (channel, y) = (row / (frames * side), row % side);
                let start = channel * height * width + (top + y) * width + left;
                out.copy_from_slice(&planes[start..start + side]);
            });
        });
        out
    }
}
