//! The LLaVA-Video processor: every frame one square view, its patches average-pooled.
//!
//! A frame is resized to the tower's square whatever its aspect. The tower's patches are averaged
//! in squares of `pool` by `pool`; an odd last row or column of patches is dropped, so that what it
//! shows is seen by no token. Frames may differ in size: the regions of a frame's tokens are in that
//! frame's own pixels, and the layout's image size is that of the first frame.

use rayon::prelude::*;

use crate::layout::{Group, GroupKind, VisualLayout, VisualToken};
use crate::normalize::Normalize;
use crate::param::{MAX_PIXEL_VALUES, MAX_VIEW_SIDE, ParamError};
use crate::pixels::{CHANNELS, RgbImage, Size};
use crate::preprocessor_config::PreprocessorConfig;
use crate::processed::Processed;
use crate::resample::{Canvas, ResizeBackend};
use crate::view::View;

/// The largest number of frames of one video.
pub const MAX_FRAMES: usize = 1024;

/// The input size of the vision tower, and of the pooling after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameShape {
    /// Side of a resized frame, in pixels.
    pub side: u32,
    /// Side of a patch, in pixels; an incomplete patch at the border is not seen.
    pub patch: u32,
    /// Patches per side that are averaged into one visual token.
    pub pool: u32,
}

impl FrameShape {
    /// Side of a visual token, in pixels.
    pub fn factor(&self) -> u32 {
        self.patch.saturating_mul(self.pool)
    }

    /// Patches along a side of a frame; 0 for a shape no processor accepts.
    pub fn patches_per_side(&self) -> u32 {
        self.side.checked_div(self.patch).unwrap_or(0)
    }

    /// Visual tokens along a side of a frame; 0 for a shape no processor accepts.
    pub fn tokens_per_side(&self) -> u32 {
        self.patches_per_side().checked_div(self.pool).unwrap_or(0)
    }

    fn check(&self) -> Result<(), ParamError> {
        if !(1..=MAX_VIEW_SIDE).contains(&self.side) {
            return Err(ParamError::new("image_size", self.side, format!("1 to {MAX_VIEW_SIDE}")));
        }
        for (parameter, value, most) in [
            ("patch_size", self.patch, self.side),
            ("pooling stride", self.pool, self.patches_per_side()),
        ] {
            if !(1..=most).contains(&value) {
                return Err(ParamError::new(parameter, value, format!("1 to {most}")));
            }
        }
        Ok(())
    }
}

/// Whether a token is inserted after each row of a frame's tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RowEnd {
    /// None: the paper's accounting, with which pruning works.
    #[default]
    None,
    /// A newline token, after every row of every frame: the checkpoint's native sequence.
    Newline,
}

/// The LLaVA-Video processor, made by [`LlavaVideo::new`] or [`LlavaVideo::from_config`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LlavaVideo {
    shape: FrameShape,
    normalize: Normalize,
    backend: ResizeBackend,
}

impl LlavaVideo {
    /// A processor for frames of `shape`; an error if the shape has no whole token.
    pub fn new(
        shape: FrameShape,
        normalize: Normalize,
        backend: ResizeBackend,
    ) -> Result<Self, ParamError> {
        shape.check()?;
        normalize.check()?;
        Ok(Self { shape, normalize, backend })
    }

    /// The processor a `preprocessor_config.json` or `video_preprocessor_config.json` describes,
    /// for frames of `shape`, which the file must not contradict. What a file says of padding and
    /// of tiling concerns still images and is not looked at.
    pub fn from_config(config: &PreprocessorConfig, shape: FrameShape) -> Result<Self, ParamError> {
        shape.check()?;
        config.square_views(shape.side, shape.patch)?;
        Self::new(shape, config.normalize, config.backend)
    }

    /// The pixels `[frames, 3, side, side]` and the token layout of the frames, in their order.
    ///
    /// ```
    /// use mico_vision::llava_video::{FrameShape, LlavaVideo, RowEnd};
    /// use mico_vision::preprocessor_config::PreprocessorConfig;
    /// use mico_vision::{RgbImage, Size};
    ///
    /// let shape = FrameShape { side: 384, patch: 14, pool: 2 };
    /// let processor = LlavaVideo::from_config(&PreprocessorConfig::siglip(384), shape)?;
    /// let frames = [[0; 3], [255; 3]].map(|colour| RgbImage::filled(Size::new(64, 48), colour));
    /// assert_eq!(processor.process(&frames, RowEnd::None)?.layout.len(), 2 * 13 * 13);
    /// assert_eq!(processor.process(&frames, RowEnd::Newline)?.layout.len(), 2 * 13 * 14);
    /// # Ok::<(), mico_vision::ParamError>(())
    /// ```
    pub fn process(&self, frames: &[RgbImage], end: RowEnd) -> Result<Processed, ParamError> {
        let sizes: Vec<Size> = frames.iter().map(RgbImage::size).collect();
        let layout = self.layout(&sizes, end)?;
        let pictures: Vec<RgbImage> = frames
            .par_iter()
            .map(|frame| self.view(frame.size()).render(frame, self.backend))
            .collect();
        let side = self.shape.side as usize;
        let shape = vec![pictures.len(), CHANNELS, side, side];
        Ok(Processed { pixels: self.normalize.apply(&pictures), shape, layout })
    }

    /// The layout of frames of these sizes, without pixels: frame after frame, each in raster
    /// order.
    pub fn layout(&self, frames: &[Size], end: RowEnd) -> Result<VisualLayout, ParamError> {
        let Some(first) = frames.first().filter(|_| frames.len() <= MAX_FRAMES) else {
            let accepted = format!("1 to {MAX_FRAMES}");
            return Err(ParamError::new("number of frames", frames.len(), accepted));
        };
        let values = frames.len() as u64 * Size::square(self.shape.side).area() * CHANNELS as u64;
        if values > MAX_PIXEL_VALUES {
            let accepted = format!("what gives at most {MAX_PIXEL_VALUES} pixel values");
            return Err(ParamError::new("number of frames", frames.len(), accepted));
        }
        let (side, factor) = (self.shape.tokens_per_side() as usize, self.shape.factor());
        let group = |index| Group { kind: GroupKind::Frame { index }, rows: side, columns: side };
        let groups: Vec<Group> = (0..frames.len()).map(group).collect();
        let mut tokens = Vec::new();
        for (index, (group, frame)) in groups.iter().zip(frames).enumerate() {
            let frame = frame.non_empty();
            let view = self.view(frame);
            let region = |row, column| view.patch_region(frame, factor, row, column);
            for (local, token) in group.tokens(index, region).enumerate() {
                tokens.push(token);
                if end == RowEnd::Newline && (local + 1) % side == 0 {
                    tokens.push(VisualToken::NEWLINE);
                }
            }
        }
        Ok(VisualLayout::trusted(first.non_empty(), groups, tokens))
    }

    fn view(&self, frame: Size) -> View {
        View::whole(Canvas::bare(frame), Size::square(self.shape.side))
    }
}
