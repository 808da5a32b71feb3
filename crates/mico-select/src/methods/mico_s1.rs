//! MiCo's first stage alone: the whole budget is spent before the decoder.

use std::sync::Arc;

use super::{Method, MicoPruner};
use crate::error::Result;
use crate::pruner::quotas::{check_budget, single_stage};
use crate::pruner::{Plan, PlanRequest, Pruner, Quota, SelectionSize, Stage1Plan, Stage1View};
use crate::selection::Selection;

pub(super) const METHOD: Method = Method {
    name: "mico-s1",
    about: "MiCo's first stage alone",
    selector: None,
    pruner: Some(|settings| Ok(Arc::new(MicoS1Pruner(MicoPruner::from_settings(settings)?)))),
};

/// Keeps T tokens of each image before the decoder, chosen as MiCo's Stage 1 does.
#[derive(Debug)]
struct MicoS1Pruner(MicoPruner);

impl Pruner for MicoS1Pruner {
    fn name(&self) -> &'static str {
        METHOD.name
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        check_budget(request.budget)?;
        let (signals, quotas) = (self.0.stage1_signals(), single_stage(request)?);
        Ok(Plan::before_decoder(Stage1Plan::new(signals, quotas, request.images())))
    }

    fn before_decoder(&self, view: &Stage1View<'_>, quota: &Quota) -> Result<Selection> {
        self.0.before_decoder(view, quota)
    }

    fn stage1_flops(&self, size: &SelectionSize) -> f64 {
        self.0.stage1_flops(size)
    }
}
