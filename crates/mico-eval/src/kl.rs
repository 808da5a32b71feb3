//! How far a pruned model's next-token distributions are from the unpruned model's.

use mico_engine::Sink;

/// Follows the unpruned answer: its distributions, and thereby its tokens.
#[derive(Debug, Default)]
pub(crate) struct Reference {
    rows: Vec<Vec<f64>>,
    tokens: Vec<u32>,
}

impl Reference {
    /// Tokens of the answer, its end included.
    pub(crate) fn len(&self) -> usize {
        self.tokens.len()
    }
}

impl Sink for Reference {
    fn steer(&mut self, logits: &[f32]) -> Option<u32> {
        self.rows.push(log_softmax(logits));
        self.tokens.push(argmax(logits));
        None
    }
}

/// Says the unpruned answer, whatever the pruned model would, and measures on the way.
#[derive(Debug)]
pub(crate) struct TeacherForcing<'a> {
    reference: &'a Reference,
    at: usize,
    total: f64,
    /// Whether the pruned model would have said the same.
    pub(crate) agrees: bool,
}

impl<'a> TeacherForcing<'a> {
    pub(crate) fn new(reference: &'a Reference) -> Self {
        Self { reference, at: 0, total: 0.0, agrees: true }
    }

    /// KL(unpruned ‖ pruned), averaged over the answer's tokens, its end included.
    pub(crate) fn divergence(&self) -> f64 {
        self.total / self.at.max(1) as f64
    }
}

impl Sink for TeacherForcing<'_> {
    fn steer(&mut self, logits: &[f32]) -> Option<u32> {
        let token = *self.reference.tokens.get(self.at)?;
        self.total += divergence(&self.reference.rows[self.at], &log_softmax(logits));
        self.agrees &= argmax(logits) == token;
        self.at += 1;
        Some(token)
    }
}

/// KL of two distributions given as logarithms.
fn divergence(from: &[f64], to: &[f64]) -> f64 {
    from.iter().zip(to).map(|(p, q)| p.exp() * (p - q)).sum()
}

fn log_softmax(logits: &[f32]) -> Vec<f64> {
    let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let shifted = logits.iter().map(|&logit| f64::from(logit) - f64::from(most));
    let total = shifted.clone().map(f64::exp).sum::<f64>().ln();
    shifted.map(|logit| logit - total).collect()
}

fn argmax(logits: &[f32]) -> u32 {
    let first = |best: (u32, f32), next: (u32, f32)| if next.1 > best.1 { next } else { best };
    (0_u32..).zip(logits.iter().copied()).reduce(first).map_or(0, |(id, _)| id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divergence_by_hand() {
        // P = (1/2, 1/2), Q = (1/4, 3/4): KL = ln(2)/2 + ln(2/3)/2.
        let p = log_softmax(&[1.0, 1.0]);
        let q = log_softmax(&[0.0, 3.0_f32.ln()]);
        let expected = 0.5 * 2.0_f64.ln() + 0.5 * (2.0_f64 / 3.0).ln();
        assert!((divergence(&p, &q) - expected).abs() < 1e-7);
        assert_eq!(divergence(&p, &p), 0.0);
    }

    #[test]
    fn the_reference_is_followed_to_its_end() {
        let mut reference = Reference::default();
        for logits in [[0.0, 2.0, 1.0], [3.0, 0.0, 0.0]] {
            assert_eq!(reference.steer(&logits), None);
        }
        let mut forcing = TeacherForcing::new(&reference);
        assert_eq!(forcing.steer(&[5.0, 0.0, 0.0]), Some(1));
        assert!(!forcing.agrees);
        assert_eq!(forcing.steer(&[3.0, 0.0, 0.0]), Some(0));
        assert!(forcing.divergence() > 0.0);
    }
}
