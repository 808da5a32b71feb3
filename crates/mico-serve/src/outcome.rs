//! What a request takes and what became of it: the one value that usage, the `mico` object and the metrics are made of.

use serde::Serialize;
use utoipa::ToSchema;

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
