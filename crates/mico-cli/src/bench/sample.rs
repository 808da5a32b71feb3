//! One run, and what holds for all runs of a setting, as the journal keeps them.

use std::time::Instant;

use mico_engine::{ImageOutcome, Seconds, Sink, Trace};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::memory::Allocated;
use super::report::count;
use super::settings::Setting;
use super::subject::Subject;
use crate::failure::Failure;

/// One counted run.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Sample {
    pub(super) seconds: Components,
    /// Wall time from the start of the request to the first token's logits.
    pub(super) first_token: f64,
    /// Wall time of the whole request.
    pub(super) request: f64,
    /// The most memory the process held: during the run, or since it began.
    pub(super) peak_memory: u64,
    /// Whether that is the run's own.
    pub(super) peak_is_own: bool,
    pub(super) allocated: Option<Allocated>,
}

/// Seconds per component of a run.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Components {
    pub(super) preprocess: f64,
    pub(super) vision: f64,
    pub(super) projector: f64,
    pub(super) stage1: f64,
    pub(super) stage2_relevance: f64,
    pub(super) stage2_select: f64,
    pub(super) decoder_prefill: f64,
    pub(super) decode: f64,
}

impl From<&Seconds> for Components {
    fn from(seconds: &Seconds) -> Self {
        Self {
            preprocess: seconds.preprocess,
            vision: seconds.vision,
            projector: seconds.projector,
            stage1: seconds.stage1,
            stage2_relevance: seconds.stage2_relevance,
            stage2_select: seconds.stage2_select,
            decoder_prefill: seconds.decoder_prefill,
            decode: seconds.decode,
        }
    }
}

impl Sample {
    /// Everything between pixels and the first logits.
    pub(super) fn prefill(&self) -> f64 {
        self.seconds.vision + self.seconds.projector + self.after_projector()
    }

    /// The part of it that pruning changes: decoder and both stages.
    pub(super) fn after_projector(&self) -> f64 {
        self.pruning() + self.seconds.decoder_prefill
    }

    /// What both stages cost.
    pub(super) fn pruning(&self) -> f64 {
        self.seconds.stage1 + self.seconds.stage2_relevance + self.seconds.stage2_select
    }
}

/// Notes when the first token's logits are known.
#[derive(Debug)]
pub(super) struct Stopwatch {
    start: Instant,
    first_token: Option<f64>,
}

impl Stopwatch {
    pub(super) fn start() -> Self {
        Self { start: Instant::now(), first_token: None }
    }

    pub(super) fn elapsed(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    pub(super) fn first_token(&self) -> Option<f64> {
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

/// A run of a setting as the engine tells of it.
#[derive(Debug)]
pub(super) struct Measured {
    pub(super) setting: Setting,
    pub(super) trace: Trace,
    pub(super) image: ImageOutcome,
}

/// What is the same in every run of a setting.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Facts {
    pub(super) tokens: Tokens,
    /// Tokens the budget comes to; nothing if the setting prunes nothing.
    pub(super) budget: Option<usize>,
    pub(super) gflops: Flops,
    /// Keys and values of the prompt, and recurrent states.
    pub(super) cache_bytes: usize,
}

/// Counts of tokens.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Tokens {
    pub(super) text: usize,
    pub(super) visual: usize,
    pub(super) stage1_kept: Option<usize>,
    pub(super) stage2_kept: Option<usize>,
    pub(super) layer_average: f64,
    /// Steps after the first token.
    pub(super) generated: usize,
}

/// FLOPs of a prefill: the sums that speed-ups need, and all parts as they are printed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Flops {
    pub(super) total: f64,
    pub(super) after_projector: f64,
    pub(super) parts: Value,
}

impl Facts {
    pub(super) fn new(subject: &Subject, measured: &Measured) -> Result<Self, Failure> {
        let (trace, setting) = (&measured.trace, &measured.setting);
        let gflops = count(subject, measured).map_err(Failure::failed)?;
        let cached: usize = trace.cache_lengths.iter().flatten().sum();
        let decoder = subject.engine.model().decoder();
        let schedule = subject.engine.schedule();
        let frames =
            if schedule.per_frame { measured.image.layout.groups().len().max(1) } else { 1 };
        let budget = setting.pruning.budget.tokens(trace.visual_tokens.div_ceil(frames)).ok();
        Ok(Self {
            tokens: Tokens {
                text: trace.prompt_tokens - trace.visual_tokens,
                visual: trace.visual_tokens,
                stage1_kept: trace.stage1.as_ref().map(|stage| stage.kept.len()),
                stage2_kept: trace.stage2.as_ref().map(|stage| stage.kept.len()),
                layer_average: trace.layer_average,
                generated: trace.generated_ids.len().saturating_sub(1).max(1),
            },
            budget: budget.filter(|_| setting.prunes()),
            gflops: Flops {
                total: gflops.total,
                after_projector: gflops.after_projector(),
                parts: serde_json::to_value(gflops).map_err(Failure::failed)?,
            },
            cache_bytes: cached * decoder.cache_bytes_per_token() + decoder.state_bytes(),
        })
    }
}
