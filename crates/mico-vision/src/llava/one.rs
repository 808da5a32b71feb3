//! LLaVA-1.5: one square view of the image, padded or cropped.

use super::params::Tower;
use crate::layout::{Group, GroupKind, VisualLayout};
use crate::param::{MAX_VIEW_SIDE, ParamError};
use crate::pixels::{RgbImage, Size};
use crate::preprocessor_config::{PreprocessorConfig, Resize};
use crate::processed::Processed;
use crate::resample::Canvas;
use crate::view::View;

/// How an image of any aspect ratio becomes the tower's square input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PadMode {
    /// Pad to a square with the tower's ground colour (the mean), then resize: nothing is cut off.
    /// This is what the original evaluation does.
    #[default]
    Square,
    /// Resize the short side and cut out the centre, as the `-hf` processor does by default.
    ShortSideCrop,
}

/// The LLaVA-1.5 image processor, made by [`Llava::new`] or [`Llava::from_config`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Llava {
    tower: Tower,
    resize: Resize,
    mode: PadMode,
}

impl Llava {
    /// A processor for `tower`; `resize` is applied after padding and before the centre crop.
    pub fn new(tower: Tower, resize: Resize, mode: PadMode) -> Result<Self, ParamError> {
        tower.check()?;
        let longest = match resize {
            Resize::ShortestEdge(side) => Size::square(side),
            Resize::Exact(size) => size,
        };
        for side in [longest.width, longest.height] {
            if !(1..=MAX_VIEW_SIDE).contains(&side) {
                return Err(ParamError::new("size", side, format!("1 to {MAX_VIEW_SIDE}")));
            }
        }
        Ok(Self { tower, resize, mode })
    }

    /// The processor a `preprocessor_config.json` describes, for a tower with patches of side
    /// `patch`.
    pub fn from_config(
        config: &PreprocessorConfig,
        patch: u32,
        mode: PadMode,
    ) -> Result<Self, ParamError> {
        let (tower, resize) = Tower::from_config(config, patch)?;
        Self::new(tower, resize, mode)
    }

    /// The pixels `[1, 3, side, side]` and the token layout of an image.
    pub fn process(&self, image: &RgbImage) -> Processed {
        self.tower.render(image, &[self.view(image.size())], self.layout(image.size()))
    }

    /// The layout of an image of this size, without pixels.
    pub fn layout(&self, image: Size) -> VisualLayout {
        let image = image.non_empty();
        let (rows, columns) = self.tower.grid();
        let group = Group { kind: GroupKind::Whole, rows, columns };
        let view = self.view(image);
        let tokens = group
            .tokens(0, |row, column| view.patch_region(image, self.tower.patch, row, column))
            .collect();
        VisualLayout::trusted(image, vec![group], tokens)
    }

    fn view(&self, image: Size) -> View {
        let canvas = match self.mode {
            PadMode::Square => Canvas::square(image, self.tower.ground),
            PadMode::ShortSideCrop => Canvas::bare(image),
        };
        let scaled = self.resize.target(canvas.size);
        let center = |scaled: u32, view: u32| (i64::from(scaled) - i64::from(view)).div_euclid(2);
        View {
            canvas,
            scaled,
            left: center(scaled.width, self.tower.view.width),
            top: center(scaled.height, self.tower.view.height),
            size: self.tower.view,
        }
    }
}
