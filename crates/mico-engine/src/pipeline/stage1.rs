//! Stage 1: what stays of each image before the decoder.

use std::sync::Arc;

use candle_core::Tensor;
use mico_model::Model;
use mico_select::{Merge, Selection, Tensor as Signal};

use super::{SeenImage, arrange, check, filtered};
use crate::error::{Error, Result};
use crate::layout::PromptLayout;
use crate::pruner::{FeatureSpace, Features, PositionRule, Pruner, Stage1Plan, Stage1View};
use crate::trace::timed;

/// The visual tokens that enter the decoder.
#[derive(Debug)]
pub(crate) struct Stage1 {
    /// Their numbers among all visual tokens of the prompt, ascending.
    pub(crate) kept: Vec<usize>,
    /// The same in the order in which they stand.
    pub(crate) sequence: Vec<usize>,
    /// How many of each group, groups of all images in order; `None` if nothing was to be selected.
    pub(crate) groups: Option<Vec<usize>>,
    /// Their embeddings in that order, `[kept, d]`; `None` without images.
    pub(crate) embeds: Option<Tensor>,
    /// What the first decoder blocks add to them, `[kept, d]` each.
    pub(crate) deepstack: Vec<Tensor>,
    /// Tokens that took others in, numbered like the kept ones.
    pub(crate) merges: Vec<Merge>,
    /// Seconds spent on projecting what stays.
    pub(crate) projecting: f64,
}

/// What Stage 1 works on.
pub(crate) struct Stage1Work<'a> {
    pub(crate) model: &'a Model,
    pub(crate) pruner: &'a dyn Pruner,
    pub(crate) plan: Option<&'a Stage1Plan>,
    pub(crate) images: &'a [Arc<SeenImage>],
    pub(crate) layout: &'a PromptLayout,
    /// Number of the first image, counted through the session.
    pub(crate) first_image: usize,
    /// Embeddings of the question's words, if they are asked for.
    pub(crate) question: Option<&'a Features>,
    pub(crate) positions: PositionRule,
}

/// Carries the plan out on every image.
pub(crate) fn stage1(work: &Stage1Work<'_>) -> Result<Stage1> {
    let mut done = Stage1 {
        kept: Vec::new(),
        sequence: Vec::new(),
        groups: None,
        embeds: None,
        deepstack: Vec::new(),
        merges: Vec::new(),
        projecting: 0.0,
    };
    let mut groups = Vec::new();
    let mut embeds = Vec::new();
    let mut layers: Vec<Vec<Tensor>> = Vec::new();
    for (index, image) in work.images.iter().enumerate() {
        let start = work.layout.image(index).start;
        let tokens = image.layout.len();
        let Some((plan, share)) = work.plan.and_then(|plan| Some((plan, plan.shares.get(index)?)))
        else {
            done.kept.extend(start..start + tokens);
            done.sequence.extend(start..start + tokens);
            embeds.push(embedded(image)?.clone());
            layers.push(image.deepstack.clone());
            continue;
        };
        let mut selection = choose(work, plan, index, image)?;
        let family = work.model.config().family;
        let count = work.pruner.leaves(&image.layout, share, family)?;
        check(work.pruner.name(), &selection, count, tokens)?;
        if work.positions == PositionRule::Original {
            selection.sequence.clear();
        }
        let mut sizes = vec![0; image.layout.groups().len()];
        for group in selection.kept.iter().filter_map(|&token| image.layout.group_of(token)) {
            sizes[group] += 1;
        }
        groups.extend(sizes);
        let merges_in_tower = plan.merge_in_tower && !selection.merges.is_empty();
        let rows = match &image.states {
            None if merges_in_tower => Some(tower_rows(image)?),
            states => states.clone(),
        };
        embeds.push(match rows {
            Some(rows) => {
                let rows = arrange(&rows, &selection)?;
                timed(&mut done.projecting, || project(work.model, &rows))?
            }
            None => arrange(embedded(image)?, &selection)?,
        });
        let reduced = image.deepstack.iter().map(|layer| filtered(layer, &selection));
        layers.push(reduced.collect::<Result<_>>()?);
        done.sequence.extend(selection.in_sequence().iter().map(|token| start + token));
        done.kept.extend(selection.kept.iter().map(|token| start + token));
        done.merges.extend(selection.merges.into_iter().map(|mut merge| {
            merge.target += start;
            merge.sources.iter_mut().for_each(|source| *source += start);
            merge
        }));
    }
    if !embeds.is_empty() {
        done.embeds = Some(Tensor::cat(&embeds, 0)?);
    }
    done.groups = (work.plan.is_some() && !work.images.is_empty()).then_some(groups);
    done.deepstack = stack(&layers)?;
    Ok(done)
}

