//! SparseVLM: ranks by the attention of the question's rater words, cuts after three blocks, and merges
//! the best of the dropped tokens.

use std::sync::Arc;

use super::density_peaks::density_peaks;
use super::{Method, nearest};
use crate::error::{Error, Result};
use crate::matrix::Dense;
use crate::pruner::accounting::{Totals, over, seen_by_all, several_cuts};
use crate::pruner::{
    Cut, FeatureSpace, Plan, PlanRequest, PositionRule, Pruner, Refinement, SelectionSize, Signals,
    Stage2View, TextAttention, refused,
};
use crate::rank::{round_ratio, top, top_of};
use crate::selection::{Merge, Selection};
use crate::selector::{Context, Selector};
use crate::signal::{Signal, SignalSet};
use crate::tokens::Tokens;

pub(super) const METHOD: Method = Method {
    name: "sparsevlm",
    about: "attention of rater words, density-peak merge of the rest, after three blocks (SparseVLM)",
    selector: Some(|_| Ok(Box::new(SparseVlm))),
    pruner: Some(|_| Ok(Arc::new(SparseVlmPruner))),
};

/// The authors' guard against division by zero in a cluster mean.
const MEAN_EPS: f64 = 1e-6;

/// One stage of SparseVLM. The budget is the number of tokens kept by score; the centres of the
/// clusters merged from 30 % of the others are kept on top and stand behind the others. The random
/// noise the authors add to densities is left out, so the result is reproducible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SparseVlm;

impl SparseVlm {
    /// The number of tokens left of `tokens` when `budget` of them are kept by score: those and the
    /// cluster centres.
    ///
    /// ```
    /// use mico_select::methods::SparseVlm;
    /// assert_eq!(SparseVlm::survivors(576, 66), 82);
    /// ```
    pub fn survivors(tokens: usize, budget: usize) -> usize {
        if budget >= tokens {
            return tokens;
        }
        budget + clusters_of(merged_tokens(tokens - budget))
    }

    /// The rater words: those text tokens whose mean share of the visual tokens' softmax over words is
    /// above average. All text tokens if none is.
    pub fn raters(visual: &Dense, text: &Dense) -> Vec<usize> {
        let m = text.rows();
        let mut shares = vec![0.0; m];
        for v in 0..visual.rows() {
            let scores: Vec<f64> =
                (0..m).map(|t| crate::matrix::dot(visual.row(v), text.row(t))).collect();
            let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let exps: Vec<f64> = scores.iter().map(|s| (s - max).exp()).collect();
            let total: f64 = exps.iter().sum();
            shares.iter_mut().zip(exps).for_each(|(s, e)| *s += e / total);
        }
        let mean = shares.iter().sum::<f64>() / m as f64;
        let raters: Vec<usize> = (0..m).filter(|&t| shares[t] > mean).collect();
        if raters.is_empty() { (0..m).collect() } else { raters }
    }
}

impl Selector for SparseVlm {
    fn name(&self) -> &'static str {
        METHOD.name
    }

    fn reads(&self, present: SignalSet) -> Result<SignalSet> {
        present.require(self.name(), &[Signal::Features])?;
        if present.has(Signal::Relevance) {
            return Ok(SignalSet::of(&[Signal::Features, Signal::Relevance]));
        }
        let instead = [Signal::Projected, Signal::Text, Signal::TextAttention];
        if instead.iter().any(|&signal| !present.has(signal)) {
            return Err(Error::Missing {
                signal: Signal::Relevance,
                reason: "method 'sparsevlm' reads it, or 'projected', 'text' and 'text_attention'"
                    .into(),
            });
        }
        Ok(SignalSet::of(&instead).with(Signal::Features))
    }

    fn select(&self, tokens: &Tokens<'_>, budget: usize, _: &Context<'_>) -> Result<Selection> {
        let scores = scores(tokens)?;
        let mut order = top(&scores, budget);
        let dropped = nearest::others(tokens.len(), &order);
        let merged = merged_tokens(dropped.len());
        let pool = top_of(dropped, &scores, merged);
        let features = tokens.rows(Signal::Features)?;
        let mut pooled = Dense::zeros(pool.len(), features.cols());
        for (row, &token) in pool.iter().enumerate() {
            features.copy_row(token, pooled.row_mut(row));
        }
        let clusters = density_peaks(&pooled, clusters_of(merged));
        let mut sequence = order.clone();
        sequence.sort_unstable();
        sequence.extend(clusters.iter().map(|(center, _)| pool[*center]));
        order.extend(&sequence[order.len()..]);
        let mut selection = Selection::from_order(order);
        selection.sequence = sequence;
        selection.merges = clusters
            .into_iter()
            .filter(|(_, members)| !members.is_empty())
            .map(|(center, members)| {
                let mut sources: Vec<usize> = members.into_iter().map(|i| pool[i]).collect();
                sources.sort_unstable();
                let share = 1.0 / (sources.len() as f64 + 1.0 + MEAN_EPS);
                let shares = vec![share; sources.len()];
                Merge { target: pool[center], own: share, sources, shares }
            })
            .collect();
        Ok(selection.finish())
    }
}

