//! Turning logits into an answer: sampling, stop strings, ends.

mod decode;
mod generation;
mod logprobs;
mod options;
mod sampler;
mod stop;
mod writer;

pub(crate) use decode::{StepRow, step, step_many};
pub use generation::{Accepted, Generation};
pub(crate) use generation::{Generated, GenerationStart};
pub use logprobs::TokenLogprob;
pub use options::{DEFAULT_MAX_NEW_TOKENS, GenerationOptions};
pub(crate) use sampler::check_finite;

/// Why an answer ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finish {
    /// The model said one of its end tokens.
    End,
    /// One of the request's stop strings came up.
    Stop(String),
    /// The largest number of tokens was made.
    Length,
}

impl Finish {
    /// The word for it in reports.
    pub fn name(&self) -> &'static str {
        match self {
            Self::End => "end",
            Self::Stop(_) => "stop",
            Self::Length => "length",
        }
    }
}
