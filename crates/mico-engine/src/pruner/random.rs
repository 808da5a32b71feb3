//! Chance: what any pruner must beat.

use std::sync::Arc;

use mico_select::{Selection, Settings, methods};

use super::groups::{check_budget, select_groups, single_stage};
use super::{Plan, PlanRequest, Pruner, Share, Stage1Plan, Stage1Signals, Stage1View};
use crate::error::Result;

/// Keeps T tokens of each image, drawn uniformly without replacement before the decoder; with several
/// groups each gets its part of T.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Random {
    /// Where the draw begins.
    pub seed: u64,
}

impl Random {
    pub(super) fn build(settings: &mut Settings) -> Result<Arc<dyn Pruner>> {
        let seed = settings.number("seed", 0..=u64::MAX)?.unwrap_or(0);
        Ok(Arc::new(Self { seed }))
    }
}

impl Pruner for Random {
    fn name(&self) -> &'static str {
        "random"
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        check_budget(request.budget)?;
        let stage1 = Stage1Plan::new(Stage1Signals::default(), single_stage(request)?);
        Ok(Plan { stage1: Some(stage1), ..Plan::default() })
    }

    fn before_decoder(&self, view: &Stage1View<'_>, share: &Share) -> Result<Selection> {
        let seed = self.seed ^ (view.image as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        select_groups(&methods::Random, view, share, seed)
    }
}