/// The number of dropped tokens that are merged: 30 % of them and one.
fn merged_tokens(dropped: usize) -> usize {
    dropped * 3 / 10 + 1
}

/// The number of clusters that `merged` tokens are merged into.
fn clusters_of(merged: usize) -> usize {
    merged / 10 + 1
}

/// The score of each token: `relevance`, or the mean of the rater words' attention rows.
fn scores(tokens: &Tokens<'_>) -> Result<Vec<f64>> {
    if tokens.has(Signal::Relevance) {
        return tokens.vector(Signal::Relevance);
    }
    let visual = tokens.rows(Signal::Projected)?.to_dense();
    let text = tokens.rows(Signal::Text)?.to_dense();
    let attention = tokens.text_attention()?;
    let raters = SparseVlm::raters(&visual, &text);
    let column = |i: usize| raters.iter().map(|&t| f64::from(attention.row(t)[i])).sum::<f64>();
    Ok((0..tokens.len()).map(|i| column(i) / raters.len() as f64).collect())
}

/// The authors' cuts after blocks 3, 7 and 16 (counted from 1) of 32.
const BLOCKS: [usize; 3] = [3, 7, 16];
const BLOCKS_OF: usize = 32;
/// The authors' counts: a nominal budget of 576 tokens, and how many are kept by score at each cut.
const OFFICIAL: [(usize, [usize; 3]); 4] =
    [(192, [300, 200, 110]), (128, [303, 110, 36]), (96, [238, 48, 26]), (64, [66, 30, 17])];
const OFFICIAL_TOKENS: usize = 576;
/// Steps of the search that scales the authors' counts to a budget.
const STEPS: usize = 1000;

/// The blocks of the three cuts, and how their tokens are counted.
#[derive(Debug, Clone, Copy)]
struct ThreeCuts {
    layers: usize,
    blocks: [usize; 3],
    tokens: usize,
    /// Whether a cut's own block counts as one without the dropped tokens, as the authors count it.
    credited: bool,
}

impl ThreeCuts {
    /// The sum over all blocks of the tokens each processes, if `keeps` are kept by score.
    fn total(&self, keeps: [usize; 3]) -> usize {
        let ends = self.blocks.map(|block| block - usize::from(self.credited));
        seen_by_all(self.layers, self.tokens, ends.into_iter().zip(self.counts(keeps)))
    }

    /// The number of tokens left after each cut.
    fn counts(&self, keeps: [usize; 3]) -> [usize; 3] {
        let mut left = self.tokens;
        keeps.map(|keep| {
            left = SparseVlm::survivors(left, keep.min(left.saturating_sub(1)).max(1));
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
                let scaled = round_ratio((keep * step) as i128, STEPS as i128);
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

    /// The three cuts, with the numbers kept by score and left in all.
    fn cuts(&self, target: usize) -> Vec<Cut> {
        let signals = Signals::of(FeatureSpace::Residual, &[Signal::Features])
            .with_attention(TextAttention::Raters);
        let keeps = self.keeps(target);
        let mut left = self.tokens;
        let mut cuts = Vec::new();
        for ((block, ask), keep) in self.blocks.into_iter().zip(keeps).zip(self.counts(keeps)) {
            let mut cut = Cut::new(block, keep, signals);
            cut.ask = ask.min(left.saturating_sub(1)).max(1);
            left = keep;
            cuts.push(cut);
        }
        cuts
    }
}

/// SparseVLM v1 inside a decoder. Position ids are renumbered after every cut.
#[derive(Debug)]
struct SparseVlmPruner;

/// The authors' blocks; in decoders too short for them, those at the same relative depth.
fn blocks(layers: usize) -> Result<[usize; 3]> {
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
        return Err(refused(METHOD.name, reason));
    }
    Ok(blocks)
}

impl Pruner for SparseVlmPruner {
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
        let (layers, blocks) = (request.layers(), blocks(request.layers())?);
        let schedule = ThreeCuts { layers, blocks, tokens, credited: request.authors };
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
        let positions = request.renumbered(PositionRule::Packed);
        Ok(Plan::after_blocks(schedule.cuts(target)).with_positions(positions))
    }

    fn after_block(&self, view: &Stage2View<'_>, ask: usize) -> Result<Selection> {
        view.select(&SparseVlm, ask, 0)
    }

    fn cut_flops(&self, size: &SelectionSize) -> f64 {
        let merged = 0.3 * (size.tokens - size.kept).max(0.0) + 1.0;
        2.0 * merged * merged * size.width
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(layers: usize, tokens: usize, credited: bool) -> ThreeCuts {
        ThreeCuts { layers, blocks: BLOCKS, tokens, credited }
    }

    #[test]
    fn the_authors_lists_come_out_at_their_own_accounting() {
        for (nominal, keeps) in OFFICIAL {
            assert_eq!(schedule(32, 576, true).keeps(nominal), keeps, "{nominal}");
        }
        assert_eq!(schedule(32, 576, true).counts([66, 30, 17]), [82, 32, 18]);
        let average = |s: ThreeCuts, keeps| s.total(keeps) as f64 / s.layers as f64;
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
