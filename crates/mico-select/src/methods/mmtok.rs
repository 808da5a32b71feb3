//! MMTok: coverage of the question's words and of the image by one set of tokens.

use rayon::prelude::*;

use super::kernel_budget;
use crate::coverage::Coverage;
use crate::covering::{KernelCoverage, Side};
use crate::error::Result;
use crate::gram::{Columns, Gram};
use crate::inputs::{Tensor, TensorSet};
use crate::matrix::{Dense, Rows, dot, norm};
use crate::selection::Selection;
use crate::selector::{Context, Selector};
use crate::settings::Settings;
use crate::tokens::Tokens;

/// Temperatures below this would overflow `exp(1/tau)`.
const MIN_TAU: f64 = 0.002;
/// The authors' guard of vector lengths.
const MIN_NORM: f64 = 1e-8;

/// MMTok's rule: greedy maximum coverage of the rows of
/// `[softmax(cos(t,v)/tau_t)/m ; alpha softmax(cos(c,c)/tau_v)/N]`.
///
/// Tokens that are `excluded` (the padding of an image) are covered like others but come last.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MmTok {
    /// Weight of the image rows.
    pub alpha: f64,
    /// Temperature of the text rows.
    pub tau_t: f64,
    /// Temperature of the image rows.
    pub tau_v: f64,
}

impl Default for MmTok {
    fn default() -> Self {
        Self { alpha: 0.5, tau_t: 0.02, tau_v: 0.2 }
    }
}

impl MmTok {
    /// Temperatures that can be used.
    pub const TEMPERATURES: std::ops::RangeInclusive<f64> = MIN_TAU..=1e6;

    pub(super) fn build(settings: &mut Settings) -> Result<Box<dyn Selector>> {
        let default = Self::default();
        Ok(Box::new(Self {
            alpha: settings.float("alpha", default.alpha, 0.0..=1e6)?,
            tau_t: settings.float("tau_t", default.tau_t, Self::TEMPERATURES)?,
            tau_v: settings.float("tau_v", default.tau_v, Self::TEMPERATURES)?,
        }))
    }
}

impl Selector for MmTok {
    fn name(&self) -> &'static str {
        "mmtok"
    }

    fn reads(&self, present: TensorSet) -> Result<TensorSet> {
        let needs = [Tensor::Features, Tensor::Projected, Tensor::Text];
        present.require(self.name(), &needs)?;
        let read = TensorSet::of(&needs);
        Ok(if present.has(Tensor::Excluded) { read.with(Tensor::Excluded) } else { read })
    }

    fn select(
        &self,
        tokens: &Tokens<'_>,
        budget: usize,
        context: &Context<'_>,
    ) -> Result<Selection> {
        let features = tokens.rows(Tensor::Features)?;
        let memory = kernel_budget(&features, context.memory)?;
        let gram = Gram::pack(&features);
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
        let text = self.text_rows(&tokens.rows(Tensor::Projected)?, &tokens.rows(Tensor::Text)?);
        let excluded = tokens.has(Tensor::Excluded).then(|| tokens.vector(Tensor::Excluded));
        let factors = excluded.transpose()?.map(|excluded| candidates(&excluded));
        let objective = KernelCoverage {
            columns: Columns::new(&gram, &softmax, memory, &context.progress)?,
            state: Coverage::new(vec![1.0; n]),
            column_sums: &column_sums,
            sketch: None,
            factors,
            side: Some(Side::new(text)),
        };
        Ok(objective.select(budget, context))
    }
}

/// 1 for tokens that may be chosen, 0 for others.
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
