//! Pruners: how a method runs inside a model. Open this to carry a method out in an engine of your own.
//!
//! A pruner first states a [`Plan`]: how many tokens stay where, and the [`Signals`] it needs there.
//! Whoever runs the model computes those signals and no others, shows them to the pruner as a
//! [`Stage1View`] or [`Stage2View`], holds its choice against the plan with [`check_selection`] and
//! carries it out. Nothing here knows tensors, files or names of models: a model is its
//! [`ModelTraits`], an image its [`TokenLayout`].
//!
//! ```
//! use mico_select::pruner::{
//!     ModelTraits, Normalization, PlanContext, PruningSpec, TokenGrid, TokenLayout,
//! };
//! use mico_select::schedule::Policy;
//!
//! let model = ModelTraits::new(vec![true; 32]);
//! let layout = TokenLayout::raster(vec![TokenGrid { rows: 24, columns: 24 }]);
//! let context = PlanContext {
//!     model: &model,
//!     policy: Policy::realized(32, 7),
//!     per_frame: false,
//!     normalization: Normalization::FullCausal,
//!     images: &[&layout],
//! };
//! let plan = "mico T=64".parse::<PruningSpec>()?.build()?.plan(&context)?;
//! assert_eq!((plan.cuts[0].block, plan.cuts[0].keep), (7, 46));
//! # Ok::<(), mico_select::Error>(())
//! ```
//!
//! A method of this crate is one file of [`crate::methods`] and one line of its registry; a method from
//! elsewhere implements [`Pruner`] and is handed to [`Pruning::new`].

pub(crate) mod accounting;
mod check;
mod flops;
mod layout;
mod model;
mod plan;
mod pruning;
mod pruning_spec;
pub(crate) mod quotas;
mod signals;
pub(crate) mod single_stage;
mod spec;
mod view;

pub use check::check_selection;
pub use flops::SelectionSize;
pub use layout::{TokenGrid, TokenLayout, TokenPlace};
pub use model::ModelTraits;
pub use plan::{Count, Cut, Plan, PlanContext, PlanRequest, PositionRule, Quota, Stage1Plan};
pub use pruning::Pruning;
pub use pruning_spec::PruningSpec;
pub use signals::{FeatureSpace, Normalization, Signals, Stage, TextAttention};
pub use spec::MethodSpec;
pub use view::{Observed, Stage1View, Stage2View};

use std::fmt::Debug;

use crate::error::{Error, Result};
use crate::selection::Selection;

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

    /// Chooses among one image's visual tokens before the decoder runs: as many as the plan says.
    /// Indices are positions in the image's unpruned sequence.
    fn before_decoder(&self, view: &Stage1View<'_>, quota: &Quota) -> Result<Selection> {
        let _ = (view, quota);
        Err(broken(self.name(), "plans a selection before the decoder and makes none"))
    }

    /// Chooses `ask` of the visual tokens that are left after a block. Indices are places among those.
    fn after_block(&self, view: &Stage2View<'_>, ask: usize) -> Result<Selection> {
        let _ = (view, ask);
        Err(broken(self.name(), "plans a selection inside the decoder and makes none"))
    }

    // Book-keeping: nothing below changes what is chosen.

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

fn broken(method: &'static str, message: &str) -> Error {
    Error::Contract { method, message: message.into() }
}

/// A method that the model gives no ground for.
pub(crate) fn refused(method: &'static str, reason: impl Into<String>) -> Error {
    Error::Refused { method, reason: reason.into() }
}
