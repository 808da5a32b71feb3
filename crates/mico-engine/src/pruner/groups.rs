//! Running a selector on each group of an image by itself, and planning what each group keeps.

use mico_select::schedule::{Budget, OutOfRange, Schedule};
use mico_select::{Options, Selection, Selector, select, split_budget};
use mico_vision::layout::VisualLayout;
use rayon::prelude::*;

use super::{PlanRequest, Share, Stage1View};
use crate::error::Result;

/// `T` tokens of each image in one stage, split over its groups; of each frame of a video.
pub(super) fn single_stage(request: &PlanRequest<'_>) -> Result<Vec<Share>> {
    shares(request, |tokens| tokens)
}

/// `T` tokens of each image in one stage, its groups taken together; of each frame of a video.
pub(super) fn whole_images(request: &PlanRequest<'_>) -> Result<Vec<Share>> {
    if request.per_frame {
        return single_stage(request);
    }
    let share = |layout: &&VisualLayout| {
        let patches = layout.group_sizes().iter().sum();
        let image = |tokens: usize| Share::Image(tokens.min(patches));
        Ok(below(request, layout)?.map_or(Share::Everything, image))
    };
    request.images.iter().map(share).collect()
}

/// `count(T)` tokens of each image, split over its groups; of each frame of a video.
pub(super) fn shares(
    request: &PlanRequest<'_>,
    count: impl Fn(usize) -> usize,
) -> Result<Vec<Share>> {
    let share = |layout: &&VisualLayout| {
        let Some(tokens) = below(request, layout)?.map(&count) else {
            return Ok(Share::Everything);
        };
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
pub(super) fn below(request: &PlanRequest<'_>, layout: &VisualLayout) -> Result<Option<usize>> {
    let unit = unit(request, layout);
    let tokens = request.budget.tokens(unit)?;
    Ok((tokens < unit).then_some(tokens))
}

/// Visual tokens a budget is spent on: an image's, or those of the largest frame. Newlines count:
/// a budget that pays for them too keeps the sequence as it is.
pub(super) fn unit(request: &PlanRequest<'_>, layout: &VisualLayout) -> usize {
    let frames = if request.per_frame { layout.groups().len().max(1) } else { 1 };
    layout.len().div_ceil(frames)
}

/// Whether a budget is one at all, even if there is no image to spend it on.
pub(super) fn check_budget(budget: Budget) -> Result<()> {
    Ok(budget.tokens(1).map(|_| ())?)
}

/// Keeps what `share` asks for, each group by itself where it says so. `selector` gives the rule for a
/// group by its number. Groups do not see each other, so the answer does not depend on how many run at
/// once.
pub(super) fn select_with<S: Selector>(
    view: &Stage1View<'_>,
    share: &Share,
    seed: u64,
    selector: impl Fn(usize) -> S + Sync,
) -> Result<Selection> {
    let (groups, counts) = match share {
        Share::Everything => return Ok(everything(view.layout.len())),
        Share::Groups(counts) => (view.members(), counts.clone()),
        Share::Image(count) => {
            let patches = (0..view.layout.len()).filter(|&t| view.layout.group_of(t).is_some());
            (vec![patches.collect()], vec![*count])
        }
    };
    let parts: Vec<Selection> = groups
        .par_iter()
        .zip(&counts)
        .enumerate()
        .map(|(group, (members, &count))| {
            if count >= members.len() {
                return Ok(everything(members.len()).among(members));
            }
            let signals = view.of(members);
            let options = Options { seed: seed.wrapping_add(group as u64), ..Options::default() };
            let picked = select(&selector(group), &signals.inputs()?, count, &options)?;
            Ok(picked.among(members))
        })
        .collect::<Result<_>>()?;
    let mut whole = Selection::default();
    parts.into_iter().for_each(|part| whole.join(part));
    Ok(whole.finish())
}

/// [`select_with`] the same rule for every group.
pub(super) fn select_groups(
    selector: &dyn Selector,
    view: &Stage1View<'_>,
    share: &Share,
    seed: u64,
) -> Result<Selection> {
    select_with(view, share, seed, |_| selector)
}

/// Every token of an image.
pub(super) fn everything(tokens: usize) -> Selection {
    Selection { kept: (0..tokens).collect(), ..Selection::default() }
}
