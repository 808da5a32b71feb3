//! DART: tokens unlike a few pivots, after an early block.

use std::sync::Arc;

use mico_select::{Options, Selection, Settings, methods, select};

use super::accounting::early_cut;
use super::fastv::BLOCK;
use super::groups::check_budget;
use super::{HiddenSpace, Plan, PlanRequest, Pruner, Refinement, Stage2Signals, Stage2View};
use crate::error::Result;
use crate::flops::SelectionSize;

/// DART. Pivots are the visual tokens, and those of the text behind the image, that have the largest
/// keys of the block; likeness is that of its output behind the decoder's final norm. Tokens keep their
/// positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dart {
    rule: methods::Dart,
    /// Blocks that see everything, in place of the authors' two.
    layer: Option<usize>,
}

impl Dart {
    pub(super) fn build(settings: &mut Settings) -> Result<Arc<dyn Pruner>> {
        let layer = settings.number("layer", 1..=1 << 16)?;
        Ok(Arc::new(Self { rule: methods::Dart::from_settings(settings)?, layer }))
    }
}

impl Pruner for Dart {
    fn name(&self) -> &'static str {
        "dart"
    }

    fn refinement(&self) -> Refinement {
        Refinement::Own
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        check_budget(request.budget)?;
        let features = Some(HiddenSpace::Normed);
        let signals = Stage2Signals { features, attention: None, text: true, keys: true };
        early_cut(self.name(), request, BLOCK, self.layer, signals)
    }

    fn after_block(&self, view: &Stage2View<'_>, ask: usize) -> Result<Selection> {
        Ok(select(&self.rule, &view.inputs()?, ask, &Options::default())?)
    }

    fn cut_flops(&self, size: &SelectionSize) -> f64 {
        let pivots = (self.rule.visual_pivots + self.rule.text_pivots) as f64;
        2.0 * pivots * size.tokens * size.width
    }
}
