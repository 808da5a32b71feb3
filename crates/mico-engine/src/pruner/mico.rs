//! MiCo: weighted coverage before the decoder, and again after block K.

use std::sync::Arc;

use mico_select::methods::{self, CoverageTerm};
use mico_select::proxies::{Information, Proxies, Relevance, Reliability};
use mico_select::{Inputs, Matrix, Options, Selection, Settings, Tensor, select};

use super::groups::{check_budget, select_groups, two_stages};
use super::{
    Cut, HiddenSpace, Plan, PlanRequest, Pruner, Refinement, Share, Stage1Plan, Stage1Signals,
    Stage1View, Stage2Signals, Stage2View, TextAttention,
};
use crate::error::Result;
use crate::flops::SelectionSize;

/// Sets the draws of images and stages apart.
const STRIDE: u64 = 0x9E37_79B9_7F4A_7C15;

/// Stage 1 weighs tokens by norm and reliability, Stage 2 by norm and relevance; both keep the tokens
/// that cover the weighted rest best. The factors can be exchanged for those of the ablations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mico {
    /// The weights' factors: reliability counts in Stage 1, relevance in Stage 2.
    pub proxies: Proxies,
    /// How kept tokens speak for dropped ones.
    pub coverage: CoverageTerm,
    /// What a stage does whose tokens are all worth the same and stand for nobody else.
    pub idle: Idle,
}

/// What a stage without any component does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Idle {
    /// Keeps the first tokens, as equal scores do.
    #[default]
    First,
    /// Draws tokens without replacement.
    Random {
        /// Where the draw begins.
        seed: u64,
    },
}

impl Mico {
    pub(super) fn build(settings: &mut Settings) -> Result<Arc<dyn Pruner>> {
        Ok(Arc::new(Self::read(settings)?))
    }

    /// Reads `information`, `reliability`, `relevance`, `coverage` and `idle` with its `seed`.
    pub(super) fn read(settings: &mut Settings) -> Result<Self> {
        let methods::Mico { proxies, coverage } = methods::Mico::from_settings(settings)?;
        let random = settings.choice("idle", &[("first", false), ("random", true)])?;
        let idle = if random {
            Idle::Random { seed: settings.number("seed", 0..=u64::MAX)?.unwrap_or(0) }
        } else {
            Idle::First
        };
        Ok(Self { proxies, coverage, idle })
    }

    /// The draw of a stage that has nothing to choose by; `None` if it has, or keeps the first.
    fn draw(&self, proxies: Proxies, stage: u64) -> Option<u64> {
        let Idle::Random { seed } = self.idle else { return None };
        let idle = self.coverage == CoverageTerm::Off
            && proxies.information == Information::One
            && proxies.reliability == Reliability::One
            && proxies.relevance == Relevance::One;
        idle.then(|| seed ^ stage.wrapping_mul(STRIDE))
    }

    pub(super) fn stage1_signals(&self) -> Stage1Signals {
        match self.proxies.reliability {
            Reliability::IfGiven | Reliability::Attention => {
                Stage1Signals::tower(&[Tensor::Features, Tensor::Reliability])
            }
            _ => Stage1Signals::tower(&[Tensor::Features]),
        }
    }

    fn stage2_signals(&self, request: &PlanRequest<'_>) -> Stage2Signals {
        let (attention, text) = match self.proxies.relevance {
            Relevance::IfGiven | Relevance::Attention => {
                (Some(TextAttention::Mean(request.relevance)), false)
            }
            Relevance::LastToken => (Some(TextAttention::LastToken), false),
            Relevance::TextSimilarity | Relevance::InverseTextSimilarity => (None, true),
            Relevance::One => (None, false),
        };
        Stage2Signals { features: Some(HiddenSpace::Residual), attention, text, keys: false }
    }

    /// The selector of one stage: the other stage's factor is 1.
    fn selector(&self, proxies: Proxies) -> methods::Mico {
        methods::Mico { proxies, coverage: self.coverage }
    }
}

impl Pruner for Mico {
    fn name(&self) -> &'static str {
        "mico"
    }

    fn refinement(&self) -> Refinement {
        Refinement::Model
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        check_budget(request.budget)?;
        let (mut shares, mut keep) = (Vec::new(), 0);
        for layout in request.images {
            if let Some(schedule) = two_stages(request, layout)? {
                shares.push(Share::Groups(schedule.pool));
                keep += schedule.keep;
            } else {
                shares.push(Share::Everything);
                keep += layout.len();
            }
        }
        let cut = Cut::new(request.policy.refine_layer, keep, self.stage2_signals(request));
        let stage1 = Some(Stage1Plan::new(self.stage1_signals(), shares));
        Ok(Plan { stage1, cuts: vec![cut], ..Plan::default() })
    }

    fn before_decoder(&self, view: &Stage1View<'_>, share: &Share) -> Result<Selection> {
        let proxies = Proxies { relevance: Relevance::One, ..self.proxies };
        if let Some(seed) = self.draw(proxies, view.image as u64) {
            return select_groups(&methods::Random, view, share, seed);
        }
        select_groups(&self.selector(proxies), view, share, 0)
    }

    fn after_block(&self, view: &Stage2View<'_>, keep: usize) -> Result<Selection> {
        let proxies = Proxies { reliability: Reliability::One, ..self.proxies };
        let selector = self.selector(proxies);
        let options = Options::default();
        if let Some(seed) = self.draw(proxies, u64::MAX) {
            let options = Options { seed, ..options };
            return Ok(select(&methods::Random, &view.inputs()?, keep, &options)?);
        }
        if self.proxies.relevance == Relevance::LastToken {
            let row = view.attention()?;
            let inputs = Inputs::new()
                .with(Tensor::Features, view.features()?.matrix()?)
                .with(Tensor::TextAttention, Matrix::from_f32(row, 1, row.len())?);
            return Ok(select(&selector, &inputs, keep, &options)?);
        }
        Ok(select(&selector, &view.inputs()?, keep, &options)?)
    }

    fn stage1_flops(&self, size: &SelectionSize) -> f64 {
        size.similarities() + size.greedy()
    }

    fn cut_flops(&self, size: &SelectionSize) -> f64 {
        size.similarities() + size.greedy()
    }
}
