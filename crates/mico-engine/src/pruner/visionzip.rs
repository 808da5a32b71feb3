//! VisionZip: dominant tokens by attention, the rest merged into contextual ones, before the decoder.

use std::sync::Arc;

use mico_select::{Selection, Settings, Tensor, methods};

use super::groups::{check_budget, select_groups, shares};
use super::{
    Plan, PlanRequest, PositionRule, Pruner, Share, Stage1Plan, Stage1Signals, Stage1View,
};
use crate::error::Result;
use crate::flops::SelectionSize;

/// VisionZip's rule, crop by crop. Tokens are merged as the tower gives them where the projector takes
/// them one by one, else as embeddings. The class token, which the authors count among the dominant
/// ones, is no visual token of the model and does not enter; by default a patch takes its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VisionZip {
    rule: methods::VisionZip,
}

impl VisionZip {
    pub(super) fn build(settings: &mut Settings) -> Result<Arc<dyn Pruner>> {
        let contextual = settings.number("contextual", 0..=usize::MAX)?;
        Ok(Arc::new(Self { rule: methods::VisionZip { contextual } }))
    }

    /// The order of the authors' code for LLaVA-NeXT: the base crop, then the dominant tokens of the
    /// tiles where the stitched grid has them, then the contextual ones tile by tile.
    fn stitched(
        &self,
        view: &Stage1View<'_>,
        counts: &[usize],
        sequence: &[usize],
    ) -> Result<Vec<usize>> {
        let (mut first, mut tiles, mut behind) = (Vec::new(), Vec::new(), Vec::new());
        let mut left = sequence;
        for (group, (&count, size)) in counts.iter().zip(view.layout.group_sizes()).enumerate() {
            let contextual = if count < size { self.rule.contextual(count)? } else { 0 };
            let (own, others) = left.split_at(count.min(size));
            let (dominant, merged) = own.split_at(own.len() - contextual);
            left = others;
            if group == 0 {
                first = own.to_vec();
            } else {
                tiles.extend(dominant);
                behind.extend(merged);
            }
        }
        tiles.sort_unstable();
        Ok([first, tiles, behind].concat())
    }
}

impl Pruner for VisionZip {
    fn name(&self) -> &'static str {
        "visionzip"
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<Plan> {
        check_budget(request.budget)?;
        let mut shares = shares(request, |tokens| tokens)?;
        if request.authors {
            // One of the authors' tokens of each crop is the class token.
            for share in &mut shares {
                if let Share::Groups(counts) = share {
                    counts.iter_mut().for_each(|count| *count = (*count).saturating_sub(1).max(1));
                }
            }
        }
        for share in &shares {
            if let Share::Groups(counts) = share {
                counts.iter().try_for_each(|&count| self.rule.contextual(count).map(|_| ()))?;
            }
        }
        let signals = Stage1Signals::tower(&[Tensor::Reliability, Tensor::Keys]);
        let merge_in_tower = request.config.family.traits().projects_tokens;
        Ok(Plan {
            stage1: Some(Stage1Plan { signals, shares, merge_in_tower }),
            cuts: Vec::new(),
            positions: request.renumbered(PositionRule::Compact),
        })
    }

    fn before_decoder(&self, view: &Stage1View<'_>, share: &Share) -> Result<Selection> {
        let mut selection = select_groups(&self.rule, view, share, 0)?;
        // Without contextual tokens the sequence is empty: everything stands as it stood.
        if let (true, Share::Groups(counts), [_, ..]) =
            (view.family.traits().anyres_crops, share, selection.sequence.as_slice())
        {
            selection.sequence = self.stitched(view, counts, &selection.sequence)?;
        }
        Ok(selection)
    }

    fn stage1_flops(&self, size: &SelectionSize) -> f64 {
        let contextual = self.rule.contextual.map_or(size.kept * 10.0 / 64.0, |c| c as f64);
        let rest = (size.tokens - size.kept).max(0.0);
        2.0 * rest * contextual * size.keys
    }
}
