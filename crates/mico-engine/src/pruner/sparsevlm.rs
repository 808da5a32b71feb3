//! SparseVLM: attention of the question's rater words, after three blocks, the best of the rest merged.

use std::sync::Arc;

use mico_select::{Options, Selection, Settings, methods, select};

use super::accounting::{Totals, over, seen_by_all, several_cuts};
use super::{
    Cut, HiddenSpace, Plan, PlanRequest, PositionRule, Pruner, Refinement, Stage2Signals,
    Stage2View, TextAttention, refused,
};
use crate::error::Result;
use crate::flops::SelectionSize;

/// The authors cut after these blocks, counted from 1, of 32.
const BLOCKS: [usize; 3] = [3, 7, 16];
const BLOCKS_OF: usize = 32;
/// The authors' counts: a nominal budget of 576 tokens, and how many are kept by score at each cut.
const OFFICIAL: [(usize, [usize; 3]); 4] =
    [(192, [300, 200, 110]), (128, [303, 110, 36]), (96, [238, 48, 26]), (64, [66, 30, 17])];
const OFFICIAL_TOKENS: usize = 576;
/// Steps in which the authors' counts are scaled to a budget.
const STEPS: usize = 1000;

/// SparseVLM, its first version. What is left is renumbered after every cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SparseVlm;

/// Where tokens go, and how blocks are credited.
#[derive(Debug, Clone, Copy)]
struct Schedule {
    layers: usize,
    blocks: [usize; 3],
    tokens: usize,
    /// The authors count the block after which tokens go as one that runs without them.
    credited: bool,
}

impl Schedule {
    /// The tokens each block sees, summed, if `keeps` are kept by score.
    fn total(&self, keeps: [usize; 3]) -> usize {
        let ends = self.blocks.map(|block| block - usize::from(self.credited));
        seen_by_all(self.layers, self.tokens, ends.into_iter().zip(self.counts(keeps)))
    }

    /// Tokens left after each cut.
    fn counts(&self, keeps: [usize; 3]) -> [usize; 3] {
        let mut left = self.tokens;
        keeps.map(|keep| {
            left = methods::SparseVlm::survivors(left, keep.min(left.saturating_sub(1)).max(1));
            left
        })
    }

    /// The authors' counts for the nearest share of tokens, scaled to the average `target` over all
    /// blocks: as near as it gets by their accounting, as near as it gets from below by ours.
    fn keeps(&self, target: usize) -> [usize; 3] {
        let distance = |(nominal, _): &(usize, [usize; 3])| {
            (nominal * self.tokens).abs_diff(target * OFFICIAL_TOKENS)
        };
        let official = OFFICIAL.iter().min_by_key(|official| distance(official));
        let (nominal, shape) = official.copied().unwrap_or(OFFICIAL[0]);
        let theirs = (self.layers, self.tokens, target) == (BLOCKS_OF, OFFICIAL_TOKENS, nominal);
        if self.credited && theirs {
            return shape;
        }
        let scaled = |step: usize| {
            shape.map(|keep| {
                let scaled = mico_select::round_ratio((keep * step) as i128, STEPS as i128);
                usize::try_from(scaled).unwrap_or(1).max(1)
            })
        };
        let allowed = target * self.layers;
        let most = (STEPS * self.tokens / shape[2]).max(1);
        let error = |keeps: &[usize; 3]| {
            let total = self.total(*keeps);
            (!self.credited && total > allowed, total.abs_diff(allowed))
        };
        let tried = std::iter::once([1; 3]).chain((1..=most).map(scaled));
        tried.min_by_key(error).unwrap_or([1; 3])
    }
}

impl SparseVlm {
    #[allow(clippy::unnecessary_wraps, reason = "the registry's builders may fail")]
    pub(super) fn build(_: &mut Settings) -> Result<Arc<dyn Pruner>> {
        Ok(Arc::new(Self))
    }

