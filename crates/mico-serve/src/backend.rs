//! What the server asks of a model. Open this to put something else behind the HTTP routes.
//!
//! The engine under its scheduler is one implementation ([`crate::engine`]), scripted answers for tests are another
//! ([`crate::mock`]). No call is asynchronous: those that take long are made on threads for blocking work.

use std::any::Any;
use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use mico_select::pruner::PruningSpec;
use serde::Serialize;
use utoipa::ToSchema;

use crate::error::{Result, ServeError};
use crate::events::EventSender;

/// A model that answers requests.
pub trait Backend: Send + Sync + 'static {
    /// What is served.
    fn model(&self) -> &ModelInfo;

    /// Token ids of a text; with `special`, what the model puts in front of every prompt is included. No part of the
    /// text ever becomes a special token.
    fn tokenize(&self, text: &str, special: bool) -> Result<Vec<u32>>;

    /// Token ids of a conversation, with one placeholder for each image.
    fn tokenize_turns(&self, turns: &[Turn]) -> Result<Vec<u32>>;

    /// The text of ids. An error if one is not in the vocabulary.
    fn detokenize(&self, ids: &[u32]) -> Result<String>;

    /// Decodes images, lays out tokens and plans the pruning: everything that needs no weights.
    fn prepare(&self, job: ChatJob) -> Result<Planned>;

    /// Puts a planned job into the queue. Its events arrive at `events`; dropping the ticket cancels it.
    fn submit(
        &self,
        planned: Planned,
        submission: Submission,
        events: EventSender,
    ) -> Result<Ticket>;

    /// The present state, for health checks and metrics.
    fn load(&self) -> Load;

    /// Takes no further jobs and refuses those that wait. Admitted ones may finish within `patience`, and are
    /// cancelled then. Returns at once.
    fn close(&self, patience: Duration);
}

/// What is served, as `/v1/models` and `/version` tell it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ModelInfo {
    /// The name of the model's folder.
    pub root: String,
    /// `llava`, `qwen2_5_vl`, ...
    pub family: String,
    /// Number of decoder blocks, L in the paper.
    pub layers: usize,
    /// Refinement block K, counted from 1.
    pub refine_layer: usize,
    /// Longest sequence the model was made for.
    pub max_model_len: usize,
    /// Whether a video can be asked about.
    pub takes_video: bool,
    /// Digest over weights, quantisation and switches: equal digests and seeds give equal answers.
    pub fingerprint: String,
    /// What the engine says of itself.
    pub description: serde_json::Value,
}

impl ModelInfo {
    /// A model of this folder and family.
    pub fn new(root: impl Into<String>, family: impl Into<String>) -> Self {
        Self {
            root: root.into(),
            family: family.into(),
            layers: 0,
            refine_layer: 0,
            max_model_len: 0,
            takes_video: false,
            fingerprint: String::new(),
            description: serde_json::Value::Null,
        }
    }
}

/// Who speaks in a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    /// Instructions to the assistant.
    System,
    /// The person who asks.
    User,
    /// The model.
    Assistant,
}

/// A part of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnPart {
    /// Words, which stay words whatever they are.
    Text(String),
    /// The next image or video of the job.
    Media,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// Whose message it is.
    pub speaker: Speaker,
    /// What is said and shown, in order.
    pub parts: Vec<TurnPart>,
}

/// An image or a video, still encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Media {
    /// The bytes of an image file.
    Image(Bytes),
    /// The frames of a video, each an image file.
    Frames(Vec<Bytes>),
}

/// How the answer is made.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Sampling {
    /// Most tokens of the answer; the room that the model has left may be less.
    pub max_tokens: usize,
    /// 0 takes the likeliest token.
    pub temperature: f32,
    /// Draw among the likeliest tokens that together have this probability.
    pub top_p: f32,
    /// Draw among this many of the likeliest tokens.
    pub top_k: Option<usize>,
    /// Where the draws begin.
    pub seed: u64,
    /// Texts that end the answer; they are not part of it.
    pub stop: Vec<String>,
    /// Report the probability of each token, and of this many of the likeliest beside it.
    pub logprobs: Option<usize>,
}

impl Default for Sampling {
    fn default() -> Self {
        Self {
            max_tokens: 1024,
            temperature: 0.0,
            top_p: 1.0,
            top_k: None,
            seed: 0,
            stop: Vec::new(),
            logprobs: None,
        }
    }
}

/// What a response tells beside the answer, as `mico.return` asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Returns {
    /// Which tokens each stage kept.
    pub indices: bool,
    /// What each token shows.
    pub layout: bool,
    /// A picture of what was kept.
    pub overlay: bool,
    /// The token ids of the answer.
    pub ids: bool,
}

