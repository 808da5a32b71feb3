//! FastV: the tokens the last prompt token attends to most, after an early block.

use std::sync::Arc;

use super::Method;
use crate::error::Result;
use crate::pruner::accounting::early_cut;
use crate::pruner::quotas::check_budget;
use crate::pruner::{Plan, PlanRequest, Pruner, Refinement, Signals, Stage2View, TextAttention};
use crate::rank::top;
use crate::selection::Selection;
use crate::selector::{Context, Selector};
use crate::signal::{Signal, SignalSet};
use crate::tokens::Tokens;

pub(super) const METHOD: Method = Method {
    name: "fastv",
    about: "attention of the last prompt token, after block 2 (FastV)",
    selector: Some(|_| Ok(Box::new(FastV))),
    pruner: Some(|settings| {
        Ok(Arc::new(FastVPruner { layer: settings.number("layer", 1..=1 << 16)? }))
    }),
};

/// The authors' block: the first two blocks process all tokens.
pub(super) const BLOCK: usize = 2;

/// FastV's rule: the largest entries of one head-averaged attention row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FastV;

impl Selector for FastV {
    fn name(&self) -> &'static str {
        METHOD.name
    }

    fn reads(&self, present: SignalSet) -> Result<SignalSet> {
        present.require(self.name(), &[Signal::Relevance])?;
        Ok(SignalSet::of(&[Signal::Relevance]))
    }

    fn select(&self, tokens: &Tokens<'_>, budget: usize, _: &Context<'_>) -> Result<Selection> {
        Ok(Selection::from_order(top(&tokens.vector(Signal::Relevance)?, budget)))
    }
}

/// FastV inside a decoder. Tokens keep their position ids.
#[derive(Debug)]
struct FastVPruner {
    /// Blocks that process all tokens; `None` for the authors' two.
    layer: Option<usize>,
}

impl Pruner for FastVPruner {
    fn name(&self) -> &'static str {
        METHOD.name
    }

    fn refinement(&self) -> Refinement {
        Refinement::Own
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        check_budget(request.budget)?;
        let signals = Signals::attention_of(TextAttention::LastToken);
        early_cut(self.name(), request, BLOCK, self.layer, signals)
    }

    fn after_block(&self, view: &Stage2View<'_>, ask: usize) -> Result<Selection> {
        view.select(&FastV, ask, 0)
    }
}
