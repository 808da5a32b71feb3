//! Packing: the order in which the patches of several views become one token sequence.

use crate::layout::Patch;

/// How LLaVA-NeXT packs the tokens of its crops after those of the base view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NextPacking {
    /// The crops' patches in raster order of the stitched grid: nothing removed, nothing inserted.
    /// The paper's packing, with which pruning works.
    #[default]
    Spatial,
    /// The checkpoint's native packing: rows or columns that show only padding are removed and
    /// every row of the stitched grid ends with a newline token.
    SpatialUnpad,
}

/// Crops stitched edge to edge, each a group of its own; group 0 is the base view.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stitched {
    pub(super) crop_rows: usize,
    pub(super) crop_columns: usize,
    pub(super) patch_rows: usize,
    pub(super) patch_columns: usize,
}

impl Stitched {
    /// Rows of patches in the stitched grid.
    pub(super) fn rows(&self) -> usize {
        self.crop_rows * self.patch_rows
    }

    /// Columns of patches in the stitched grid.
    pub(super) fn columns(&self) -> usize {
        self.crop_columns * self.patch_columns
    }

    /// The patch in a row and column of the stitched grid.
    pub(super) fn patch(&self, row: usize, column: usize) -> Patch {
        let crop = (row / self.patch_rows) * self.crop_columns + column / self.patch_columns;
        let local = (row % self.patch_rows) * self.patch_columns + column % self.patch_columns;
        Patch { group: 1 + crop, local }
    }
}

/// Rows and columns at each border of a stitched grid that a `width x height` image leaves as
/// padding.
///
/// Both sides lose the same number, so an odd rest stays; an extremely long image may lose them
/// all.
pub(super) fn unpad_margins(width: u32, height: u32, stitched: &Stitched) -> (usize, usize) {
    let (rows, columns) = (stitched.rows() as f64, stitched.columns() as f64);
    let (width, height) = (f64::from(width), f64::from(height));
    if width / height > columns / rows {
        (margin(rows, height * (columns / width)), 0)
    } else {
        (0, margin(columns, width * (rows / height)))
    }
}

/// Half of `total - used`, where `used` counts as the next whole number if it is below it only by
/// rounding error (to seven decimals).
fn margin(total: f64, used: f64) -> usize {
    /// Half a unit of the seventh decimal.
    const ALMOST_WHOLE: f64 = 1.0 - 0.5e-7;
    let whole = used.floor() + if used - used.floor() > ALMOST_WHOLE { 1.0 } else { 0.0 };
    (total - whole).max(0.0) as usize / 2
}
