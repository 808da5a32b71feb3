//! LLaVA-NeXT (anyres): the whole image in a base view, and crops of it at the best-fitting resolution
//! of a list.

use super::packing::{NextPacking, Stitched, unpad_margins};
use super::params::Tower;
use crate::layout::{Group, GroupKind, VisualLayout, VisualToken};
use crate::param::{MAX_PIXEL_VALUES, ParamError};
use crate::pixels::{CHANNELS, RgbImage, Size};
use crate::preprocessor_config::{PreprocessorConfig, Resize};
use crate::processed::Processed;
use crate::resample::Canvas;
use crate::view::View;

/// The axis order of a pinpoint's two numbers. It matters only to images that fit several
/// resolutions equally well, that is, those smaller than one crop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AnyresAxis {
    /// Width, height: as in the original code and the paper.
    #[default]
    Original,
    /// Height, width: as in the `-hf` processor.
    Hf,
}

impl AnyresAxis {
    fn size(self, [first, second]: [u32; 2]) -> Size {
        match self {
            Self::Original => Size::new(first, second),
            Self::Hf => Size::new(second, first),
        }
    }
}

/// The LLaVA-NeXT image processor, made by [`LlavaNext::new`] or [`LlavaNext::from_config`].
#[derive(Debug, Clone, PartialEq)]
pub struct LlavaNext {
    tower: Tower,
    resolutions: Vec<Size>,
}

/// An image's tiling: the chosen resolution and the image's place in it.
#[derive(Debug, Clone, Copy)]
struct Tiling {
    best: Size,
    scaled: Size,
    left: u32,
    top: u32,
}

impl LlavaNext {
    /// A processor for `tower` that tiles images at one of the resolutions in `pinpoints`.
    pub fn new(tower: Tower, pinpoints: &[[u32; 2]], axis: AnyresAxis) -> Result<Self, ParamError> {
        const NAME: &str = "image_grid_pinpoints";
        tower.check()?;
        if pinpoints.is_empty() {
            return Err(ParamError::new(NAME, "empty", "at least one resolution"));
        }
        let resolutions: Vec<Size> = pinpoints.iter().map(|&pair| axis.size(pair)).collect();
        let Size { width, height } = tower.view;
        for &size in &resolutions {
            let whole = size.width.is_multiple_of(width) && size.height.is_multiple_of(height);
            if size.area() == 0 || !whole {
                let accepted = format!("positive multiples of the {} crop", tower.view);
                return Err(ParamError::new(NAME, size, accepted));
            }
            let values = (size.area() + tower.view.area()).saturating_mul(CHANNELS as u64);
            if values > MAX_PIXEL_VALUES {
                let accepted =
                    format!("at most {MAX_PIXEL_VALUES} pixel values with the base view");
                return Err(ParamError::new(NAME, size, accepted));
            }
        }
        Ok(Self { tower, resolutions })
    }

    /// The processor a `preprocessor_config.json` describes, for a tower with patches of side
    /// `patch`. `pinpoints` replaces the file's list; one of the two must be there.
    pub fn from_config(
        config: &PreprocessorConfig,
        patch: u32,
        axis: AnyresAxis,
        pinpoints: Option<&[[u32; 2]]>,
    ) -> Result<Self, ParamError> {
        let (tower, resize) = Tower::from_config(config, patch)?;
        let view = match resize {
            Resize::ShortestEdge(side) => Size::square(side),
            Resize::Exact(size) => size,
        };
        if view != tower.view {
            let accepted = format!("the crop size {}", tower.view);
            return Err(ParamError::new("size", view, accepted));
        }
        let pinpoints = pinpoints.or(config.pinpoints.as_deref()).unwrap_or_default();
        Self::new(tower, pinpoints, axis)
    }

    /// The pixels (base view, then crops row by row) and the token layout of an image.
    pub fn process(&self, image: &RgbImage, packing: NextPacking) -> Processed {
        let layout = self.layout(image.size(), packing);
        self.tower.render(image, &self.views(image.size()), layout)
    }

