//! What is told about a finished turn.

use candle_core::{Device, Tensor};
use mico_select::Signal;
use mico_select::pruner::{FeatureSpace, Plan, Quota, Refinement};

use crate::dump::Dump;
use crate::encoded::EncodedImage;
use crate::engine::Engine;
use crate::error::Result;
use crate::features::Features;
use crate::generate::{Finish, Generated, Generation};
use crate::outcome::{Answer, CutOutcome, ImageOutcome, Outcome, Stage1Outcome, Usage};
use crate::pipeline::{Prefilled, Stage1, Turn, TurnContext, VisionOutput};
use crate::request::{Observe, SessionOptions};
use crate::trace::{LogitsTrace, ModelTrace, Seconds};
use crate::units::layer_average;

/// What is known of a turn before its answer.
#[derive(Debug)]
pub struct Report(Box<Outcome>);

impl Report {
    /// What the prompt came to, without times and logits.
    pub(crate) fn new(
        context: &TurnContext<'_>,
        selected: Stage1,
        filled: Prefilled,
        question: Option<&Features>,
    ) -> Result<Self> {
        let turn = context.turn;
        let tensors = turn.observe.tensors.then(|| dump(context, question, &filled)).transpose()?;
        let usage = usage(turn, &selected, &filled);
        let Stage1 { kept, groups, merges, .. } = selected;
        let merges = merges.iter().chain(filled.cuts.iter().flat_map(|cut| &cut.merges));
        let merged = merges.map(|m| (m.target, m.sources.clone())).collect();
        let cuts = filled.cuts.into_iter();
        Ok(Self(Box::new(Outcome {
            answer: Answer {
                text: String::new(),
                ids: Vec::new(),
                finish: Finish::Length,
                logprobs: None,
            },
            usage,
            model: turn.model.clone(),
            plan: turn.plan.clone(),
            stage1: groups.map(|groups| Stage1Outcome { kept, groups }),
            cuts: cuts.map(|cut| CutOutcome { block: cut.block, kept: cut.visual }).collect(),
            merged,
            images: images(context),
            cache_lengths: Vec::new(),
            seconds: Seconds::default(),
            first_logits: None,
            tensors,
        })))
    }

    /// The same with the first logits (if the request wants to see them), the caches' lengths after the
    /// prompt and the time it took.
    pub(crate) fn after_prompt(
        mut self,
        logits: &[f32],
        cache_lengths: Vec<Option<usize>>,
        seconds: Seconds,
        observe: Observe,
    ) -> Self {
        self.0.first_logits = observe.first_logits.then(|| LogitsTrace::new(logits));
        self.0.cache_lengths = cache_lengths;
        self.0.seconds = seconds;
        self
    }

    /// The answer and how it came about; an error if the answer is not finished. `decode` is the time
    /// that everything after the prompt took, in seconds.
    pub fn finish(self, generation: Generation, decode: f64) -> Result<Outcome> {
        Ok(self.answered(&generation.into_generated()?, decode))
    }

    pub(crate) fn answered(self, generated: &Generated, decode: f64) -> Outcome {
        let mut outcome = *self.0;
        outcome.answer = Answer {
            text: generated.text.clone(),
            ids: generated.ids.clone(),
            finish: generated.finish.clone(),
            logprobs: generated.logprobs.clone(),
        };
        outcome.usage.generated_tokens = generated.ids.len();
        outcome.seconds.decode = decode;
        outcome
    }
}

fn usage(turn: &Turn, selected: &Stage1, filled: &Prefilled) -> Usage {
    let kept = filled.cuts.last().map_or(selected.kept.len(), |cut| cut.visual.len());
    Usage {
        prompt_tokens: turn.layout.len(),
        visual_tokens: turn.layout.visual_tokens(),
        visual_tokens_entered: selected.kept.len(),
        visual_tokens_kept: kept,
        layer_average: layer_average(&filled.visual_per_block, turn.units),
        generated_tokens: 0,
    }
}

/// The model a turn runs on, and the refinement block in force.
pub(crate) fn model_trace(engine: &Engine, options: &SessionOptions, plan: &Plan) -> ModelTrace {
    let chosen = options.pruning.refine_layer;
    let own = chosen.unwrap_or(engine.schedule.policy.refine_layer);
    ModelTrace {
        family: engine.model.config().family.name(),
        layers: engine.model.decoder().blocks(),
        refine_layer: plan.cuts.last().map_or(own, |cut| cut.block),
        // A block the caller or the method chose was scaled from nowhere.
        uncalibrated: engine.schedule.preset.is_none()
            && chosen.is_none()
            && options.pruning.pruner.refinement() == Refinement::Model,
    }
}

fn images(context: &TurnContext<'_>) -> Vec<ImageOutcome> {
    let outcome = |(index, image): (usize, &EncodedImage)| ImageOutcome {
        layout: image.output().layout.clone(),
        tokens: context.turn.layout.image(index),
    };
    context.images.iter().enumerate().map(outcome).collect()
}

