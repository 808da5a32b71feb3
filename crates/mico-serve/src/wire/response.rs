//! The bodies of answers, whole and in chunks. Fields are written in the order in which they stand here.

use serde::Serialize;
use utoipa::ToSchema;

use crate::backend::{ImageReport, Outcome, Plan, Seconds, TokenLogprob};

/// A whole answer.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct ChatResponse {
    /// `chatcmpl-` and a number that no other answer has.
    pub id: String,
    /// `chat.completion`.
    pub object: &'static str,
    /// Seconds since 1970.
    pub created: u64,
    /// The name that was asked for.
    pub model: String,
    /// Equal fingerprints and seeds give equal answers.
    pub system_fingerprint: String,
    /// The answer.
    pub choices: Vec<Choice>,
    /// Token counts.
    pub usage: Usage,
    /// How it was pruned and where the time went.
    pub mico: MicoReport,
}

/// One answer.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Choice {
    /// 0.
    pub index: usize,
    /// What the model said.
    pub message: ResponseMessage,
    /// The probabilities, if they were asked for.
    pub logprobs: Option<Logprobs>,
    /// `stop` or `length`.
    pub finish_reason: &'static str,
    /// The stop string that ended the answer, if one did.
    pub stop_reason: Option<String>,
    /// The ids of the answer, if they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_ids: Option<Vec<u32>>,
}

/// What the model said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct ResponseMessage {
    /// `assistant`.
    pub role: &'static str,
    /// The text; empty, never null.
    pub content: String,
    /// Always null.
    pub refusal: Option<String>,
}

/// The probabilities of an answer's tokens.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Logprobs {
    /// The tokens in order.
    pub content: Vec<TokenLogprob>,
    /// Always null.
    pub refusal: Option<String>,
}

impl Logprobs {
    /// Those of some tokens.
    pub fn of(content: Vec<TokenLogprob>) -> Self {
        Self { content, refusal: None }
    }
}

/// Token counts of one request. Prompt tokens are those that entered the decoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub struct Usage {
    /// Tokens that entered the decoder.
    pub prompt_tokens: usize,
    /// Tokens of the answer.
    pub completion_tokens: usize,
    /// Both together.
    pub total_tokens: usize,
    /// What the prompt consists of.
    pub prompt_tokens_details: PromptDetails,
    /// What the answer consists of.
    pub completion_tokens_details: CompletionDetails,
}

/// What a prompt consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[expect(clippy::struct_field_names, reason = "the names of the OpenAI API")]
pub struct PromptDetails {
    /// Tokens that were not computed again.
    pub cached_tokens: usize,
    /// Text tokens.
    pub text_tokens: usize,
    /// Visual tokens that entered the decoder.
    pub image_tokens: usize,
}

/// What an answer consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub struct CompletionDetails {
    /// Always 0.
    pub reasoning_tokens: usize,
}

impl Usage {
    /// The counts of a finished request.
    pub fn of(outcome: &Outcome) -> Self {
        let (prompt, completion) = (outcome.plan.prompt_tokens(), outcome.generated_tokens);
        Self {
            prompt_tokens: prompt,
            completion_tokens: completion,
            total_tokens: prompt + completion,
            prompt_tokens_details: PromptDetails {
                cached_tokens: outcome.cached_tokens,
                text_tokens: outcome.plan.text_tokens,
                image_tokens: outcome.plan.image_tokens(),
            },
            completion_tokens_details: CompletionDetails { reasoning_tokens: 0 },
        }
    }
}

/// Who decided how a request is pruned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// The `mico` object.
    Request,
    /// The name of the model.
    Model,
    /// The images' `detail`.
    Detail,
    /// The server's flags.
    Default,
    /// Nobody: nothing is pruned.
    Off,
}

impl Source {
    /// The word as it stands in responses.
    pub fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Model => "model",
            Self::Detail => "detail",
            Self::Default => "default",
            Self::Off => "off",
        }
    }
}

