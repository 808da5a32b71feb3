//! Quotas: how many tokens of each image a budget pays for before the decoder.

use super::layout::TokenLayout;
use super::plan::{PlanContext, PlanRequest, Quota};
use crate::error::Result;
use crate::groups::split_budget;
use crate::schedule::{Budget, OutOfRange, Schedule};
use crate::settings::Settings;

/// Which tokens of an image compete with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Competition {
    /// All tokens of an image; in videos, those of a frame.
    Image,
    /// The tokens of one crop, tile or frame, each of which gets its part of T.
    Group,
}

impl Competition {
    /// Reads the setting `scope`: `image` (default) or `group`.
    pub(crate) fn from_settings(settings: &mut Settings) -> Result<Self> {
        settings.choice("scope", &[("image", Self::Image), ("group", Self::Group)])
    }

    /// The quota of each image for `T` tokens, or for `T` tokens of each frame of a video.
    pub(crate) fn quotas(self, request: &PlanRequest<'_>) -> Result<Vec<Quota>> {
        match self {
            Self::Image => whole_images(request),
            Self::Group => single_stage(request),
        }
    }
}

/// `T` tokens of each image in one stage, split over its groups; of each frame of a video.
pub(crate) fn single_stage(request: &PlanRequest<'_>) -> Result<Vec<Quota>> {
    quotas(request, |tokens| tokens)
}

/// `T` tokens of each image in one stage, its groups taken together; of each frame of a video.
fn whole_images(request: &PlanRequest<'_>) -> Result<Vec<Quota>> {
    if request.context.per_frame {
        return single_stage(request);
    }
    let quota = |layout: &&TokenLayout| {
        let image = |tokens: usize| Quota::Image(tokens.min(layout.grouped()));
        Ok(below(request, layout)?.map_or(Quota::Everything, image))
    };
    request.images().iter().map(quota).collect()
}

/// `count(T)` tokens of each image, split over its groups; of each frame of a video.
pub(crate) fn quotas(
    request: &PlanRequest<'_>,
    count: impl Fn(usize) -> usize,
) -> Result<Vec<Quota>> {
    let PlanContext { per_frame, policy, .. } = request.context;
    let quota = |layout: &&TokenLayout| {
        let Some(tokens) = below(request, layout)?.map(&count) else {
            return Ok(Quota::Everything);
        };
        let sizes = layout.sizes();
        Ok(Quota::Groups(if per_frame {
            sizes.into_iter().map(|size| tokens.min(size)).collect()
        } else {
            split_budget(tokens, &sizes, policy.remainder)
        }))
    };
    request.images().iter().map(quota).collect()
}

/// An image's two-stage schedule; `None` if the budget covers the whole image.
pub(crate) fn two_stages(
    request: &PlanRequest<'_>,
    layout: &TokenLayout,
) -> Result<Option<Schedule>> {
    let PlanContext { mut policy, per_frame, .. } = request.context;
    let below = below(request, layout)?;
    if below.is_none() {
        // Nothing is to be met; the settings are looked at all the same.
        policy.out_of_range = OutOfRange::Clip;
    }
    let sizes = layout.sizes();
    let tokens = request.budget.tokens(request.context.unit(layout))?;
    let schedule = if per_frame {
        policy.video(tokens, &sizes, request.pool)?
    } else {
        policy.image(tokens, &sizes, request.pool)?
    };
    Ok(below.map(|_| schedule))
}

/// The budget in tokens; `None` if it covers the whole image or frame.
pub(crate) fn below(request: &PlanRequest<'_>, layout: &TokenLayout) -> Result<Option<usize>> {
    let unit = request.context.unit(layout);
    let tokens = request.budget.tokens(unit)?;
    Ok((tokens < unit).then_some(tokens))
}

/// Checks that a budget is valid, even if there is no image to spend it on.
pub(crate) fn check_budget(budget: Budget) -> Result<()> {
    budget.tokens(1).map(|_| ())
}