/// The tensors of the turn.
fn dump(
    context: &TurnContext<'_>,
    question: Option<&Features>,
    filled: &Prefilled,
) -> Result<Dump> {
    let mut dump = Dump::default();
    dump_images(&mut dump, context)?;
    if let Some(question) = question {
        dump.rows("stage1.text", question)?;
    }
    let spatial = context.decoder().config().rope.axes.is_spatial();
    dump_positions(&mut dump, filled, spatial)?;
    dump_cuts(&mut dump, filled)?;
    dump.put("first_logits", filled.logits.clone());
    Ok(dump)
}

/// What the vision side gave, joined over the images.
fn dump_images(dump: &mut Dump, context: &TurnContext<'_>) -> Result<()> {
    let images = context.images;
    let join = |of: fn(&VisionOutput) -> Option<&Tensor>| {
        images.iter().filter_map(|image| of(image.output())).cloned().collect::<Vec<_>>()
    };
    dump.join("pixel_values", &join(|image| image.pixels.as_ref()))?;
    dump.join("visual_embeds", &join(|image| image.embeds.as_ref()))?;
    let rows = |of: fn(&VisionOutput) -> Option<&Features>| {
        let parts = images.iter().filter_map(|image| of(image.output()));
        parts.map(Features::to_tensor).collect::<Result<Vec<_>>>()
    };
    let projected = context.turn.plan.stage1.as_ref().is_some_and(|plan| {
        plan.signals.has(Signal::Features) && plan.signals.space() == FeatureSpace::Projected
    });
    if projected {
        dump.join("stage1.features", &join(|image| image.embeds.as_ref()))?;
    } else {
        dump.join("stage1.features", &rows(|image| image.features.as_ref())?)?;
    }
    dump.integers("stage1.group", &groups(context))?;
    dump.join("stage1.keys", &rows(|image| image.keys.as_ref())?)?;
    let numbers = |of: fn(&VisionOutput) -> Option<&Vec<f32>>| -> Vec<f32> {
        images.iter().filter_map(|image| of(image.output())).flatten().copied().collect()
    };
    dump.vector("stage1.reliability", &numbers(|image| image.reliability.as_ref()))?;
    dump.vector("stage1.reliability_shallow", &numbers(|image| image.shallow.as_ref()))
}

/// Which tokens of all images compete with each other, as the plan says: those of a number. A token that belongs to
/// no group has -1.
fn groups(context: &TurnContext<'_>) -> Vec<i64> {
    let quotas = context.turn.plan.stage1.as_ref().map_or(&[][..], |plan| &plan.quotas);
    let (mut labels, mut first) = (Vec::new(), 0);
    for (index, layout) in context.turn.tokens.iter().enumerate() {
        let together = matches!(quotas.get(index), Some(Quota::Image(_)));
        let label = |group: usize| first + if together { 0 } else { number(group) };
        labels.extend((0..layout.len()).map(|token| layout.group_of(token).map_or(-1, label)));
        first += if together { 1 } else { number(layout.groups()) };
    }
    labels
}

/// A count or an index as dumps store it; both are far below the largest number of either type.
fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Position ids of the tokens that entered block 1; three axes where positions have them.
fn dump_positions(dump: &mut Dump, filled: &Prefilled, spatial: bool) -> Result<()> {
    let (axes, ids) = (if spatial { 3 } else { 1 }, &filled.position_ids);
    let along = |axis: usize| ids.iter().map(move |id| i64::from(id.axes()[axis]));
    let positions: Vec<i64> = (0..axes).flat_map(along).collect();
    let positions = Tensor::from_vec(positions, (axes, ids.len()), &Device::Cpu)?;
    dump.put("position_ids", if spatial { positions } else { positions.squeeze(0)? });
    Ok(())
}

/// What each cut saw; the last one is called `stage2`.
fn dump_cuts(dump: &mut Dump, filled: &Prefilled) -> Result<()> {
    for (index, seen) in filled.observed.iter().enumerate() {
        let last = index + 1 == filled.observed.len();
        let place = if last { "stage2".to_owned() } else { format!("cut{}", seen.block) };
        let rows = [
            ("features", &seen.features),
            ("text", &seen.text),
            ("keys", &seen.keys),
            ("text_keys", &seen.text_keys),
        ];
        for (name, rows) in rows {
            if let Some(rows) = rows {
                dump.rows(&format!("{place}.{name}"), rows)?;
            }
        }
        if let Some(relevance) = &seen.relevance {
            dump.vector(&format!("{place}.relevance"), relevance)?;
        }
        let tokens: Vec<i64> = seen.tokens.iter().map(|&token| number(token)).collect();
        dump.integers(&format!("{place}.token"), &tokens)?;
    }
    Ok(())
}
