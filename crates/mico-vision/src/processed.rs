//! The output of an image processor: the vision tower's input and the token layout.

use crate::layout::VisualLayout;

/// Model-ready pixels, and the layout of the visual tokens made from them.
#[derive(Debug, Clone, PartialEq)]
pub struct Processed {
    /// The vision tower's input values, row-major in `shape`.
    pub pixels: Vec<f32>,
    /// The shape of `pixels`: `[views, 3, height, width]`, or `[patches, values per patch]` for towers
    /// that take patches of any grid.
    pub shape: Vec<usize>,
    /// The token sequence with its groups, grids and image regions.
    pub layout: VisualLayout,
}
