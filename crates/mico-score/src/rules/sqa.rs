//! ScienceQA: the option letter as LLaVA and lmms-eval parse it.

use crate::text::{lower, strip};

/// LLaVA: the letter alone, the letter before ". ", or the one letter after "The answer is ";
/// `None` where its script reports `FAILED`.
pub fn llava(prediction: &str) -> Option<char> {
    let all: Vec<char> = prediction.chars().collect();
    match all.as_slice() {
        [letter @ 'A'..='E'] | [letter @ 'A'..='E', '.', ' ', ..] => Some(*letter),
        _ => one_answer(prediction),
    }
}

/// The capital after "The answer is ", if exactly one such phrase is followed by a capital and one
/// more character on the line.
fn one_answer(prediction: &str) -> Option<char> {
    let mut letters = Vec::new();
    let mut rest = prediction;
    while let Some((_, after)) = rest.split_once("The answer is ") {
        rest = after;
        let mut next = after.chars();
        if let (Some(letter @ 'A'..='Z'), Some(other)) = (next.next(), next.next())
            && other != '\n'
        {
            letters.push(letter);
            rest = next.as_str();
        }
    }
    if let [letter] = letters[..] { Some(letter) } else { None }
}

/// lmms-eval: the letter alone in any case, or the capital letter with a full stop at the start.
pub fn lmms(prediction: &str, answer: char) -> bool {
    let prediction = strip(prediction);
    if lower(prediction).chars().eq([answer.to_ascii_lowercase()]) {
        return true;
    }
    let mut start = prediction.chars();
    matches!((start.next(), start.next()), (Some(letter), Some('.')) if letter.is_uppercase() && letter == answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn llava_reads_three_forms() {
        let cases = [
            ("B", Some('B')),
            ("A. the sun", Some('A')),
            ("A.", None),
            ("b", None),
            ("F", None),
            ("The answer is C.", Some('C')),
            ("The answer is C", None),
            ("The answer is C\n", None),
            ("The answer is C. The answer is D.", None),
            ("The answer is X!", Some('X')),
            ("", None),
        ];
        for (text, letter) in cases {
            assert_eq!(llava(text), letter, "{text:?}");
        }
    }

    #[test]
    fn lmms_reads_two() {
        assert!(lmms(" b ", 'B') && lmms("B. south", 'B') && lmms("B.", 'B'));
        assert!(!lmms("b.", 'B') && !lmms("(B)", 'B') && !lmms("", 'B'));
    }
}
