//! AI2D as lmms-eval judges it.

use super::gqa;
use crate::text::is_space;

/// The capital letter before a full stop at the start, otherwise the text as it is.
pub fn filtered(prediction: &str) -> String {
    let mut rest = prediction.trim_start_matches(is_space).chars();
    match (rest.next(), rest.next()) {
        (Some(letter @ 'A'..='Z'), Some('.')) => letter.to_string(),
        _ => prediction.to_owned(),
    }
}

/// The filtered text and the letter compared without case and punctuation.
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
