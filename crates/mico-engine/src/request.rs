//! What can be asked of the engine. Everything that decides an answer is in the request.

use mico_select::pruner::Pruning;
use mico_vision::RgbImage;

use crate::encoded::EncodedImage;
use crate::generate::GenerationOptions;
use crate::preprocess::ImageLimits;
use crate::prompt::{Message, PromptStyle};
use crate::switches::Switches;

/// An image of a request.
#[derive(Debug, Clone)]
pub enum ImageInput {
    /// The bytes of an image file, still to be decoded.
    Encoded(Vec<u8>),
    /// Pixels that the caller has decoded: RGB, 8 bits a channel.
    Decoded(RgbImage),
    /// The frames of a video, in order; for families that take one.
    Frames(Vec<RgbImage>),
    /// What the vision side made of an image before, from [`crate::Engine::encode_image`].
    Features(EncodedImage),
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

/// What stays the same over all turns of a conversation: caches and position ids made under one
/// choice mean nothing under another.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SessionOptions {
    /// The pruning method with its budget and refinement block.
    pub pruning: Pruning,
    /// Choices the paper leaves open.
    pub switches: Switches,
    /// How large an image may become, in place of what the checkpoint says.
    pub limits: ImageLimits,
    /// How messages become a prompt; the checkpoint's template, or its text model's style, if unset.
    pub style: Option<PromptStyle>,
}

impl Default for SessionOptions {
    /// Unpruned, everything else as the checkpoint and the paper have it.
    fn default() -> Self {
        Self {
            pruning: Pruning::off(),
            switches: Switches::default(),
            limits: ImageLimits::default(),
            style: None,
        }
    }
}

impl From<Pruning> for SessionOptions {
    fn from(pruning: Pruning) -> Self {
        Self { pruning, ..Self::default() }
    }
}

/// What to report beside the answer. Nothing of it changes the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Observe {
    /// The likeliest first tokens, which [`crate::Outcome::trace`] needs.
    pub first_logits: bool,
    /// The tensors on the way, for comparison with other implementations.
    pub tensors: bool,
}

impl Observe {
    /// What a trace needs.
    pub const TRACE: Self = Self { first_logits: true, tensors: false };
    /// A trace, and the tensors.
    pub const TENSORS: Self = Self { first_logits: true, tensors: true };
}

/// One turn of a conversation.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TurnRequest {
    /// Images of this turn, in the order of their placeholders.
    pub images: Vec<ImageInput>,
    /// The text of this turn, as messages or as token ids.
    pub prompt: Prompt,
    /// How the answer is made.
    pub generation: GenerationOptions,
    /// What to report beside it.
    pub observe: Observe,
}

impl TurnRequest {
    /// A prompt about images, answered greedily.
    pub fn new(images: Vec<ImageInput>, prompt: Prompt) -> Self {
        let (generation, observe) = (GenerationOptions::default(), Observe::default());
        Self { images, prompt, generation, observe }
    }
}

/// One request by itself.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Request {
    /// Images, prompt and sampling of the single turn.
    pub turn: TurnRequest,
    /// What decides the answer beside it.
    pub options: SessionOptions,
}

impl Request {
    /// A prompt about images, answered greedily and unpruned.
    pub fn new(images: Vec<ImageInput>, prompt: Prompt) -> Self {
        TurnRequest::new(images, prompt).into()
    }

    /// The same with other options, for instance [`crate::Setting::options`].
    pub fn with(mut self, options: impl Into<SessionOptions>) -> Self {
        self.options = options.into();
        self
    }

    /// The same with another way to make the answer.
    pub fn generating(mut self, generation: GenerationOptions) -> Self {
        self.turn.generation = generation;
        self
    }

    /// The same with more to report.
    pub fn observing(mut self, observe: Observe) -> Self {
        self.turn.observe = observe;
        self
    }
}

impl From<TurnRequest> for Request {
    fn from(turn: TurnRequest) -> Self {
        Self { turn, options: SessionOptions::default() }
    }
}
