//! Layer-average accounting: the token counts of methods that prune inside the decoder, from a budget.

use super::layout::TokenLayout;
use super::plan::{Cut, Plan, PlanRequest, PositionRule, Stage1Plan};
use super::quotas::{below, check_budget};
use super::refused;
use super::signals::Signals;
use crate::error::{Error, Result};
use crate::rank::round_ratio;

/// The sums of tokens and budgets over a request's images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Totals {
    /// The number of visual tokens of all images.
    pub(crate) tokens: usize,
    /// The number of tokens a block may process on average, over all images.
    pub(crate) target: usize,
}

impl Totals {
    pub(crate) fn of(request: &PlanRequest<'_>) -> Result<Self> {
        let mut totals = Self { tokens: 0, target: 0 };
        for layout in request.images() {
            totals.tokens += layout.len();
            totals.target += target(request, layout)?;
        }
        Ok(totals)
    }

    /// Whether the budget covers every token, so that nothing is pruned.
    pub(crate) fn keeps_all(&self) -> bool {
        self.target >= self.tokens
    }
}

/// The number of an image's tokens a block may process on average: its budget, or all tokens.
fn target(request: &PlanRequest<'_>, layout: &TokenLayout) -> Result<usize> {
    Ok(match below(request, layout)? {
        None => layout.len(),
        Some(tokens) if request.context.per_frame => {
            tokens * layout.len().div_ceil(request.context.unit(layout))
        }
        Some(tokens) => tokens,
    })
}

/// Tokens left after block `k` so that the average over all blocks is the target, if `entering` tokens
/// go through the first `k`: `R = round((L T - k N) / (L - k))`, halves to even. Refused with the
/// arithmetic if there is no such number.
pub(crate) fn one_cut(
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
    if wanted > entering as i128 {
        return Err(refused(
            method,
            format!(
                "it cannot meet a layer average of {target} tokens{}: only {entering} enter the \
                 decoder",
                over(request)
            ),
        ));
    }
    if wanted < 1 {
        let alone = (k * entering) as f64 / layers as f64;
        return Err(refused(
            method,
            format!(
                "it cannot meet a layer average of {target} tokens{}: R = ({l} x {target} - {k} x \
                 {entering}) / {} = {:.1}; the first {k} of {layers} blocks, which see all \
                 {entering} tokens, make an average of {alone:.1} alone",
                over(request),
                l - b,
                left as f64 / (l - b) as f64,
            ),
        ));
    }
    Ok(usize::try_from(wanted).unwrap_or(entering).min(entering))
}

/// A phrase for messages that says when counts are summed over several images or frames.
pub(crate) fn over(request: &PlanRequest<'_>) -> String {
    let groups = |layout: &&TokenLayout| layout.groups();
    match request.images().len() {
        _ if request.context.per_frame => {
            format!(" over {} frames", request.images().iter().map(groups).sum::<usize>())
        }
        0 | 1 => String::new(),
        images => format!(" over {images} images"),
    }
}

