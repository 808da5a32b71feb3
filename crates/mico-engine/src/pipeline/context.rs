//! What every part of a turn is given.

use mico_model::Decoder;
use mico_select::pruner::{Plan, PositionRule, Pruner, TokenLayout};

use crate::encoded::EncodedImage;
use crate::engine::Engine;
use crate::layout::PromptLayout;
use crate::request::{Observe, SessionOptions};
use crate::trace::ModelTrace;

/// What was decided of a turn before the first tensor is computed. Nothing of it changes any more.
#[derive(Debug)]
pub(crate) struct Turn {
    pub(crate) options: SessionOptions,
    pub(crate) plan: Plan,
    pub(crate) layout: PromptLayout,
    /// The images' sequences as pruners see them.
    pub(crate) tokens: Vec<TokenLayout>,
    /// Number of the turn's first image, counted through the session.
    pub(crate) first_image: usize,
    /// Logical position of the turn's first token in each block.
    pub(crate) starts: Vec<u32>,
    pub(crate) observe: Observe,
    /// The user's words, if the plan compares them with the images and the prompt came as messages.
    pub(crate) question: Option<String>,
    /// The model, and the refinement block in force.
    pub(crate) model: ModelTrace,
    /// Images, or frames, that the budget is for.
    pub(crate) units: usize,
}

impl Turn {
    /// The plan's rule for position ids, or the one a switch puts in its place.
    pub(crate) fn positions(&self) -> PositionRule {
        self.options.switches.positions(self.plan.positions)
    }

    pub(crate) fn pruner(&self) -> &dyn Pruner {
        self.options.pruning.pruner.as_ref()
    }
}

/// A turn on its way through the pipeline, with the engine it is on.
#[derive(Clone, Copy)]
pub(crate) struct TurnContext<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) turn: &'a Turn,
    /// Those that have been through the vision side, which is all of them from Stage 1 on.
    pub(crate) images: &'a [EncodedImage],
}

impl<'a> TurnContext<'a> {
    pub(crate) fn decoder(&self) -> &'a Decoder {
        self.engine.model.decoder()
    }

    pub(crate) fn pruner(&self) -> &'a dyn Pruner {
        self.turn.pruner()
    }

    /// Observe cuts that drop nothing, too, and remember what every cut saw.
    pub(crate) fn observes_all(&self) -> bool {
        self.turn.observe.tensors
    }
}
