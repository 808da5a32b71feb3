//! FastV: the tokens the last prompt token attends to most, after an early block.

use std::sync::Arc;

use mico_select::{Options, Selection, Settings, methods, select};

use super::accounting::{Totals, cut_block, one_cut};
use super::groups::check_budget;
use super::{Cut, Plan, PlanRequest, Pruner, Stage2Signals, Stage2View, TextAttention};
use crate::error::Result;

/// The authors' block: the first two see everything.
const BLOCK: usize = 2;

/// FastV. Tokens keep their positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FastV {
    /// Blocks that see everything.
    pub layer: usize,
}

impl Default for FastV {
    fn default() -> Self {
        Self { layer: BLOCK }
    }
}

impl FastV {
    pub(super) fn build(settings: &mut Settings) -> Result<Arc<dyn Pruner>> {
        Ok(Arc::new(Self { layer: settings.count("layer", BLOCK, 1..=1 << 16)? }))
    }
}

impl Pruner for FastV {
    fn name(&self) -> &'static str {
        "fastv"
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        check_budget(request.budget)?;
        let totals = Totals::of(request)?;
        if totals.keeps_all() {
            return Ok(Plan::default());
        }
        let block = cut_block(request, self.layer);
        let keep = if request.authors {
            totals.target
        } else {
            one_cut(self.name(), request, block, totals.tokens, totals.target)?
        };
        let attention = Some(TextAttention::LastToken);
        let cut = Cut::new(block, keep, Stage2Signals { attention, ..Stage2Signals::default() });
        Ok(Plan { cuts: vec![cut], ..Plan::default() })
    }

    fn after_block(&self, view: &Stage2View<'_>, ask: usize) -> Result<Selection> {
        Ok(select(&methods::FastV, &view.inputs()?, ask, &Options::default())?)
    }
}
