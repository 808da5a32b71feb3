//! MMTok: coverage of the question's words and of the image by one set of tokens, before the decoder.

use std::ops::RangeInclusive;
use std::sync::Arc;

use rayon::prelude::*;

use super::Method;
use crate::coverage::Coverage;
use crate::covering::{KernelCoverage, Side};
use crate::error::Result;
use crate::kernel::Kernel;
use crate::matrix::{Dense, Rows, dot, norm};
use crate::pruner::quotas::{check_budget, single_stage};
use crate::pruner::{
    FeatureSpace, ModelTraits, Plan, PlanRequest, PositionRule, Pruner, Quota, SelectionSize,
    Signals, Stage1Plan, Stage1View,
};
use crate::selection::Selection;
use crate::selector::{Context, Selector};
use crate::signal::{Signal, SignalSet};
use crate::tokens::Tokens;

pub(super) const METHOD: Method = Method {
    name: "mmtok",
    about: "coverage of the question and the image, before the decoder (MMTok)",
    selector: Some(|settings| {
        let default = MmTok::default();
        Ok(Box::new(MmTok {
            alpha: settings.float("alpha", default.alpha, ALPHAS)?,
            tau_t: settings.float("tau_t", default.tau_t, TEMPERATURES)?,
            tau_v: settings.float("tau_v", default.tau_v, TEMPERATURES)?,
        }))
    }),
    pruner: Some(|settings| {
        let default = MmTok::default();
        Ok(Arc::new(MmTokPruner {
            alpha: settings.float("alpha", default.alpha, ALPHAS)?,
            tau_t: settings.number("tau_t", TEMPERATURES)?,
            tau_v: settings.float("tau_v", default.tau_v, TEMPERATURES)?,
        }))
    }),
};

/// Accepted weights of the image rows.
const ALPHAS: RangeInclusive<f64> = 0.0..=1e6;
/// Accepted temperatures: lower ones would overflow `exp(1/tau)`.
const TEMPERATURES: RangeInclusive<f64> = 0.002..=1e6;
/// The authors' temperature of the text rows for images of native resolution.
const NATIVE_TAU_T: f64 = 0.01;
/// The authors' lower bound of vector norms in a cosine.
const MIN_NORM: f64 = 1e-8;

/// MMTok's rule: greedy maximum coverage of the rows of
/// `[softmax(cos(t,v)/tau_t)/m ; alpha softmax(cos(c,c)/tau_v)/N]`.
///
/// Tokens that are `excluded` (the padding of an image) are covered like others but come last.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MmTok {
    /// Weight of the image rows against the text rows.
    pub alpha: f64,
    /// Softmax temperature of the text rows.
    pub tau_t: f64,
    /// Softmax temperature of the image rows.
    pub tau_v: f64,
}

impl Default for MmTok {
    fn default() -> Self {
        Self { alpha: 0.5, tau_t: 0.02, tau_v: 0.2 }
    }
}

impl Selector for MmTok {
    fn name(&self) -> &'static str {
        METHOD.name
    }

    fn reads(&self, present: SignalSet) -> Result<SignalSet> {
        let needs = [Signal::Features, Signal::Projected, Signal::Text];
        present.require(self.name(), &needs)?;
        let read = SignalSet::of(&needs);
        Ok(if present.has(Signal::Excluded) { read.with(Signal::Excluded) } else { read })
    }

    fn select(
        &self,
        tokens: &Tokens<'_>,
        budget: usize,
        context: &Context<'_>,
    ) -> Result<Selection> {
        let kernel = Kernel::of(tokens, context)?;
        let gram = &kernel.gram;
        let n = tokens.len();
        let exponential = |cosine: f32| (f64::from(cosine) / self.tau_v).exp();
        let totals = gram.weighted_sums(&vec![1.0; n], exponential);
        let scales: Vec<f64> = totals.iter().map(|z| self.alpha / (n as f64 * z)).collect();
        let softmax = |_: usize, column: &mut [f32]| {
            for (k, scale) in column.iter_mut().zip(&scales) {
                *k = (exponential(*k) * scale) as f32;
            }
        };
        let column_sums = |_: &[f64]| gram.weighted_sums(&scales, exponential);
        let text = self.text_rows(&tokens.rows(Signal::Projected)?, &tokens.rows(Signal::Text)?);
        let excluded = tokens.has(Signal::Excluded).then(|| tokens.vector(Signal::Excluded));
        let factors = excluded.transpose()?.map(|excluded| candidates(&excluded));
        let objective = KernelCoverage {
            columns: kernel.mapped(&softmax)?,
            state: Coverage::new(vec![1.0; n]),
            column_sums: &column_sums,
            sketch: None,
            factors,
            side: Some(Side::new(text)),
        };
        Ok(objective.select(budget, context))
    }
}

