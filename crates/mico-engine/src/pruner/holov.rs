//! HoloV: quotas for runs of the token sequence, filled by attention, before the decoder.

use std::sync::Arc;

use mico_model::Family;
use mico_select::{Selection, Settings, Tensor, methods};
use mico_vision::layout::VisualLayout;

use super::groups::{check_budget, select_groups};
use super::published::Scope;
use super::{
    Count, Plan, PlanRequest, PositionRule, Pruner, Share, Stage1Plan, Stage1Signals, Stage1View,
};
use crate::error::Result;
use crate::flops::SelectionSize;

/// Runs of the authors' code for LLaVA.
const RUNS: usize = 16;

/// HoloV's rule on the embeddings of all crops together. For Qwen models the number of runs grows with
/// the share of tokens that go, as in the authors' code for them: `max(1, 16 N / (9 B))`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HoloV {
    runs: Option<usize>,
    surplus: methods::Surplus,
    scope: Scope,
}

impl HoloV {
    pub(super) fn build(settings: &mut Settings) -> Result<Arc<dyn Pruner>> {
        let scope = Scope::read(settings)?;
        let runs = settings.number("runs", 1..=1 << 20)?;
        let surplus = methods::HoloV::read_surplus(settings)?;
        Ok(Arc::new(Self { runs, surplus, scope }))
    }

    fn runs(&self, view: &Stage1View<'_>, share: &Share) -> usize {
        let tokens = view.layout.len();
        let adaptive = view.family.traits().native_resolution;
        let rule = || {
            if adaptive {
                (1024 * tokens / (576 * share.asked(tokens).max(1))).max(1)
            } else {
                RUNS
            }
        };
        self.runs.unwrap_or_else(rule)
    }
}

impl Pruner for HoloV {
    fn name(&self) -> &'static str {
        "holov"
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        check_budget(request.budget)?;
        let signals = Stage1Signals::projected(&[Tensor::Features, Tensor::Reliability]);
        let stage1 = Some(Stage1Plan::new(signals, self.scope.shares(request)?));
        let positions = request.renumbered(PositionRule::Compact);
        Ok(Plan { stage1, cuts: Vec::new(), positions })
    }

    /// Quota that a run is too short for is filled with empty tokens by the authors, which have no
    /// position here.
    fn leaves(&self, layout: &VisualLayout, share: &Share, _: Family) -> Result<Count> {
        let asked = share.asked(layout.len());
        Ok(match (self.surplus, share) {
            (methods::Surplus::Redistribute, _) | (_, Share::Everything) => Count::Exactly(asked),
            (methods::Surplus::Drop, _) => Count::AtMost(asked),
        })
    }

    fn before_decoder(&self, view: &Stage1View<'_>, share: &Share) -> Result<Selection> {
        let rule = methods::HoloV { runs: self.runs(view, share), surplus: self.surplus };
        select_groups(&rule, view, share, 0)
    }

    fn stage1_flops(&self, size: &SelectionSize) -> f64 {
        size.similarities() / self.runs.unwrap_or(RUNS) as f64
    }
}
