//! Everything that happened to one request, in the shape `mico trace` prints.

use std::time::Instant;

use serde::Serialize;

/// Logits listed in a trace.
const TOP: usize = 10;

/// What happened to one request. Serialises to exactly the fields of the command-line contract;
/// indices of visual tokens are positions in the unpruned visual sequence, images in order.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Trace {
    /// What ran.
    pub model: ModelTrace,
    /// N0, over all images of the turn.
    pub visual_tokens: usize,
    /// P0: the turn's unpruned length.
    pub prompt_tokens: usize,
    /// What Stage 1 kept; null if it did not run.
    pub stage1: Option<Stage1Trace>,
    /// What Stage 2 kept; null if it did not run.
    pub stage2: Option<Stage2Trace>,
    /// What every cut kept, where a method makes several; the last of them is `stage2`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cuts: Vec<CutTrace>,
    /// Tokens that took others in: the target and what went into it, before the decoder and inside.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub merged: Vec<(usize, Vec<usize>)>,
    /// Visual tokens per block and image (or frame of a video), averaged over the blocks.
    pub layer_average: f64,
    /// Tokens each block's cache held after the prompt; null for a block without one.
    pub cache_lengths: Vec<Option<usize>>,
    /// The answer's ids, the end token left out.
    pub generated_ids: Vec<u32>,
    /// The answer.
    pub text: String,
    /// Logits at the last prompt token.
    pub first_logits: LogitsTrace,
    /// Where the time went.
    pub seconds: Seconds,
    /// Most memory the process held so far (`VmHWM`); 0 where the system does not say.
    pub peak_memory_bytes: u64,
}

/// The model of a trace.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelTrace {
    /// `llava`, `llava_next`, `qwen2_5_vl`, ...
    pub family: &'static str,
    /// Decoder blocks L.
    pub layers: usize,
    /// Refinement block K, counted from 1.
    pub refine_layer: usize,
    /// Whether K was scaled from another model of the family rather than calibrated for this one.
    #[serde(skip)]
    pub uncalibrated: bool,
}

/// What Stage 1 kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Stage1Trace {
    /// Ascending.
    pub kept: Vec<usize>,
    /// How many of each group.
    pub groups: Vec<usize>,
}

/// What Stage 2 kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Stage2Trace {
    /// Ascending.
    pub kept: Vec<usize>,
}

/// What one of several cuts kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CutTrace {
    /// The block after which tokens went, counted from 1.
    pub block: usize,
    /// Ascending.
    pub kept: Vec<usize>,
}

/// A row of logits in short.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LogitsTrace {
    /// The likeliest id.
    pub argmax: u32,
    /// The ten likeliest ids with their logits, the lower id first among equals.
    pub top: Vec<(u32, f32)>,
}

impl LogitsTrace {
    pub(crate) fn new(logits: &[f32]) -> Self {
        let mut order: Vec<(u32, f32)> = (0_u32..).zip(logits.iter().copied()).collect();
        order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        order.truncate(TOP);
        Self { argmax: order.first().map_or(0, |first| first.0), top: order }
    }
}

/// Seconds per component.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Seconds {
    /// Decoding, resizing, normalising.
    pub preprocess: f64,
    /// Vision tower.
    pub vision: f64,
    /// Projector and packing.
    pub projector: f64,
    /// Stage-1 signals and selection.
    pub stage1: f64,
    /// Stage-2 signals.
    pub stage2_relevance: f64,
    /// Stage-2 selection.
    pub stage2_select: f64,
    /// Decoder blocks and head on the prompt.
    pub decoder_prefill: f64,
    /// Everything after the prompt.
    pub decode: f64,
}

/// Runs `f` and adds the time it took.
pub(crate) fn timed<T>(seconds: &mut f64, f: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let value = f();
    *seconds += start.elapsed().as_secs_f64();
    value
}
