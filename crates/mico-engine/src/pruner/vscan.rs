//! VScan: local and global attention of the tower, everything else merged in; then the last prompt
//! token's attention in the middle of the decoder.

use std::sync::Arc;

use mico_model::Family;
use mico_select::{Options, Selection, Settings, Tensor, methods, select};
use mico_vision::layout::VisualLayout;

use super::accounting::{Totals, check_block, needs_attention_everywhere, one_cut};
use super::groups::{below, check_budget, select_with, shares};
use super::{
    Count, Cut, Plan, PlanRequest, PositionRule, Pruner, Share, Stage1Plan, Stage1Signals,
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
        let columns = layout.groups().get(group).map(|group| group.columns);
        let (window, local) = if family.is_qwen() {
            (QWEN_WINDOW, methods::LocalRule::Cap)
        } else {
            (methods::VScan::default().window, methods::LocalRule::Quota)
        };
        methods::VScan { window: self.window.unwrap_or(window), local, columns }
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

/// Tokens before the decoder of a budget of `tokens`, halves to even.
pub(super) fn three_halves(tokens: usize) -> usize {
    usize::try_from(mico_select::round_ratio(3 * tokens as i128, 2)).unwrap_or(tokens)
}

/// The second stage of a method whose first leaves `entering` tokens, `first` of them in the first
/// crop.
pub(super) struct SecondStage {
    pub(super) block: usize,
    /// Tokens chosen.
    pub(super) ask: usize,
    /// Tokens left.
    pub(super) keep: usize,
    /// Tokens that compete, if not all do.
    pub(super) among: Option<usize>,
}

impl SecondStage {
    /// What meets the layer average; or the authors' half of the budget, which for LLaVA-NeXT's crops
    /// their code takes from the first crop alone.
    pub(super) fn new(
        method: &'static str,
        request: &PlanRequest<'_>,
        entering: usize,
        first: usize,
    ) -> Result<Self> {
        let block = request.refine_layer.unwrap_or(request.layers() / 2);
        check_block(request.layers(), block)?;
        if !request.authors {
            let Totals { target, .. } = Totals::of(request)?;
            let keep = one_cut(method, request, block, entering, target)?;
            return Ok(Self { block, ask: keep, keep, among: None });
        }
        let mut half = 0;
        for layout in request.images {
            let frames = if request.per_frame { layout.groups().len() } else { 1 };
            half += match below(request, layout)? {
                Some(tokens) => (tokens / 2).max(1) * frames,
                None => layout.len(),
            };
        }
        let crops = request.images.first().map_or(1, |layout| layout.groups().len());
        if request.config.family == Family::LlavaNext && request.images.len() == 1 && crops > 1 {
            let ask = (half / crops).max(1).min(first);
            let keep = entering - first + ask;
            return Ok(Self { block, ask, keep, among: Some(first) });
        }
        let keep = half.min(entering);
        Ok(Self { block, ask: keep, keep, among: None })
    }

    pub(super) fn cut(&self, signals: Stage2Signals) -> Cut {
        Cut { ask: self.ask, among: self.among, ..Cut::new(self.block, self.keep, signals) }
    }
}

impl Pruner for VScan {
    fn name(&self) -> &'static str {
        "vscan"
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        check_budget(request.budget)?;
        let shares = shares(request, three_halves)?;
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
