//! What a budget is for, and how the tokens of a run are averaged over it.

use mico_vision::layout::VisualLayout;

use crate::schedule::ModelSchedule;

impl ModelSchedule {
    /// How many units these inputs are: images, or frames for a model whose budget is per frame. At
    /// least 1, so that counts can be divided by it.
    pub fn units<'a>(&self, layouts: impl IntoIterator<Item = &'a VisualLayout>) -> usize {
        let unit = |layout: &VisualLayout| if self.per_frame { layout.groups().len() } else { 1 };
        layouts.into_iter().map(unit).sum::<usize>().max(1)
    }
}

/// The layer average: visual tokens per block and unit, averaged over the blocks.
pub(crate) fn layer_average(visual_per_block: &[usize], units: usize) -> f64 {
    let total: usize = visual_per_block.iter().sum();
    total as f64 / visual_per_block.len().max(1) as f64 / units as f64
}
