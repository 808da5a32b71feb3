//! ChartQA: relaxed accuracy, which accepts numbers within 5% of the gold.

use crate::text::{float, lower, strip};

/// The accepted error of a number, relative to the gold (5%).
const TOLERANCE: f64 = 0.05;

/// VLMEvalKit: the trimmed answer is right if it matches any of the golds.
pub fn vlmevalkit(prediction: &str, answers: &[String]) -> bool {
    answers.iter().any(|answer| relaxed(strip(prediction), answer))
}

/// Relaxed match with one gold: numbers within the tolerance, other texts equal in lower case.
/// lmms-eval applies it to the untrimmed answer.
pub fn relaxed(prediction: &str, answer: &str) -> bool {
    match (number(prediction), number(answer)) {
        (Some(got), Some(gold)) if gold != 0.0 => (got - gold).abs() / gold.abs() <= TOLERANCE,
        _ => lower(prediction) == lower(answer),
    }
}

fn number(text: &str) -> Option<f64> {
    if text.ends_with('%') {
        return float(text.trim_end_matches('%')).map(|value| value / 100.0);
    }
    float(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_relaxed_and_texts_are_not() {
        let cases = [
            ("10.4", "10", true),
            ("12%", "0.12", true),
            ("12%", "12", false),
            ("1,000", "1000", false),
            ("0", "0.0", false),
            ("0", "0", true),
            ("0.315", "0.3", false),
            ("1_000", "1000", true),
            ("yes", "YES", true),
            ("", "7", false),
        ];
        for (prediction, answer, right) in cases {
            assert_eq!(relaxed(prediction, answer), right, "{prediction} {answer}");
        }
        assert!(vlmevalkit(" Yes\n", &["no".to_owned(), "yes".to_owned()]));
        assert!(!relaxed(" Yes", "yes"));
    }
}
