//! SEED-Bench: LLaVA's and lmms-eval's comparison of the option letter.

use crate::text::{lower, strip};

/// LLaVA: the answer is exactly the gold letter.
pub fn llava(prediction: &str, answer: &str) -> bool {
    prediction == answer
}

/// lmms-eval takes the first character of the trimmed answer; empty if there is none.
pub fn lmms_reading(prediction: &str) -> String {
    strip(prediction).chars().take(1).collect()
}

/// lmms-eval: the first character equals the gold letter, in any case.
pub fn lmms(prediction: &str, answer: &str) -> bool {
    strip(&lower(&lmms_reading(prediction))) == strip(&lower(answer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn llava_is_strict_and_lmms_looks_at_one_character() {
        assert!(llava("B", "B") && !llava("B.", "B") && !llava("b", "B"));
        assert!(lmms("B.", "B") && lmms(" b", "B") && !lmms("(B)", "B") && !lmms("", "B"));
    }
}
