//! One token from one row of logits.

use super::GenerationOptions;
use crate::error::{Error, Result};
use mico_util::SplitMix64;

/// Chooses tokens as the options say.
#[derive(Debug)]
pub(super) struct Sampler {
    temperature: f64,
    top_k: Option<usize>,
    top_p: f64,
    rng: SplitMix64,
}

impl Sampler {
    pub(super) fn new(options: &GenerationOptions) -> Self {
        Self {
            temperature: f64::from(options.temperature),
            top_k: options.top_k,
            top_p: f64::from(options.top_p),
            rng: SplitMix64::new(options.seed),
        }
    }

    /// The next token; ties go to the lowest id.
    pub(super) fn next(&mut self, logits: &[f32]) -> u32 {
        if self.temperature > 0.0 { self.draw(logits) } else { argmax(logits) }
    }

    fn draw(&mut self, logits: &[f32]) -> u32 {
        let most = f64::from(logits[argmax(logits) as usize]);
        let mut odds: Vec<(u32, f64)> = (0_u32..)
            .zip(logits)
            .map(|(id, &logit)| (id, ((f64::from(logit) - most) / self.temperature).exp()))
            .collect();
        odds.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        odds.truncate(self.top_k.unwrap_or(odds.len()));
        let total: f64 = odds.iter().map(|(_, weight)| weight).sum();
        let mut mass = 0.0;
        let nucleus = odds.iter().position(|(_, weight)| {
            mass += weight;
            mass >= self.top_p * total
        });
        odds.truncate(nucleus.map_or(odds.len(), |last| last + 1));
        let mut left = self.rng.unit() * odds.iter().map(|(_, weight)| weight).sum::<f64>();
        for &(id, weight) in &odds {
            left -= weight;
            if left < 0.0 {
                return id;
            }
        }
        odds.last().map_or(0, |&(id, _)| id)
    }
}

/// The largest logit's token, the lowest id among equals.
fn argmax(logits: &[f32]) -> u32 {
    let mut best = 0;
    for (id, &logit) in logits.iter().enumerate() {
        if logit > logits[best] {
            best = id;
        }
    }
    best as u32
}

/// Refuses logits that are not numbers.
pub(crate) fn check_finite(logits: &[f32], generated: usize) -> Result<()> {
    match logits.iter().position(|logit| !logit.is_finite()) {
        None => Ok(()),
        Some(id) => Err(Error::NotFinite { id, value: logits[id], generated }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws(options: &GenerationOptions, logits: &[f32]) -> Vec<u32> {
        let mut sampler = Sampler::new(options);
        (0..2000).map(|_| sampler.next(logits)).collect()
    }

    #[test]
    fn greedy_takes_the_lowest_of_equals() {
        assert_eq!(draws(&GenerationOptions::default(), &[0.0, 3.0, 3.0])[0], 1);
    }

    #[test]
    fn draws_follow_the_probabilities_and_the_seed() {
        let options =
            GenerationOptions { temperature: 1.0, seed: 7, ..GenerationOptions::default() };
        let logits = [0.0, 2.0_f32.ln(), 5.0_f32.ln()];
        let drawn = draws(&options, &logits);
        assert_eq!(drawn, draws(&options, &logits));
        assert_ne!(drawn, draws(&GenerationOptions { seed: 8, ..options.clone() }, &logits));
        for (id, share) in [(0, 0.125), (1, 0.25), (2, 0.625)] {
            let found = drawn.iter().filter(|&&d| d == id).count() as f64 / 2000.0;
            assert!((found - share).abs() < 0.04, "{id}: {found}");
        }
    }

    #[test]
    fn the_nucleus_is_the_smallest_set_that_has_the_mass() {
        let options =
            GenerationOptions { temperature: 1.0, top_p: 0.6, ..GenerationOptions::default() };
        let logits = [0.0, 2.0_f32.ln(), 5.0_f32.ln()];
        assert!(draws(&options, &logits).iter().all(|&id| id == 2));
        let wider = GenerationOptions { top_p: 0.7, ..options };
        let drawn = draws(&wider, &logits);
        assert!(drawn.contains(&1) && !drawn.contains(&0));
    }

    #[test]
    fn only_the_likeliest_are_drawn_and_of_equals_the_lowest() {
        let options =
            GenerationOptions { temperature: 1.0, top_k: Some(2), ..GenerationOptions::default() };
        let drawn = draws(&options, &[0.5, 2.0, 0.5, 0.0]);
        assert!(drawn.contains(&0) && drawn.contains(&1));
        assert!(drawn.iter().all(|&id| id < 2));
        // The nucleus is one of those that are left.
        let both = GenerationOptions { top_p: 0.5, ..options.clone() };
        assert!(draws(&both, &[0.5, 0.5, 0.5, 0.5]).iter().all(|&id| id == 0));
        let all = GenerationOptions { top_k: Some(9), ..options.clone() };
        let free = GenerationOptions { top_k: None, ..options };
        assert_eq!(draws(&all, &[0.5, 0.1, 0.3]), draws(&free, &[0.5, 0.1, 0.3]));
    }

    #[test]
    fn infinities_are_refused() {
        let error = check_finite(&[0.0, f32::NAN], 3).unwrap_err().to_string();
        assert!(error.contains("token 1 is NaN after 3"), "{error}");
    }
}
