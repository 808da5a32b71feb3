//! PyramidDrop: the last prompt token's attention, after a quarter, half and three quarters of the
//! blocks.

use std::sync::Arc;

use mico_select::{Options, Selection, Settings, methods, select};

use super::accounting::{Totals, over, seen_by_all, several_cuts};
use super::{
    Cut, Plan, PlanRequest, PositionRule, Pruner, Refinement, Stage2Signals, Stage2View,
    TextAttention, refused,
};
use crate::error::Result;

/// The authors keep half of what is left at each cut.
const AUTHORS_RATIO: f64 = 0.5;
/// Halvings of the interval in which the ratio that meets a budget is looked for.
const HALVINGS: usize = 40;
const CUTS: usize = 3;

/// PyramidDrop. Each cut keeps the same share of what is left, chosen by the attention of the block
/// that comes next; what is left is renumbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PyramidDrop;

/// Tokens after each cut.
fn counts(tokens: usize, ratio: f64) -> [usize; CUTS] {
    let mut share = 1.0;
    [(); CUTS].map(|()| {
        share *= ratio;
        ((share * tokens as f64) as usize).max(1)
    })
}

impl PyramidDrop {
    #[allow(clippy::unnecessary_wraps, reason = "the registry's builders may fail")]
    pub(super) fn build(_: &mut Settings) -> Result<Arc<dyn Pruner>> {
        Ok(Arc::new(Self))
    }
}

impl Pruner for PyramidDrop {
    fn name(&self) -> &'static str {
        "pyramiddrop"
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
        let total =
            |counts: [usize; CUTS]| seen_by_all(layers, tokens, blocks.into_iter().zip(counts));
        let ratio = if request.authors {
            AUTHORS_RATIO
        } else {
            let least = total([1; CUTS]);
            if least > target * layers {
                return Err(refused(
                    self.name(),
                    format!(
                        "it cannot meet a layer average of {target} tokens{}: the first {} of \
                         {layers} blocks, which see all {tokens} tokens, and a single one in the \
                         others make an average of {:.1}",
                        over(request),
                        blocks[0],
                        least as f64 / layers as f64
                    ),
                ));
            }
            let (mut low, mut high) = (0.0, 1.0);
            for _ in 0..HALVINGS {
                let middle = f64::midpoint(low, high);
                let within = total(counts(tokens, middle)) <= target * layers;
                *(if within { &mut low } else { &mut high }) = middle;
            }
            low
        };
        let attention = Some(TextAttention::NextLastToken { rotary: true, back: 0 });
        let signals = Stage2Signals { attention, ..Stage2Signals::default() };
        let cuts = blocks.into_iter().zip(counts(tokens, ratio));
        let cuts = cuts.map(|(block, keep)| Cut::new(block, keep, signals)).collect();
        Ok(Plan { stage1: None, cuts, positions: request.renumbered(PositionRule::Packed) })
    }

    fn after_block(&self, view: &Stage2View<'_>, ask: usize) -> Result<Selection> {
        Ok(select(&methods::PyramidDrop::default(), &view.inputs()?, ask, &Options::default())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_authors_average_is_15_of_32() {
        let blocks = [8, 16, 24];
        let cuts = blocks.into_iter().zip(counts(576, AUTHORS_RATIO));
        let sum = seen_by_all(32, 576, cuts);
        assert_eq!(sum, 32 * 576 * 15 / 32);
    }
}
