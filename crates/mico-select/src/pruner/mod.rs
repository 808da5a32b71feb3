//! Pruners: how a method runs inside a model. Open this to run a method in an engine of your own.
//!
//! A pruner first states a [`Plan`]: how many tokens stay at which stage, and the [`Signals`] it needs
//! there. The engine that runs the model computes those signals and no others, shows them to the pruner
//! as a [`Stage1View`] or [`Stage2View`], checks its selection against the plan with [`check_selection`]
//! and drops the other tokens. Nothing here depends on tensors, files or model names: a model is its
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
    /// The method's name on the command line and in records.
    fn name(&self) -> &'static str;

    /// Whether it ever drops a token. If not, the model runs on its native token packing.
    fn prunes(&self) -> bool {
        true
    }

    /// After which decoder blocks the method prunes.
    fn refinement(&self) -> Refinement {
        Refinement::None
    }

    /// How many tokens stay at which stage, and the signals needed to select them. An error if the
    /// method is not defined for the model, or cannot meet the budget.
    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan>;

    /// Selects from one image's visual tokens before the decoder runs, as many as the plan says.
    /// Indices are positions in the image's unpruned sequence.
    fn before_decoder(&self, view: &Stage1View<'_>, quota: &Quota) -> Result<Selection> {
        let _ = (view, quota);
        Err(broken(self.name(), "plans a selection before the decoder and makes none"))
    }

    /// Selects `ask` of the visual tokens left after a block. Indices count those tokens from 0.
    fn after_block(&self, view: &Stage2View<'_>, ask: usize) -> Result<Selection> {
        let _ = (view, ask);
        Err(broken(self.name(), "plans a selection inside the decoder and makes none"))
    }

    // Accounting only: nothing below changes what is selected.

    /// FLOPs of selecting from one group of tokens before the decoder, counted dense: the operations of
    /// the rule's definition, whatever an implementation saves.
    fn stage1_flops(&self, size: &SelectionSize) -> f64 {
        let _ = size;
        0.0
    }

    /// FLOPs of selecting after a decoder block, counted in the same way.
    fn cut_flops(&self, size: &SelectionSize) -> f64 {
        let _ = size;
        0.0
    }
}

/// After which decoder blocks a method prunes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refinement {
    /// After none: all pruning happens before the decoder.
    None,
    /// After the model's refinement block, from a Stage-1 pool that is a multiple of the budget.
    Model,
    /// After one block of the method's own, which the caller may change.
    Own,
    /// After several fixed blocks of the method's own.
    Several,
}

fn broken(method: &'static str, message: &str) -> Error {
    Error::Contract { method, message: message.into() }
}

/// The error of a method that is not defined for a model, or cannot meet the budget.
pub(crate) fn refused(method: &'static str, reason: impl Into<String>) -> Error {
    Error::Refused { method, reason: reason.into() }
}
