//! A pruner together with its budget and overrides: what one request asks for.

use std::sync::Arc;

use super::Pruner;
use super::plan::{Cut, Plan, PlanContext, PlanRequest};
use crate::error::{Error, Result};
use crate::methods::{MicoPruner, NoPruning};
use crate::schedule::{Budget, DEFAULT_POOL, Policy};
use crate::signal::Signal;

/// A pruner with its budget and overrides for one request. The pruner may come from outside this
/// crate; a [`PruningSpec`](super::PruningSpec) is the textual form for the methods of this crate.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Pruning {
    /// The method that plans and selects.
    pub pruner: Arc<dyn Pruner>,
    /// The layer-average number of tokens per image, or per frame of a video.
    pub budget: Budget,
    /// Whether to use the token counts the method's authors publish for that budget.
    pub authors: bool,
    /// Refinement block K, counted from 1; `None` for the model's or the method's own.
    pub refine_layer: Option<usize>,
    /// Size of MiCo's Stage-1 pool, as a multiple of the budget.
    pub pool: usize,
}

impl Pruning {
    /// No pruning: every token stays, and the model runs unmodified.
    pub fn off() -> Self {
        Self::new(Arc::new(NoPruning), Budget::Share(1.0))
    }

    /// MiCo with its default factors, refinement block and pool.
    pub fn mico(budget: Budget) -> Self {
        Self::new(Arc::new(MicoPruner::default()), budget)
    }

    /// A pruner at a budget, with its own refinement block and the default pool.
    pub fn new(pruner: Arc<dyn Pruner>, budget: Budget) -> Self {
        Self { pruner, budget, authors: false, refine_layer: None, pool: DEFAULT_POOL }
    }

    /// Asks the pruner for its plan for a model and images; no weights are needed. The plan is checked,
    /// so it can be carried out as it is.
    pub fn plan(&self, context: &PlanContext<'_>) -> Result<Plan> {
        let refine_layer = self.refine_layer.unwrap_or(context.policy.refine_layer);
        let policy = Policy { refine_layer, ..context.policy };
        let plan = self.pruner.plan(&PlanRequest {
            context: PlanContext { policy, ..*context },
            budget: self.budget,
            authors: self.authors,
            refine_layer: self.refine_layer,
            pool: self.pool,
        })?;
        plan.check(self.pruner.name(), context)?;
        check_attention(context, &plan)?;
        Ok(plan)
    }
}

/// Refuses a plan that reads attention in a block of linear attention, which has no attention map.
fn check_attention(context: &PlanContext<'_>, plan: &Plan) -> Result<()> {
    let model = context.model;
    // The block after the last is nobody's: what reads it fails where it is read.
    let blind = |block: usize| block <= model.layers() && !model.attends_at(block);
    let reads_blind = |cut: &&Cut| {
        let attention = cut.signals.attention().map(|how| how.observed_block(cut.block));
        let keys = cut.signals.has(Signal::Keys) || cut.signals.has(Signal::TextKeys);
        attention.into_iter().chain(keys.then_some(cut.block)).any(blind)
    };
    let Some(cut) = plan.cuts.iter().find(reads_blind) else { return Ok(()) };
    let others = (1..model.layers()).filter(|&block| model.attends_at(block));
    let others: Vec<String> = others.map(|block| block.to_string()).collect();
    let accepted = if others.is_empty() {
        "none, no block before the last has attention".to_owned()
    } else {
        format!("a block with attention: {}", others.join(", "))
    };
    Err(Error::range("refine-layer", cut.block, accepted))
}
