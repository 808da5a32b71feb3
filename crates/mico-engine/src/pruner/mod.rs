//! Pruners: what they ask to observe, what they decide, and the registry that finds them by name.
//!
//! A pruner first states a [`Plan`]: how many tokens stay where, and the signals it needs there. The
//! engine computes those signals and no others, shows them to the pruner, and carries its choice out.
//! A pruner is one file and one line of [`PRUNERS`].

mod groups;
mod mico;
mod mico_s1;
mod none;
mod published;
mod random;
mod view;

pub use mico::Mico;
pub use mico_s1::MicoS1;
pub use none::NoPruning;
pub use published::Published;
pub use random::Random;
pub use view::{Features, Stage1View, Stage2View};

use std::fmt::Debug;
use std::sync::Arc;

use mico_model::Normalisation;
use mico_select::schedule::{Budget, DEFAULT_POOL, Policy};
use mico_select::{Selection, Settings};
use mico_vision::layout::VisualLayout;

use crate::error::{Error, Result};

/// A rule that drops visual tokens before and inside the decoder.
pub trait Pruner: Send + Sync + Debug {
    /// The name on the command line.
    fn name(&self) -> &'static str;

    /// Whether it ever drops a token. One that does not runs on the model's native packing.
    fn prunes(&self) -> bool {
        true
    }

    /// How many tokens stay where, and what the pruner must see to choose them.
    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan>;

    /// Chooses among one image's visual tokens before the decoder runs: as many of each group as the
    /// plan says. Indices are positions in the image's unpruned sequence.
    fn before_decoder(&self, view: &Stage1View<'_>, share: &Share) -> Result<Selection> {
        let _ = (view, share);
        Err(broken(self.name(), "plans a selection before the decoder and makes none"))
    }

    /// Chooses `keep` of the visual tokens that are left after a block. Indices are places among those.
    fn after_block(&self, view: &Stage2View<'_>, keep: usize) -> Result<Selection> {
        let _ = (view, keep);
        Err(broken(self.name(), "plans a selection inside the decoder and makes none"))
    }
}

/// What a plan is made for.
#[derive(Debug, Clone, Copy)]
pub struct PlanRequest<'a> {
    /// The images' unpruned sequences and their groups.
    pub images: &'a [&'a VisualLayout],
    /// Tokens per image, or per frame.
    pub budget: Budget,
    /// How the family turns a budget into counts.
    pub policy: Policy,
    /// Whether the images are videos, whose budgets are per frame.
    pub per_frame: bool,
    /// Stage-1 pool as a multiple of the budget.
    pub pool: usize,
    /// How text-to-visual attention is normalised.
    pub relevance: Normalisation,
}

/// A pruner's plan for one request.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Plan {
    /// The selection before the decoder, if there is one.
    pub stage1: Option<Stage1Plan>,
    /// Selections after decoder blocks, in ascending order of block.
    pub cuts: Vec<Cut>,
}

/// The selection before the decoder.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage1Plan {
    /// What the pruner needs to see.
    pub signals: Stage1Signals,
    /// What stays of each image.
    pub shares: Vec<Share>,
}

/// What stays of one image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Share {
    /// The whole sequence, tokens that belong to no group included.
    Everything,
    /// This many of each group; tokens that belong to no group go.
    Groups(Vec<usize>),
}

/// What can be observed before the decoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stage1Signals {
    /// Features of the selected vision layer, before the projector.
    pub features: bool,
    /// The attention each visual token receives in the tower: from the class token where there is
    /// one, else the mean over all.
    pub reliability: bool,
    /// Embeddings as the decoder would take them; a rule that asks for these gets them as its
    /// features.
    pub projected: bool,
}

impl Stage1Signals {
    /// Everything the vision side itself observes.
    pub const OBSERVED: Self = Self { features: true, reliability: true, projected: false };
}

/// A selection after a decoder block.
#[derive(Debug, Clone, PartialEq)]
pub struct Cut {
    /// The block after which tokens go, counted from 1.
    pub block: usize,
    /// Visual tokens that stay, over all images.
    pub keep: usize,
    /// What the pruner needs to see.
    pub signals: Stage2Signals,
}

/// What can be observed at a decoder block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stage2Signals {
    /// The block's output at the visual tokens.
    pub features: bool,
    /// Attention of the block to the visual tokens.
    pub attention: Option<TextAttention>,
    /// The block's output at the text tokens.
    pub text: bool,
}

/// Whose attention to the visual tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextAttention {
    /// The mean over heads and all text tokens of the prompt.
    Mean(Normalisation),
    /// The mean over heads of the last prompt token's.
    LastToken,
}

/// A pruner and how far it goes, for one request.
#[derive(Debug, Clone)]
pub struct Pruning {
    /// The rule.
    pub pruner: Arc<dyn Pruner>,
    /// Tokens per image.
    pub budget: Budget,
    /// Refinement block K from 1, in place of the model's own.
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

    /// A rule with the model's own refinement block and the default pool.
    pub fn new(pruner: Arc<dyn Pruner>, budget: Budget) -> Self {
        Self { pruner, budget, refine_layer: None, pool: DEFAULT_POOL }
    }
}

/// A pruner as the registry knows it.
#[derive(Debug, Clone, Copy)]
pub struct Registered {
    /// The name on the command line.
    pub name: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    build: fn(&mut Settings) -> Result<Arc<dyn Pruner>>,
}

/// Every pruner.
pub const PRUNERS: &[Registered] = &[
    Registered {
        name: "mico",
        about: "weighted coverage in two stages (MiCo)",
        build: Mico::build,
    },
    Registered { name: "mico-s1", about: "MiCo's first stage alone", build: MicoS1::build },
    Registered {
        name: "divprune",
        about: "embeddings far from one another, before the decoder (DivPrune)",
        build: Published::divprune,
    },
    Registered {
        name: "vispruner",
        about: "attention, then distinct features, before the decoder (VisPruner)",
        build: Published::vispruner,
    },
    Registered {
        name: "scope",
        about: "coverage gain times attention, before the decoder (SCOPE)",
        build: Published::scope,
    },
    Registered { name: "random", about: "chance, before the decoder", build: Random::build },
    Registered { name: "none", about: "the model untouched", build: NoPruning::build },
];

/// The pruner called `name`, with its settings.
///
/// ```
/// use mico_select::Settings;
/// use mico_engine::pruner::by_name;
/// assert_eq!(by_name("mico", Settings::default())?.name(), "mico");
/// let error = by_name("mica", Settings::default()).unwrap_err();
/// assert!(error.to_string().contains("mico-s1"));
/// # Ok::<(), mico_engine::Error>(())
/// ```
pub fn by_name(name: &str, mut settings: Settings) -> Result<Arc<dyn Pruner>> {
    let Some(found) = PRUNERS.iter().find(|pruner| pruner.name == name) else {
        let known: Vec<&str> = PRUNERS.iter().map(|pruner| pruner.name).collect();
        let known = known.join(", ");
        return Err(Error::Unknown { what: "method", found: name.into(), known });
    };
    let pruner = (found.build)(&mut settings)?;
    settings.finish(name)?;
    Ok(pruner)
}

fn broken(pruner: &'static str, message: &str) -> Error {
    Error::Pruner { pruner, message: message.into() }
}
