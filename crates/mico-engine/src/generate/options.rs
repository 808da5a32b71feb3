//! How an answer is made, as a request says it.

use crate::error::{Error, Result};

/// Longest answer unless the caller says otherwise.
pub const DEFAULT_MAX_NEW_TOKENS: usize = 1024;
/// Highest sampling temperature accepted; there, answers are practically random already.
const MAX_TEMPERATURE: f32 = 100.0;

/// How an answer is made. A checkpoint's own sampling defaults are never read: what is not asked for
/// here does not happen.
#[derive(Debug, Clone, PartialEq)]
pub struct GenerationOptions {
    /// Most tokens of an answer.
    pub max_new_tokens: usize,
    /// 0 takes the likeliest token; above, tokens are drawn.
    pub temperature: f32,
    /// Draw among so many of the likeliest tokens, the lower id first among equals; all if unset.
    pub top_k: Option<usize>,
    /// Draw among the likeliest tokens that together have this probability.
    pub top_p: f32,
    /// Where the draws begin.
    pub seed: u64,
    /// Texts that end an answer; they are not part of it.
    pub stop: Vec<String>,
    /// Go on after an end token, up to the most tokens.
    pub ignore_eos: bool,
    /// Report each token's log-probability, and so many of the likeliest tokens in its place.
    pub logprobs: Option<usize>,
}

impl Default for GenerationOptions {
    fn default() -> Self {
        Self {
            max_new_tokens: DEFAULT_MAX_NEW_TOKENS,
            temperature: 0.0,
            top_k: None,
            top_p: 1.0,
            seed: 0,
            stop: Vec::new(),
            ignore_eos: false,
            logprobs: None,
        }
    }
}

impl GenerationOptions {
    /// Greedy, at most `max_new_tokens` tokens.
    pub fn greedy(max_new_tokens: usize) -> Self {
        Self { max_new_tokens, ..Self::default() }
    }

    /// Whether every value is one that decoding can work with; [`crate::Engine::run`] asks the same.
    pub fn check(&self) -> Result<()> {
        let temperature = self.temperature;
        if !(0.0..=MAX_TEMPERATURE).contains(&temperature) {
            return Err(Error::range(
                "temperature",
                temperature,
                format!("0 to {MAX_TEMPERATURE}"),
            ));
        }
        if self.top_k == Some(0) {
            return Err(Error::range("top-k", 0, "at least 1 token"));
        }
        if !(self.top_p > 0.0 && self.top_p <= 1.0) {
            return Err(Error::range("top-p", self.top_p, "a probability in (0, 1]"));
        }
        if self.stop.iter().any(String::is_empty) {
            return Err(Error::range("stop string", "empty", "at least 1 character"));
        }
        Ok(())
    }
}
