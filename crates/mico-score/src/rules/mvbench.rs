//! MVBench: lmms-eval's parser of the option letter.

use super::vqa::{Stop, punctuation};
use crate::text::{capital, is_space, is_word, lower, strip};

/// The letter of the first candidate that equals the answer; `None` if there is none.
pub fn gold_letter(candidates: &[String], answer: &str) -> Option<char> {
    candidates.iter().position(|candidate| candidate == answer).and_then(capital)
}

/// lmms-eval's normal form of a text: a capital letter A to E, or the text in lower case without
/// punctuation.
pub fn reading(text: &str) -> String {
    if let Some(letter) = labeled(strip(text)) {
        return letter.to_string();
    }
    let text = text.replace(['\n', '\t'], " ");
    let text = punctuation(strip(&text), Stop::BeforeNoDigit);
    let mut text = text.as_str();
    for mark in ['\'', '"', ')', '('] {
        text = text.trim_matches(mark);
    }
    let text = lower(strip(text));
    standalone(&text).map_or(text, String::from)
}

/// The letter of a reply such as "B. the red car", if it is on one line.
fn labeled(text: &str) -> Option<char> {
    let (letter, rest) = text.split_once('.')?;
    let rest = rest.trim_start_matches(is_space);
    let mut letters = letter.chars();
    let letter = letters.next().filter(|_| letters.next().is_none())?.to_ascii_uppercase();
    let fits = ('A'..='E').contains(&letter) && !rest.is_empty() && !rest.contains('\n');
    fits.then_some(letter)
}

fn standalone(text: &str) -> Option<char> {
    let all: Vec<char> = text.chars().collect();
    let word_at = |at: Option<usize>| at.and_then(|at| all.get(at)).is_some_and(|c| is_word(*c));
    let alone = |at: usize| !word_at(at.checked_sub(1)) && !word_at(at.checked_add(1));
    let found = all.iter().enumerate().find(|(at, c)| ('a'..='e').contains(*c) && alone(*at));
    found.map(|(_, c)| c.to_ascii_uppercase())
}

/// Whether prediction and gold have the same normal form.
pub fn right(prediction: &str, gold: char) -> bool {
    reading(prediction) == reading(&gold.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings() {
        let cases = [
            ("(B) Opened the door.", "B"),
            ("A person opened the door (B)", "A"),
            ("b.  x", "B"),
            ("B.\nx", "B"),
            ("B. x\ny", "B"),
            ("Opened the door", "opened the door"),
            ("F", "f"),
            ("", ""),
            ("B.", "B"),
            ("狗b狗", "狗b狗"),
        ];
        for (text, expected) in cases {
            assert_eq!(reading(text), expected, "{text:?}");
        }
        assert!(right("f", 'F'));
    }
}