/// A request as the model gets it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ChatJob {
    /// The conversation; the last turn is the user's.
    pub turns: Vec<Turn>,
    /// Images and videos in the order of their places, with the field each came from.
    pub media: Vec<(String, Media)>,
    /// How to prune; `None` leaves the model untouched.
    pub pruning: Option<PruningSpec>,
    /// How the answer is made.
    pub sampling: Sampling,
    /// What to tell beside it.
    pub returns: Returns,
}

impl ChatJob {
    /// A conversation about media, unpruned and answered greedily.
    pub fn new(turns: Vec<Turn>, media: Vec<(String, Media)>) -> Self {
        let (sampling, returns) = (Sampling::default(), Returns::default());
        Self { turns, media, pruning: None, sampling, returns }
    }
}

/// A job that has been checked, with the counts it will have.
pub struct Planned {
    /// What is known before anything is computed.
    pub plan: Plan,
    /// The backend's own form of the job.
    pub job: Box<dyn Any + Send>,
}

impl fmt::Debug for Planned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Planned").field("plan", &self.plan).finish_non_exhaustive()
    }
}

/// The counts of a request: planned before it runs, realised afterwards.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Plan {
    /// The pruning method, `none` without one.
    pub method: String,
    /// The budget in tokens; `None` without pruning.
    pub budget: Option<usize>,
    /// The block after which tokens go, where some do.
    pub refine_layer: Option<usize>,
    /// Number of decoder blocks.
    pub layers: usize,
    /// Visual tokens per block and image (or frame), averaged over the blocks.
    pub layer_average: f64,
    /// Text tokens of the prompt.
    pub text_tokens: usize,
    /// The images and videos in order.
    pub images: Vec<ImageReport>,
    /// Tokens in each block's cache after the prompt; `None` for a block without one.
    pub cache_lengths: Vec<Option<usize>>,
    /// What the person who asks should know.
    pub warnings: Vec<String>,
}

impl Plan {
    /// Visual tokens that enter the decoder.
    pub fn image_tokens(&self) -> usize {
        self.images.iter().map(|image| image.entered).sum()
    }

    /// Visual tokens before pruning.
    pub fn visual_tokens(&self) -> usize {
        self.images.iter().map(|image| image.visual_tokens).sum()
    }

    /// Tokens that enter the decoder.
    pub fn prompt_tokens(&self) -> usize {
        self.text_tokens + self.image_tokens()
    }

    /// Tokens that would enter it without pruning.
    pub fn prompt_tokens_unpruned(&self) -> usize {
        self.text_tokens + self.visual_tokens()
    }
}

/// One image or video of a request: its size, its token counts, and on request what was kept of it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, ToSchema)]
#[non_exhaustive]
pub struct ImageReport {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// Tokens before pruning, N0 in the paper.
    pub visual_tokens: usize,
    /// Tokens that enter the decoder, after Stage 1.
    pub entered: usize,
    /// Tokens that the last block sees.
    pub kept: usize,
    /// Whether the encoder cache had it: `hit`, `miss` or `off`; absent in a plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<&'static str>,
    /// What Stage 1 kept, ascending, in the image's own sequence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage1: Option<Vec<usize>>,
    /// What the last cut kept, ascending, in the image's own sequence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage2: Option<Vec<usize>>,
    /// The groups (crops, tiles, frames) of the image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<Vec<GroupReport>>,
    /// Group and place in it of each token; null for one that shows no patch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Vec<Option<[usize; 2]>>>,
    /// What each token shows: x0, y0, x1, y1 in pixels of the image, one after another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub regions: Option<Vec<f32>>,
    /// A picture of what was kept, as a data URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlay: Option<String>,
}

/// A group of visual tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct GroupReport {
    /// `view`, `crop`, `tile`, `frame`, ...
    pub kind: String,
    /// Rows of its grid.
    pub rows: usize,
    /// Columns of its grid.
    pub columns: usize,
}

/// Whose job it is and how long it may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submission {
    /// Jobs of one client are served in order; clients take turns.
    pub client: String,
    /// From submission; afterwards the job is cancelled.
    pub timeout: Duration,
}

/// An accepted job. Dropping it cancels the job, unless it has ended.
pub struct Ticket(Box<dyn Any + Send>);

impl Ticket {
    /// Wraps the value whose drop cancels the job.
    pub fn new(guard: impl Send + 'static) -> Self {
        Self(Box::new(guard))
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Ticket").field(&self.0.type_id()).finish()
    }
}

