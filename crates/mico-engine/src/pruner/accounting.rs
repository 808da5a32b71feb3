//! Layer-average accounting: from a budget to the counts of methods that cut inside the decoder.

use mico_model::config::MixerKind;
use mico_select::round_ratio;
use mico_vision::layout::VisualLayout;

use super::groups::{below, unit};
use super::{PlanRequest, refused};
use crate::error::{Error, Result};

/// What the budgets of a request's images add up to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Totals {
    /// Visual tokens of all images.
    pub(super) tokens: usize,
    /// Tokens a block may see on average, over all images.
    pub(super) target: usize,
}

impl Totals {
    pub(super) fn of(request: &PlanRequest<'_>) -> Result<Self> {
        let mut totals = Self { tokens: 0, target: 0 };
        for layout in request.images {
            totals.tokens += layout.len();
            totals.target += target(request, layout)?;
        }
        Ok(totals)
    }

    /// Whether nothing has to go.
    pub(super) fn keeps_all(&self) -> bool {
        self.target >= self.tokens
    }
}

/// Tokens of an image that a block may see on average: its budget, or all of it.
fn target(request: &PlanRequest<'_>, layout: &VisualLayout) -> Result<usize> {
    Ok(match below(request, layout)? {
        None => layout.len(),
        Some(tokens) if request.per_frame => tokens * layout.len().div_ceil(unit(request, layout)),
        Some(tokens) => tokens,
    })
}

/// Tokens left after block `k` so that the average over all blocks is the target, if `entering` tokens
/// go through the first `k`: `R = round((L T - k N) / (L - k))`, halves to even. Refused with the
/// arithmetic if there is no such number.
pub(super) fn one_cut(
    method: &'static str,
    request: &PlanRequest<'_>,
    k: usize,
    entering: usize,
    target: usize,
) -> Result<usize> {
    let layers = request.layers();
    check_block(layers, k)?;
    let (l, b) = (layers as i128, k as i128);
    let left = l * target as i128 - b * entering as i128;
    let wanted = round_ratio(left, l - b);
    if wanted < 1 {
        let alone = (k * entering) as f64 / layers as f64;
        return Err(refused(
            method,
            format!(
                "it cannot meet a layer average of {target} tokens: R = ({l} x {target} - {k} x \
                 {entering}) / {} = {:.1}; the first {k} of {layers} blocks, which see all \
                 {entering} tokens, make an average of {alone:.1} alone",
                l - b,
                left as f64 / (l - b) as f64,
            ),
        ));
    }
    Ok(usize::try_from(wanted).unwrap_or(entering).min(entering))
}

/// Refuses a block after which nothing can go.
pub(super) fn check_block(layers: usize, block: usize) -> Result<()> {
    if (1..layers).contains(&block) {
        return Ok(());
    }
    let accepted = if layers < 2 {
        "none, the decoder has a single block".to_owned()
    } else {
        format!("1 to {}", layers - 1)
    };
    Err(Error::range("refine-layer", block, accepted))
}

/// The block a method whose authors cut after block `authors` cuts after: the caller's choice, else
/// theirs, else the first later one with attention.
pub(super) fn cut_block(request: &PlanRequest<'_>, authors: usize) -> usize {
    let attends =
        |&block: &usize| request.config.decoder.mixer(block - 1) == MixerKind::FullAttention;
    let first = || (authors..request.layers()).find(attends).unwrap_or(authors);
    request.refine_layer.unwrap_or_else(first)
}

/// Refuses a method whose authors fixed blocks that have no attention in this model.
pub(super) fn needs_attention_everywhere(
    method: &'static str,
    request: &PlanRequest<'_>,
) -> Result<()> {
    if request.config.decoder.linear_attention.is_none() {
        return Ok(());
    }
    let reason = "it is not defined for this model: it reads attention at blocks its authors \
                  fixed, and those have linear attention here, which has no map to read";
    Err(refused(method, reason))
}

/// Refuses a block of the caller's choice where the method has several.
pub(super) fn no_choice_of_block(method: &'static str, request: &PlanRequest<'_>) -> Result<()> {
    match request.refine_layer {
        None => Ok(()),
        Some(block) => {
            let accepted = format!("none, {method} cuts after several blocks of its own");
            Err(Error::range("refine-layer", block, accepted))
        }
    }
}