/// Refuses a block after which no other block follows, and block 0.
pub(crate) fn check_block(layers: usize, block: usize) -> Result<()> {
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

/// A plan with one early cut, before which every block processes all tokens. The block is the caller's,
/// else the setting `layer`, else `authors` or the first later block with attention.
pub(crate) fn early_cut(
    method: &'static str,
    request: &PlanRequest<'_>,
    authors: usize,
    layer: Option<usize>,
    signals: Signals,
) -> Result<Plan> {
    let totals = Totals::of(request)?;
    if let (Some(layer), Some(block)) = (layer, request.refine_layer) {
        let found = format!("{layer} beside refine-layer {block}");
        return Err(Error::range("setting 'layer'", found, "one of the two"));
    }
    let attends = |&block: &usize| request.model().attends_at(block);
    let first = || (authors..request.layers()).find(attends).unwrap_or(authors);
    let block = request.refine_layer.or(layer).unwrap_or_else(first);
    check_block(request.layers(), block)?;
    if totals.keeps_all() {
        return Ok(Plan::default());
    }
    let keep = if request.authors {
        totals.target
    } else {
        one_cut(method, request, block, totals.tokens, totals.target)?
    };
    Ok(Plan::after_blocks(vec![Cut::new(block, keep, signals)]))
}

/// The number of tokens kept before the decoder at a budget of `tokens`: 3/2 of it, halves to even.
pub(crate) fn three_halves(tokens: usize) -> usize {
    usize::try_from(round_ratio(3 * tokens as i128, 2)).unwrap_or(tokens)
}

/// The plan of a method that prunes before the decoder and once inside it, and whose authors renumber
/// position ids after pruning. `first_stage` gives the first stage and the tokens it leaves of the first
/// crop; `cut` makes the second of the tokens that enter the decoder and those of the first crop. There
/// is no cut where the first stage keeps everything.
pub(crate) fn renumbered_stages(
    request: &PlanRequest<'_>,
    first_stage: impl FnOnce() -> Result<(Stage1Plan, usize)>,
    cut: impl FnOnce(usize, usize) -> Result<Cut>,
) -> Result<Plan> {
    check_budget(request.budget)?;
    let (stage1, first) = first_stage()?;
    let (keeps_all, entering) = (stage1.keeps_all(), stage1.entering());
    let positions = request.renumbered(PositionRule::Packed);
    let plan = Plan::before_decoder(stage1).with_positions(positions);
    Ok(if keeps_all { plan } else { plan.with_cuts(vec![cut(entering, first)?]) })
}

/// The second stage of a method whose first stage leaves `entering` tokens, `first` of them in the
/// first crop.
pub(crate) struct SecondStage {
    pub(crate) block: usize,
    /// The number of tokens the rule selects.
    pub(crate) ask: usize,
    /// The number of tokens that remain.
    pub(crate) keep: usize,
    /// The number of tokens at the beginning that compete; `None` if all do.
    pub(crate) among: Option<usize>,
}

impl SecondStage {
    /// The count that meets the layer average; or the authors' half of the budget, which for an image of
    /// several crops their code takes from the first crop alone.
    pub(crate) fn new(
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
        for layout in request.images() {
            let frames = request.context.units(layout);
            half += match below(request, layout)? {
                Some(tokens) => (tokens / 2).max(1) * frames,
                None => layout.len(),
            };
        }
        let crops = request.images().first().map_or(1, |layout| layout.groups());
        if request.model().anyres_crops && request.images().len() == 1 && crops > 1 {
            let ask = (half / crops).max(1).min(first);
            let keep = entering - first + ask;
            return Ok(Self { block, ask, keep, among: Some(first) });
        }
        let keep = half.min(entering);
        Ok(Self { block, ask: keep, keep, among: None })
    }

    pub(crate) fn cut(&self, signals: Signals) -> Cut {
        Cut { ask: self.ask, among: self.among, ..Cut::new(self.block, self.keep, signals) }
    }
}

/// The totals that a method with several fixed cuts has to meet; `None` if everything stays. An error
/// where the method is not defined, or where the caller chooses a block.
pub(crate) fn several_cuts(
    method: &'static str,
    request: &PlanRequest<'_>,
) -> Result<Option<Totals>> {
    check_budget(request.budget)?;
    let totals = Totals::of(request)?;
    if totals.keeps_all() {
        return Ok(None);
    }
    needs_attention_everywhere(method, request)?;
    no_choice_of_block(method, request)?;
    Ok(Some(totals))
}

/// The sum over all `layers` blocks of the tokens each processes, if `tokens` enter and each of `cuts`
/// leaves `count` tokens after `block`.
pub(crate) fn seen_by_all(
    layers: usize,
    tokens: usize,
    cuts: impl IntoIterator<Item = (usize, usize)>,
) -> usize {
    let (mut sum, mut left, mut from) = (0, tokens, 0);
    for (block, count) in cuts {
        sum += left * (block - from);
        (left, from) = (count, block);
    }
    sum + left * (layers - from)
}

/// Refuses a method with fixed blocks on a model where some blocks have linear attention.
pub(crate) fn needs_attention_everywhere(
    method: &'static str,
    request: &PlanRequest<'_>,
) -> Result<()> {
    if request.model().attends.iter().all(|&attends| attends) {
        return Ok(());
    }
    let reason = "it is not defined for this model: it reads attention at blocks its authors \
                  fixed, and those have linear attention here, which has no map to read";
    Err(refused(method, reason))
}

/// Refuses the caller's choice of a block for a method that cuts after several.
fn no_choice_of_block(method: &'static str, request: &PlanRequest<'_>) -> Result<()> {
    match request.refine_layer {
        None => Ok(()),
        Some(block) => {
            let accepted = format!("none, {method} cuts after several blocks of its own");
            Err(Error::range("refine-layer", block, accepted))
        }
    }
}