/// The factor of each candidate's gain: 0 for excluded tokens, else 1.
fn candidates(excluded: &[f64]) -> Vec<f64> {
    excluded.iter().map(|&value| if value > 0.0 { 0.0 } else { 1.0 }).collect()
}

impl MmTok {
    /// `softmax_v(cos(t,v)/tau_t)/m`, one row per visual token.
    fn text_rows(&self, visual: &Rows<'_>, text: &Rows<'_>) -> Dense {
        let (n, m) = (visual.len(), text.len());
        let (visual, text) = (visual.to_dense(), text.to_dense());
        let lengths = |rows: &Dense| -> Vec<f64> {
            let length = |i: usize| norm(rows.row(i)).max(MIN_NORM);
            (0..rows.rows()).into_par_iter().map(length).collect()
        };
        let (visual_norms, text_norms) = (lengths(&visual), lengths(&text));
        let score = |(v, t): (usize, usize)| {
            let scale = text_norms[t] * visual_norms[v] * self.tau_t;
            (dot(text.row(t), visual.row(v)) / scale).exp()
        };
        let rows = (0..n).into_par_iter();
        let scores: Vec<Vec<f64>> = rows.map(|v| (0..m).map(|t| score((v, t))).collect()).collect();
        let mut out = Dense::zeros(n, m);
        for t in 0..m {
            let total = scores.iter().map(|row| row[t]).sum::<f64>() * m as f64;
            scores.iter().enumerate().for_each(|(v, row)| {
                out.row_mut(v)[t] = (row[t] / total) as f32;
            });
        }
        out
    }
}

/// MMTok before a decoder, crop by crop. Tokens of a padded image that show padding alone are chosen
/// last.
#[derive(Debug)]
struct MmTokPruner {
    alpha: f64,
    tau_t: Option<f64>,
    tau_v: f64,
}

impl MmTokPruner {
    fn rule(&self, model: &ModelTraits) -> MmTok {
        let usual = if model.native_resolution { NATIVE_TAU_T } else { MmTok::default().tau_t };
        let Self { alpha, tau_t, tau_v } = *self;
        MmTok { alpha, tau_t: tau_t.unwrap_or(usual), tau_v }
    }
}

impl Pruner for MmTokPruner {
    fn name(&self) -> &'static str {
        METHOD.name
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        check_budget(request.budget)?;
        let names = [Signal::Features, Signal::Projected, Signal::Text];
        let mut signals = Signals::of(FeatureSpace::Tower, &names);
        if request.model().pads_to_square {
            signals = signals.with(Signal::Excluded);
        }
        let stage1 = Stage1Plan::new(signals, single_stage(request)?, request.images());
        let positions = request.renumbered(PositionRule::Compact);
        Ok(Plan::before_decoder(stage1).with_positions(positions))
    }

    fn before_decoder(&self, view: &Stage1View<'_>, quota: &Quota) -> Result<Selection> {
        view.select(&self.rule(view.model), quota, 0)
    }

    fn stage1_flops(&self, size: &SelectionSize) -> f64 {
        let words = 2.0 * size.text * size.tokens * size.projected;
        let greedy = 3.0 * size.tokens * (size.tokens + size.text) * size.kept;
        size.similarities() + words + greedy
    }
}
