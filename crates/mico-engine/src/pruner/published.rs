//! Published rules that keep T tokens before the decoder, merge none, and need nothing of their own.

use std::fmt;
use std::sync::Arc;

use mico_select::{Selection, Selector, Settings, Tensor, methods};

use super::groups::{check_budget, select_groups, single_stage, whole_images};
use super::{
    Plan, PlanRequest, PositionRule, Pruner, Share, Stage1Plan, Stage1Signals, Stage1View,
};
use crate::error::Result;
use crate::flops::SelectionSize;

/// A selection rule of the selector library with the signals it works on.
pub struct Published {
    selector: Box<dyn Selector>,
    signals: Stage1Signals,
    scope: Scope,
    flops: fn(&SelectionSize) -> f64,
}

/// Which tokens of an image compete with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// All of them; those of a frame, of videos.
    Image,
    /// Those of a crop, tile or frame; each gets its part of T.
    Group,
}

impl Scope {
    /// Reads `scope`.
    pub(super) fn read(settings: &mut Settings) -> Result<Self> {
        Ok(settings.choice("scope", &[("image", Self::Image), ("group", Self::Group)])?)
    }

    /// What each image keeps.
    pub(super) fn shares(self, request: &PlanRequest<'_>) -> Result<Vec<Share>> {
        match self {
            Self::Image => whole_images(request),
            Self::Group => single_stage(request),
        }
    }
}

impl fmt::Debug for Published {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Published").field(&self.selector.name()).finish()
    }
}

impl Published {
    /// `DivPrune`: projected embeddings far from one another, those of all crops together.
    pub(super) fn divprune(settings: &mut Settings) -> Result<Arc<dyn Pruner>> {
        let scope = Scope::read(settings)?;
        let signals = Stage1Signals::projected(&[Tensor::Features]);
        // As published, each pick takes the minimum over all tokens taken before it.
        let flops =
            |size: &SelectionSize| size.similarities() + size.tokens * size.kept * size.kept / 2.0;
        Self::build("divprune", settings, signals, scope, flops)
    }

    /// `VisPruner`: attention, then features that do not repeat one another, crop by crop.
    pub(super) fn vispruner(settings: &mut Settings) -> Result<Arc<dyn Pruner>> {
        // Each round compares one half of what is left with the other and removes eight tokens.
        let flops = |size: &SelectionSize| {
            let half = size.kept / 2.0;
            let (first, last) = (size.tokens - half, half);
            let rounds = (first - last) / 8.0;
            let mean_square = (first * first + first * last + last * last) / 3.0;
            rounds * 2.0 * mean_square / 4.0 * size.width
        };
        Self::build("vispruner", settings, features_and_attention(), Scope::Group, flops)
    }

    /// `SCOPE`: coverage gain times the candidate's attention, crop by crop.
    pub(super) fn scope(settings: &mut Settings) -> Result<Arc<dyn Pruner>> {
        let flops = |size: &SelectionSize| size.similarities() + size.greedy();
        Self::build("scope", settings, features_and_attention(), Scope::Group, flops)
    }

    fn build(
        name: &str,
        settings: &mut Settings,
        signals: Stage1Signals,
        scope: Scope,
        flops: fn(&SelectionSize) -> f64,
    ) -> Result<Arc<dyn Pruner>> {
        let selector = methods::by_name(name, std::mem::take(settings))?;
        Ok(Arc::new(Self { selector, signals, scope, flops }))
    }
}

fn features_and_attention() -> Stage1Signals {
    Stage1Signals::tower(&[Tensor::Features, Tensor::Reliability])
}

impl Pruner for Published {
    fn name(&self) -> &'static str {
        self.selector.name()
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        check_budget(request.budget)?;
        let stage1 = Some(Stage1Plan::new(self.signals, self.scope.shares(request)?));
        let positions = request.renumbered(PositionRule::Compact);
        Ok(Plan { stage1, cuts: Vec::new(), positions })
    }

    fn before_decoder(&self, view: &Stage1View<'_>, share: &Share) -> Result<Selection> {
        select_groups(self.selector.as_ref(), view, share, 0)
    }

    fn stage1_flops(&self, size: &SelectionSize) -> f64 {
        (self.flops)(size)
    }
}