    /// The authors' blocks; of decoders too short for them, those of the same relative depth.
    fn blocks(request: &PlanRequest<'_>) -> Result<[usize; 3]> {
        let layers = request.layers();
        if layers > BLOCKS[2] {
            return Ok(BLOCKS);
        }
        let mut last = 0;
        let blocks = BLOCKS.map(|block| {
            last = (block * layers).div_ceil(BLOCKS_OF).max(last + 1);
            last
        });
        if last >= layers {
            let reason = format!("it cuts after three blocks, the decoder has {layers}");
            return Err(refused("sparsevlm", reason));
        }
        Ok(blocks)
    }
}

impl Pruner for SparseVlm {
    fn name(&self) -> &'static str {
        "sparsevlm"
    }

    fn refinement(&self) -> Refinement {
        Refinement::Several
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        let Some(Totals { tokens, target }) = several_cuts(self.name(), request)? else {
            return Ok(Plan::default());
        };
        let (layers, blocks) = (request.layers(), Self::blocks(request)?);
        let schedule = Schedule { layers, blocks, tokens, credited: request.authors };
        let least = schedule.total([1; 3]);
        if least > target * layers {
            let first = blocks[0] - usize::from(request.authors);
            return Err(refused(
                self.name(),
                format!(
                    "it cannot meet a layer average of {target} tokens{}: {first} x {tokens} tokens \
                     in the first {first} of {layers} blocks and the fewest possible in the others \
                     make {least}, an average of {:.1}, where {layers} x {target} = {} are allowed",
                    over(request),
                    least as f64 / layers as f64,
                    layers * target
                ),
            ));
        }
        let keeps = schedule.keeps(target);
        let signals = Stage2Signals {
            features: Some(HiddenSpace::Residual),
            attention: Some(TextAttention::Raters),
            ..Stage2Signals::default()
        };
        let mut left = tokens;
        let cut = |((block, ask), keep): ((usize, usize), usize)| {
            let ask = ask.min(left.saturating_sub(1)).max(1);
            left = keep;
            Cut { ask, ..Cut::new(block, keep, signals) }
        };
        let cuts = blocks.into_iter().zip(keeps).zip(schedule.counts(keeps)).map(cut).collect();
        Ok(Plan { stage1: None, cuts, positions: request.renumbered(PositionRule::Packed) })
    }

    fn after_block(&self, view: &Stage2View<'_>, ask: usize) -> Result<Selection> {
        Ok(select(&methods::SparseVlm, &view.inputs()?, ask, &Options::default())?)
    }

    fn cut_flops(&self, size: &SelectionSize) -> f64 {
        let merged = 0.3 * (size.tokens - size.kept).max(0.0) + 1.0;
        2.0 * merged * merged * size.width
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(layers: usize, tokens: usize, credited: bool) -> Schedule {
        Schedule { layers, blocks: BLOCKS, tokens, credited }
    }

    #[test]
    fn the_authors_lists_come_out_at_their_own_accounting() {
        for (nominal, keeps) in OFFICIAL {
            assert_eq!(schedule(32, 576, true).keeps(nominal), keeps, "{nominal}");
        }
        assert_eq!(schedule(32, 576, true).counts([66, 30, 17]), [82, 32, 18]);
        let average = |s: Schedule, keeps| s.total(keeps) as f64 / s.layers as f64;
        assert!((average(schedule(32, 576, true), [303, 110, 36]) - 128.6).abs() < 0.05);
        assert!((average(schedule(32, 576, false), [303, 110, 36]) - 145.4).abs() < 0.05);
        assert!((average(schedule(32, 576, false), [66, 30, 17]) - 82.3).abs() < 0.05);
    }

    #[test]
    fn scaled_lists_meet_a_budget() {
        for (layers, tokens, target) in [(40, 576, 128), (32, 2880, 640), (28, 1296, 256)] {
            for credited in [false, true] {
                let schedule = schedule(layers, tokens, credited);
                let total = schedule.total(schedule.keeps(target));
                let average = total as f64 / layers as f64;
                assert!((average / target as f64 - 1.0).abs() < 0.01, "{average} for {target}");
            }
        }
        assert_eq!(schedule(40, 576, true).keeps(128), [368, 133, 44]);
    }
}
