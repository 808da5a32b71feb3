//! AI2D (diagram questions) as lmms-eval scores it.

use super::gqa;
use crate::text::is_space;

/// The capital letter if the text starts with one and a full stop, otherwise the whole text.
pub fn filtered(prediction: &str) -> String {
    let mut rest = prediction.trim_start_matches(is_space).chars();
    match (rest.next(), rest.next()) {
        (Some(letter @ 'A'..='Z'), Some('.')) => letter.to_string(),
        _ => prediction.to_owned(),
    }
}

/// Whether the filtered text equals the gold letter, ignoring case and punctuation.
pub fn lmms(prediction: &str, answer: char) -> bool {
    gqa::lmms(&filtered(prediction), &answer.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn punctuation_goes_but_words_stay() {
        assert!(lmms("(C)", 'C') && lmms(" C. root", 'C') && lmms("c", 'C'));
        assert!(!lmms("root", 'C') && !lmms("C root", 'C') && !lmms("c. root", 'C'));
    }
}
