//! The pruner of single-stage methods: they keep T tokens before the decoder and merge none.

use std::fmt;
use std::sync::Arc;

use super::Pruner;
use super::flops::SelectionSize;
use super::plan::{Plan, PlanRequest, PositionRule, Quota, Stage1Plan};
use super::quotas::{Competition, check_budget};
use super::signals::Signals;
use super::view::Stage1View;
use crate::error::Result;
use crate::selection::Selection;
use crate::selector::Selector;

/// A selection rule with its signals. Position ids are renumbered after pruning (`Compact`).
pub(crate) struct SingleStage {
    pub(crate) selector: Box<dyn Selector>,
    pub(crate) signals: Signals,
    pub(crate) competition: Competition,
    /// FLOPs of selecting from one group.
    pub(crate) flops: fn(&SelectionSize) -> f64,
}

impl SingleStage {
    pub(crate) fn shared(self) -> Arc<dyn Pruner> {
        Arc::new(self)
    }
}

impl fmt::Debug for SingleStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SingleStage").field(&self.selector.name()).finish()
    }
}

impl Pruner for SingleStage {
    fn name(&self) -> &'static str {
        self.selector.name()
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        check_budget(request.budget)?;
        let quotas = self.competition.quotas(request)?;
        let stage1 = Stage1Plan::new(self.signals, quotas, request.images());
        let positions = request.renumbered(PositionRule::Compact);
        Ok(Plan::before_decoder(stage1).with_positions(positions))
    }

    fn before_decoder(&self, view: &Stage1View<'_>, quota: &Quota) -> Result<Selection> {
        view.select(self.selector.as_ref(), quota, 0)
    }

    fn stage1_flops(&self, size: &SelectionSize) -> f64 {
        (self.flops)(size)
    }
}
