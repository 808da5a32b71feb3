//! DocVQA: ANLS, the average normalised Levenshtein similarity.

use crate::text::{levenshtein, lower, split, upper_len};

/// Similarities below this count as 0, as ANLS defines.
const THRESHOLD: f64 = 0.5;

/// The best similarity to any gold, from 0 to 1. Lengths are those of the texts before white space
/// is normalised, as in the public code.
pub fn anls(prediction: &str, answers: &[String]) -> f64 {
    let plain = |text: &str| split(&lower(text)).join(" ");
    let predicted = plain(prediction);
    let length = upper_len(prediction);
    let apart = answers.iter().map(|answer| {
        let length = length.max(upper_len(answer));
        if length == 0 {
            0.0
        } else {
            levenshtein(&plain(answer), &predicted) as f64 / length as f64
        }
    });
    let value = 1.0 - apart.fold(1.0, f64::min);
    if value < THRESHOLD { 0.0 } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_lengths_count() {
        let cases = [
            ("cot", "cat", 2.0 / 3.0),
            ("abxy", "abcd", 0.5),
            ("cot      ", "cat", 8.0 / 9.0),
            ("straße", "STRASSE", 5.0 / 7.0),
            ("", "", 1.0),
            ("xyz", "abc", 0.0),
        ];
        for (prediction, answer, value) in cases {
            let got = anls(prediction, &[answer.to_owned()]);
            assert!((got - value).abs() < 1e-12, "{prediction} {answer}: {got}");
        }
        assert_eq!(anls("x", &[]), 0.0);
    }
}
