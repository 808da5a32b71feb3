//! SCOPE: coverage gain times the candidate's own attention.

use super::{kernel_budget, positive_kernel, positive_sums};
use crate::coverage::Coverage;
use crate::covering::KernelCoverage;
use crate::error::Result;
use crate::gram::Gram;
use crate::inputs::{Tensor, TensorSet};
use crate::selection::Selection;
use crate::selector::{Context, Selector};
use crate::settings::Settings;
use crate::tokens::Tokens;

/// SCOPE's rule: `a_j^alpha Σ_v [cos(v,j) − M_v]₊`. Unlike MiCo it weighs the candidate, not the
/// token that is covered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scope {
    /// Exponent of the attention.
    pub alpha: f64,
}

impl Default for Scope {
    fn default() -> Self {
        Self { alpha: 1.0 }
    }
}

impl Scope {
    pub(super) fn build(settings: &mut Settings) -> Result<Box<dyn Selector>> {
        Ok(Box::new(Self { alpha: settings.float("alpha", 1.0, 0.0..=100.0)? }))
    }
}

impl Selector for Scope {
    fn name(&self) -> &'static str {
        "scope"
    }

    fn reads(&self, present: TensorSet) -> Result<TensorSet> {
        let needs = [Tensor::Features, Tensor::Reliability];
        present.require(self.name(), &needs)?;
        Ok(TensorSet::of(&needs))
    }

    fn nonnegative(&self) -> TensorSet {
        TensorSet::of(&[Tensor::Reliability])
    }

    fn select(
        &self,
        tokens: &Tokens<'_>,
        budget: usize,
        context: &Context<'_>,
    ) -> Result<Selection> {
        let features = tokens.rows(Tensor::Features)?;
        let memory = kernel_budget(&features, context.memory)?;
        let attention = tokens.vector(Tensor::Reliability)?;
        let gram = Gram::pack(&features);
        let (columns, sketch) = positive_kernel(&gram, memory, &context.progress)?;
        let column_sums = |weights: &[f64]| positive_sums(&gram, weights);
        let objective = KernelCoverage {
            columns,
            state: Coverage::new(vec![1.0; tokens.len()]),
            column_sums: &column_sums,
            sketch,
            factors: Some(attention.into_iter().map(|a| a.powf(self.alpha)).collect()),
            side: None,
        };
        Ok(objective.select(budget, context))
    }
}
