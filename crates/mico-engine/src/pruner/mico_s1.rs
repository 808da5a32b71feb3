//! MiCo's first stage alone: the whole budget is spent before the decoder.

use std::sync::Arc;

use mico_select::{Selection, Settings};

use super::groups::{check_budget, single_stage};
use super::{Mico, Plan, PlanRequest, Pruner, Share, Stage1Plan, Stage1View};
use crate::error::Result;
use crate::flops::SelectionSize;

/// Keeps T tokens of each image before the decoder, chosen as MiCo's Stage 1 does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MicoS1 {
    /// The selector and its ablation switches.
    pub mico: Mico,
}

impl MicoS1 {
    pub(super) fn build(settings: &mut Settings) -> Result<Arc<dyn Pruner>> {
        Ok(Arc::new(Self { mico: Mico::read(settings)? }))
    }
}

impl Pruner for MicoS1 {
    fn name(&self) -> &'static str {
        "mico-s1"
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        check_budget(request.budget)?;
        let stage1 = Stage1Plan::new(self.mico.stage1_signals(), single_stage(request)?);
        Ok(Plan { stage1: Some(stage1), ..Plan::default() })
    }

    fn before_decoder(&self, view: &Stage1View<'_>, share: &Share) -> Result<Selection> {
        self.mico.before_decoder(view, share)
    }

    fn stage1_flops(&self, size: &SelectionSize) -> f64 {
        self.mico.stage1_flops(size)
    }
}
