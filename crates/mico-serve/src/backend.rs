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

use crate::error::{Code, Result, ServeError};
use crate::events::EventSender;
pub use crate::outcome::{Finish, GroupReport, ImageReport, Outcome, Plan, Seconds};

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
#[expect(clippy::struct_excessive_bools, reason = "each is asked for by itself")]
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
        f.debug_tuple("Ticket").field(&(*self.0).type_id()).finish()
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
