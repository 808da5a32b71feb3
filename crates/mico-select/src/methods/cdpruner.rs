//! CDPruner: a determinantal point process conditioned on the question.

use std::sync::Arc;

use super::Method;
use crate::error::Result;
use crate::inputs::Inputs;
use crate::kernel::Kernel;
use crate::matrix::{Dense, Rows, dot, norm};
use crate::progress::Done;
use crate::pruner::{Plan, PlanRequest, Pruner, refused};
use crate::rank::best;
use crate::selection::Selection;
use crate::selector::{Context, Selector};
use crate::signal::{Signal, SignalSet};
use crate::tokens::Tokens;

pub(super) const METHOD: Method = Method {
    name: "cdpruner",
    about: "determinantal point process conditioned on the question; refused inside models",
    selector: Some(|_| Ok(Box::new(CdPruner))),
    pruner: Some(|_| Ok(Arc::new(CdPrunerRefusal))),
};

/// The authors' offset, which keeps the lowest relevance above 0.
const MIN_RELEVANCE: f64 = 1e-6;
/// Below this a residual is rounding error: the token lies in the span of those selected.
const MIN_RESIDUAL: f64 = 1e-12;

/// CDPruner's rule: greedy maximum a posteriori of the process with kernel
/// `r_i cos(x_i, x_j) r_j`, by incremental Cholesky. The relevance `r` is the mean negated CLIP
/// cosine with the text segments, stretched to `[0,1]` over all groups together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CdPruner;

impl Selector for CdPruner {
    fn name(&self) -> &'static str {
        METHOD.name
    }

    fn reads(&self, present: SignalSet) -> Result<SignalSet> {
        let needs = [Signal::Features, Signal::ClipImage, Signal::ClipText];
        present.require(self.name(), &needs)?;
        Ok(SignalSet::of(&needs))
    }

    fn prepare(&self, inputs: &Inputs<'_>, n: usize) -> Result<Option<Vec<f64>>> {
        let tokens = Tokens::all(inputs, n, None);
        let image = tokens.rows(Signal::ClipImage)?;
        let text = tokens.rows(Signal::ClipText)?.to_dense();
        Ok(Some(relevance(&image, &text)))
    }

    fn select(
        &self,
        tokens: &Tokens<'_>,
        budget: usize,
        context: &Context<'_>,
    ) -> Result<Selection> {
        let relevance = tokens.shared().unwrap_or_default();
        let n = tokens.len();
        let factors = budget.saturating_mul(n).saturating_mul(size_of::<f64>());
        let kernel = Kernel::beside(tokens, context, factors)?;
        let mut columns = kernel.cosines()?;
        let norms = kernel.gram.norms().iter().zip(&relevance);
        let mut residual: Vec<f64> =
            norms.map(|(&norm, r)| if norm > 0.0 { r.powi(2) } else { 0.0 }).collect();
        let mut taken = vec![false; n];
        let mut rows: Vec<f64> = Vec::with_capacity(budget * n);
        let mut order = Vec::with_capacity(budget);
        let mut log_determinant = 0.0;
        while order.len() < budget {
            let Some(pick) = best((0..n).filter(|&i| !taken[i]), |i| residual[i]) else { break };
            log_determinant += residual[pick].max(0.0).ln();
            taken[pick] = true;
            order.push(pick);
            context.progress.report(Done::Picked(1));
            let scale = residual[pick];
            let mut row: Vec<f64> = vec![0.0; n];
            if scale > MIN_RESIDUAL {
                let column = columns.get(pick);
                for (i, e) in row.iter_mut().enumerate() {
                    *e = relevance[pick] * f64::from(column[i]) * relevance[i];
                }
                for earlier in rows.chunks_exact(n) {
                    let factor = earlier[pick];
                    row.iter_mut().zip(earlier).for_each(|(e, c)| *e -= factor * c);
                }
                let root = scale.sqrt();
                for (e, d) in row.iter_mut().zip(&mut residual) {
                    *e /= root;
                    *d -= *e * *e;
                }
            }
            rows.extend(row);
        }
        let mut selection = Selection::from_order(order);
        selection.objective = Some(log_determinant).filter(|value| value.is_finite());
        selection.seconds.kernel = columns.spent().as_secs_f64();
        Ok(selection)
    }
}

/// `(x − min + 1e-6) / (max − min)` of the mean negated cosine; 1 where all are equal.
fn relevance(image: &Rows<'_>, text: &Dense) -> Vec<f64> {
    let lengths: Vec<f64> = (0..text.rows()).map(|t| norm(text.row(t))).collect();
    let mut row = vec![0.0; image.cols()];
    let raw: Vec<f64> = (0..image.len())
        .map(|i| {
            image.copy_row(i, &mut row);
            let length = norm(&row);
            let cosine = |t: usize| {
                let scale = length * lengths[t];
                if scale > 0.0 { dot(&row, text.row(t)) / scale } else { 0.0 }
            };
            -(0..text.rows()).map(cosine).sum::<f64>() / text.rows() as f64
        })
        .collect();
    let min = raw.iter().copied().fold(f64::INFINITY, f64::min);
    let max = raw.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if max > min {
        raw.iter().map(|x| (x - min + MIN_RELEVANCE) / (max - min)).collect()
    } else {
        vec![1.0; raw.len()]
    }
}

/// The pruner, which only refuses: the rule needs CLIP's joint image-text space, that is, the
/// projection of patches into it and the text tower. Checkpoints of multimodal models contain neither,
/// so the method runs only as a selector on given tensors.
#[derive(Debug)]
struct CdPrunerRefusal;

impl Pruner for CdPrunerRefusal {
    fn name(&self) -> &'static str {
        METHOD.name
    }

    fn plan(&self, _: &PlanRequest<'_>) -> Result<Plan> {
        let reason = "it reads CLIP's projections of patches and text, and no checkpoint of these \
                      models has CLIP's text tower; `mico select --method cdpruner` takes them as \
                      tensors clip_image and clip_text";
        Err(refused(self.name(), reason))
    }
}
