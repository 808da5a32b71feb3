//! Published rules that keep T tokens before the decoder and merge none.

use std::fmt;
use std::sync::Arc;

use mico_select::{Selection, Selector, Settings, methods};

use super::groups::{check_budget, everything, select_groups, single_stage};
use super::{Plan, PlanRequest, Pruner, Share, Stage1Plan, Stage1Signals, Stage1View};
use crate::error::Result;

/// A selection rule of the selector library with the signals it works on. Each crop of an image gets
/// its part of T, as MiCo's own first stage does.
pub struct Published {
    selector: Box<dyn Selector>,
    signals: Stage1Signals,
}

impl fmt::Debug for Published {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Published").field(&self.selector.name()).finish()
    }
}

impl Published {
    /// `DivPrune`: projected embeddings far from one another.
    pub(super) fn divprune(settings: &mut Settings) -> Result<Arc<dyn Pruner>> {
        Self::build("divprune", settings, Stage1Signals { projected: true, ..NOTHING })
    }

    /// `VisPruner`: attention, then features that do not repeat one another.
    pub(super) fn vispruner(settings: &mut Settings) -> Result<Arc<dyn Pruner>> {
        Self::build("vispruner", settings, FEATURES_AND_ATTENTION)
    }

    /// `SCOPE`: coverage gain times the candidate's attention.
    pub(super) fn scope(settings: &mut Settings) -> Result<Arc<dyn Pruner>> {
        Self::build("scope", settings, FEATURES_AND_ATTENTION)
    }

    fn build(
        name: &str,
        settings: &mut Settings,
        signals: Stage1Signals,
    ) -> Result<Arc<dyn Pruner>> {
        let selector = methods::by_name(name, std::mem::take(settings))?;
        Ok(Arc::new(Self { selector, signals }))
    }
}

const NOTHING: Stage1Signals =
    Stage1Signals { features: false, reliability: false, projected: false };
const FEATURES_AND_ATTENTION: Stage1Signals =
    Stage1Signals { features: true, reliability: true, ..NOTHING };

impl Pruner for Published {
    fn name(&self) -> &'static str {
        self.selector.name()
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        check_budget(request.budget)?;
        let stage1 = Stage1Plan { signals: self.signals, shares: single_stage(request)? };
        Ok(Plan { stage1: Some(stage1), cuts: Vec::new() })
    }

    fn before_decoder(&self, view: &Stage1View<'_>, share: &Share) -> Result<Selection> {
        match share {
            Share::Everything => Ok(everything(view.layout.len())),
            Share::Groups(counts) => select_groups(self.selector.as_ref(), view, counts, 0),
        }
    }
}