/// A part of an answer: text that cannot change any more, and the tokens it was made of.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Piece {
    /// The text; empty while characters or stop strings are incomplete.
    pub text: String,
    /// The tokens since the last piece, if probabilities were asked for.
    pub logprobs: Vec<TokenLogprob>,
    /// The ids since the last piece, if ids were asked for.
    pub ids: Vec<u32>,
}

impl Piece {
    /// Text alone.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Whether there is anything to tell.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty() && self.logprobs.is_empty() && self.ids.is_empty()
    }
}

/// A token with the natural logarithm of its probability before temperature.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct TokenLogprob {
    /// The token as text.
    pub token: String,
    /// Natural logarithm of its probability.
    pub logprob: f32,
    /// Its bytes, where the vocabulary has them.
    pub bytes: Option<Vec<u8>>,
    /// The likeliest tokens at its place.
    pub top_logprobs: Vec<TopLogprob>,
}

/// One of the likeliest tokens at a place.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct TopLogprob {
    /// The token as text.
    pub token: String,
    /// Natural logarithm of its probability.
    pub logprob: f32,
    /// Its bytes, where the vocabulary has them.
    pub bytes: Option<Vec<u8>>,
}

/// Why an answer ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finish {
    /// By an end token of the model.
    End,
    /// By one of the request's stop strings.
    Stop(String),
    /// By the limit on tokens.
    Length,
}

impl Finish {
    /// The word of the OpenAI API.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::End | Self::Stop(_) => "stop",
            Self::Length => "length",
        }
    }

    /// The stop string that ended the answer, if one did.
    pub fn stop_reason(&self) -> Option<&str> {
        match self {
            Self::Stop(text) => Some(text),
            _ => None,
        }
    }
}

/// A finished answer: the one value that usage, the `mico` object and the metrics are made of.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Outcome {
    /// The counts as they came to be.
    pub plan: Plan,
    /// Why the answer ended.
    pub finish: Finish,
    /// Tokens of the answer.
    pub generated_tokens: usize,
    /// Prompt tokens that a cache saved.
    pub cached_tokens: usize,
    /// Where the time went.
    pub seconds: Seconds,
}

impl Outcome {
    /// An answer of so many tokens under a plan.
    pub fn new(plan: Plan, finish: Finish, generated_tokens: usize) -> Self {
        Self { plan, finish, generated_tokens, cached_tokens: 0, seconds: Seconds::default() }
    }
}

/// Wall-clock time of one request by component, in seconds. The engine's components have the names of `mico trace`.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, ToSchema)]
#[non_exhaustive]
pub struct Seconds {
    /// Waiting: for admission, and for others while it was worked on.
    pub queue: f64,
    /// Fetching and unpacking images.
    pub media: f64,
    /// Decoding, resizing and normalizing images.
    pub preprocess: f64,
    /// The vision tower.
    pub vision: f64,
    /// Projector and packing.
    pub projector: f64,
    /// Stage-1 signals and selection.
    pub stage1: f64,
    /// Signals of the cuts inside the decoder.
    pub stage2_relevance: f64,
    /// Selection of the cuts inside the decoder.
    pub stage2_select: f64,
    /// Decoder blocks on the prompt.
    pub decoder_prefill: f64,
    /// Everything after the prompt.
    pub decode: f64,
    /// From the request's arrival to its end.
    pub total: f64,
    /// From the request's arrival to the first token.
    pub first_token: f64,
}

/// How busy a backend is.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct Load {
    /// Jobs in the queue.
    pub waiting: usize,
    /// Jobs being worked on.
    pub running: usize,
    /// Bytes reserved for keys and values.
    pub kv_bytes: u64,
    /// Bytes in the encoder cache.
    pub encoder_cache_bytes: u64,
    /// How long the computing thread has been inside one call; zero if it is idle.
    pub stalled: Duration,
    /// Panics caught since the start.
    pub panics: u64,
}

/// An error of a job's preparation at one of its images.
pub fn image_error(param: &str, error: &mico_vision::decode::DecodeError) -> ServeError {
    use crate::error::Code;
    use mico_vision::decode::DecodeError as E;
    match error {
        E::TooLarge { .. } => ServeError::new(Code::ImageTooLarge, error.to_string()).at(param),
        // The decoder's own words stay inside.
        E::Damaged { format, reason } => {
            ServeError::new(Code::ImageInvalid, format!("damaged or unsupported {format} image"))
                .at(param)
                .because(reason.clone())
        }
        _ => ServeError::new(Code::ImageInvalid, error.to_string()).at(param),
    }
}
