//! HoloV: quotas for runs of the token sequence, filled by attention, before the decoder.

use std::sync::Arc;

use rayon::prelude::*;

use super::Method;
use crate::error::Result;
use crate::gram::Gram;
use crate::matrix::{Matrix, Rows};
use crate::pruner::quotas::{Competition, check_budget};
use crate::pruner::{
    Count, FeatureSpace, Plan, PlanRequest, PositionRule, Pruner, Quota, SelectionSize, Signals,
    Stage1Plan, Stage1View,
};
use crate::rank::{argsort, top_of};
use crate::selection::Selection;
use crate::selector::{Context, Selector};
use crate::settings::Settings;
use crate::signal::{Signal, SignalSet};
use crate::tokens::Tokens;

pub(super) const METHOD: Method = Method {
    name: "holov",
    about: "quotas for runs of tokens, attention inside, before the decoder",
    selector: Some(|settings| {
        let runs = settings.count("runs", HoloV::default().runs, RUN_LIMITS)?;
        Ok(Box::new(HoloV { runs, surplus: Surplus::from_settings(settings)? }))
    }),
    pruner: Some(|settings| {
        let competition = Competition::from_settings(settings)?;
        let runs = settings.number("runs", RUN_LIMITS)?;
        let surplus = Surplus::from_settings(settings)?;
        Ok(Arc::new(HoloVPruner { runs, surplus, competition }))
    }),
};

/// Accepted numbers of runs.
const RUN_LIMITS: std::ops::RangeInclusive<usize> = 1..=1 << 20;
/// The authors' guard against division by zero.
const EPS: f64 = 1e-6;
/// The authors' scale of the attention and weight of the variance in a run's score.
const ATTENTION_SCALE: f64 = 1000.0;
const VARIANCE_WEIGHT: f64 = 0.09;

/// What happens to quota that a run is too short to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Surplus {
    /// It is lost: the authors pad with zero vectors, which have no position, so fewer tokens are kept.
    #[default]
    Drop,
    /// It goes to the runs with room, highest score first.
    Redistribute,
}

impl Surplus {
    /// Reads the setting `surplus`: `drop` (default) or `redistribute`.
    fn from_settings(settings: &mut Settings) -> Result<Self> {
        settings.choice("surplus", &[("drop", Self::Drop), ("redistribute", Self::Redistribute)])
    }
}

/// HoloV's rule: `runs` contiguous stretches of the raster sequence, each with a quota by its
/// mean attention and similarity variance, filled by attention. Inside a run the kept tokens stand
/// by falling attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HoloV {
    /// The number of contiguous runs the sequence is cut into.
    pub runs: usize,
    /// What happens to quota that a run is too short to use.
    pub surplus: Surplus,
}

impl Default for HoloV {
    fn default() -> Self {
        Self { runs: 16, surplus: Surplus::Drop }
    }
}

impl Selector for HoloV {
    fn name(&self) -> &'static str {
        METHOD.name
    }

    fn reads(&self, present: SignalSet) -> Result<SignalSet> {
        let needs = [Signal::Features, Signal::Reliability];
        present.require(self.name(), &needs)?;
        Ok(SignalSet::of(&needs))
    }

    fn nonnegative(&self) -> SignalSet {
        SignalSet::of(&[Signal::Reliability])
    }

    fn select(&self, tokens: &Tokens<'_>, budget: usize, _: &Context<'_>) -> Result<Selection> {
        let features = tokens.rows(Signal::Features)?;
        let attention = tokens.vector(Signal::Reliability)?;
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

/// HoloV before a decoder, on the embeddings of all crops together unless `scope` says otherwise. For
/// images of native resolution the number of runs grows with the share of tokens that go, as in the
/// authors' code for them: `max(1, 16 N / (9 B))`.
#[derive(Debug)]
struct HoloVPruner {
    runs: Option<usize>,
    surplus: Surplus,
    competition: Competition,
}

impl HoloVPruner {
    fn runs(&self, view: &Stage1View<'_>, quota: &Quota) -> usize {
        let tokens = view.layout.len();
        let rule = || {
            if view.model.native_resolution {
                (1024 * tokens / (576 * quota.asked(tokens).max(1))).max(1)
            } else {
                HoloV::default().runs
            }
        };
        self.runs.unwrap_or_else(rule)
    }

    /// The tokens left by a quota: at most what is asked for where surplus quota is dropped, since the
    /// authors' zero vectors have no position here.
    fn leaves(&self, quota: &Quota, asked: Count) -> Count {
        match (self.surplus, quota) {
            (Surplus::Redistribute, _) | (_, Quota::Everything) => asked,
            (Surplus::Drop, _) => Count::AtMost(asked.most()),
        }
    }
}

impl Pruner for HoloVPruner {
    fn name(&self) -> &'static str {
        METHOD.name
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        check_budget(request.budget)?;
        let names = [Signal::Features, Signal::Reliability];
        let signals = Signals::of(FeatureSpace::Projected, &names);
        let quotas = self.competition.quotas(request)?;
        let mut stage1 = Stage1Plan::new(signals, quotas, request.images());
        for (count, quota) in stage1.leaves.iter_mut().zip(&stage1.quotas) {
            *count = self.leaves(quota, *count);
        }
        let positions = request.renumbered(PositionRule::Compact);
        Ok(Plan::before_decoder(stage1).with_positions(positions))
    }

    fn before_decoder(&self, view: &Stage1View<'_>, quota: &Quota) -> Result<Selection> {
        let rule = HoloV { runs: self.runs(view, quota), surplus: self.surplus };
        view.select(&rule, quota, 0)
    }

    fn stage1_flops(&self, size: &SelectionSize) -> f64 {
        size.similarities() / self.runs.unwrap_or(HoloV::default().runs) as f64
    }
}
