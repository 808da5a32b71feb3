//! SparseVLM: attention of the question's rater words, then a merge of the best dropped tokens.

use super::nearest;
use crate::error::{Error, Result};
use crate::inputs::{Tensor, TensorSet};
use crate::matrix::{Dense, squared_distance};
use crate::rank::{best, top, top_of};
use crate::selection::{Merge, Selection};
use crate::selector::{Context, Selector};
use crate::settings::Settings;
use crate::tokens::Tokens;

/// The authors' guard of a cluster mean's division.
const MEAN_EPS: f64 = 1e-6;

/// One stage of SparseVLM. The budget is the number of tokens kept by score; the centres of the
/// clusters merged from 30 % of the others are kept on top and stand behind the others. The random
/// noise the authors add to densities is left out, so the result is reproducible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SparseVlm;

impl SparseVlm {
    pub(super) fn build(_: &mut Settings) -> Result<Box<dyn Selector>> {
        Ok(Box::new(Self))
    }

    /// How many tokens are left of `tokens` when `budget` of them are kept by score: those and the
    /// centres of the clusters.
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

    /// The question's words that the image answers to: those whose mean share of the visual
    /// tokens' softmax over words is above average. All words if none is.
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
        "sparsevlm"
    }

    fn reads(&self, present: TensorSet) -> Result<TensorSet> {
        present.require(self.name(), &[Tensor::Features])?;
        if present.has(Tensor::Relevance) {
            return Ok(TensorSet::of(&[Tensor::Features, Tensor::Relevance]));
        }
        let instead = [Tensor::Projected, Tensor::Text, Tensor::TextAttention];
        if instead.iter().any(|&tensor| !present.has(tensor)) {
            return Err(Error::Missing {
                tensor: Tensor::Relevance,
                reason: "method 'sparsevlm' reads it, or 'projected', 'text' and 'text_attention'"
                    .into(),
            });
        }
        Ok(TensorSet::of(&instead).with(Tensor::Features))
    }

    fn select(&self, tokens: &Tokens<'_>, budget: usize, _: &Context<'_>) -> Result<Selection> {
        let scores = scores(tokens)?;
        let mut order = top(&scores, budget);
        let dropped = nearest::others(tokens.len(), &order);
        let merged = merged_tokens(dropped.len());
        let pool = top_of(dropped, &scores, merged);
        let features = tokens.rows(Tensor::Features)?;
        let mut pooled = Dense::zeros(pool.len(), features.cols());
        for (row, &token) in pool.iter().enumerate() {
            features.copy_row(token, pooled.row_mut(row));
        }
        let clusters = density_peaks(&pooled, clusters_of(merged));
        let mut sequence = order.clone();
        sequence.sort_unstable();
        sequence.extend(clusters.iter().map(|(centre, _)| pool[*centre]));
        order.extend(&sequence[order.len()..]);
        let mut selection = Selection::from_order(order);
        selection.sequence = sequence;
        selection.merges = clusters
            .into_iter()
            .filter(|(_, members)| !members.is_empty())
            .map(|(centre, members)| {
                let mut sources: Vec<usize> = members.into_iter().map(|i| pool[i]).collect();
                sources.sort_unstable();
                let share = 1.0 / (sources.len() as f64 + 1.0 + MEAN_EPS);
                let shares = vec![share; sources.len()];
                Merge { target: pool[centre], own: share, sources, shares }
            })
            .collect();
        Ok(selection.finish())
    }
}

/// Dropped tokens that are merged: 30 % and one.
fn merged_tokens(dropped: usize) -> usize {
    dropped * 3 / 10 + 1
}

/// Clusters that so many tokens are merged into.
fn clusters_of(merged: usize) -> usize {
    merged / 10 + 1
}

/// `relevance`, or the mean of the rater words' attention rows.
fn scores(tokens: &Tokens<'_>) -> Result<Vec<f64>> {
    if tokens.has(Tensor::Relevance) {
        return tokens.vector(Tensor::Relevance);
    }
    let visual = tokens.rows(Tensor::Projected)?.to_dense();
    let text = tokens.rows(Tensor::Text)?.to_dense();
    let attention = tokens.text_attention()?;
    let raters = SparseVlm::raters(&visual, &text);
    let column = |i: usize| raters.iter().map(|&t| f64::from(attention.row(t)[i])).sum::<f64>();
    Ok((0..tokens.len()).map(|i| column(i) / raters.len() as f64).collect())
}

/// Density-peak clustering: `count` centres with their members, centres by falling
/// `density x distance to anything denser`.
fn density_peaks(x: &Dense, count: usize) -> Vec<(usize, Vec<usize>)> {
    let n = x.rows();
    let distance = distances(x);
    let row = |i: usize| &distance[i * n..(i + 1) * n];
    let density: Vec<f64> = (0..n)
        .map(|i| {
            let mut nearest = row(i).to_vec();
            nearest.sort_unstable_by(f64::total_cmp);
            let squares = nearest[..count].iter().map(|d| d * d).sum::<f64>();
            (-squares / count as f64).exp()
        })
        .collect();
    let widest = distance.iter().copied().fold(0.0, f64::max);
    let peaks: Vec<f64> = (0..n)
        .map(|i| {
            let denser = (0..n).filter(|&j| density[j] > density[i]);
            let gap = denser.map(|j| row(i)[j]).fold(f64::INFINITY, f64::min);
            density[i] * gap.min(widest)
        })
        .collect();
    let centres = top(&peaks, count);
    let mut clusters: Vec<(usize, Vec<usize>)> =
        centres.iter().map(|&centre| (centre, Vec::new())).collect();
    for i in (0..n).filter(|i| !centres.contains(i)) {
        if let Some(c) = best(0..count, |c| -row(i)[centres[c]]) {
            clusters[c].1.push(i);
        }
    }
    clusters
}

/// Euclidean distances divided by the square root of the width.
fn distances(x: &Dense) -> Vec<f64> {
    let n = x.rows();
    let mut distance = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..i {
            let d = (squared_distance(x.row(i), x.row(j)) / x.cols() as f64).sqrt();
            distance[i * n + j] = d;
            distance[j * n + i] = d;
        }
    }
    distance
}
