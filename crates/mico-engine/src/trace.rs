//! Everything that happened to one request, in the shape `mico trace` prints.

use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::outcome::{CutOutcome, Outcome, Stage1Outcome};

/// Logits listed in a trace.
const TOP: usize = 10;

/// What happened to one request, as a document. Serialises to exactly the fields of the command-line
/// contract; indices of visual tokens are positions in the unpruned visual sequence, images in order.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Trace<'a> {
    /// The model's family and depth, and the refinement block in force.
    pub model: &'a ModelTrace,
    /// N0, over all images of the turn.
    pub visual_tokens: usize,
    /// P0: the turn's unpruned length.
    pub prompt_tokens: usize,
    /// What Stage 1 kept; null if it did not run.
    pub stage1: Option<&'a Stage1Outcome>,
    /// What Stage 2 kept; null if it did not run.
    pub stage2: Option<Stage2Trace<'a>>,
    /// What every cut kept, where a method makes several; the last of them is `stage2`.
    #[serde(skip_serializing_if = "<[CutOutcome]>::is_empty")]
    pub cuts: &'a [CutOutcome],
    /// Tokens that took others in: the target and what went into it, before the decoder and inside.
    #[serde(skip_serializing_if = "<[(usize, Vec<usize>)]>::is_empty")]
    pub merged: &'a [(usize, Vec<usize>)],
    /// Visual tokens per block and image (or frame of a video), averaged over the blocks.
    pub layer_average: f64,
    /// Tokens each block's cache held after the prompt; null for a block without one.
    pub cache_lengths: &'a [Option<usize>],
    /// The answer's ids, the end token left out.
    pub generated_ids: &'a [u32],
    /// The answer as text; empty without a tokenizer.
    pub text: &'a str,
    /// Logits at the last prompt token.
    pub first_logits: &'a LogitsTrace,
    /// Where the time went.
    pub seconds: Seconds,
    /// Most memory the process has held until now (`VmHWM`); 0 where the system does not say.
    pub peak_memory_bytes: u64,
}

impl<'a> Trace<'a> {
    pub(crate) fn of(outcome: &'a Outcome) -> Option<Self> {
        let (usage, cuts) = (&outcome.usage, &outcome.cuts);
        Some(Self {
            model: &outcome.model,
            visual_tokens: usage.visual_tokens,
            prompt_tokens: usage.prompt_tokens,
            stage1: outcome.stage1.as_ref(),
            stage2: cuts.last().map(|cut| Stage2Trace { kept: &cut.kept }),
            cuts: if cuts.len() > 1 { cuts } else { &[] },
            merged: &outcome.merged,
            layer_average: usage.layer_average,
            cache_lengths: &outcome.cache_lengths,
            generated_ids: &outcome.answer.ids,
            text: &outcome.answer.text,
            first_logits: outcome.first_logits.as_ref()?,
            seconds: outcome.seconds,
            peak_memory_bytes: mico_util::memory::peak_resident().unwrap_or(0),
        })
    }
}

/// The model of a trace.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ModelTrace {
    /// `llava`, `llava_next`, `qwen2_5_vl`, ...
    pub family: &'static str,
    /// Number of decoder blocks, L in the paper.
    pub layers: usize,
    /// Refinement block K, counted from 1.
    pub refine_layer: usize,
    /// Whether K was scaled from another model of the family rather than calibrated for this one.
    #[serde(skip)]
    pub uncalibrated: bool,
}

/// What the last selection inside the decoder kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Stage2Trace<'a> {
    /// The tokens kept, ascending.
    pub kept: &'a [usize],
}

/// A row of logits in short.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LogitsTrace {
    /// The id with the highest logit, which greedy decoding takes.
    pub argmax: u32,
    /// The ten likeliest ids with their logits, the lower id first among equals.
    pub top: Vec<(u32, f32)>,
}

impl LogitsTrace {
    pub(crate) fn new(logits: &[f32]) -> Self {
        let order = likeliest(logits, TOP);
        Self { argmax: order.first().map_or(0, |first| first.0), top: order }
    }
}

/// The `count` highest logits with their ids, the lower id first among equals.
pub(crate) fn likeliest(logits: &[f32], count: usize) -> Vec<(u32, f32)> {
    let mut order: Vec<(u32, f32)> = (0_u32..).zip(logits.iter().copied()).collect();
    let likelier = |a: &(u32, f32), b: &(u32, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
    if count > 0 && order.len() > count {
        order.select_nth_unstable_by(count - 1, likelier);
    }
    order.truncate(count);
    order.sort_by(likelier);
    order
}

/// Time a request's own work took by component, in seconds; time that others had in between is not in
/// it. A step that several answers take together counts in equal shares.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Seconds {
    /// Decoding, resizing and normalizing images on the CPU.
    pub preprocess: f64,
    /// Vision tower, with the attention and keys that were asked of it.
    pub vision: f64,
    /// Projector, and packing its rows into the visual sequence.
    pub projector: f64,
    /// Stage-1 signals and selection.
    pub stage1: f64,
    /// Signals of all cuts: attention rows, features and rater words.
    pub stage2_relevance: f64,
    /// Selection of the tokens that stay after each cut.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_likeliest_come_first_and_of_equals_the_lower_id() {
        let logits: Vec<f32> = (0..40).map(|id| [0.5, 3.0, -1.0, 3.0][id % 4]).collect();
        let trace = LogitsTrace::new(&logits);
        let ids: Vec<u32> = trace.top.iter().map(|top| top.0).collect();
        assert_eq!((trace.argmax, ids), (1, vec![1, 3, 5, 7, 9, 11, 13, 15, 17, 19]));
        assert_eq!(LogitsTrace::new(&[1.0, 2.0]).top, [(1, 2.0), (0, 1.0)]);
    }
}
