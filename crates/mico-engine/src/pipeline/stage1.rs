//! Stage 1: what stays of each image before the decoder.

use std::ops::Range;

use candle_core::Tensor;
use mico_model::Model;
use mico_select::pruner::{PositionRule, Stage1Plan, Stage1View, check_selection};
use mico_select::{Merge, Selection};

use super::signals::{Derived, stage1_signals};
use super::{TurnContext, VisionOutput, arrange, filtered};
use crate::error::{Error, Result};
use crate::features::Features;
use crate::sink::{Phase, Step};
use crate::trace::{Seconds, timed};

/// The visual tokens that enter the decoder.
#[derive(Debug, Default)]
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
}

/// Stage 1 between two images.
#[derive(Debug, Default)]
pub(super) struct Selecting {
    done: Stage1,
    /// Embeddings of what stays of each image so far.
    embeds: Vec<Tensor>,
    /// What the first decoder blocks add to them.
    layers: Vec<Vec<Tensor>>,
    /// Embeddings of the question's words, if the plan asks for them.
    pub(super) question: Option<Features>,
}

impl Selecting {
    /// Before the first image.
    pub(super) fn new(context: &TurnContext<'_>, question: Option<Features>) -> Self {
        let plan = context.turn.plan.stage1.as_ref();
        let groups = plan.filter(|_| !context.images.is_empty()).map(|_| Vec::new());
        Self { done: Stage1 { groups, ..Stage1::default() }, question, ..Self::default() }
    }

    /// Carries the plan out on the next image it selects of; `None` once no such image is left.
    pub(super) fn advance(
        &mut self,
        context: &TurnContext<'_>,
        seconds: &mut Seconds,
    ) -> Result<Option<Step>> {
        let plan = context.turn.plan.stage1.as_ref();
        while let Some(image) = context.images.get(self.embeds.len()) {
            let (index, image) = (self.embeds.len(), image.output());
            let Some(plan) = plan.filter(|plan| index < plan.quotas.len()) else {
                self.done.take_all(context.turn.layout.image(index));
                self.embeds.push(image.embeddings()?.clone());
                self.layers.push(image.deepstack.clone());
                continue;
            };
            let question = self.question.as_ref();
            let selection = timed(&mut seconds.stage1, || select(context, plan, index, question))?;
            self.embeds.push(survivors(context, plan, image, &selection, seconds)?);
            let reduced = image.deepstack.iter().map(|layer| filtered(layer, &selection));
            self.layers.push(reduced.collect::<Result<_>>()?);
            self.done.take(context, index, selection);
            return Ok(Some(Step::new(Phase::Stage1, index + 1, context.images.len())));
        }
        Ok(None)
    }

    /// What enters the decoder, once all images are through.
    pub(super) fn finish(self) -> Result<Stage1> {
        let mut done = self.done;
        if !self.embeds.is_empty() {
            done.embeds = Some(Tensor::cat(&self.embeds, 0)?);
        }
        done.deepstack = stack(&self.layers)?;
        Ok(done)
    }
}

impl Stage1 {
    /// Adds an image of which everything stays.
    fn take_all(&mut self, tokens: Range<usize>) {
        self.kept.extend(tokens.clone());
        self.sequence.extend(tokens);
    }

    /// Adds one image's selection, renumbered through the prompt.
    fn take(&mut self, context: &TurnContext<'_>, index: usize, selection: Selection) {
        let layout = &context.images[index].output().layout;
        let mut sizes = vec![0; layout.groups().len()];
        for group in selection.kept.iter().filter_map(|&token| layout.group_of(token)) {
            sizes[group] += 1;
        }
        self.groups.get_or_insert_default().extend(sizes);
        let start = context.turn.layout.image(index).start;
        self.sequence.extend(selection.in_sequence().iter().map(|token| start + token));
        self.kept.extend(selection.kept.iter().map(|token| start + token));
        self.merges.extend(selection.merges.into_iter().map(|mut merge| {
            merge.target += start;
            merge.sources.iter_mut().for_each(|source| *source += start);
            merge
        }));
    }
}

/// The pruner's choice among one image's tokens, held against the plan.
fn select(
    context: &TurnContext<'_>,
    plan: &Stage1Plan,
    index: usize,
    question: Option<&Features>,
) -> Result<Selection> {
    let (image, pruner) = (context.images[index].output(), context.pruner());
    let mut selection = choose(context, plan, index, question)?;
    check_selection(pruner.name(), &selection, plan.leaves[index], image.layout.len())?;
    if context.turn.positions() == PositionRule::Original {
        selection.sequence.clear();
    }
    Ok(selection)
}

/// Embeddings of what a selection keeps of an image. Where the projector takes tokens one by one, only
/// those that stay are projected.
fn survivors(
    context: &TurnContext<'_>,
    plan: &Stage1Plan,
    image: &VisionOutput,
    selection: &Selection,
    seconds: &mut Seconds,
) -> Result<Tensor> {
    let merges_in_tower = plan.merge_in_tower && !selection.merges.is_empty();
    let rows = match &image.states {
        None if merges_in_tower => Some(tower_rows(image)?),
        states => states.clone(),
    };
    match rows {
        Some(rows) => {
            let rows = timed(&mut seconds.stage1, || arrange(&rows, selection))?;
            timed(&mut seconds.projector, || project(&context.engine.model, &rows))
        }
        None => timed(&mut seconds.stage1, || arrange(image.embeddings()?, selection)),
    }
}

/// Shows the pruner the signals of an image that it declared, and no others, and takes its choice.
fn choose(
    context: &TurnContext<'_>,
    plan: &Stage1Plan,
    index: usize,
    question: Option<&Features>,
) -> Result<Selection> {
    let (image, pruner) = (context.images[index].output(), context.pruner());
    let derived = Derived::of(image, plan.signals)?;
    let observed = stage1_signals(pruner.name(), plan.signals, image, &derived, question)?;
    let view = Stage1View {
        image: context.turn.first_image + index,
        model: &context.engine.traits,
        layout: &context.turn.tokens[index],
        observed,
    };
    Ok(pruner.before_decoder(&view, &plan.quotas[index])?)
}

/// Rows of the tower in the decoder's space.
fn project(model: &Model, rows: &Tensor) -> Result<Tensor> {
    let missing = || Error::internal("the family's projector does not take single tokens");
    model.project(rows)?.ok_or_else(missing)
}

/// The tower's vectors of an image that is projected already, to merge tokens of.
fn tower_rows(image: &VisionOutput) -> Result<Tensor> {
    let Some(features) = &image.features else {
        return Err(Error::internal("tokens are to be merged, the tower's features were not kept"));
    };
    let embeds = image.embeddings()?;
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
