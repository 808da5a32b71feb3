//! MMTok: coverage of the question's words and of the image, before the decoder.

use std::sync::Arc;

use mico_model::Family;
use mico_select::{Selection, Settings, Tensor, methods};

use super::groups::{check_budget, select_groups, single_stage};
use super::{
    Plan, PlanRequest, PositionRule, Pruner, Share, Stage1Plan, Stage1Signals, Stage1View,
};
use crate::error::Result;
use crate::flops::SelectionSize;

/// The authors' temperature of the text rows for Qwen models.
const QWEN_TAU_T: f64 = 0.01;

/// MMTok's rule, crop by crop. LLaVA-1.5's patches that show padding alone are chosen last.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MmTok {
    alpha: f64,
    tau_t: Option<f64>,
    tau_v: f64,
}

impl MmTok {
    pub(super) fn build(settings: &mut Settings) -> Result<Arc<dyn Pruner>> {
        let range = methods::MmTok::TEMPERATURES;
        let default = methods::MmTok::default();
        Ok(Arc::new(Self {
            alpha: settings.float("alpha", default.alpha, 0.0..=1e6)?,
            tau_t: settings.number("tau_t", range.clone())?,
            tau_v: settings.float("tau_v", default.tau_v, range)?,
        }))
    }

    fn rule(&self, family: Family) -> methods::MmTok {
        let usual = if family.traits().native_resolution {
            QWEN_TAU_T
        } else {
            methods::MmTok::default().tau_t
        };
        let Self { alpha, tau_t, tau_v } = *self;
        methods::MmTok { alpha, tau_t: tau_t.unwrap_or(usual), tau_v }
    }
}

impl Pruner for MmTok {
    fn name(&self) -> &'static str {
        "mmtok"
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        check_budget(request.budget)?;
        let mut signals =
            Stage1Signals::tower(&[Tensor::Features, Tensor::Projected, Tensor::Text]);
        if request.config.family.traits().pads_to_square {
            signals.tensors = signals.tensors.with(Tensor::Excluded);
        }
        let stage1 = Some(Stage1Plan::new(signals, single_stage(request)?));
        let positions = request.renumbered(PositionRule::Compact);
        Ok(Plan { stage1, cuts: Vec::new(), positions })
    }

    fn before_decoder(&self, view: &Stage1View<'_>, share: &Share) -> Result<Selection> {
        select_groups(&self.rule(view.family), view, share, 0)
    }

    fn stage1_flops(&self, size: &SelectionSize) -> f64 {
        let words = 2.0 * size.text * size.tokens * size.projected;
        let greedy = 3.0 * size.tokens * (size.tokens + size.text) * size.kept;
        size.similarities() + words + greedy
    }
}
