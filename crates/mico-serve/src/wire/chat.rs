//! The body of a chat completion. Fields that clients are known to send and that change nothing are not listed: what
//! is not listed is ignored.

use serde::Deserialize;
use utoipa::ToSchema;

use super::content::Message;
use super::loose::{Loose, bounded};
use super::pruning::MicoRequest;
use super::sampling::StopStrings;

/// A chat completion as clients ask for it.
#[derive(Debug, Clone, PartialEq, Deserialize, ToSchema)]
pub struct ChatRequest {
    /// A served name, optionally with a budget: `NAME@64`, `NAME@0.25:divprune`, `NAME@PROFILE`.
    #[serde(default)]
    pub model: Option<String>,
    /// The conversation; the last message is the user's.
    #[serde(deserialize_with = "bounded")]
    pub messages: Vec<Message>,
    /// Most tokens of the answer.
    #[serde(default)]
    pub max_completion_tokens: Option<u64>,
    /// The older name of `max_completion_tokens`, which wins over it.
    #[serde(default)]
    pub max_tokens: Option<u64>,
    /// 0 to 2; absent means 0, the likeliest token.
    #[serde(default)]
    pub temperature: Option<f64>,
    /// A probability in (0, 1].
    #[serde(default)]
    pub top_p: Option<f64>,
    /// Draw among this many of the likeliest tokens.
    #[serde(default)]
    pub top_k: Option<u64>,
    /// Where draws begin; equal seeds and fingerprints give equal answers.
    #[serde(default)]
    pub seed: Option<i64>,
    /// A text, or 1 to 16 texts, that end the answer.
    #[serde(default)]
    #[schema(value_type = Option<Vec<String>>)]
    pub stop: Option<StopStrings>,
    /// Number of answers; 1.
    #[serde(default)]
    pub n: Option<u64>,
    /// Whether to tell the probability of each token.
    #[serde(default)]
    pub logprobs: Option<bool>,
    /// How many of the likeliest tokens to tell beside each, 0 to 20.
    #[serde(default)]
    pub top_logprobs: Option<u64>,
    /// Whether to send the answer as it is made.
    #[serde(default)]
    pub stream: Option<bool>,
    /// What a stream tells beside the answer.
    #[serde(default)]
    pub stream_options: Option<StreamOptions>,
    /// How to prune, and what to tell of it.
    #[serde(default)]
    pub mico: Option<MicoRequest>,
    /// How videos are sampled.
    #[serde(default)]
    pub media_io_kwargs: Option<MediaIo>,
    // Accepted with a value that changes nothing, and refused with any other.
    #[serde(default)]
    #[schema(ignore)]
    pub(super) response_format: Loose,
    #[serde(default)]
    #[schema(ignore)]
    pub(super) tools: Loose,
    #[serde(default)]
    #[schema(ignore)]
    pub(super) functions: Loose,
    #[serde(default)]
    #[schema(ignore)]
    pub(super) tool_choice: Loose,
    #[serde(default)]
    #[schema(ignore)]
    pub(super) function_call: Loose,
    #[serde(default)]
    #[schema(ignore)]
    pub(super) frequency_penalty: Loose,
    #[serde(default)]
    #[schema(ignore)]
    pub(super) presence_penalty: Loose,
    #[serde(default)]
    #[schema(ignore)]
    pub(super) logit_bias: Loose,
    #[serde(default)]
    #[schema(ignore)]
    pub(super) repetition_penalty: Loose,
    #[serde(default)]
    #[schema(ignore)]
    pub(super) min_p: Loose,
    #[serde(default)]
    #[schema(ignore)]
    pub(super) modalities: Loose,
    #[serde(default)]
    #[schema(ignore)]
    pub(super) audio: Loose,
    #[serde(default)]
    #[schema(ignore)]
    pub(super) chat_template: Loose,
    #[serde(default)]
    #[schema(ignore)]
    pub(super) chat_template_kwargs: Loose,
    #[serde(default)]
    #[schema(ignore)]
    pub(super) mm_processor_kwargs: Loose,
    #[serde(default)]
    #[schema(ignore)]
    pub(super) prompt_embeds: Loose,
    #[serde(default)]
    #[schema(ignore)]
    pub(super) image_embeds: Loose,
}

/// What a stream tells beside the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, ToSchema)]
pub struct StreamOptions {
    /// Whether to send a chunk with the token counts.
    #[serde(default)]
    pub include_usage: Option<bool>,
}

/// How media are read.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MediaIo {
    /// How videos are read.
    #[serde(default)]
    pub video: Option<VideoIo>,
}

/// Which frames of a video are taken.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct VideoIo {
    /// Most frames, evenly spaced.
    #[serde(default)]
    pub num_frames: Option<u64>,
    /// Frames per second of the video.
    #[serde(default)]
    pub fps: Option<f64>,
}
