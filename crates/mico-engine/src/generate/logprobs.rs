//! Log-probabilities of tokens: the log-softmax of the model's own logits, whatever the sampler does
//! with them.

use crate::trace::likeliest;

/// How likely a token of the answer was, and what else might have stood there.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TokenLogprob {
    /// The token that was taken.
    pub id: u32,
    /// Natural logarithm of its probability.
    pub logprob: f32,
    /// The likeliest tokens with theirs, as many as were asked for, the lower id first among equals.
    pub top: Vec<(u32, f32)>,
}

impl TokenLogprob {
    /// Of the token taken at these logits, with the `top` likeliest ones.
    pub(super) fn new(logits: &[f32], id: u32, top: usize) -> Self {
        let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let shifted = |logit: f32| f64::from(logit) - f64::from(most);
        let total: f64 = logits.iter().map(|&logit| shifted(logit).exp()).sum();
        let of = |logit: f32| (shifted(logit) - total.ln()) as f32;
        let logprob = logits.get(id as usize).map_or(f32::NEG_INFINITY, |&logit| of(logit));
        let top = likeliest(logits, top).into_iter().map(|(id, logit)| (id, of(logit))).collect();
        Self { id, logprob, top }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_the_log_softmax_and_equals_go_by_id() {
        let logits = [1.0_f32.ln(), 3.0_f32.ln(), 3.0_f32.ln(), 1.0_f32.ln()];
        let found = TokenLogprob::new(&logits, 3, 3);
        assert!((found.logprob - 0.125_f32.ln()).abs() < 1e-6);
        let ids: Vec<u32> = found.top.iter().map(|top| top.0).collect();
        assert_eq!(ids, [1, 2, 0]);
        let likeliest: Vec<f32> = found.top.iter().map(|top| top.1.exp()).collect();
        for (found, expected) in likeliest.iter().zip([0.375, 0.375, 0.125]) {
            assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        }
        assert!(TokenLogprob::new(&logits, 0, 0).top.is_empty());
        assert_eq!(TokenLogprob::new(&logits, 0, 99).top.len(), 4);
    }
}
