//! SCOPE: coverage gain times the candidate's own attention.

use super::Method;
use crate::coverage::Coverage;
use crate::covering::KernelCoverage;
use crate::error::Result;
use crate::kernel::Kernel;
use crate::pruner::quotas::Competition;
use crate::pruner::single_stage::SingleStage;
use crate::pruner::{FeatureSpace, SelectionSize, Signals};
use crate::selection::Selection;
use crate::selector::{Context, Selector};
use crate::settings::Settings;
use crate::signal::{Signal, SignalSet};
use crate::tokens::Tokens;

pub(super) const METHOD: Method = Method {
    name: "scope",
    about: "coverage gain times attention, before the decoder (SCOPE)",
    selector: Some(|settings| Ok(Box::new(Scope::from_settings(settings)?))),
    pruner: Some(|settings| {
        let selector = Box::new(Scope::from_settings(settings)?);
        let signals = Signals::of(FeatureSpace::Tower, &[Signal::Features, Signal::Reliability]);
        let competition = Competition::Group;
        let flops = |size: &SelectionSize| size.similarities() + size.greedy();
        Ok(SingleStage { selector, signals, competition, flops }.shared())
    }),
};

/// SCOPE's rule: `a_j^alpha Σ_v [cos(v,j) − M_v]₊`. Unlike MiCo it weighs the candidate, not the
/// token that is covered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scope {
    /// Exponent of the candidate's attention; 0 ignores it.
    pub alpha: f64,
}

impl Default for Scope {
    fn default() -> Self {
        Self { alpha: 1.0 }
    }
}

impl Scope {
    fn from_settings(settings: &mut Settings) -> Result<Self> {
        Ok(Self { alpha: settings.float("alpha", Self::default().alpha, 0.0..=100.0)? })
    }
}

impl Selector for Scope {
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

    fn select(
        &self,
        tokens: &Tokens<'_>,
        budget: usize,
        context: &Context<'_>,
    ) -> Result<Selection> {
        let attention = tokens.vector(Signal::Reliability)?;
        let kernel = Kernel::of(tokens, context)?;
        let (columns, sketch) = kernel.positive()?;
        let column_sums = |weights: &[f64]| kernel.positive_sums(weights);
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
