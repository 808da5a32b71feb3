//! The InternVL image processor: an image cut into square tiles, followed by a thumbnail.
//!
//! The whole image is resized, whatever its aspect, to the grid of tiles whose aspect is nearest to
//! its own, and cut there. Tiles follow one another row by row; the thumbnail, the whole image in
//! one more tile, comes last and only beside at least two tiles.

mod grid;

pub use grid::{MAX_TILES, TileLimits};

use grid::TileGrid;

use crate::layout::{Group, GroupKind, VisualLayout, VisualToken};
use crate::normalize::Normalize;
use crate::param::{MAX_PIXEL_VALUES, MAX_VIEW_SIDE, ParamError};
use crate::pixels::{CHANNELS, RgbImage, Size};
use crate::preprocessor_config::PreprocessorConfig;
use crate::processed::Processed;
use crate::resample::{Canvas, ResizeBackend};
use crate::view::View;

/// The input size of the vision tower, and of the pixel shuffle after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TileShape {
    /// Side of a tile, in pixels.
    pub side: u32,
    /// Side of a patch, in pixels.
    pub patch: u32,
    /// Patches per side that pixel shuffle joins into one visual token.
    pub shuffle: u32,
}

impl TileShape {
    /// Side of a visual token, in pixels.
    pub fn factor(&self) -> u32 {
        self.patch.saturating_mul(self.shuffle)
    }

    /// Visual tokens along a side of a tile; 0 for a shape no processor accepts.
    pub fn tokens_per_side(&self) -> u32 {
        self.side.checked_div(self.factor()).unwrap_or(0)
    }

    fn check(&self) -> Result<(), ParamError> {
        let Self { side, patch, shuffle } = *self;
        if !(1..=MAX_VIEW_SIDE).contains(&side) {
            return Err(ParamError::new("image_size", side, format!("1 to {MAX_VIEW_SIDE}")));
        }
        if patch == 0 || !side.is_multiple_of(patch) {
            let accepted = format!("what divides the tile side {side}");
            return Err(ParamError::new("patch_size", patch, accepted));
        }
        let patches = side / patch;
        if shuffle == 0 || !patches.is_multiple_of(shuffle) {
            let accepted = format!("what divides the {patches} patches of a tile's side");
            return Err(ParamError::new("pixel shuffle", shuffle, accepted));
        }
        Ok(())
    }
}

/// The InternVL image processor, made by [`InternVl::new`] or [`InternVl::from_config`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InternVl {
    shape: TileShape,
    limits: TileLimits,
    thumbnail: bool,
    normalize: Normalize,
    backend: ResizeBackend,
}

/// A tile: its kind, and the view that renders it.
type Tile = (GroupKind, View);

impl InternVl {
    /// A processor that cuts images into tiles of `shape` within `limits`, the whole image behind
    /// them if `thumbnail` says so.
    ///
    /// ```
    /// use mico_vision::internvl::{InternVl, TileLimits, TileShape};
    /// use mico_vision::{Size, normalize::Normalize, resample::ResizeBackend};
    ///
    /// let shape = TileShape { side: 448, patch: 14, shuffle: 2 };
    /// let (limits, backend) = (TileLimits::PAPER, ResizeBackend::Pillow);
    /// let processor = InternVl::new(shape, limits, true, Normalize::IMAGENET, backend)?;
    /// // 3 x 2 tiles and the thumbnail, 16 x 16 tokens each.
    /// assert_eq!(processor.layout(Size::new(640, 480))?.len(), 7 * 256);
    /// # Ok::<(), mico_vision::ParamError>(())
    /// ```
    pub fn new(
        shape: TileShape,
        limits: TileLimits,
        thumbnail: bool,
        normalize: Normalize,
        backend: ResizeBackend,
    ) -> Result<Self, ParamError> {
        shape.check()?;
        limits.check()?;
        normalize.check()?;
        Ok(Self { shape, limits, thumbnail, normalize, backend })
    }

