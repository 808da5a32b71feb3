//! MiCo: greedy maximization of weighted coverage, before the decoder and again after block K.

use std::sync::Arc;

use super::random::STRIDE;
use super::{Method, Random};
use crate::coverage::Coverage;
use crate::covering::KernelCoverage;
use crate::error::Result;
use crate::inputs::Inputs;
use crate::kernel::Kernel;
use crate::matrix::Matrix;
use crate::proxies::{Information, Proxies, Relevance, Reliability, norms, similarity_to_mean};
use crate::pruner::accounting::check_block;
use crate::pruner::quotas::{check_budget, two_stages};
use crate::pruner::{
    Cut, FeatureSpace, Plan, PlanRequest, Pruner, Quota, Refinement, SelectionSize, Signals,
    Stage1Plan, Stage1View, Stage2View, TextAttention,
};
use crate::rank::top;
use crate::selection::Selection;
use crate::selector::{Context, Options, Selector, select};
use crate::settings::Settings;
use crate::signal::{Signal, SignalSet};
use crate::tokens::Tokens;

pub(super) const METHOD: Method = Method {
    name: "mico",
    about: "weighted coverage, greedy, in two stages (MiCo)",
    selector: Some(|settings| Ok(Box::new(Mico::from_settings(settings)?))),
    pruner: Some(|settings| Ok(Arc::new(MicoPruner::from_settings(settings)?))),
};

/// How the coverage of a token by the kept ones is measured; all but the first are ablations.
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

/// MiCo's selector: the rule of one stage, on the features and weights available there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mico {
    /// How source weights are computed from the signals.
    pub proxies: Proxies,
    /// How the coverage of dropped tokens by kept ones is measured.
    pub coverage: CoverageTerm,
}

impl Mico {
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
        let features = tokens.rows(Signal::Features)?;
        let kernel = Kernel::of(tokens, context)?;
        let weights = self.proxies.weights(tokens, &features, kernel.gram.norms())?;
        let (columns, sketch) = kernel.positive()?;
        let column_sums = |weights: &[f64]| kernel.positive_sums(weights);
        let objective = KernelCoverage {
            columns,
            state: Coverage::new(weights),
            column_sums: &column_sums,
            sketch,
            factors: None,
            side: None,
        };
        Ok(objective.select(budget, context))
    }
}

