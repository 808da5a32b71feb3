//! One run, and what holds for all runs of a condition, as the journal keeps them.

use std::time::Instant;

use mico_engine::flops::{Head, Planned};
use mico_engine::pruner::Pruning;
use mico_engine::{Outcome, Seconds, Sink};
use mico_vision::layout::VisualLayout;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::memory::Allocated;
use crate::subject::Subject;

/// The times and memory of one counted run.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Sample {
    pub(crate) seconds: Seconds,
    /// Wall time from the start of the request to the first token's logits.
    pub(crate) first_token: f64,
    /// Wall time of the whole request.
    pub(crate) request: f64,
    /// The most memory the process held: during the run, or since it began.
    pub(crate) peak_memory: u64,
    /// Whether that is the run's own.
    pub(crate) peak_is_own: bool,
    pub(crate) allocated: Option<Allocated>,
}

impl Sample {
    /// Everything between pixels and the first logits.
    pub(crate) fn prefill(&self) -> f64 {
        self.seconds.vision + self.seconds.projector + self.after_projector()
    }

    /// The part of it that pruning changes: decoder and both stages.
    pub(crate) fn after_projector(&self) -> f64 {
        self.pruning() + self.seconds.decoder_prefill
    }

    /// What both stages cost.
    pub(crate) fn pruning(&self) -> f64 {
        self.seconds.stage1 + self.seconds.stage2_relevance + self.seconds.stage2_select
    }
}

/// Notes when the first token's logits are known.
#[derive(Debug)]
pub(crate) struct Stopwatch {
    start: Instant,
    first_token: Option<f64>,
}

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self { start: Instant::now(), first_token: None }
    }

    pub(crate) fn elapsed(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    pub(crate) fn first_token(&self) -> Option<f64> {
        self.first_token
    }
}

impl Sink for Stopwatch {
    fn steer(&mut self, _: &[f32]) -> Option<u32> {
        if self.first_token.is_none() {
            self.first_token = Some(self.elapsed());
        }
        None
    }
}

/// What is the same in every run of a condition.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Facts {
    pub(crate) tokens: Tokens,
    /// Tokens the budget comes to; nothing if the condition prunes nothing.
    pub(crate) budget: Option<usize>,
    pub(crate) gflops: Flops,
    /// Keys and values of the prompt, and recurrent states.
    pub(crate) cache_bytes: usize,
}

/// Text and visual tokens of the prompt, before and after pruning.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Tokens {
    /// Text tokens of the prompt.
    pub text: usize,
    /// Visual tokens of the unpruned prompt.
    pub visual: usize,
    /// Visual tokens that Stage 1 kept, if it ran.
    pub stage1_kept: Option<usize>,
    /// Visual tokens in the last block, if any went inside the decoder.
    pub stage2_kept: Option<usize>,
    /// Visual tokens per block and image or frame, averaged over the blocks.
    pub layer_average: f64,
    /// Steps after the first token.
    pub generated: usize,
}

/// FLOPs of a prefill: the sums that speed-ups need, and all parts as they are printed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Flops {
    pub(crate) total: f64,
    pub(crate) after_projector: f64,
    pub(crate) parts: Value,
}

impl Facts {
    pub(crate) fn new(subject: &Subject, pruning: &Pruning, outcome: &Outcome) -> Result<Self> {
        let Subject { engine, input, .. } = subject;
        let Outcome { usage, plan, stage1, cuts, images, cache_lengths, .. } = outcome;
        let layouts: Vec<&VisualLayout> = images.iter().map(|image| &*image.layout).collect();
        let text = usage.prompt_tokens - usage.visual_tokens;
        let planned = Planned {
            config: engine.model().config(),
            images: &layouts,
            pruner: pruning.pruner.as_ref(),
            plan,
            text,
            after_image: input.after_image,
        };
        // The head over the last position, as the engine runs it.
        let gflops = planned.prefill(Head::Last)?;
        let decoder = engine.model().decoder();
        let cached: usize = cache_lengths.iter().flatten().sum();
        let unit = usage.visual_tokens.div_ceil(engine.schedule().units(layouts));
        Ok(Self {
            tokens: Tokens {
                text,
                visual: usage.visual_tokens,
                stage1_kept: stage1.as_ref().map(|stage| stage.kept.len()),
                stage2_kept: cuts.last().map(|cut| cut.kept.len()),
                layer_average: usage.layer_average,
                generated: outcome.answer.ids.len().saturating_sub(1).max(1),
            },
            budget: pruning.budget.tokens(unit).ok().filter(|_| pruning.pruner.prunes()),
            gflops: Flops {
                total: gflops.total,
                after_projector: gflops.after_projector(),
                parts: serde_json::to_value(gflops)
                    .map_err(|error| Error::internal(error.to_string()))?,
            },
            cache_bytes: cached * decoder.cache_bytes_per_token() + decoder.state_bytes(),
        })
    }
}