    /// The layout of an image of this size, without pixels.
    pub fn layout(&self, image: Size, packing: NextPacking) -> VisualLayout {
        let image = image.non_empty();
        let (patch_rows, patch_columns) = self.tower.grid();
        let (crop_rows, crop_columns) = self.crops(self.tiling(image).best);
        let stitched = Stitched { crop_rows, crop_columns, patch_rows, patch_columns };
        let views = self.views(image);

        let base = Group { kind: GroupKind::Whole, rows: patch_rows, columns: patch_columns };
        let crops = (0..crop_rows * crop_columns).map(|crop| {
            let (row, column) = (crop / crop_columns, crop % crop_columns);
            Group { kind: GroupKind::Crop { row, column }, ..base }
        });
        let groups: Vec<Group> = std::iter::once(base).chain(crops).collect();
        let region = |view: usize, row: usize, column: usize| {
            views[view].patch_region(image, self.tower.patch, row, column)
        };

        let mut tokens: Vec<VisualToken> =
            base.tokens(0, |row, column| region(0, row, column)).collect();
        let (skip_rows, skip_columns) = match packing {
            NextPacking::Spatial => (0, 0),
            NextPacking::SpatialUnpad => unpad_margins(image.width, image.height, &stitched),
        };
        for row in skip_rows..stitched.rows() - skip_rows {
            for column in skip_columns..stitched.columns() - skip_columns {
                let patch = stitched.patch(row, column);
                let region = region(patch.group, row % patch_rows, column % patch_columns);
                tokens.push(VisualToken { patch: Some(patch), region });
            }
            if packing == NextPacking::SpatialUnpad {
                tokens.push(VisualToken::NEWLINE);
            }
        }
        VisualLayout::trusted(image, groups, tokens)
    }

    /// The rows and columns of crops at a resolution.
    fn crops(&self, best: Size) -> (usize, usize) {
        let Size { width, height } = self.tower.view;
        ((best.height / height) as usize, (best.width / width) as usize)
    }

    fn views(&self, image: Size) -> Vec<View> {
        let canvas = Canvas::bare(image);
        let size = self.tower.view;
        let tiling = self.tiling(image);
        let (rows, columns) = self.crops(tiling.best);
        let mut views = vec![View::whole(canvas, size)];
        let tiles = |count: usize, side: u32, margin: u32| {
            (0..).step_by(side as usize).take(count).map(move |at: i64| at - i64::from(margin))
        };
        for top in tiles(rows, size.height, tiling.top) {
            for left in tiles(columns, size.width, tiling.left) {
                views.push(View { canvas, scaled: tiling.scaled, left, top, size });
            }
        }
        views
    }

    /// The resolution that shows the most of the image, then wastes the least, then comes first;
    /// and the image resized into it, aspect kept, centred.
    fn tiling(&self, image: Size) -> Tiling {
        let mut best = (self.resolutions[0], 0, u64::MAX);
        for &size in &self.resolutions {
            let scale = (ratio(size.width, image.width)).min(ratio(size.height, image.height));
            let shown = |side: u32| (f64::from(side) * scale) as u64;
            let effective = (shown(image.width) * shown(image.height)).min(image.area());
            let wasted = size.area() - effective.min(size.area());
            if effective > best.1 || (effective == best.1 && wasted < best.2) {
                best = (size, effective, wasted);
            }
        }
        let best = best.0;
        let scaled = fit(image, best);
        Tiling {
            best,
            scaled,
            left: (best.width - scaled.width) / 2,
            top: (best.height - scaled.height) / 2,
        }
    }
}

fn ratio(target: u32, source: u32) -> f64 {
    f64::from(target) / f64::from(source)
}

/// `image` scaled to touch the borders of `best`, aspect kept, fractions rounded up.
fn fit(image: Size, best: Size) -> Size {
    let (across, down) = (ratio(best.width, image.width), ratio(best.height, image.height));
    let scaled =
        |side: u32, scale: f64, most: u32| ((f64::from(side) * scale).ceil() as u32).min(most);
    if across < down {
        Size::new(best.width, scaled(image.height, across, best.height))
    } else {
        Size::new(scaled(image.width, down, best.width), best.height)
    }
}
