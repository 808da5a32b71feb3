//! HoloV: quotas for runs of the token sequence, attention inside each run.

use rayon::prelude::*;

use crate::error::Result;
use crate::gram::Gram;
use crate::inputs::{Tensor, TensorSet};
use crate::matrix::{Matrix, Rows};
use crate::rank::{argsort, top_of};
use crate::selection::Selection;
use crate::selector::{Context, Selector};
use crate::settings::Settings;
use crate::tokens::Tokens;

/// Guard of the authors' divisions.
const EPS: f64 = 1e-6;
/// Their scale of the attention and weight of the variance.
const ATTENTION_SCALE: f64 = 1000.0;
const VARIANCE_WEIGHT: f64 = 0.09;

/// What becomes of quota that a run is too short to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Surplus {
    /// The authors fill it with zero vectors; those have no position, so fewer tokens are kept.
    #[default]
    Drop,
    /// It goes to the runs with room, best first.
    Redistribute,
}

/// HoloV's rule: `runs` contiguous stretches of the raster sequence, each with a quota by its
/// mean attention and similarity variance, filled by attention. Inside a run the kept tokens stand
/// by falling attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HoloV {
    /// Number of runs.
    pub runs: usize,
    /// Unused quota.
    pub surplus: Surplus,
}

impl Default for HoloV {
    fn default() -> Self {
        Self { runs: 16, surplus: Surplus::Drop }
    }
}

impl HoloV {
    pub(super) fn build(settings: &mut Settings) -> Result<Box<dyn Selector>> {
        let runs = settings.count("runs", Self::default().runs, 1..=1 << 20)?;
        Ok(Box::new(Self { runs, surplus: Self::read_surplus(settings)? }))
    }

    /// Reads `surplus`.
    pub fn read_surplus(settings: &mut Settings) -> Result<Surplus> {
        let words = [("drop", Surplus::Drop), ("redistribute", Surplus::Redistribute)];
        settings.choice("surplus", &words)
    }
}

impl Selector for HoloV {
    fn name(&self) -> &'static str {
        "holov"
    }

    fn reads(&self, present: TensorSet) -> Result<TensorSet> {
        let needs = [Tensor::Features, Tensor::Reliability];
        present.require(self.name(), &needs)?;
        Ok(TensorSet::of(&needs))
    }

    fn nonnegative(&self) -> TensorSet {
        TensorSet::of(&[Tensor::Reliability])
    }

    fn select(&self, tokens: &Tokens<'_>, budget: usize, _: &Context<'_>) -> Result<Selection> {
        let features = tokens.rows(Tensor::Features)?;
        let attention = tokens.vector(Tensor::Reliability)?;
        let runs = split(tokens.len(), self.runs);
        let scores: Vec<f64> = runs
            .par_iter()
            .map(|run| run_score(&features, &attention, run.clone()))
            .collect::<Result<_>>()?;
        let sizes: Vec<usize> = runs.iter().map(ExactSizeIterator::len).collect();
        let quotas = self.quotas(&scores, &sizes, budget);
        let mut order = Vec::with_capacity(budget);
        for (run, quota) in runs.into_iter().zip(quotas) {
            if quota >= run.len() {
                order.extend(run);
            } else {
                order.extend(top_of(run.collect(), &attention, quota));
            }
        }
        order.truncate(budget);
        let sequence = order.clone();
        Ok(Selection { sequence, ..Selection::from_order(order) })
    }
}

impl HoloV {
    fn quotas(&self, scores: &[f64], sizes: &[usize], budget: usize) -> Vec<usize> {
        let total = scores.iter().sum::<f64>() + EPS;
        let shares: Vec<f64> = scores.iter().map(|s| s / total).collect();
        let mut quotas: Vec<usize> =
            shares.iter().map(|w| (w * budget as f64).floor() as usize).collect();
        let ranked = argsort(&shares);
        let leftover = budget.saturating_sub(quotas.iter().sum());
        ranked.iter().take(leftover).for_each(|&run| quotas[run] += 1);
        if self.surplus == Surplus::Redistribute {
            quotas.iter_mut().zip(sizes).for_each(|(q, &size)| *q = (*q).min(size));
            let mut missing = budget.saturating_sub(quotas.iter().sum());
            while missing > 0 {
                for &run in ranked.iter().filter(|&&run| sizes[run] > 0) {
                    if missing > 0 && quotas[run] < sizes[run] {
                        quotas[run] += 1;
                        missing -= 1;
                    }
                }
            }
        }
        quotas
    }
}

/// `runs` stretches of `0..n`; the first `n mod runs` are one longer.
fn split(n: usize, runs: usize) -> Vec<std::ops::Range<usize>> {
    let (size, longer) = (n / runs, n % runs);
    let mut start = 0;
    (0..runs)
        .map(|run| {
            let end = start + size + usize::from(run < longer);
            let range = start..end;
            start = end;
            range
        })
        .collect()
}

/// `mean(A + 0.09 λ var)` with `A = 1000 a`, `λ = mean|A| / (mean|var| + eps)`.
fn run_score(features: &Rows<'_>, attention: &[f64], run: std::ops::Range<usize>) -> Result<f64> {
    let n = run.len();
    let attention = &attention[run.clone()];
    let mean_attention = attention.iter().sum::<f64>() / n.max(1) as f64;
    if n <= 1 {
        return Ok(mean_attention);
    }
    let mean_variance = similarity_variance(features, run)?;
    let scaled = ATTENTION_SCALE * mean_attention;
    let lambda = scaled / (mean_variance + EPS);
    Ok(scaled + VARIANCE_WEIGHT * lambda * mean_variance)
}

/// The mean over the run of each token's variance of similarities, zero diagonal included.
fn similarity_variance(features: &Rows<'_>, run: std::ops::Range<usize>) -> Result<f64> {
    let n = run.len();
    let mut copy = vec![0.0; n * features.cols()];
    for (row, token) in copy.chunks_exact_mut(features.cols()).zip(run) {
        features.copy_row(token, row);
    }
    let gram = Gram::pack(&Rows::all(Matrix::from_f32(&copy, n, features.cols())?));
    let damping: Vec<f64> = gram.norms().iter().map(|length| length / (length + EPS)).collect();
    let cosines = gram.cosines();
    let spread = 1.0 / (n - 1) as f64;
    let variance = |i: usize| {
        let similarity = |j: usize| {
            if i == j { 0.0 } else { f64::from(cosines[i * n + j]) * damping[i] * damping[j] }
        };
        let mean = (0..n).map(similarity).sum::<f64>() * spread;
        (0..n).map(|j| (similarity(j) - mean).powi(2)).sum::<f64>() * spread
    };
    Ok((0..n).map(variance).sum::<f64>() / n as f64)
}
