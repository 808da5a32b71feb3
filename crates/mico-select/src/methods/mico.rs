//! MiCo: greedy maximisation of weighted coverage.

use super::{kernel_budget, positive_kernel, positive_sums};
use crate::coverage::Coverage;
use crate::covering::KernelCoverage;
use crate::error::Result;
use crate::gram::Gram;
use crate::inputs::{Tensor, TensorSet};
use crate::proxies::{Information, Proxies, Relevance, Reliability, norms, similarity_to_mean};
use crate::rank::top;
use crate::selection::Selection;
use crate::selector::{Context, Selector};
use crate::settings::Settings;
use crate::tokens::Tokens;

/// The coverage term, and its substitutes from the ablations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CoverageTerm {
    /// `max_{s∈S} [cos(x_v, x_s)]₊`: the objective proper.
    #[default]
    CosineMax,
    /// No pairwise term: the tokens with the largest `W_v [cos(x_v, mean x)]₊`.
    VisualMean,
    /// No coverage: the tokens with the largest `W_v`.
    Off,
}

/// MiCo's selector: one stage of it, on whatever features and weights that stage has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mico {
    /// How source weights are made.
    pub proxies: Proxies,
    /// How kept tokens speak for dropped ones.
    pub coverage: CoverageTerm,
}

impl Mico {
    pub(super) fn build(settings: &mut Settings) -> Result<Box<dyn Selector>> {
        Ok(Box::new(Self::from_settings(settings)?))
    }

    /// Reads the settings `information`, `reliability`, `relevance` and `coverage`.
    pub fn from_settings(settings: &mut Settings) -> Result<Self> {
        let information = settings.choice(
            "information",
            &[
                ("norm", Information::Norm),
                ("entropy", Information::Entropy),
                ("energy-entropy", Information::EnergyEntropy),
                ("one", Information::One),
            ],
        )?;
        let reliability = settings.choice(
            "reliability",
            &[
                ("auto", Reliability::IfGiven),
                ("attention", Reliability::Attention),
                ("global-similarity", Reliability::GlobalSimilarity),
                ("one", Reliability::One),
            ],
        )?;
        let relevance = settings.choice(
            "relevance",
            &[
                ("auto", Relevance::IfGiven),
                ("attention", Relevance::Attention),
                ("last-token", Relevance::LastToken),
                ("text-similarity", Relevance::TextSimilarity),
                ("inverse-text-similarity", Relevance::InverseTextSimilarity),
                ("one", Relevance::One),
            ],
        )?;
        let coverage = settings.choice(
            "coverage",
            &[
                ("cosine-max", CoverageTerm::CosineMax),
                ("visual-mean", CoverageTerm::VisualMean),
                ("off", CoverageTerm::Off),
            ],
        )?;
        let proxies = Proxies { information, reliability, relevance };
        Ok(Self { proxies, coverage })
    }

    fn cover(
        &self,
        tokens: &Tokens<'_>,
        budget: usize,
        context: &Context<'_>,
    ) -> Result<Selection> {
        let features = tokens.rows(Tensor::Features)?;
        let memory = kernel_budget(&features, context.memory)?;
        let start = std::time::Instant::now();
        let gram = Gram::pack(&features);
        let packing = start.elapsed();
        let weights = self.proxies.weights(tokens, &features, gram.norms())?;
        let (columns, sketch) = positive_kernel(&gram, memory, &context.progress)?;
        let column_sums = |weights: &[f64]| positive_sums(&gram, weights);
        let objective = KernelCoverage {
            columns,
            state: Coverage::new(weights),
            column_sums: &column_sums,
            sketch,
            factors: None,
            side: None,
        };
        let mut selection = objective.select(budget, context);
        selection.seconds.kernel += packing.as_secs_f64();
        Ok(selection)
    }
}

impl Selector for Mico {
    fn name(&self) -> &'static str {
        "mico"
    }

    fn reads(&self, present: TensorSet) -> Result<TensorSet> {
        let mut read = self.proxies.reads(present)?;
        let explicit = read.has(Tensor::Weights);
        if !(explicit && self.coverage == CoverageTerm::Off) {
            present.require(self.name(), &[Tensor::Features])?;
            read = read.with(Tensor::Features);
        }
        Ok(read)
    }

    fn nonnegative(&self) -> TensorSet {
        TensorSet::of(&[
            Tensor::Weights,
            Tensor::Reliability,
            Tensor::Relevance,
            Tensor::TextAttention,
        ])
    }

    fn select(
        &self,
        tokens: &Tokens<'_>,
        budget: usize,
        context: &Context<'_>,
    ) -> Result<Selection> {
        if self.coverage == CoverageTerm::CosineMax {
            return self.cover(tokens, budget, context);
        }
        if self.coverage == CoverageTerm::Off && tokens.has(Tensor::Weights) {
            return Ok(Selection::from_order(top(&tokens.vector(Tensor::Weights)?, budget)));
        }
        let features = tokens.rows(Tensor::Features)?;
        let mut scores = self.proxies.weights(tokens, &features, &norms(&features))?;
        if self.coverage == CoverageTerm::VisualMean {
            let similarity = similarity_to_mean(&features);
            scores.iter_mut().zip(similarity).for_each(|(s, m)| *s *= m);
        }
        Ok(Selection::from_order(top(&scores, budget)))
    }

    fn select_all(&self, tokens: &Tokens<'_>, context: &Context<'_>) -> Result<Selection> {
        self.select(tokens, tokens.len(), context)
    }
}