    /// The processor a `preprocessor_config.json` describes, for tiles of `shape`, which the file
    /// must not contradict. `limits` count, whatever the file says of them
    /// ([`TileLimits::unless_stated`] reads the file's).
    pub fn from_config(
        config: &PreprocessorConfig,
        shape: TileShape,
        limits: TileLimits,
        thumbnail: bool,
    ) -> Result<Self, ParamError> {
        shape.check()?;
        config.square_views(shape.side, shape.patch)?;
        if config.do_pad == Some(true) {
            return Err(ParamError::new("do_pad", true, "false (tiles ignore the aspect)"));
        }
        if config.pinpoints.is_some() {
            let accepted = "nothing, the tiling follows from the number of tiles";
            return Err(ParamError::new("image_grid_pinpoints", "a list", accepted));
        }
        Self::new(shape, limits, thumbnail, config.normalize, config.backend)
    }

    /// The pixels `[tiles, 3, side, side]`, thumbnail last, and the token layout of an image.
    pub fn process(&self, image: &RgbImage) -> Result<Processed, ParamError> {
        let layout = self.layout(image.size())?;
        let tiles = self.tiles(image.size())?;
        let pictures: Vec<RgbImage> =
            tiles.iter().map(|(_, view)| view.render(image, self.backend)).collect();
        let side = self.shape.side as usize;
        let shape = vec![pictures.len(), CHANNELS, side, side];
        Ok(Processed { pixels: self.normalize.apply(&pictures), shape, layout })
    }

    /// The layout of an image of this size, without pixels: tile after tile, each in raster
    /// order.
    pub fn layout(&self, image: Size) -> Result<VisualLayout, ParamError> {
        let image = image.non_empty();
        let side = self.shape.tokens_per_side() as usize;
        let factor = self.shape.factor();
        let mut groups = Vec::new();
        let mut tokens: Vec<VisualToken> = Vec::new();
        for (index, (kind, view)) in self.tiles(image)?.into_iter().enumerate() {
            let group = Group { kind, rows: side, columns: side };
            let region = |row, column| view.patch_region(image, factor, row, column);
            tokens.extend(group.tokens(index, region));
            groups.push(group);
        }
        Ok(VisualLayout::trusted(image, groups, tokens))
    }

    fn tiles(&self, image: Size) -> Result<Vec<Tile>, ParamError> {
        let image = image.non_empty();
        let side = self.shape.side;
        let grid = self.limits.best(image, side);
        let thumbnail = self.thumbnail && grid.tiles() > 1;
        let views = u64::from(grid.tiles()) + u64::from(thumbnail);
        if views * Size::square(side).area() * CHANNELS as u64 > MAX_PIXEL_VALUES {
            let accepted = format!("what gives at most {MAX_PIXEL_VALUES} pixel values");
            return Err(ParamError::new("max_patches", self.limits.max, accepted));
        }
        let whole = View::whole(Canvas::bare(image), Size::square(side));
        if grid.tiles() == 1 {
            return Ok(vec![(GroupKind::Whole, whole)]);
        }
        let mut tiles = cut(whole, grid);
        if thumbnail {
            tiles.push((GroupKind::Thumbnail, whole));
        }
        Ok(tiles)
    }
}

/// The tiles of a grid, each as large as `whole`, row by row.
fn cut(whole: View, grid: TileGrid) -> Vec<Tile> {
    let Size { width, height } = whole.size;
    let scaled = Size::new(width * grid.columns, height * grid.rows);
    let places = (0..grid.rows).flat_map(|row| (0..grid.columns).map(move |column| (row, column)));
    places
        .map(|(row, column)| {
            let (left, top) = (i64::from(column * width), i64::from(row * height));
            let kind = GroupKind::Tile { row: row as usize, column: column as usize };
            (kind, View { scaled, left, top, ..whole })
        })
        .collect()
}
