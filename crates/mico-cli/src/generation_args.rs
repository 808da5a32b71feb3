//! How to answer.

use clap::Args;
use mico_engine::Generation;

/// The decoding flags. Greedy unless a temperature is given.
#[derive(Debug, Args)]
pub(crate) struct GenerationArgs {
    /// Most tokens of the answer.
    #[arg(long, default_value_t = 128, value_name = "N")]
    pub(crate) max_new_tokens: usize,
    /// Sampling temperature; 0 is greedy.
    #[arg(long, default_value_t = 0.0, value_name = "X")]
    pub(crate) temperature: f32,
    /// Sample from the likeliest tokens that make up this probability.
    #[arg(long, default_value_t = 1.0, value_name = "P")]
    pub(crate) top_p: f32,
    /// Seed of the random numbers that sampling draws.
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// Text that ends the answer; may be given several times.
    #[arg(long, value_name = "TEXT")]
    pub(crate) stop: Vec<String>,
}

impl GenerationArgs {
    /// As the engine takes it.
    pub(crate) fn generation(&self) -> Generation {
        Generation {
            max_new_tokens: self.max_new_tokens,
            temperature: self.temperature,
            top_p: self.top_p,
            seed: self.seed,
            stop: self.stop.clone(),
            ..Generation::default()
        }
    }
}
