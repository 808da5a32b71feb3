//! Random selection: the baseline any method must beat.

use std::sync::Arc;

use super::Method;
use crate::error::Result;
use crate::pruner::quotas::{check_budget, single_stage};
use crate::pruner::{Plan, PlanRequest, Pruner, Quota, Signals, Stage1Plan, Stage1View};
use crate::selection::Selection;
use crate::selector::{Context, Selector};
use crate::signal::SignalSet;
use crate::tokens::Tokens;
use mico_util::SplitMix64;

pub(super) const METHOD: Method = Method {
    name: "random",
    about: "uniform without replacement, before the decoder",
    selector: Some(|_| Ok(Box::new(Random))),
    pruner: Some(|settings| {
        let seed = settings.number("seed", 0..=u64::MAX)?.unwrap_or(0);
        Ok(Arc::new(RandomPruner { seed }))
    }),
};

/// Separates the seeds of different images and stages (the golden ratio in 64 bits).
pub(super) const STRIDE: u64 = 0x9E37_79B9_7F4A_7C15;

/// Keeps tokens drawn uniformly, without replacement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Random;

/// Some signal with a token axis, if there is one: only its length is used.
pub(super) fn any_token_axis(present: SignalSet) -> SignalSet {
    let counted = present.iter().find(|signal| signal.counts_tokens());
    counted.map_or(SignalSet::default(), |signal| SignalSet::of(&[signal]))
}

impl Selector for Random {
    fn name(&self) -> &'static str {
        METHOD.name
    }

    fn reads(&self, present: SignalSet) -> Result<SignalSet> {
        Ok(any_token_axis(present))
    }

    fn select(
        &self,
        tokens: &Tokens<'_>,
        budget: usize,
        context: &Context<'_>,
    ) -> Result<Selection> {
        Ok(Selection::from_order(SplitMix64::new(context.seed).sample(tokens.len(), budget)))
    }
}

/// Keeps T random tokens of each image; with several groups each gets its part of T. Tokens keep their
/// position ids.
#[derive(Debug)]
struct RandomPruner {
    /// Seed of the random number generator.
    seed: u64,
}

impl Pruner for RandomPruner {
    fn name(&self) -> &'static str {
        METHOD.name
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        check_budget(request.budget)?;
        let quotas = single_stage(request)?;
        let stage1 = Stage1Plan::new(Signals::default(), quotas, request.images());
        Ok(Plan::before_decoder(stage1))
    }

    fn before_decoder(&self, view: &Stage1View<'_>, quota: &Quota) -> Result<Selection> {
        let seed = self.seed ^ (view.image as u64).wrapping_mul(STRIDE);
        view.select(&Random, quota, seed)
    }
}
