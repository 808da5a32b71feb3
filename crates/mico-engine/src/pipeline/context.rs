//! What every part of a turn is given.

use std::sync::Arc;

use mico_model::Decoder;
use mico_select::pruner::{Plan, PositionRule, Pruner, TokenLayout};

use super::VisionOutput;
use crate::engine::Engine;
use crate::error::Result;
use crate::layout::PromptLayout;
use crate::request::SessionOptions;
use crate::sink::{Phase, Sink, report};
use crate::trace::Seconds;

/// A turn on its way through the pipeline: what was decided before the first tensor is computed.
#[derive(Clone, Copy)]
pub(crate) struct TurnContext<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) options: &'a SessionOptions,
    pub(crate) plan: &'a Plan,
    pub(crate) layout: &'a PromptLayout,
    pub(crate) images: &'a [Arc<VisionOutput>],
    /// Their sequences as pruners see them.
    pub(crate) tokens: &'a [TokenLayout],
    /// Number of the turn's first image, counted through the session.
    pub(crate) first_image: usize,
    /// Logical position of the turn's first token in each block.
    pub(crate) starts: &'a [u32],
    /// Observe cuts that drop nothing, too, and remember what every cut saw.
    pub(crate) observe_all: bool,
}

impl<'a> TurnContext<'a> {
    pub(crate) fn decoder(&self) -> &'a Decoder {
        self.engine.model.decoder()
    }

    pub(crate) fn pruner(&self) -> &'a dyn Pruner {
        self.options.pruning.pruner.as_ref()
    }

    /// The plan's rule for position ids, or the one a switch puts in its place.
    pub(crate) fn positions(&self) -> PositionRule {
        self.options.switches.positions(self.plan.positions)
    }
}

/// Where the time went, and who follows the work.
pub(crate) struct Telemetry<'a> {
    pub(crate) seconds: &'a mut Seconds,
    pub(crate) sink: &'a mut dyn Sink,
}

impl Telemetry<'_> {
    /// Reports a step; an error if the caller stops there.
    pub(crate) fn report(&mut self, phase: Phase, done: usize, total: usize) -> Result<()> {
        report(self.sink, phase, done, total)
    }
}
