//! What a processor hands to the vision tower.

use crate::layout::VisualLayout;

/// Model-ready pixels and what the tokens made of them show.
#[derive(Debug, Clone, PartialEq)]
pub struct Processed {
    /// `views x 3 x height x width` numbers.
    pub pixels: Vec<f32>,
    /// Number of views.
    pub views: usize,
    /// Height of each view.
    pub height: usize,
    /// Width of each view.
    pub width: usize,
    /// Token counts, groups and regions.
    pub layout: VisualLayout,
}