/// How a request was pruned and where its time went.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct MicoReport {
    /// The pruning method, `none` without one.
    pub method: String,
    /// The budget in tokens; null without pruning.
    pub budget: Option<usize>,
    /// Who decided it.
    pub source: Source,
    /// The block after which tokens went; null where none did.
    pub refine_layer: Option<usize>,
    /// Number of decoder blocks.
    pub layers: usize,
    /// Visual tokens per block and image (or frame), averaged over the blocks.
    pub layer_average: f64,
    /// What `usage.prompt_tokens` would be without pruning.
    pub prompt_tokens_unpruned: usize,
    /// The images and videos in order.
    pub images: Vec<ImageReport>,
    /// Tokens in each block's cache after the prompt; null for a block without one.
    pub cache_lengths: Vec<Option<usize>>,
    /// Where the draws began.
    pub seed: u64,
    /// Fields that were ignored although they ask for something.
    pub ignored: Vec<String>,
    /// What the person who asks should know.
    pub warnings: Vec<String>,
    /// Where the time went; absent in a plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<Seconds>,
}

/// What the server knows beside the counts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Circumstances {
    pub(crate) source: Source,
    pub(crate) seed: u64,
    pub(crate) ignored: Vec<String>,
    pub(crate) warnings: Vec<String>,
}

impl MicoReport {
    pub(crate) fn new(plan: Plan, beside: &Circumstances, seconds: Option<Seconds>) -> Self {
        let unpruned = plan.prompt_tokens_unpruned();
        let warnings = beside.warnings.iter().cloned().chain(plan.warnings).collect();
        Self {
            method: plan.method,
            budget: plan.budget,
            source: beside.source,
            refine_layer: plan.refine_layer,
            layers: plan.layers,
            layer_average: plan.layer_average,
            prompt_tokens_unpruned: unpruned,
            images: plan.images,
            cache_lengths: plan.cache_lengths,
            seed: beside.seed,
            ignored: beside.ignored.clone(),
            warnings,
            seconds,
        }
    }
}

/// The counts of a request that is not run.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct InputTokens {
    /// `response.input_tokens`.
    pub object: &'static str,
    /// Tokens that would enter the decoder.
    pub input_tokens: usize,
    /// What they consist of.
    pub input_tokens_details: InputDetails,
    /// How the request would be pruned.
    pub mico: MicoReport,
}

/// What a prompt would consist of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub struct InputDetails {
    /// Text tokens.
    pub text_tokens: usize,
    /// Visual tokens that would enter the decoder.
    pub image_tokens: usize,
}

/// A part of a streamed answer.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Chunk<'a> {
    /// That of the whole answer.
    pub id: &'a str,
    /// `chat.completion.chunk`.
    pub object: &'static str,
    /// Seconds since 1970, the same in all chunks.
    pub created: u64,
    /// The name that was asked for.
    pub model: &'a str,
    /// Equal fingerprints and seeds give equal answers.
    pub system_fingerprint: &'a str,
    /// One part of the answer, or none in the chunk with the counts.
    pub choices: Vec<ChunkChoice>,
    /// Null until the end, and absent unless it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Option<Usage>>,
    /// How it was pruned, in the last chunk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mico: Option<MicoReport>,
}

/// A part of one answer.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct ChunkChoice {
    /// 0.
    pub index: usize,
    /// What is new.
    pub delta: Delta,
    /// The probabilities of the new tokens, if they were asked for.
    pub logprobs: Option<Logprobs>,
    /// `stop` or `length` in the last part.
    pub finish_reason: Option<&'static str>,
    /// The stop string that ended the answer, in the last part alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<Option<String>>,
    /// The ids of the new tokens, if they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_ids: Option<Vec<u32>>,
}

/// What is new in a part.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, ToSchema)]
pub struct Delta {
    /// `assistant`, in the first part alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<&'static str>,
    /// Text to be appended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
}
