//! Stage 1: what stays of each image before the decoder.

use std::sync::Arc;

use candle_core::Tensor;

use super::{SeenImage, check, reduce};
use crate::error::Result;
use crate::layout::PromptLayout;
use crate::pruner::{Features, Pruner, Share, Stage1Plan, Stage1Signals, Stage1View};

/// The visual tokens that enter the decoder.
#[derive(Debug)]
pub(crate) struct Stage1 {
    /// Their numbers among all visual tokens of the prompt, ascending.
    pub(crate) kept: Vec<usize>,
    /// How many of each group, groups of all images in order; `None` if nothing was to be selected.
    pub(crate) groups: Option<Vec<usize>>,
    /// Their embeddings, `[kept, d]`; `None` without images.
    pub(crate) embeds: Option<Tensor>,
    /// What the first decoder blocks add to them, `[kept, d]` each.
    pub(crate) deepstack: Vec<Tensor>,
}

/// Carries the plan out on every image. `first_image` numbers the images through a session.
pub(crate) fn stage1(
    pruner: &dyn Pruner,
    plan: Option<&Stage1Plan>,
    images: &[Arc<SeenImage>],
    layout: &PromptLayout,
    first_image: usize,
) -> Result<Stage1> {
    let mut kept = Vec::new();
    let mut groups = Vec::new();
    let mut embeds = Vec::new();
    let mut layers: Vec<Vec<Tensor>> = Vec::new();
    for (index, image) in images.iter().enumerate() {
        let start = layout.image(index).start;
        let tokens = image.layout.len();
        let Some(share) = plan.and_then(|plan| plan.shares.get(index)) else {
            kept.extend(start..start + tokens);
            embeds.push(image.embeds.clone());
            layers.push(image.deepstack.clone());
            continue;
        };
        // What an earlier request had observed is not shown to a rule that did not ask for it.
        let declared = plan.map_or_else(Stage1Signals::default, |plan| plan.signals);
        let projected =
            declared.projected.then(|| Features::from_tensor(&image.embeds)).transpose()?;
        let view = Stage1View {
            image: first_image + index,
            layout: &image.layout,
            features: declared.features.then_some(image.features.as_ref()).flatten(),
            reliability: declared.reliability.then_some(image.reliability.as_deref()).flatten(),
            projected: projected.as_ref(),
        };
        let selection = pruner.before_decoder(&view, share)?;
        let count = match share {
            Share::Everything => tokens,
            Share::Groups(counts) => counts.iter().sum(),
        };
        check(pruner.name(), &selection, count, tokens)?;
        let mut sizes = vec![0; image.layout.groups().len()];
        for group in selection.kept.iter().filter_map(|&token| image.layout.group_of(token)) {
            sizes[group] += 1;
        }
        groups.extend(sizes);
        embeds.push(reduce(&image.embeds, &selection)?);
        let reduced = image.deepstack.iter().map(|layer| reduce(layer, &selection));
        layers.push(reduced.collect::<Result<_>>()?);
        kept.extend(selection.kept.into_iter().map(|token| start + token));
    }
    let embeds = if embeds.is_empty() { None } else { Some(Tensor::cat(&embeds, 0)?) };
    let planned = plan.is_some() && !images.is_empty();
    let deepstack = stack(&layers)?;
    Ok(Stage1 { kept, groups: planned.then_some(groups), embeds, deepstack })
}

/// Joins each layer over the images.
fn stack(images: &[Vec<Tensor>]) -> Result<Vec<Tensor>> {
    let depth = images.first().map_or(0, Vec::len);
    (0..depth)
        .map(|layer| {
            let parts: Vec<&Tensor> = images.iter().filter_map(|image| image.get(layer)).collect();
            Ok(Tensor::cat(&parts, 0)?)
        })
        .collect()
}
