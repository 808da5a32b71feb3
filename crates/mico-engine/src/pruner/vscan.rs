//! VScan: local and global attention of the tower, everything else merged in; then the last prompt
//! token's attention in the middle of the decoder.

use std::sync::Arc;

use mico_model::Family;
use mico_select::{Options, Selection, Settings, Tensor, methods, select};
use mico_vision::layout::VisualLayout;

use super::accounting::{SecondStage, needs_attention_everywhere, three_halves};
use super::groups::{check_budget, select_with, shares};
use super::{
    Count, Plan, PlanRequest, PositionRule, Pruner, Refinement, Share, Stage1Plan, Stage1Signals,
    Stage1View, Stage2Signals, Stage2View, TextAttention,
};
use crate::error::Result;
use crate::flops::SelectionSize;

/// Windows of the authors' code for Qwen2.5-VL, in tokens.
const QWEN_WINDOW: usize = 4;

/// VScan: three halves of the budget before the decoder, the rest of the layer average after half of
/// its blocks. Tokens are merged as embeddings; what is left is renumbered after the cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct VScan {
    window: Option<usize>,
}

impl VScan {
    pub(super) fn build(settings: &mut Settings) -> Result<Arc<dyn Pruner>> {
        Ok(Arc::new(Self { window: settings.number("window", 1..=1 << 20)? }))
    }

    /// The rule for one group of an image.
    fn rule(&self, family: Family, layout: &VisualLayout, group: usize) -> methods::VScan {
        let columns = columns(layout, group);
        let (window, local) = if family.traits().native_resolution {
            (QWEN_WINDOW, methods::LocalRule::Cap)
        } else {
            (methods::VScan::default().window, methods::LocalRule::Quota)
        };
        methods::VScan { window: self.window.unwrap_or(window), local, columns }
    }

    /// Asks for more of a group whose windows get no quota at all, so that two thirds of what was asked
    /// for, which is the group's budget, are left.
    fn make_room(&self, family: Family, layout: &VisualLayout, share: &mut Share) -> Result<()> {
        let Share::Groups(counts) = share else { return Ok(()) };
        for (group, (count, size)) in counts.iter_mut().zip(layout.group_sizes()).enumerate() {
            let rule = self.rule(family, layout, group);
            let budget = (*count * 2).div_ceil(3);
            while *count < size && rule.survivors(size, *count)? < budget {
                *count += 1;
            }
        }
        Ok(())
    }

    /// What a share leaves of an image.
    fn survivors(&self, family: Family, layout: &VisualLayout, share: &Share) -> Result<usize> {
        let Share::Groups(counts) = share else { return Ok(share.asked(layout.len())) };
        let mut total = 0;
        for (group, (&count, size)) in counts.iter().zip(layout.group_sizes()).enumerate() {
            total += self.rule(family, layout, group).survivors(size, count)?;
        }
        Ok(total)
    }
}

/// Tokens side by side in a group: of those the packing leaves, the ones in the first row.
fn columns(layout: &VisualLayout, group: usize) -> Option<usize> {
    let wide = layout.groups().get(group)?.columns.max(1);
    let own = layout.tokens().iter().filter_map(|token| token.patch);
    let mut rows = own.filter(|patch| patch.group == group).map(|patch| patch.local / wide);
    let first = rows.next()?;
    Some(1 + rows.filter(|row| *row == first).count())
}

impl Pruner for VScan {
    fn name(&self) -> &'static str {
        "vscan"
    }

    fn refinement(&self) -> Refinement {
        Refinement::Own
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        check_budget(request.budget)?;
        let mut shares = shares(request, three_halves)?;
        if !request.authors {
            for (layout, share) in request.images.iter().zip(&mut shares) {
                self.make_room(request.config.family, layout, share)?;
            }
        }
        let signals = Stage1Signals::projected(&[
            Tensor::Features,
            Tensor::Reliability,
            Tensor::ReliabilityShallow,
        ]);
        let positions = request.renumbered(PositionRule::Packed);
        let keeps_all = shares.iter().all(|share| *share == Share::Everything);
        let (mut entering, mut first) = (0, 0);
        let family = request.config.family;
        for (layout, share) in request.images.iter().zip(&shares) {
            entering += self.survivors(family, layout, share)?;
            if let (Share::Groups(counts), 0) = (share, first) {
                let size = layout.group_sizes()[0];
                first = self.rule(family, layout, 0).survivors(size, counts[0])?;
            }
        }
        let stage1 = Some(Stage1Plan::new(signals, shares));
        if keeps_all {
            return Ok(Plan { stage1, cuts: Vec::new(), positions });
        }
        needs_attention_everywhere(self.name(), request)?;
        let second = SecondStage::new(self.name(), request, entering, first)?;
        let rotary = !request.spatial();
        let back = second.among.map_or(0, |first| entering - first);
        let attention = Some(TextAttention::NextLastToken { rotary, back });
        let cut = second.cut(Stage2Signals { attention, ..Stage2Signals::default() });
        Ok(Plan { stage1, cuts: vec![cut], positions })
    }

    fn leaves(&self, layout: &VisualLayout, share: &Share, family: Family) -> Result<Count> {
        self.survivors(family, layout, share).map(Count::Exactly)
    }

    fn before_decoder(&self, view: &Stage1View<'_>, share: &Share) -> Result<Selection> {
        select_with(view, share, 0, |group| self.rule(view.family, view.layout, group))
    }

    fn after_block(&self, view: &Stage2View<'_>, ask: usize) -> Result<Selection> {
        Ok(select(&methods::FastV, &view.inputs()?, ask, &Options::default())?)
    }

    fn stage1_flops(&self, size: &SelectionSize) -> f64 {
        size.joins()
    }
}
