//! PyramidDrop: FastV's ranking after a quarter, half and three quarters of the decoder's blocks.

use std::sync::Arc;

use super::{FastV, Method};
use crate::error::{Error, Result};
use crate::pruner::accounting::{Totals, over, seen_by_all, several_cuts};
use crate::pruner::{
    Cut, Plan, PlanRequest, PositionRule, Pruner, Refinement, Signals, Stage2View, TextAttention,
    refused,
};
use crate::selection::Selection;
use crate::selector::{Context, Selector};
use crate::signal::SignalSet;
use crate::tokens::Tokens;

pub(super) const METHOD: Method = Method {
    name: "pyramiddrop",
    about: "attention of the last prompt token, after three blocks (PyramidDrop)",
    selector: Some(|_| Ok(Box::new(PyramidDrop::default()))),
    pruner: Some(|_| Ok(Arc::new(PyramidDropPruner))),
};

/// The authors keep half of what is left at each cut.
const AUTHORS_RATIO: f64 = 0.5;
/// Bisection steps of the search for the ratio that meets a budget.
const HALVINGS: usize = 40;
const CUTS: usize = 3;

/// One cut of PyramidDrop: ranks by the last prompt token's attention in the block after the cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PyramidDrop(FastV);

impl Selector for PyramidDrop {
    fn name(&self) -> &'static str {
        METHOD.name
    }

    fn reads(&self, present: SignalSet) -> Result<SignalSet> {
        self.0.reads(present)
    }

    fn select(
        &self,
        tokens: &Tokens<'_>,
        budget: usize,
        context: &Context<'_>,
    ) -> Result<Selection> {
        self.0.select(tokens, budget, context)
    }
}

/// PyramidDrop inside a decoder. Each cut keeps the same share of the remaining tokens, ranked by the
/// attention of the next block; position ids are renumbered.
#[derive(Debug)]
struct PyramidDropPruner;

/// The blocks of the cuts, and the number of tokens that enter.
#[derive(Debug, Clone, Copy)]
struct Pyramid {
    layers: usize,
    blocks: [usize; CUTS],
    tokens: usize,
}

impl Pyramid {
    /// The number of tokens left after each cut.
    fn counts(&self, ratio: f64) -> [usize; CUTS] {
        let mut share = 1.0;
        [(); CUTS].map(|()| {
            share *= ratio;
            ((share * self.tokens as f64) as usize).max(1)
        })
    }

    /// The sum over all blocks of the tokens each processes.
    fn total(&self, counts: [usize; CUTS]) -> usize {
        seen_by_all(self.layers, self.tokens, self.blocks.into_iter().zip(counts))
    }

    /// The largest ratio whose average over all blocks is at most `target`.
    fn ratio(&self, target: usize) -> f64 {
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(low, high);
            let within = self.total(self.counts(middle)) <= target * self.layers;
            *(if within { &mut low } else { &mut high }) = middle;
        }
        low
    }

    fn refusal(&self, request: &PlanRequest<'_>, target: usize, least: usize) -> Error {
        let Self { layers, blocks, tokens } = *self;
        let average = least as f64 / layers as f64;
        let reason = format!(
            "it cannot meet a layer average of {target} tokens{}: the first {} of {layers} blocks, \
             which see all {tokens} tokens, and a single one in the others make an average of \
             {average:.1}",
            over(request),
            blocks[0],
        );
        refused(METHOD.name, reason)
    }
}

impl Pruner for PyramidDropPruner {
    fn name(&self) -> &'static str {
        METHOD.name
    }

    fn refinement(&self) -> Refinement {
        Refinement::Several
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let Some(Totals { tokens, target }) = several_cuts(self.name(), request)? else {
            return Ok(Plan::default());
        };
        let layers = request.layers();
        let blocks = [layers / 4, layers / 2, layers * 3 / 4];
        if blocks[0] == 0 {
            let reason = format!("it cuts after three blocks, the decoder has {layers}");
            return Err(refused(self.name(), reason));
        }
        let pyramid = Pyramid { layers, blocks, tokens };
        let least = pyramid.total([1; CUTS]);
        if !request.authors && least > target * layers {
            return Err(pyramid.refusal(request, target, least));
        }
        let ratio = if request.authors { AUTHORS_RATIO } else { pyramid.ratio(target) };
        let attention = TextAttention::NextLastToken { rotary: true, back: 0 };
        let signals = Signals::attention_of(attention);
        let cuts = blocks.into_iter().zip(pyramid.counts(ratio));
        let cuts = cuts.map(|(block, keep)| Cut::new(block, keep, signals)).collect();
        let positions = request.renumbered(PositionRule::Packed);
        Ok(Plan::after_blocks(cuts).with_positions(positions))
    }

    fn after_block(&self, view: &Stage2View<'_>, ask: usize) -> Result<Selection> {
        view.select(&PyramidDrop::default(), ask, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_authors_average_is_15_of_32() {
        let pyramid = Pyramid { layers: 32, blocks: [8, 16, 24], tokens: 576 };
        assert_eq!(pyramid.total(pyramid.counts(AUTHORS_RATIO)), 32 * 576 * 15 / 32);
    }
}
