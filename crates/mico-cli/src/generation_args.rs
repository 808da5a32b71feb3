//! How to answer.

use clap::Args;
use mico_engine::GenerationOptions;

use crate::failure::Failure;

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
    #[arg(long, value_name = "P")]
    pub(crate) top_p: Option<f32>,
    /// Seed of the random numbers that sampling draws; 0 unless given.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Text that ends the answer; may be given several times.
    #[arg(long, value_name = "TEXT")]
    pub(crate) stop: Vec<String>,
}

impl GenerationArgs {
    /// As the engine takes it. What has no effect is named on standard error.
    pub(crate) fn generation(&self) -> Result<GenerationOptions, Failure> {
        let generation = GenerationOptions {
            max_new_tokens: self.max_new_tokens,
            temperature: self.temperature,
            top_p: self.top_p.unwrap_or(1.0),
            seed: self.seed.unwrap_or(0),
            stop: self.stop.clone(),
            ..GenerationOptions::default()
        };
        generation.check()?;
        let given = [("--top-p", self.top_p.is_some()), ("--seed", self.seed.is_some())];
        for (flag, _) in given.iter().filter(|(_, given)| *given && self.temperature == 0.0) {
            eprintln!("note: {flag} has no effect at temperature 0, which draws nothing");
        }
        Ok(generation)
    }
}
