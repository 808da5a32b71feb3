//! What can be asked of the engine, and what it answers.

use mico_vision::RgbImage;
use mico_vision::layout::VisualLayout;

use crate::dump::Dump;
use crate::generate::{Finish, Generation};
use crate::prompt::Message;
use crate::pruner::Pruning;
use crate::seen::Seen;
use crate::trace::Trace;

/// An image of a request.
#[derive(Debug, Clone)]
pub enum ImageInput {
    /// A file's bytes.
    Encoded(Vec<u8>),
    /// Pixels.
    Decoded(RgbImage),
    /// The frames of a video, in order; for families that take one.
    Frames(Vec<RgbImage>),
    /// What the vision side made of it, from [`crate::Engine::see`].
    Seen(Seen),
}

/// What to say to the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prompt {
    /// Messages, put into the checkpoint's prompt.
    Messages(Vec<Message>),
    /// Token ids as they are, one placeholder id per image.
    InputIds(Vec<u32>),
}

impl Prompt {
    /// A question about `images` images.
    pub fn question(text: impl Into<String>, images: usize) -> Self {
        Self::Messages(vec![Message::user(text, images)])
    }
}

/// One turn of a conversation.
#[derive(Debug, Clone)]
pub struct TurnRequest {
    /// Images of this turn, in the order of their placeholders.
    pub images: Vec<ImageInput>,
    /// What is said.
    pub prompt: Prompt,
    /// How to answer.
    pub generation: Generation,
    /// Whether to collect the tensors.
    pub dump: bool,
}

/// One request by itself.
#[derive(Debug, Clone)]
pub struct Request {
    /// The one turn.
    pub turn: TurnRequest,
    /// What to prune.
    pub pruning: Pruning,
}

impl Request {
    /// A question about images, greedy and unpruned.
    pub fn new(images: Vec<ImageInput>, prompt: Prompt) -> Self {
        let generation = Generation::default();
        let turn = TurnRequest { images, prompt, generation, dump: false };
        Self { turn, pruning: Pruning::off() }
    }
}

/// An answer and how it came about.
#[derive(Debug)]
pub struct Outcome {
    /// The answer.
    pub answer: Answer,
    /// Everything that happened.
    pub trace: Trace,
    /// What became of each image's tokens, for overlays.
    pub images: Vec<ImageOutcome>,
    /// The tensors, if they were asked for.
    pub dump: Option<Dump>,
}

/// What the model said.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// As text; empty without a tokenizer.
    pub text: String,
    /// As ids, the end token left out. With a stop string, the ids that made it are included.
    pub ids: Vec<u32>,
    /// Why it ended.
    pub finish: Finish,
    /// Counts.
    pub usage: Usage,
}

/// Token counts of one turn.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Usage {
    /// P0, visual tokens included.
    pub prompt_tokens: usize,
    /// N0.
    pub visual_tokens: usize,
    /// Visual tokens that entered the decoder.
    pub visual_tokens_entered: usize,
    /// Visual tokens in the last block.
    pub visual_tokens_kept: usize,
    /// Visual tokens per block and image, averaged over the blocks.
    pub layer_average: f64,
    /// Tokens of the answer.
    pub generated_tokens: usize,
}

/// What became of one image's tokens. Indices are positions in its own unpruned sequence.
#[derive(Debug, Clone)]
pub struct ImageOutcome {
    /// What each token shows.
    pub layout: VisualLayout,
    /// Survivors of Stage 1, if it ran.
    pub stage1: Option<Vec<usize>>,
    /// Tokens in the last block.
    pub kept: Vec<usize>,
}
