//! Running a selector on each group of an image by itself, and planning what each group keeps.

use mico_select::schedule::Budget;
use mico_select::{Inputs, Options, Selection, Selector, Tensor, select, split_budget};
use rayon::prelude::*;

use super::{PlanRequest, Share, Stage1View};
use crate::error::Result;

/// `T` tokens of each image in one stage, split over its groups.
pub(super) fn single_stage(request: &PlanRequest<'_>) -> Result<Vec<Share>> {
    request
        .images
        .iter()
        .map(|layout| {
            let tokens = request.budget.tokens(layout.len())?;
            if tokens >= layout.len() {
                return Ok(Share::Everything);
            }
            let sizes = layout.group_sizes();
            Ok(Share::Groups(split_budget(tokens, &sizes, request.policy.remainder)))
        })
        .collect()
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