impl Selector for Mico {
    fn name(&self) -> &'static str {
        METHOD.name
    }

    fn reads(&self, present: SignalSet) -> Result<SignalSet> {
        let mut read = self.proxies.reads(present)?;
        let explicit = read.has(Signal::Weights);
        if !(explicit && self.coverage == CoverageTerm::Off) {
            present.require(self.name(), &[Signal::Features])?;
            read = read.with(Signal::Features);
        }
        Ok(read)
    }

    fn nonnegative(&self) -> SignalSet {
        SignalSet::of(&[
            Signal::Weights,
            Signal::Reliability,
            Signal::Relevance,
            Signal::TextAttention,
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
        if self.coverage == CoverageTerm::Off && tokens.has(Signal::Weights) {
            return Ok(Selection::from_order(top(&tokens.vector(Signal::Weights)?, budget)));
        }
        let features = tokens.rows(Signal::Features)?;
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

/// MiCo in both stages: Stage 1 weighs tokens by norm and reliability, Stage 2 by norm and relevance;
/// both keep the tokens that cover the weighted rest best. The factors can be replaced by those of the
/// ablations. Tokens keep their position ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MicoPruner {
    /// The factors of source weights: reliability counts in Stage 1, relevance in Stage 2.
    pub proxies: Proxies,
    /// How the coverage of dropped tokens by kept ones is measured.
    pub coverage: CoverageTerm,
    /// What a stage does when every factor and the coverage term are switched off.
    pub idle: Idle,
}

/// What a stage does when every component is switched off, as in the ablations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Idle {
    /// Keeps the first tokens, since all scores are equal.
    #[default]
    First,
    /// Draws tokens uniformly without replacement.
    Random {
        /// Seed of the random number generator.
        seed: u64,
    },
}

impl MicoPruner {
    /// Reads the settings of [`Mico`], and `idle` with its `seed`.
    pub(super) fn from_settings(settings: &mut Settings) -> Result<Self> {
        let Mico { proxies, coverage } = Mico::from_settings(settings)?;
        let random = settings.choice("idle", &[("first", false), ("random", true)])?;
        let idle = if random {
            Idle::Random { seed: settings.number("seed", 0..=u64::MAX)?.unwrap_or(0) }
        } else {
            Idle::First
        };
        Ok(Self { proxies, coverage, idle })
    }

    /// The seed of a stage with every component off; `None` if it has one, or keeps the first tokens.
    fn draw(&self, proxies: Proxies, stage: u64) -> Option<u64> {
        let Idle::Random { seed } = self.idle else { return None };
        let idle = self.coverage == CoverageTerm::Off
            && proxies.information == Information::One
            && proxies.reliability == Reliability::One
            && proxies.relevance == Relevance::One;
        idle.then(|| seed ^ stage.wrapping_mul(STRIDE))
    }

    pub(super) fn stage1_signals(&self) -> Signals {
        let features = Signals::of(FeatureSpace::Tower, &[Signal::Features]);
        match self.proxies.reliability {
            Reliability::IfGiven | Reliability::Attention => features.with(Signal::Reliability),
            Reliability::GlobalSimilarity | Reliability::One => features,
        }
    }

    fn stage2_signals(&self, request: &PlanRequest<'_>) -> Signals {
        let features = Signals::of(FeatureSpace::Residual, &[Signal::Features]);
        match self.proxies.relevance {
            Relevance::IfGiven | Relevance::Attention => {
                features.with_attention(TextAttention::Mean(request.context.normalization))
            }
            Relevance::LastToken => features.with_attention(TextAttention::LastToken),
            Relevance::TextSimilarity | Relevance::InverseTextSimilarity => {
                features.with(Signal::Text)
            }
            Relevance::One => features,
        }
    }

    /// The selector of one stage, in which the other stage's factor is 1.
    fn selector(&self, proxies: Proxies) -> Mico {
        Mico { proxies, coverage: self.coverage }
    }
}

impl Pruner for MicoPruner {
    fn name(&self) -> &'static str {
        METHOD.name
    }

    fn refinement(&self) -> Refinement {
        Refinement::Model
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        check_budget(request.budget)?;
        let (mut quotas, mut keep) = (Vec::new(), 0);
        for layout in request.images() {
            if let Some(schedule) = two_stages(request, layout)? {
                quotas.push(Quota::Groups(schedule.pool));
                keep += schedule.keep;
            } else {
                quotas.push(Quota::Everything);
                keep += layout.len();
            }
        }
        let block = request.context.policy.refine_layer;
        check_block(request.layers(), block)?;
        let cut = Cut::new(block, keep, self.stage2_signals(request));
        let stage1 = Stage1Plan::new(self.stage1_signals(), quotas, request.images());
        Ok(Plan::before_decoder(stage1).with_cuts(vec![cut]))
    }

    fn before_decoder(&self, view: &Stage1View<'_>, quota: &Quota) -> Result<Selection> {
        let proxies = Proxies { relevance: Relevance::One, ..self.proxies };
        match self.draw(proxies, view.image as u64) {
            Some(seed) => view.select(&Random, quota, seed),
            None => view.select(&self.selector(proxies), quota, 0),
        }
    }

    fn after_block(&self, view: &Stage2View<'_>, keep: usize) -> Result<Selection> {
        let proxies = Proxies { reliability: Reliability::One, ..self.proxies };
        if let Some(seed) = self.draw(proxies, u64::MAX) {
            return view.select(&Random, keep, seed);
        }
        let selector = self.selector(proxies);
        if self.proxies.relevance != Relevance::LastToken {
            return view.select(&selector, keep, 0);
        }
        // The single attention row was observed as a value per token.
        let row = view.observed.vector(Signal::Relevance)?;
        let mut inputs =
            Inputs::new().with(Signal::TextAttention, Matrix::from_f32(&row, 1, row.len())?);
        if let Some(features) = view.observed.inputs().get(Signal::Features) {
            inputs = inputs.with(Signal::Features, features);
        }
        select(&selector, &inputs, keep, &Options::default())
    }

    fn stage1_flops(&self, size: &SelectionSize) -> f64 {
        size.similarities() + size.greedy()
    }

    fn cut_flops(&self, size: &SelectionSize) -> f64 {
        size.similarities() + size.greedy()
    }
}
