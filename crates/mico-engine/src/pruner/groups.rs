//! Running a selector on each group of an image by itself, and planning what each group keeps.

use mico_select::schedule::{Budget, OutOfRange, Schedule};
use mico_select::{Inputs, Options, Selection, Selector, Tensor, select, split_budget};
use mico_vision::layout::VisualLayout;
use rayon::prelude::*;

use super::{PlanRequest, Share, Stage1View};
use crate::error::Result;

/// `T` tokens of each image in one stage, split over its groups; of each frame of a video.
pub(super) fn single_stage(request: &PlanRequest<'_>) -> Result<Vec<Share>> {
    let share = |layout: &&VisualLayout| {
        let Some(tokens) = below(request, layout)? else { return Ok(Share::Everything) };
        let sizes = layout.group_sizes();
        Ok(Share::Groups(if request.per_frame {
            sizes.into_iter().map(|size| tokens.min(size)).collect()
        } else {
            split_budget(tokens, &sizes, request.policy.remainder)
        }))
    };
    request.images.iter().map(share).collect()
}

/// An image's schedule in two stages; nothing if its budget is no smaller than the image.
pub(super) fn two_stages(
    request: &PlanRequest<'_>,
    layout: &VisualLayout,
) -> Result<Option<Schedule>> {
    let PlanRequest { mut policy, pool, .. } = *request;
    let below = below(request, layout)?;
    if below.is_none() {
        // Nothing is to be met; the settings are looked at all the same.
        policy.out_of_range = OutOfRange::Clip;
    }
    let sizes = layout.group_sizes();
    let tokens = request.budget.tokens(unit(request, layout))?;
    let schedule = if request.per_frame {
        policy.video(tokens, &sizes, pool)?
    } else {
        policy.image(tokens, &sizes, pool)?
    };
    Ok(below.map(|_| schedule))
}

/// The budget in tokens, if it is smaller than what it is a budget for.
fn below(request: &PlanRequest<'_>, layout: &VisualLayout) -> Result<Option<usize>> {
    let unit = unit(request, layout);
    let tokens = request.budget.tokens(unit)?;
    Ok((tokens < unit).then_some(tokens))
}

/// Visual tokens a budget is spent on: an image's, or those of the largest frame. Newlines count:
/// a budget that pays for them too keeps the sequence as it is.
fn unit(request: &PlanRequest<'_>, layout: &VisualLayout) -> usize {
    let frames = if request.per_frame { layout.groups().len().max(1) } else { 1 };
    layout.len().div_ceil(frames)
}

/// Whether a budget is one at all, even if there is no image to spend it on.
pub(super) fn check_budget(budget: Budget) -> Result<()> {
    Ok(budget.tokens(1).map(|_| ())?)
}

/// Keeps `shares[g]` tokens of group `g`. Groups do not see each other, so the answer does not depend
/// on how many run at once.
pub(super) fn select_groups(
    selector: &dyn Selector,
    view: &Stage1View<'_>,
    shares: &[usize],
    seed: u64,
) -> Result<Selection> {
    let members = view.members();
    let parts: Vec<Vec<usize>> = members
        .par_iter()
        .zip(shares)
        .enumerate()
        .map(|(group, (members, &share))| {
            if share >= members.len() {
                return Ok(members.clone());
            }
            let space = view.projected.or(view.features);
            let features = space.map(|features| features.rows(members));
            let reliability: Option<Vec<f32>> =
                view.reliability.map(|all| members.iter().map(|&token| all[token]).collect());
            // A selector that looks at nothing still has to know how many there are.
            let counted = vec![1.0; members.len()];
            let mut inputs = Inputs::new();
            if features.is_none() && reliability.is_none() {
                inputs = inputs.with_vector(Tensor::Weights, &counted)?;
            }
            if let Some(features) = &features {
                inputs = inputs.with(Tensor::Features, features.matrix()?);
            }
            if let Some(reliability) = &reliability {
                inputs = inputs.with_vector(Tensor::Reliability, reliability)?;
            }
            let options = Options { seed: seed.wrapping_add(group as u64), ..Options::default() };
            let picked = select(selector, &inputs, share, &options)?;
            Ok(picked.kept.into_iter().map(|local| members[local]).collect())
        })
        .collect::<Result<_>>()?;
    let mut kept: Vec<usize> = parts.into_iter().flatten().collect();
    kept.sort_unstable();
    Ok(Selection { kept, ..Selection::default() })
}

/// Every token of an image.
pub(super) fn everything(tokens: usize) -> Selection {
    Selection { kept: (0..tokens).collect(), ..Selection::default() }
}
