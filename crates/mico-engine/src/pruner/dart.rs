//! DART: tokens unlike a few pivots, after an early block.

use std::sync::Arc;

use mico_select::{Options, Selection, Settings, methods, select};

use super::accounting::{Totals, cut_block, one_cut};
use super::groups::check_budget;
use super::{Cut, HiddenSpace, Plan, PlanRequest, Pruner, Stage2Signals, Stage2View};
use crate::error::Result;
use crate::flops::SelectionSize;

/// The authors' block: the first two see everything.
const BLOCK: usize = 2;

/// DART. Pivots are the visual tokens, and those of the text behind the image, that have the largest
/// keys of the block; likeness is that of its output behind the decoder's final norm. Tokens keep their
/// positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dart {
    rule: methods::Dart,
    /// Blocks that see everything.
    layer: usize,
}

impl Dart {
    pub(super) fn build(settings: &mut Settings) -> Result<Arc<dyn Pruner>> {
        let layer = settings.count("layer", BLOCK, 1..=1 << 16)?;
        Ok(Arc::new(Self { rule: methods::Dart::from_settings(settings)?, layer }))
    }
}

impl Pruner for Dart {
    fn name(&self) -> &'static str {
        "dart"
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
        let signals = Stage2Signals {
            features: Some(HiddenSpace::Normed),
            attention: None,
            text: true,
            keys: true,
        };
        Ok(Plan { cuts: vec![Cut::new(block, keep, signals)], ..Plan::default() })
    }

    fn after_block(&self, view: &Stage2View<'_>, ask: usize) -> Result<Selection> {
        Ok(select(&self.rule, &view.inputs()?, ask, &Options::default())?)
    }

    fn cut_flops(&self, size: &SelectionSize) -> f64 {
        let pivots = (self.rule.visual_pivots + self.rule.text_pivots) as f64;
        2.0 * pivots * size.tokens * size.width
    }
}
