//! MMStar: the authors' rule and lmms-eval's.

use super::mcq;
use crate::text::{lower, strip};

/// The authors' rule, also lmms-eval's before April 2026: the letter must follow one of four set
/// beginnings.
pub fn official(prediction: &str, answer: &str) -> bool {
    let plain = |text: &str| strip(&lower(text)).replace('\n', " ");
    let (prediction, answer) = (plain(prediction), plain(answer));
    let starts = ["", "(", "option ", "the answer is "];
    starts.into_iter().any(|start| {
        let next = prediction.strip_prefix(start).and_then(|rest| rest.chars().next());
        next.is_some_and(|letter| answer.chars().eq([letter]))
    })
}

/// lmms-eval's rule since April 2026: the letter found by [`mcq::extract`] must be the gold.
pub fn lmms(prediction: &str, answer: &str) -> bool {
    let letter = mcq::extract(prediction, &['A', 'B', 'C', 'D']);
    letter.is_some_and(|letter| strip(answer).to_uppercase().chars().eq([letter]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_places() {
        for text in ["b", "B. three", "Because", "(b) three", "Option B", "The answer is B"] {
            assert!(official(text, "B"), "{text}");
        }
        for text in ["", "(", "I choose B", "answer: B", "option: B"] {
            assert!(!official(text, "B"), "{text}");
        }
        assert!(lmms("I choose B", "b") && !lmms("", "B"));
    }
}
