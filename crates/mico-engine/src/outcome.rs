//! What the engine answers.

use std::ops::Range;
use std::sync::Arc;

use mico_select::pruner::Plan;
use mico_vision::layout::VisualLayout;

use crate::dump::Dump;
use crate::generate::{Finish, TokenLogprob};
use crate::trace::{LogitsTrace, ModelTrace, Seconds, Trace};

/// An answer and how it came about. Visual tokens are numbered through all images of the turn, in the
/// model's own unpruned sequence.
#[derive(Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// What the model said.
    pub answer: Answer,
    /// Token counts of the turn: prompt, answer, and visual tokens before and after pruning.
    pub usage: Usage,
    /// The model, and the refinement block in force.
    pub model: ModelTrace,
    /// How many tokens were to stay where, and by which signals.
    pub plan: Plan,
    /// What Stage 1 kept, if it ran.
    pub stage1: Option<Stage1Outcome>,
    /// What each selection inside the decoder kept, in the order of their blocks.
    pub cuts: Vec<CutOutcome>,
    /// Tokens that took others in: the target and what went into it, before the decoder and inside.
    pub merged: Vec<(usize, Vec<usize>)>,
    /// Tokens each block's cache held after the prompt; `None` for a block without one.
    pub cache_lengths: Vec<Option<usize>>,
    /// The images, for overlays.
    pub images: Vec<ImageOutcome>,
    /// Where the time went.
    pub seconds: Seconds,
    /// The likeliest first tokens, if they were asked for.
    pub first_logits: Option<LogitsTrace>,
    /// The tensors, if they were asked for.
    pub tensors: Option<Dump>,
}

/// What the model said.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Answer {
    /// As text; empty without a tokenizer.
    pub text: String,
    /// As ids, the end token left out. With a stop string, the ids that made it are included.
    pub ids: Vec<u32>,
    /// Why generation ended: an end token, a stop string or the length limit.
    pub finish: Finish,
    /// How likely each of the ids was, if the request asked for it.
    pub logprobs: Option<Vec<TokenLogprob>>,
}

/// Token counts of one turn.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct Usage {
    /// P0: tokens of the unpruned prompt, visual ones included.
    pub prompt_tokens: usize,
    /// N0: visual tokens of the unpruned prompt.
    pub visual_tokens: usize,
    /// Visual tokens that entered the decoder.
    pub visual_tokens_entered: usize,
    /// Visual tokens in the last block.
    pub visual_tokens_kept: usize,
    /// Visual tokens per block and image (or frame of a video), averaged over the blocks.
    pub layer_average: f64,
    /// Tokens of the answer.
    pub generated_tokens: usize,
}

/// What Stage 1 kept.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Stage1Outcome {
    /// The tokens kept, ascending.
    pub kept: Vec<usize>,
    /// How many of each group (crop, tile, frame) of the images in order.
    pub groups: Vec<usize>,
}

/// What a selection inside the decoder kept.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct CutOutcome {
    /// The block after which the others went, counted from 1.
    pub block: usize,
    /// The tokens kept, ascending.
    pub kept: Vec<usize>,
}

/// One image of the turn.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ImageOutcome {
    /// Its sequence, groups, and what each token shows.
    pub layout: Arc<VisualLayout>,
    /// The numbers of its tokens among all visual tokens of the turn.
    pub tokens: Range<usize>,
}

impl ImageOutcome {
    /// Those of `kept` that belong to this image, counted from its own first token.
    fn own(&self, kept: &[usize]) -> Vec<usize> {
        let own = kept.iter().filter(|token| self.tokens.contains(token));
        own.map(|token| token - self.tokens.start).collect()
    }
}

impl Outcome {
    /// What an image's last block saw, in the image's own numbering.
    pub fn kept_of(&self, image: &ImageOutcome) -> Vec<usize> {
        match (self.cuts.last(), &self.stage1) {
            (Some(cut), _) => image.own(&cut.kept),
            (None, Some(stage1)) => image.own(&stage1.kept),
            (None, None) => (0..image.tokens.len()).collect(),
        }
    }

    /// What Stage 1 kept of an image, in the image's own numbering; `None` if it did not run.
    pub fn stage1_of(&self, image: &ImageOutcome) -> Option<Vec<usize>> {
        self.stage1.as_ref().map(|stage1| image.own(&stage1.kept))
    }

    /// The document `mico trace` prints; `None` unless the request asked for the first logits
    /// ([`crate::Observe::TRACE`]).
    pub fn trace(&self) -> Option<Trace<'_>> {
        Trace::of(self)
    }
}
