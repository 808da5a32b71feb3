//! DivPrune: keeps tokens that are far from one another (max-min diversity).

use rayon::prelude::*;

use super::Method;
use crate::error::Result;
use crate::gram::Columns;
use crate::kernel::Kernel;
use crate::progress::Done;
use crate::pruner::quotas::Competition;
use crate::pruner::single_stage::SingleStage;
use crate::pruner::{FeatureSpace, SelectionSize, Signals};
use crate::rank::best;
use crate::selection::Selection;
use crate::selector::{Context, Selector};
use crate::signal::{Signal, SignalSet};
use crate::tokens::Tokens;

/// The pruner works on embeddings, those of all crops together unless `scope` says otherwise.
pub(super) const METHOD: Method = Method {
    name: "divprune",
    about: "embeddings far from one another (max-min cosine distance), before the decoder",
    selector: Some(|_| Ok(Box::new(DivPrune))),
    pruner: Some(|settings| {
        let competition = Competition::from_settings(settings)?;
        let signals = Signals::of(FeatureSpace::Projected, &[Signal::Features]);
        Ok(SingleStage { selector: Box::new(DivPrune), signals, competition, flops }.shared())
    }),
};

/// FLOPs as published: each pick takes the minimum distance over all tokens selected before it.
fn flops(size: &SelectionSize) -> f64 {
    size.similarities() + size.tokens * size.kept * size.kept / 2.0
}

/// DivPrune's rule: start with the token whose nearest neighbour is farthest, then always take
/// the token farthest from all taken ones, by cosine distance.
///
/// A selected token is not considered again. (The published loop may, where tokens repeat.)
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DivPrune;

impl Selector for DivPrune {
    fn name(&self) -> &'static str {
        METHOD.name
    }

    fn reads(&self, present: SignalSet) -> Result<SignalSet> {
        present.require(self.name(), &[Signal::Features])?;
        Ok(SignalSet::of(&[Signal::Features]))
    }

    fn select(
        &self,
        tokens: &Tokens<'_>,
        budget: usize,
        context: &Context<'_>,
    ) -> Result<Selection> {
        let kernel = Kernel::of(tokens, context)?;
        let mut columns = kernel.cosines()?;
        let n = tokens.len();
        let isolation = isolation(&mut columns);
        let mut distance = vec![f32::INFINITY; n];
        let mut taken = vec![false; n];
        let mut order = Vec::with_capacity(budget);
        let mut objective = None;
        let mut next = best(0..n, |i| isolation[i]);
        while let Some(pick) = next {
            taken[pick] = true;
            order.push(pick);
            context.progress.report(Done::Picked(1));
            if order.len() == budget {
                break;
            }
            let column = columns.get(pick);
            for (d, &cosine) in distance.iter_mut().zip(column) {
                *d = d.min(1.0 - cosine);
            }
            next = best((0..n).filter(|&i| !taken[i]), |i| f64::from(distance[i]));
            objective = next.map(|i| f64::from(distance[i]));
        }
        let mut selection = Selection::from_order(order);
        selection.objective = objective;
        selection.seconds.kernel = columns.spent().as_secs_f64();
        Ok(selection)
    }
}

/// The second-smallest distance in each column; the smallest is the token's own.
fn isolation(columns: &mut Columns<'_>) -> Vec<f64> {
    let n = columns.len();
    let all: Vec<usize> = (0..n).collect();
    let mut isolation = Vec::with_capacity(n);
    for batch in all.chunks(Columns::batch()) {
        columns.fetch(batch);
        let held = &*columns;
        let second = |&i: &usize| 1.0 - f64::from(second_largest(held.held(i)));
        isolation.par_extend(batch.par_iter().map(second));
    }
    isolation
}

fn second_largest(column: &[f32]) -> f32 {
    let (mut first, mut second) = (f32::NEG_INFINITY, f32::NEG_INFINITY);
    for &x in column {
        second = second.max(first.min(x));
        first = first.max(x);
    }
    second
}
