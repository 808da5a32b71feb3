//! Pruners: what they ask to observe, what they decide, and the registry that finds them by name.
//!
//! A pruner first states a [`Plan`]: how many tokens stay where, and the signals it needs there. The
//! engine computes those signals and no others, shows them to the pruner, and carries its choice out.
//! A pruner is one file and one line of [`PRUNERS`].

mod accounting;
mod apet;
mod cdpruner;
mod dart;
mod fastv;
mod groups;
mod holov;
mod mico;
mod mico_s1;
mod mmtok;
mod none;
mod plan;
mod published;
mod pyramiddrop;
mod random;
mod registry;
mod signals;
mod sparsevlm;
mod view;
mod visionzip;
mod vscan;

pub use apet::Apet;
pub use cdpruner::CdPruner;
pub use dart::Dart;
pub use fastv::FastV;
pub use holov::HoloV;
pub use mico::{Idle, Mico};
pub use mico_s1::MicoS1;
pub use mmtok::MmTok;
pub use none::NoPruning;
pub use plan::{Count, Cut, Plan, PlanRequest, PositionRule, Share, Stage1Plan};
pub use published::Published;
pub use pyramiddrop::PyramidDrop;
pub use random::Random;
pub use registry::{MethodSpec, PRUNERS, Registered, by_name, names};
pub use signals::{FeatureSpace, HiddenSpace, Stage1Signals, Stage2Signals, TextAttention};
pub use sparsevlm::SparseVlm;
pub use view::{Features, Stage1View, Stage2View};
pub use visionzip::VisionZip;
pub use vscan::VScan;

use std::fmt::Debug;
use std::sync::Arc;

use mico_model::config::MixerKind;
use mico_model::{Family, ModelConfig};
use mico_select::Selection;
use mico_select::schedule::{Budget, DEFAULT_POOL, Policy};
use mico_vision::layout::VisualLayout;

use crate::error::{Error, Result};
use crate::flops::SelectionSize;
use crate::schedule::ModelSchedule;
use crate::switches::Switches;

/// A rule that drops visual tokens before and inside the decoder.
pub trait Pruner: Send + Sync + Debug {
    /// The name on the command line.
    fn name(&self) -> &'static str;

    /// Whether it ever drops a token. One that does not runs on the model's native packing.
    fn prunes(&self) -> bool {
        true
    }

    /// Whether, and whose, block tokens go after.
    fn refinement(&self) -> Refinement {
        Refinement::None
    }

    /// How many tokens stay where, and what the pruner must see to choose them. An error if the
    /// method is not defined for the model, or cannot meet the budget.
    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan>;

    /// How many tokens of an image its choice before the decoder leaves.
    fn leaves(&self, layout: &VisualLayout, share: &Share, family: Family) -> Result<Count> {
        let _ = family;
        Ok(Count::Exactly(share.asked(layout.len())))
    }

    /// Chooses among one image's visual tokens before the decoder runs: as many of each group as the
    /// plan says. Indices are positions in the image's unpruned sequence.
    fn before_decoder(&self, view: &Stage1View<'_>, share: &Share) -> Result<Selection> {
        let _ = (view, share);
        Err(broken(self.name(), "plans a selection before the decoder and makes none"))
    }

    /// Chooses `ask` of the visual tokens that are left after a block. Indices are places among those.
    fn after_block(&self, view: &Stage2View<'_>, ask: usize) -> Result<Selection> {
        let _ = (view, ask);
        Err(broken(self.name(), "plans a selection inside the decoder and makes none"))
    }

    /// FLOPs of the choice among one group of tokens before the decoder, counted dense: what the
    /// rule's definition multiplies and compares, whatever an implementation saves.
    fn stage1_flops(&self, size: &SelectionSize) -> f64 {
        let _ = size;
        0.0
    }

    /// The same of the choice after a decoder block.
    fn cut_flops(&self, size: &SelectionSize) -> f64 {
        let _ = size;
        0.0
    }
}

/// Whether, and whose, block tokens go after inside the decoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refinement {
    /// None: everything happens before the decoder.
    None,
    /// The model's refinement block, after a pool that is a multiple of the budget.
    Model,
    /// One of the method's own, which a caller may move.
    Own,
    /// Several of the method's own.
    Several,
}

/// A pruner and how far it goes, for one request.
#[derive(Debug, Clone)]
pub struct Pruning {
    /// The rule.
    pub pruner: Arc<dyn Pruner>,
    /// Tokens per image.
    pub budget: Budget,
    /// Whether counts are the authors' own for that budget.
    pub authors: bool,
    /// Refinement block K from 1, in place of the model's or the method's own.
    pub refine_layer: Option<usize>,
    /// Stage-1 pool as a multiple of the budget.
    pub pool: usize,
}

impl Pruning {
    /// The model untouched.
    pub fn off() -> Self {
        Self::new(Arc::new(NoPruning), Budget::Share(1.0))
    }

    /// MiCo with its defaults.
    pub fn mico(budget: Budget) -> Self {
        Self::new(Arc::new(Mico::default()), budget)
    }

    /// A rule with its own block and the default pool.
    pub fn new(pruner: Arc<dyn Pruner>, budget: Budget) -> Self {
        Self { pruner, budget, authors: false, refine_layer: None, pool: DEFAULT_POOL }
    }

    /// The rule's plan for images of these layouts on a model; no weights are needed.
    pub fn plan(
        &self,
        config: &ModelConfig,
        schedule: &ModelSchedule,
        switches: &Switches,
        images: &[&VisualLayout],
    ) -> Result<Plan> {
        let refine_layer = self.refine_layer.unwrap_or(schedule.policy.refine_layer);
        let plan = self.pruner.plan(&PlanRequest {
            config,
            images,
            budget: self.budget,
            authors: self.authors,
            policy: Policy { refine_layer, ..schedule.policy },
            refine_layer: self.refine_layer,
            per_frame: schedule.per_frame,
            pool: self.pool,
            relevance: switches.relevance.unwrap_or(schedule.relevance),
        })?;
        check_attention(config, &plan)?;
        Ok(plan)
    }
}

/// Refuses to observe attention in a block that has none.
fn check_attention(config: &ModelConfig, plan: &Plan) -> Result<()> {
    let decoder = &config.decoder;
    // A block beyond the last is another error.
    let attends = |block: usize| {
        !(1..=decoder.blocks).contains(&block)
            || decoder.mixer(block - 1) == MixerKind::FullAttention
    };
    let blind = |cut: &&Cut| {
        let attention = cut.signals.attention.map(|attention| attention.observed(cut.block) + 1);
        let keys = cut.signals.keys.then_some(cut.block);
        attention.into_iter().chain(keys).any(|block| !attends(block))
    };
    let Some(cut) = plan.cuts.iter().find(blind) else { return Ok(()) };
    let others = (1..decoder.blocks).filter(|&block| attends(block));
    let others: Vec<String> = others.map(|block| block.to_string()).collect();
    let accepted = if others.is_empty() {
        "none, no block before the last has attention".to_owned()
    } else {
        format!("a block with attention: {}", others.join(", "))
    };
    Err(Error::range("refine-layer", cut.block, accepted))
}

fn broken(pruner: &'static str, message: &str) -> Error {
    Error::Pruner { pruner, message: message.into() }
}

/// A method that the model gives no ground for.
fn refused(pruner: &'static str, reason: impl Into<String>) -> Error {
    Error::Refused { pruner, reason: reason.into() }
}
