//! ApET: the tokens a few others reconstruct worst, before the decoder and in its middle.

use std::sync::Arc;

use mico_select::methods::{self, SlotOrder};
use mico_select::{Options, Selection, Settings, Tensor, select};

use super::accounting::{SecondStage, three_halves};
use super::groups::{check_budget, select_groups, shares};
use super::{
    FeatureSpace, HiddenSpace, Plan, PlanRequest, PositionRule, Pruner, Refinement, Share,
    Stage1Plan, Stage1Signals, Stage1View, Stage2Signals, Stage2View,
};
use crate::error::{Error, Result};
use crate::flops::SelectionSize;

/// In the authors' code for Qwen2.5-VL a slot is half basis vector, half what was there,
const QWEN_BLEND: f64 = 0.5;
/// and the ridge inside the decoder is larger.
const QWEN_RIDGE: f64 = 0.1;

/// ApET: three halves of the budget before the decoder, the rest of the layer average after half of
/// its blocks. It works on the tower's features where the projector takes them one by one, else on
/// embeddings; what is left is renumbered after the cut.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Apet {
    basis: usize,
    start: usize,
}

impl Apet {
    pub(super) fn build(settings: &mut Settings) -> Result<Arc<dyn Pruner>> {
        let default = methods::ApET::default();
        let basis = settings.count("basis", default.basis, 1..=1 << 16)?;
        let start = settings.count("start", default.start, 0..=usize::MAX)?;
        Ok(Arc::new(Self { basis, start }))
    }

    fn rule(&self, qwen: bool) -> methods::ApET {
        let Self { basis, start } = *self;
        let blend = if qwen { QWEN_BLEND } else { 1.0 };
        methods::ApET { basis, start, blend, ..methods::ApET::default() }
    }
}

impl Pruner for Apet {
    fn name(&self) -> &'static str {
        "apet"
    }

    fn refinement(&self) -> Refinement {
        Refinement::Own
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        check_budget(request.budget)?;
        let shares = shares(request, three_halves)?;
        let sizes = request.images.iter().flat_map(|layout| layout.group_sizes());
        if let Some(size) = sizes.min().filter(|&size| self.start >= size) {
            let accepted = format!("an index below the smallest group's size of {size}");
            return Err(Error::range("setting 'start'", self.start, accepted));
        }
        let merge_in_tower = request.config.family.traits().projects_tokens;
        let space = if merge_in_tower { FeatureSpace::Tower } else { FeatureSpace::Projected };
        let signals = Stage1Signals { space, ..Stage1Signals::tower(&[Tensor::Features]) };
        let positions = request.renumbered(PositionRule::Packed);
        let keeps_all = shares.iter().all(|share| *share == Share::Everything);
        let first = shares.iter().find_map(|share| match share {
            Share::Groups(counts) => counts.first().copied(),
            _ => None,
        });
        let pairs = request.images.iter().zip(&shares);
        let entering = pairs.map(|(layout, share)| share.asked(layout.len())).sum();
        let stage1 = Some(Stage1Plan { signals, shares, merge_in_tower });
        if keeps_all {
            return Ok(Plan { stage1, cuts: Vec::new(), positions });
        }
        let second = SecondStage::new(self.name(), request, entering, first.unwrap_or(entering))?;
        let features = Some(HiddenSpace::Residual);
        let cut = second.cut(Stage2Signals { features, ..Stage2Signals::default() });
        Ok(Plan { stage1, cuts: vec![cut], positions })
    }

    fn before_decoder(&self, view: &Stage1View<'_>, share: &Share) -> Result<Selection> {
        select_groups(&self.rule(view.family.traits().native_resolution), view, share, 0)
    }

    fn after_block(&self, view: &Stage2View<'_>, ask: usize) -> Result<Selection> {
        let qwen = view.family.traits().native_resolution;
        let ridge = if qwen { QWEN_RIDGE } else { methods::ApET::default().ridge };
        // The basis begins at the same place; a shorter sequence may not have it.
        let start = self.start.min(view.tokens.saturating_sub(1));
        let rule = methods::ApET { slots: SlotOrder::Error, ridge, start, ..self.rule(qwen) };
        Ok(select(&rule, &view.inputs()?, ask, &Options::default())?)
    }

    fn stage1_flops(&self, size: &SelectionSize) -> f64 {
        let basis = self.basis as f64;
        // Distances to each basis token, the fit, and what it leaves.
        (3.0 + 4.0) * basis * size.tokens * size.width + size.joins()
    }

    fn cut_flops(&self, size: &SelectionSize) -> f64 {
        self.stage1_flops(size)
    }
}