/// Shows the pruner what it declared of an image, and nothing else, and takes its choice.
fn choose(
    work: &Stage1Work<'_>,
    plan: &Stage1Plan,
    index: usize,
    image: &SeenImage,
) -> Result<Selection> {
    let signals = plan.signals;
    let space = || Features::from_tensor(embedded(image)?);
    let projected = signals.embeddings().then(space).transpose()?;
    let features = match signals.space {
        FeatureSpace::Tower => image.features.as_ref(),
        FeatureSpace::Projected => projected.as_ref(),
    };
    let shows_nothing = |token| f32::from(u8::from(image.layout.region(token).is_empty()));
    let padding: Option<Vec<f32>> =
        signals.has(Signal::Excluded).then(|| (0..image.layout.len()).map(shows_nothing).collect());
    let rows = [
        (Signal::Features, features),
        (Signal::Projected, projected.as_ref()),
        (Signal::Keys, image.keys.as_ref()),
        (Signal::Text, work.question),
    ];
    let vectors = [
        (Signal::Reliability, image.reliability.as_deref()),
        (Signal::ReliabilityShallow, image.shallow.as_deref()),
        (Signal::Excluded, padding.as_deref()),
    ];
    let missing = |signal: Signal| {
        let message = format!("stage1.{signal} was not observed");
        Error::Pruner { pruner: work.pruner.name(), message }
    };
    let (mut shown_rows, mut shown_vectors) = (Vec::new(), Vec::new());
    for (signal, found) in rows.into_iter().filter(|(signal, _)| signals.has(*signal)) {
        shown_rows.push((signal, found.ok_or_else(|| missing(signal))?));
    }
    for (signal, found) in vectors.into_iter().filter(|(signal, _)| signals.has(*signal)) {
        shown_vectors.push((signal, found.ok_or_else(|| missing(signal))?));
    }
    let view = Stage1View {
        image: work.first_image + index,
        family: work.model.config().family,
        layout: &image.layout,
        rows: &shown_rows,
        vectors: &shown_vectors,
    };
    work.pruner.before_decoder(&view, &plan.shares[index])
}

/// The embeddings of an image that is projected whole.
fn embedded(image: &SeenImage) -> Result<&Tensor> {
    let missing = || Error::range("visual_embeds", "none", "those of the whole image");
    image.embeds.as_ref().ok_or_else(missing)
}

/// Rows of the tower in the decoder's space.
fn project(model: &Model, rows: &Tensor) -> Result<Tensor> {
    let missing = || Error::range("projector", "one for whole images", "one for single tokens");
    model.project(rows)?.ok_or_else(missing)
}

/// The tower's vectors of an image that is projected already, to merge tokens of.
fn tower_rows(image: &SeenImage) -> Result<Tensor> {
    let Some(features) = &image.features else {
        return Err(Error::range("stage1.features", "none", "the tower's, to merge tokens of"));
    };
    let embeds = embedded(image)?;
    Ok(features.to_tensor()?.to_device(embeds.device())?.to_dtype(embeds.dtype())?)
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
