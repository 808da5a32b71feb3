//! What a processor hands to the vision tower.

use crate::layout::VisualLayout;

/// Model-ready pixels and what the tokens made of them show.
#[derive(Debug, Clone, PartialEq)]
pub struct Processed {
    /// The numbers the tower reads, in the order of `shape`.
    pub pixels: Vec<f32>,
    /// Their shape: `[views, 3, height, width]`, or `[patches, values of a patch]` for towers that
    /// take patches of any grid.
    pub shape: Vec<usize>,
    /// Token counts, groups (with their grids) and regions.
    pub layout: VisualLayout,
}
