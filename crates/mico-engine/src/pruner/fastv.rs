//! FastV: the tokens the last prompt token attends to most, after an early block.

use std::sync::Arc;

use mico_select::{Options, Selection, Settings, methods, select};

use super::accounting::early_cut;
use super::groups::check_budget;
use super::{Plan, PlanRequest, Pruner, Refinement, Stage2Signals, Stage2View, TextAttention};
use crate::error::Result;

/// The authors' block: the first two see everything.
pub(super) const BLOCK: usize = 2;

/// FastV. Tokens keep their positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FastV {
    /// Blocks that see everything, in place of the authors' two.
    pub layer: Option<usize>,
}

impl FastV {
    pub(super) fn build(settings: &mut Settings) -> Result<Arc<dyn Pruner>> {
        Ok(Arc::new(Self { layer: settings.number("layer", 1..=1 << 16)? }))
    }
}

impl Pruner for FastV {
    fn name(&self) -> &'static str {
        "fastv"
    }

    fn refinement(&self) -> Refinement {
        Refinement::Own
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        check_budget(request.budget)?;
        let attention = Some(TextAttention::LastToken);
        let signals = Stage2Signals { attention, ..Stage2Signals::default() };
        early_cut(self.name(), request, BLOCK, self.layer, signals)
    }

    fn after_block(&self, view: &Stage2View<'_>, ask: usize) -> Result<Selection> {
        Ok(select(&methods::FastV, &view.inputs()?, ask, &Options::default())?)
    }
}
